package rules

// NoInet forbids the network for the weaker mode that has Landlock and no
// network namespace: Landlock stops neither UDP nor ICMP nor other families. It
// is stacked on Base, which closes the ways round it (io_uring); alone it is not
// enough. Local (AF_UNIX) sockets stay.
func NoInet() Filter {
	return Filter{
		Name:    "noinet",
		Unknown: Allow, // Base judges all other calls
		Foreign: KillProcess,
		Marked:  Errno(enosys), // x32 has a socket of its own
		Rules: []Rule{
			{
				Calls: "socket socketpair",
				Cases: []Case{when(Allow, is(0, afUnix))},
				// socket(2): "Permission to create a socket of the specified type is
				// denied". Programs report it at once and retry nothing, and it is what
				// Landlock answers to connect. Base's "no such family" would send them
				// looking for IPv6 settings.
				Otherwise: Errno(eacces),
				Why:       "every way off the machine (A16), and netlink, which configures them",
			},
		},
	}
}
