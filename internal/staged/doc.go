// Package staged keeps what runs wrote apart from the workspace until a person
// keeps or discards it. While a command runs the kernel's overlay fills the
// layers; afterwards this package reads them, from outside, as what somebody
// hostile left: by descriptors, through no link, and asking a Judge before
// anything of them gets a name in the workspace. docs/staged.md says what a
// person sees of it.
package staged

// In is the folder of staged runs in bawn's state folder.
func In(state string) string { return state + "/staged" }
