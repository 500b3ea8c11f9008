//go:build linux && (amd64 || arm64)

package stage

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// noIPC is the filter, beside Base and NoInet, for what a network and an IPC
// namespace would keep away: sockets by path (a read-only file does not stop a
// connect), System V memory and POSIX queues of the host. Pairs of connected
// sockets stay. It also keeps the command from setting the limits of other
// processes, by which it could end them (RLIMIT_CPU). Base has refused all
// foreign call numbers.
func noIPC() string {
	const (
		offNr, offPid, offNew = 0, 16, 16 + 2*8 // of struct seccomp_data
		load, equal, ret      = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
		allow                 = unix.SECCOMP_RET_ALLOW
	)
	refused := []uint32{
		unix.SYS_SOCKET,
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL,
		unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
		unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
		unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	}
	var out []byte
	add := func(code uint16, jt, jf uint8, k uint32) {
		out = binary.NativeEndian.AppendUint16(out, code)
		out = append(out, jt, jf)
		out = binary.NativeEndian.AppendUint32(out, k)
	}
	add(load, 0, 0, offNr)
	for _, nr := range refused {
		add(equal, 0, 1, nr)
		add(ret, 0, 0, unix.SECCOMP_RET_ERRNO|uint32(unix.EACCES))
	}
	add(equal, 0, 7, unix.SYS_PRLIMIT64)
	add(load, 0, 0, offPid)
	add(equal, 5, 0, 0)
	add(load, 0, 0, offNew)
	add(equal, 0, 2, 0)
	add(load, 0, 0, offNew+4)
	add(equal, 1, 0, 0)
	add(ret, 0, 0, unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM))
	add(ret, 0, 0, allow)
	return string(out)
}
