package seatbelt

// base is what every command may do: nothing but what is listed. What
// (deny default) is known not to reach is denied by name. A service or a
// kernel value is here because a common tool does not work without it.
const base = `(version 1)
(deny default)
(deny nvram*)
(deny process-info*)
(deny appleevent-send)
(deny lsopen)
(deny job-creation)
(deny file-clone)

; processes: its own alone
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))

; users and groups, the log, changes of the time zone, confstr's folders, watched folders
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.logd")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.bsd.dirhelper")
  (global-name "com.apple.FSEvents"))

; Python's locks and shared memory, OpenMP
(allow ipc-posix-sem)
(allow ipc-posix-shm*
  (ipc-posix-name-regex "^/psm_[0-9a-zA-Z]+$")
  (ipc-posix-name-regex "^/__KMP_REGISTERED_LIB_[0-9]+$"))

; the machine and the system; not kern.procargs2, which has the environments of other programs
(allow sysctl-read
  (sysctl-name-prefix "hw.")
  (sysctl-name-prefix "machdep.cpu.")
  (sysctl-name-prefix "sysctl.")
  (sysctl-name "kern.argmax")
  (sysctl-name "kern.boottime")
  (sysctl-name "kern.hostname")
  (sysctl-name "kern.iossupportversion")
  (sysctl-name "kern.maxfiles")
  (sysctl-name "kern.maxfilesperproc")
  (sysctl-name "kern.maxproc")
  (sysctl-name "kern.ngroups")
  (sysctl-name "kern.osproductversion")
  (sysctl-name "kern.osrelease")
  (sysctl-name "kern.ostype")
  (sysctl-name "kern.osvariant_status")
  (sysctl-name "kern.osversion")
  (sysctl-name "kern.secure_kernel")
  (sysctl-name "kern.tcsm_available")
  (sysctl-name "kern.tcsm_enable")
  (sysctl-name "kern.usrstack64")
  (sysctl-name "kern.version")
  (sysctl-name "machdep.ptrauth_enabled")
  (sysctl-name "security.mac.lockdown_mode_state")
  (sysctl-name "vm.loadavg")
  (sysctl-name "vm.swapusage"))
(allow sysctl-write
  (sysctl-name "kern.grade_cputype")
  (sysctl-name "kern.tcsm_enable"))

; all files can be read, but for devices and what is hidden below
(allow file-read*)
(deny file-read* file-write* (subpath "/dev"))
(allow file-read*
  (literal "/dev")
  (literal "/dev/null")
  (literal "/dev/zero")
  (literal "/dev/random")
  (literal "/dev/urandom")
  (literal "/dev/tty")
  (literal "/dev/ptmx")
  (literal "/dev/dtracehelper")
  (literal "/dev/autofs_nowait")
  (subpath "/dev/fd"))
(allow file-write-data
  (literal "/dev/null")
  (literal "/dev/zero")
  (literal "/dev/random")
  (literal "/dev/urandom")
  (literal "/dev/tty")
  (literal "/dev/ptmx")
  (literal "/dev/dtracehelper")
  (subpath "/dev/fd"))
(allow file-ioctl
  (literal "/dev/null")
  (literal "/dev/zero")
  (literal "/dev/random")
  (literal "/dev/urandom")
  (literal "/dev/tty")
  (literal "/dev/ptmx")
  (literal "/dev/dtracehelper")
  (regex "^/dev/ttys[0-9]+$"))

; terminals: those that it makes, never one of the user's
(allow pseudo-tty)
(allow file-read* file-write*
  (require-all (regex "^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))
`

// network opens the loopback, which is the host's own, and what checks the
// certificates of a server. DNS on the loopback would ask for any name.
const network = `
; the loopback, where the egress listens
(allow network-bind (local ip "localhost:*"))
(allow network-inbound (local ip "localhost:*"))
(allow network-outbound (remote ip "localhost:*"))
(deny network-outbound (remote ip "localhost:53"))
(deny network-outbound (remote ip "localhost:5353"))
(allow system-socket (require-all (socket-domain AF_SYSTEM) (socket-protocol 2)))
(allow sysctl-read (sysctl-name-prefix "net.routetable."))
(allow mach-lookup
  (global-name "com.apple.trustd")
  (global-name "com.apple.trustd.agent")
  (global-name "com.apple.SystemConfiguration.configd"))
`
