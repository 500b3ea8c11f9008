// Package config reads what the user, the machine's owner and the project say
// about the sandbox, and merges it into one value.
//
// The layers, weakest first, are the managed file, the user's file, the
// answers that were saved for good, the project's file, the environment and
// the flags; the managed requirements clamp the result. Lists add up; of a
// single value the strongest layer's counts. Every value keeps the place that
// set it.
//
// A project's file comes with a repository. Until a person has trusted its
// exact content, only what makes the sandbox stricter is taken from it; some
// keys are never taken from it. See [Key].
package config
