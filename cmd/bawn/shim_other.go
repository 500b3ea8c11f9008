//go:build !linux

package main

import "bawn/internal/sandbox"

// agentFolder is where the command starts: nothing here tells where the agent
// itself does.
func agentFolder(string) (string, error) { return sandbox.Workspace("") }

// startedAs is not known here.
func startedAs() string { return "" }
