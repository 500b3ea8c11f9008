//go:build unix && !darwin

package sandbox

import "bawn/internal/policy"

func (in *inspector) macOS(*policy.Config, Request) error { return nil }

func macCredentials([]string) []policy.PathRule { return nil }
func macCaches(string) []policy.PathRule        { return nil }

// onePath: each file has one real path, which rules can be compared with.
const onePath = true

func onDisk(rules []policy.PathRule) []policy.PathRule { return rules }

func diskPath(path string) (string, error) { return path, nil }
