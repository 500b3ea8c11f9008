package rules

// Base is the filter that every sandboxed command gets. It takes away kernel
// interfaces that no ordinary tool needs and that have let processes out of
// sandboxes, or reach past what namespaces and mounts confine.
//
// EPERM is for what the command must not do, ENOSYS for interfaces that programs
// have a fallback for when the kernel is too old. Measured on go, git, node, npm,
// pip, cargo, java, gcc, gdb, strace, tmux and chromium.
func Base() Filter {
	return Filter{
		Name: "base",
		// A call of a newer kernel was judged by nobody: programs fall back as on
		// an older kernel, instead of it being allowed silently.
		Unknown: Errno(enosys),
		// Under any errno an i386 program could not even exit, and would spin;
		// nothing 32-bit can work, so a clear SIGSYS takes nothing away (A92).
		Foreign: KillProcess,
		// What a kernel without x32 answers, so probes for it go on (A92).
		Marked: Errno(enosys),
		Rules: []Rule{
			// Interfaces that run other calls' work past this filter.
			{
				Calls:     "io_uring_setup io_uring_enter io_uring_register",
				Otherwise: Errno(enosys),
				Why:       "makes sockets and opens files without a system call to filter (A91)",
			},
			{
				Calls:     "clone3",
				Otherwise: Errno(enosys),
				Why:       "its flags are in memory, out of a filter's sight; libc and Go fall back to clone",
			},

			// Namespaces: a user namespace gives back every capability, and with it
			// the kernel's least tested code.
			{
				Calls: "clone",
				// The low 8 bits are the exit signal, so CLONE_NEWTIME (0x80) cannot
				// be asked for here. The kernel ignores the upper half.
				Cases: []Case{when(Allow, noneOf(0, cloneNewNS|cloneNewCgroup|cloneNewUTS|
					cloneNewIPC|cloneNewUser|cloneNewPID|cloneNewNet))},
				Otherwise: Errno(eperm),
				Why:       "new namespaces give capabilities in them",
			},
			{
				Calls: "unshare",
				// A list of the harmless flags, not of the namespaces: it also ends
				// with CLONE_NEWTIME and flags to come, and here both halves count.
				Cases: []Case{when(Allow, noneOf(0, ^uint32(cloneVM|cloneFS|cloneFiles|
					cloneSighand|cloneThread|cloneSysvsem)), highZero(0))},
				Otherwise: Errno(eperm),
				Why:       "new namespaces give capabilities in them",
			},
			{
				Calls:     "setns",
				Otherwise: Errno(eperm),
				Why:       "enters another sandbox's or the host's namespaces",
			},
			{
				Calls:     "listns",
				Otherwise: Errno(enosys),
				Why:       "finds namespaces of others; from Linux 6.19 on, so nothing relies on it",
			},

			// The file tree the sandbox is made of.
			{
				Calls: "mount umount2 pivot_root chroot open_tree open_tree_attr move_mount " +
					"fsopen fsconfig fsmount fspick mount_setattr",
				Otherwise: Errno(eperm),
				Why:       "uncovers masked paths or makes read-only mounts writable",
			},
			{
				Calls:     "name_to_handle_at open_by_handle_at",
				Otherwise: Errno(eperm),
				Why:       "opens files by inode, past every mount",
			},
			{
				Calls:     "fanotify_init fanotify_mark",
				Otherwise: Errno(enosys),
				Why:       "watches and delays file access of a whole mount or file system, the host's too",
			},
			{
				Calls:     "mknod",
				Cases:     []Case{when(Errno(eperm), bits(1, sIFMT, sIFCHR, sIFBLK))},
				Otherwise: Allow, // pipes, sockets, files
				Why:       "a device node opens the raw disk if the command runs as the real root",
			},
			{
				Calls:     "mknodat",
				Cases:     []Case{when(Errno(eperm), bits(2, sIFMT, sIFCHR, sIFBLK))},
				Otherwise: Allow,
				Why:       "as mknod",
			},

			// Terminal, keys and copies of file systems. The command number is an unsigned int: a set upper
			// half must not hide it.
			{
				Calls: "ioctl",
				Cases: []Case{
					when(Errno(eperm), is(1, tiocsti, tioclinux, tioccons, tiocsetd,
						fscryptAddKey, fscryptRemoveKey, fscryptRemoveKeyAll,
						btrfsSnapCreate, btrfsSubvolCreate, btrfsSnapDestroy,
						btrfsSnapCreateV2, btrfsSubvolCreateV2, btrfsSnapDestroyV2, ocfs2Reflink, fsShutdown)),
					when(Errno(eperm), bits(1, ioctlType, bcachefs, cifs)),
				},
				Otherwise: Allow,
				Why: "types into the user's terminal (A94, A95), takes the console's output, " +
					"loads line disciplines, a series of kernel exploits, " +
					"locks the user's encrypted folders on the host, reads the keys of a network mount, " +
					"stops a whole file system, or copies a subvolume with all that mounts hide in it, " +
					"under a name that nobody judged",
			},

			// Sockets.
			{
				Calls: "socket",
				Cases: []Case{
					when(Allow, is(0, afUnix)),
					// NETLINK_ROUTE is getifaddrs and ip; the others reach audit,
					// netfilter, crypto and kernel events.
					when(Allow, is(0, afNetlink), is(2, netlinkRoute)),
					when(Allow, is(0, afInet, afInet6), bits(1, sockTypeMask, sockStream),
						is(2, protoDefault, protoTCP)),
					when(Allow, is(0, afInet, afInet6), bits(1, sockTypeMask, sockDgram),
						is(2, protoDefault, protoUDP)),
					// The kernel's own answer without CAP_NET_RAW. SOCK_PACKET turns
					// AF_INET into AF_PACKET.
					when(Errno(eperm), is(0, afInet, afInet6),
						bits(1, sockTypeMask, sockRaw, sockPacket)),
					// MPTCP, SCTP, DCCP, ping sockets: Landlock does not see them as
					// TCP, asking loads modules, and Go and libc take this errno as
					// "this kernel has none".
					when(Errno(eprotonosupport), is(0, afInet, afInet6)),
				},
				Otherwise: Errno(eafnosupport),
				Why: "other families leave without the proxy or without the network namespace " +
					"(VSOCK reaches the hypervisor), or are rarely tested code (A16)",
			},
			{
				Calls:     "socketpair",
				Cases:     []Case{when(Allow, is(0, afUnix))},
				Otherwise: Errno(eafnosupport),
				Why:       "no other family that bawn allows has pairs",
			},

			// Other processes. ptrace is allowed: gdb and strace need it, and the PID
			// namespace with a non-dumpable first process bounds it.
			{
				Calls:     "process_vm_readv process_vm_writev kcmp pidfd_getfd",
				Otherwise: Errno(eperm),
				Why:       "reads, writes or takes descriptors of other processes (A100); gdb uses /proc/PID/mem",
			},
			{
				Calls:     "move_pages migrate_pages",
				Otherwise: Errno(eperm),
				Why:       "moves other processes' memory; helps to aim at kernel memory",
			},
			{
				Calls:     "personality",
				Cases:     []Case{when(Allow, noneOf(0, ^uint32(perLinux32|uname26|addrNoRandomize))), when(Allow, is(0, personalityRead))},
				Otherwise: Errno(eperm),
				Why: "odd personalities are old code and weaken memory protection; " +
					"linux32, uname26 and gdb's fixed addresses do not",
			},
			{
				Calls:     "lsm_set_self_attr",
				Otherwise: Errno(eperm),
				Why:       "changes the process's own AppArmor or SELinux label",
			},

			// State that no namespace holds.
			{
				Calls:     "keyctl add_key request_key",
				Otherwise: Errno(enosys),
				Why:       "the session keyring is inherited and has no namespace (A101)",
			},
			{
				Calls:     "settimeofday clock_settime adjtimex clock_adjtime",
				Otherwise: Errno(eperm),
				Why:       "sets the host's clock if the command runs as the real root",
			},
			{
				Calls:     "syslog",
				Otherwise: Errno(eperm),
				Why:       "reads the host's kernel log: addresses, devices, other users' programs",
			},
			{
				Calls:     "swapon swapoff reboot acct quotactl quotactl_fd sethostname setdomainname vhangup",
				Otherwise: Errno(eperm),
				Why:       "administers the host if the command runs as the real root",
			},
			{
				Calls:     "init_module finit_module delete_module",
				Otherwise: Errno(eperm),
				Why:       "loads code into the kernel",
			},
			{
				Calls:     "kexec_load kexec_file_load",
				Otherwise: Errno(enosys),
				Why:       "starts another kernel",
			},

			// Kernel code that exploits start from.
			{
				Calls:     "bpf perf_event_open",
				Otherwise: Errno(eperm),
				Why:       "programs and counters in the kernel, with a long history of exploits",
			},
			{
				Calls:     "userfaultfd",
				Otherwise: Errno(enosys),
				Why:       "stops the kernel in the middle of a copy, which turns races into exploits",
			},
			{
				Calls:     "ioperm iopl modify_ldt",
				Otherwise: Errno(eperm),
				Why:       "raw ports and descriptor tables of amd64",
			},
			{
				Calls: "lookup_dcookie uselib ustat sysfs nfsservctl _sysctl create_module get_kernel_syms query_module " +
					"getpmsg putpmsg afs_syscall tuxcall security vserver set_thread_area get_thread_area " +
					"epoll_ctl_old epoll_wait_old",
				Otherwise: Errno(enosys),
				Why:       "gone from current kernels or from every libc; an older or patched kernel may still run them",
			},
		},
	}
}
