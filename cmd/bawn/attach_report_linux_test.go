//go:build !race

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"bawn/internal/policy"
	"bawn/internal/sandbox/sandboxtest"
)

// --report of a run in a session tells what the session's egress and guard
// denied it; a name that a command could have led elsewhere is refused before
// anything runs.
func TestAttachedReport(t *testing.T) {
	b, s := opened(t)
	file := filepath.Join(filepath.Dir(b.Home), "report.json")
	r := run(t, b, "--session", s.ID(), "-q", "--report", file, "-c", "mkdir .bawn; echo all: > Makefile; exit 3")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	var got report
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	made := filepath.Join(b.Workspace, "Makefile")
	if r.Code != 3 || got.Code == nil || *got.Code != 3 || len(got.Denials) != 1 || got.Denials[0].Target != filepath.Join(b.Workspace, ".bawn") || got.Denials[0].Rule.ID == "" || len(got.Written) != 1 || got.Written[0] != made {
		t.Errorf("exit %d: %s", r.Code, data)
	}
	victim, link := filepath.Join(b.Home, "victim"), filepath.Join(b.Workspace, "link")
	sandboxtest.Write(t, victim, "mine\n")
	if err := os.Symlink(victim, link); err != nil {
		t.Fatal(err)
	}
	n := tasks(s)
	if r := run(t, b, "--session", s.ID(), "--report", link, "--", "true"); r.Code != exitRefused || tasks(s) != n {
		t.Errorf("by a link: %+v", r)
	}
	if data, _ := os.ReadFile(victim); string(data) != "mine\n" {
		t.Errorf("the report went there: %s", data)
	}
	if err := s.SetPermission(policy.AutoMode); err != nil {
		t.Fatal(err)
	}
	// Asked for from inside a command of the session it is that command's file.
	id := started(t, s, sandboxtest.Binary()+" run --report inner.json -c 'mkdir .bawn; exit 4'")
	if task, out := ended(t, s, id); task.Code != 4 {
		t.Errorf("%+v: %s", task, out)
	}
	if data, err := os.ReadFile(filepath.Join(b.Workspace, "inner.json")); err != nil || json.Unmarshal(data, &got) != nil || *got.Code != 4 || len(got.Denials) != 1 {
		t.Errorf("%s, %v", data, err)
	}
}
