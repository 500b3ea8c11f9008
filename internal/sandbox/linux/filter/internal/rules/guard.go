package rules

// GuardRemovals is Guard that also stops the calls that take names away, for
// runs that may remove only some.
func GuardRemovals() Filter {
	f := Guard()
	f.Name = "guardremovals"
	f.Rules = append(f.Rules, Rule{Calls: "unlink unlinkat rmdir", Otherwise: Notify, Why: "takes a name away (F9)"})
	return f
}

// Guard stops every call that could make, move or change a file by its name
// and hands it to the name guard, which carries it out. Reading costs nothing.
// It is stacked on Base, whose refusals are stronger, and which refuses the
// other ways to a name: handles, mounts, io_uring.
//
// Not stopped: unlink and rmdir, which only take names away (the next file of
// that name is a new one, so it is seen); chmod, which changes no content; bind,
// since what it names is a socket, which nothing reads as a file; and calls on
// descriptors, which were opened under the guard.
func Guard() Filter {
	const write = oWronly | oRdwr | oCreat | oTrunc
	// An O_PATH descriptor can neither read nor write: the kernel then ignores
	// the flags that would.
	opens := func(flags int) []Case {
		return []Case{when(Allow, noneOf(flags, write)), when(Allow, bits(flags, oPath, oPath))}
	}
	return Filter{
		Name:    "guard",
		Unknown: Allow, // Base judges all other calls
		Foreign: KillProcess,
		Marked:  Errno(enosys), // x32 has the same calls by other numbers
		Rules: []Rule{
			{Calls: "open", Cases: opens(1), Otherwise: Notify, Why: "writes or makes a file"},
			{Calls: "openat", Cases: opens(2), Otherwise: Notify, Why: "writes or makes a file"},
			{
				Calls:     "openat2",
				Otherwise: Errno(enosys),
				Why:       "its flags are in memory, out of a filter's sight; programs fall back to openat",
			},
			{
				Calls: "creat mkdir mkdirat mknod mknodat symlink symlinkat link linkat " +
					"rename renameat renameat2 truncate",
				Otherwise: Notify,
				Why:       "makes a name, or changes what one leads to (A26, F2)",
			},
			{
				Calls:     "ioctl",
				Cases:     []Case{when(Errno(eopnotsupp), is(1, fsSetFlags))},
				Otherwise: Allow,
				Why:       "lets a folder find names in other spellings (chattr +F), between the guard's look at it and the call",
			},
			// The guard lets these go on: nothing of them is in memory.
			{Calls: "umask", Otherwise: Notify, Why: "the guard makes names with the caller's, which it need not read as long as it is as it was"},
			{
				Calls:     "clone",
				Cases:     []Case{when(Allow, bits(0, cloneFS|cloneThread, 0, cloneFS|cloneThread))},
				Otherwise: Notify,
				Why:       "processes with one umask, or threads with several",
			},
			{Calls: "unshare", Cases: []Case{when(Allow, noneOf(0, cloneFS))}, Otherwise: Notify, Why: "a thread with its own umask"},
		},
	}
}
