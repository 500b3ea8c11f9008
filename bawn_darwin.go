package bawn

import (
	"crypto/rand"

	"bawn/internal/sandbox"
	"bawn/internal/sandbox/seatbelt"
	"bawn/internal/session"
)

func unavailableHint() string { return seatbelt.Hint }

func guardSupported() error { return nil }

func (j job) backend() sandbox.Backend { return seatbelt.Backend{Policy: j.policy, Host: j.host} }

// way gives the egress a secret: it listens where others can reach it.
func way(e *session.Egress) { e.Secret = rand.Text() }
