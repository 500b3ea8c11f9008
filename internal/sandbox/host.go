package sandbox

// Kind is what stands at a path, links not followed.
type Kind uint8

const (
	KindNone Kind = iota
	KindDir
	KindFile
	KindLink
	KindOther // socket, FIFO, device
)

// Entry is one name in a folder.
type Entry struct {
	Name string
	Kind Kind
	Link string // the text of a symbolic link
}

// Host holds the facts of this machine that Plan needs, and nothing else:
// tests write one by hand.
type Host struct {
	Kinds      map[string]Kind    // every path that a rule names and that exists
	Dirs       map[string][]Entry // folders that may be shown as skeletons
	Modes      map[string]uint32  // their permission bits
	Links      map[string]string  // links among RunBinds
	Copies     map[string]string  // hidden files shown as copies without credentials
	Pins       []string           // folders whose rename would free a protected name
	Sockets    []string           // unix sockets that host processes listen on
	RunBinds   []string           // what stays of /run
	RunUser    string             // runtime folder to make, "" for none
	ResolvConf string             // the file that /etc/resolv.conf is or leads to, "" for none
	Control    []string           // git's control files and hooks folders in writable places
	Linked     []string           // see Guard
	Names      []string           // further paths that decide what git runs, which no mount can hold
	Layers     string             // Request.Layers, by its real path
	Locks      []string           // Request.Locks
	HostsFile  string             // the same of /etc/hosts
	Hostname   string
	Shut       map[string]bool // kernel files that only another user can read and write, as their modes say
	Warnings   []string
}

func (h Host) exists(path string) bool { return h.Kinds[path] != KindNone }
func (h Host) isDir(path string) bool  { return h.Kinds[path] == KindDir }

func (h Host) listed(path string) bool {
	_, ok := h.Dirs[path]
	return ok
}
