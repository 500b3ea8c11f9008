package rules

// Kernel constants that the rules test arguments for. They are equal on amd64
// and arm64; a test compares them with golang.org/x/sys/unix. They are written
// here so that the generator runs on any operating system.
const (
	eperm           = 1
	eacces          = 13
	enosys          = 38
	eprotonosupport = 93
	eopnotsupp      = 95
	eafnosupport    = 97

	// linux/sched.h
	cloneVM        = 0x00000100
	cloneFS        = 0x00000200
	cloneFiles     = 0x00000400
	cloneSighand   = 0x00000800
	cloneThread    = 0x00010000
	cloneNewNS     = 0x00020000
	cloneSysvsem   = 0x00040000
	cloneNewCgroup = 0x02000000
	cloneNewUTS    = 0x04000000
	cloneNewIPC    = 0x08000000
	cloneNewUser   = 0x10000000
	cloneNewPID    = 0x20000000
	cloneNewNet    = 0x40000000

	// asm-generic/ioctls.h
	tiocsti   = 0x5412 // put a byte into the terminal's input
	tioclinux = 0x541c // on a virtual console: among others, paste the selection
	tioccons  = 0x541d // take over the system console's output
	tiocsetd  = 0x5423 // change the line discipline

	// linux/fscrypt.h
	fscryptAddKey       = 0xc0506617 // unlock encrypted folders
	fscryptRemoveKey    = 0xc0406618 // lock them, though the mount is read-only
	fscryptRemoveKeyAll = 0xc0406619

	// linux/btrfs.h, ocfs2_fs.h: make or remove a whole tree or a file by name
	btrfsSnapCreate     = 0x50009401
	btrfsSubvolCreate   = 0x5000940e
	btrfsSnapDestroy    = 0x5000940f
	btrfsSnapCreateV2   = 0x50009417
	btrfsSubvolCreateV2 = 0x50009418
	btrfsSnapDestroyV2  = 0x5000943f
	ocfs2Reflink        = 0x40186f04
	bcachefs            = 0xbc00 // type byte of all its commands: subvolumes and administration
	ioctlType           = 0xff00

	// fs/smb/client/cifs_ioctl.h: type byte of all its commands. They give out
	// the session's keys, send queries and changes under the mount's account,
	// and do not look whether the mount is read-only.
	cifs = 0xcf00

	// FS_IOC_SHUTDOWN of ext4, xfs, f2fs and others, CIFS_IOC_SHUTDOWN
	fsShutdown = 0x8004587d

	// linux/fs.h
	fsSetFlags = 0x40086602

	// linux/personality.h
	perLinux32      = 0x0000008
	uname26         = 0x0020000
	addrNoRandomize = 0x0040000
	personalityRead = 0xffffffff // changes nothing, returns the current one

	// linux/socket.h, linux/net.h, linux/in.h, linux/netlink.h
	afUnix       = 1
	afInet       = 2
	afInet6      = 10
	afNetlink    = 16
	sockStream   = 1
	sockDgram    = 2
	sockRaw      = 3
	sockPacket   = 10
	sockTypeMask = 0xf // above it: SOCK_CLOEXEC, SOCK_NONBLOCK
	protoDefault = 0
	protoTCP     = 6
	protoUDP     = 17
	netlinkRoute = 0

	// asm-generic/fcntl.h; those of them that both architectures number alike
	oWronly = 0o1
	oRdwr   = 0o2
	oCreat  = 0o100
	oTrunc  = 0o1000
	oPath   = 0o10000000

	// linux/stat.h
	sIFMT  = 0o170000
	sIFCHR = 0o020000
	sIFBLK = 0o060000
)
