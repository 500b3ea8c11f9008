package main

import (
	"fmt"
	"time"

	"bawn/internal/audit"
	"bawn/internal/staged"
)

type listedRun struct {
	ID        string    `json:"id"`
	State     string    `json:"state"`
	Workspace string    `json:"workspace"`
	Command   string    `json:"command"`
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended,omitzero"`
	Code      *int      `json:"code,omitempty"`
	Files     int       `json:"files"`
	Bytes     int64     `json:"bytes"`
	Folders   []string  `json:"folders"`
}

func listStaged(asJSON bool) int {
	store := stagedStore()
	all, err := store.List()
	if err != nil {
		return fail(err)
	}
	out := make([]listedRun, 0, len(all))
	for _, e := range all {
		l := listedRun{ID: e.ID, State: string(e.State), Workspace: e.Workspace, Command: e.Command, Started: e.Started, Ended: e.Ended}
		if e.State == staged.Ended {
			l.Code = &e.Code
		}
		for _, r := range e.Roots {
			l.Folders = append(l.Folders, r.Path)
		}
		l.Files, l.Bytes = store.Usage(e.ID)
		out = append(out, l)
	}
	if asJSON {
		return printJSON(out)
	}
	if len(out) == 0 {
		printLine("nothing is staged")
		return 0
	}
	printf("%-8s  %-11s  %8s  %7s  %9s  %s\n", "ID", "STATE", "AGE", "NAMES", "SIZE", "COMMAND")
	for _, l := range out {
		printf("%-8s  %-11s  %8s  %7d  %9s  %s\n", l.ID[:8], l.State, age(time.Since(l.Started)), l.Files, audit.Size(l.Bytes), printable(l.Command))
		printf("%-8s  %s\n", "", printable(l.Workspace))
	}
	return 0
}

func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}
