package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"bawn/internal/config/disk"
)

const (
	// Folder is the log's folder in the state folder.
	Folder = "log"
	// fileLimit begins another file, keepFiles bounds how many there are.
	fileLimit = 64 << 20
	keepFiles = 16
	headName  = "head"
	suffix    = ".jsonl"
)

// Log is a record that many processes append to at once. Records are in the
// order of their appending: one lock holds it.
//
// What the kernel has taken survives the end of this process at any
// instruction. It is not pressed on the disk record by record: when the machine
// itself stops, the last seconds may be missing, and verify says so.
type Log struct {
	dir   *disk.Dir
	limit int64 // as fileLimit
	keep  int   // as keepFiles

	mu   sync.Mutex
	head *os.File
	file *os.File // the newest, with the number open
	open int
	buf  []byte
	// What this process wrote last, and as what: mostly the head still says so.
	last tip
	text []byte
}

// Open opens the log in a state folder, and makes what is not there yet, for
// the owner alone. A folder that somebody else could write is refused.
func Open(state string) (*Log, error) {
	if !filepath.IsAbs(state) {
		return nil, errors.New("no state folder is known: neither XDG_STATE_HOME nor HOME names a folder by an absolute path")
	}
	dir, err := disk.Make(filepath.Join(state, Folder))
	if err != nil {
		return nil, err
	}
	l := &Log{dir: dir, limit: fileLimit, keep: keepFiles}
	in, err := dir.Info()
	if err == nil {
		err = in.OnlyOwners(os.Geteuid())
	}
	if err == nil && in.UID != os.Geteuid() {
		err = fmt.Errorf("it belongs to user %d, and this is user %d", in.UID, os.Geteuid())
	}
	if err == nil {
		l.head, err = dir.OpenFile(headName, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err != nil {
		dir.Close()
		return nil, fmt.Errorf("%s: %w", filepath.Join(state, Folder), err)
	}
	return l, nil
}

// Close lets go of the log.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
	}
	l.head.Close()
	return l.dir.Close()
}

// Append adds a record, whole or not at all, and with its place in the chain.
// A zero Time is now. After an error nothing was added.
func (l *Log) Append(r Record) error {
	if !slices.Contains(kinds[:], r.Kind) {
		return fmt.Errorf("no kind of record: %q", r.Kind)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	unlock, err := l.dir.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	at, err := l.tip()
	if err != nil {
		return err
	}
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	if at.size >= l.limit || at.file == 0 {
		if at, err = l.rotate(at, r.Time); err != nil {
			return err
		}
	}
	_, err = l.add(at, r)
	return err
}

// add writes one record behind at.
func (l *Log) add(at tip, r Record) (tip, error) {
	r.Seq, r.Prev = at.seq+1, hex.EncodeToString(at.hash[:])
	l.buf = appendRecord(l.buf[:0], &r)
	if len(l.buf) > maxRecord {
		return at, fmt.Errorf("a record of %d bytes is too long", len(l.buf))
	}
	if n, err := l.file.Write(l.buf); err != nil || n < len(l.buf) {
		// A part of a line would spoil the next one.
		if e := l.file.Truncate(at.size); err == nil {
			err = e
		}
		if err == nil {
			err = io.ErrShortWrite
		}
		return at, err
	}
	at.size += int64(len(l.buf))
	at.seq++
	at.hash = lineHash(l.buf)
	// If this fails the record is there all the same, and is found again.
	l.last, l.text = at, at.text()
	_, _ = l.head.WriteAt(l.text, 0)
	return at, nil
}

// lineHash is the hash of a line without its end.
func lineHash(line []byte) [sha256.Size]byte {
	return sha256.Sum256(bytes.TrimSuffix(line, []byte("\n")))
}

// tip is the end of the log. The zero value is that of an empty one.
type tip struct {
	file int
	size int64
	seq  uint64
	hash [sha256.Size]byte // of the last line
}

// headFormat has one length, so that one write in place is all of it.
const headFormat = "bawn log 1 file %06d size %012d seq %016d sha256 %x\n"

const headLength = int64(len("bawn log 1 file 000001 size 000000000001 seq 0000000000000001 sha256 \n") + 2*sha256.Size)

func (t tip) text() []byte { return fmt.Appendf(nil, headFormat, t.file, t.size, t.seq, t.hash) }

// parseTip reads what text wrote, and nothing else. By hand: package fmt's
// scanner is cold in each run, and costs more there than the calls beside it.
func parseTip(b []byte) (t tip, ok bool) {
	rest := string(b)
	next := func(before string) uint64 {
		text, found := strings.CutPrefix(rest, before)
		digits, after, more := strings.Cut(text, " ")
		n, err := strconv.ParseUint(digits, 10, 63)
		ok, rest = ok && found && more && err == nil, after
		return n
	}
	ok = true
	t.file, t.size, t.seq = int(next("bawn log 1 file ")), int64(next("size ")), next("seq ")
	sum, err := hex.DecodeString(strings.TrimSuffix(strings.TrimPrefix(rest, "sha256 "), "\n"))
	if !ok || err != nil || copy(t.hash[:], sum) != len(t.hash) {
		return tip{}, false
	}
	return t, bytes.Equal(t.text(), b) // which also holds the widths
}

// errNoHead: there are records, but the file that knows the last one is gone
// or spoilt.
var errNoHead = errors.New("the head file does not say where the log ends")

func (l *Log) readHead() (tip, error) {
	buf, err := headText(l.head)
	if err == nil && bytes.Equal(buf, l.text) && len(buf) > 0 {
		return l.last, nil
	}
	return headTip(buf, err)
}

// readHead reads the head file.
func readHead(f io.ReaderAt) (tip, error) { return headTip(headText(f)) }

func headText(f io.ReaderAt) ([]byte, error) {
	buf := make([]byte, headLength+1)
	n, err := f.ReadAt(buf, 0)
	if err == io.EOF {
		err = nil
	}
	return buf[:n], err
}

func headTip(buf []byte, err error) (tip, error) {
	if err != nil || len(buf) == 0 {
		return tip{}, err
	}
	if t, ok := parseTip(buf); ok {
		return t, nil
	}
	return tip{}, errNoHead
}

// tip finds where to go on, and mends what a killed writer left. The caller
// holds the lock.
func (l *Log) tip() (tip, error) {
	at, err := l.readHead()
	if err != nil && err != errNoHead {
		return at, err
	}
	lost := err != nil
	if lost || at.file == 0 {
		files, err := l.files()
		if err != nil {
			return at, err
		}
		if len(files) == 0 || !lost && len(files) == 1 && l.unborn(1) {
			return tip{}, nil
		}
		lost, at = true, tip{file: files[len(files)-1]}
	}
	return l.resume(at, lost)
}

// unborn reports whether a file is one that rotate was about to begin, and so
// has no record that counts.
func (l *Log) unborn(file int) bool {
	f, err := l.dir.OpenFile(name(file), os.O_RDONLY, 0)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	buf := make([]byte, maxRecord+1)
	n, err := f.ReadAt(buf, 0)
	return err == io.EOF && bytes.Count(buf[:n], []byte("\n")) <= 1
}

// resume opens the file of at. With a lost head the chain begins anew, from
// nothing, so that verify shows the break.
func (l *Log) resume(at tip, lost bool) (tip, error) {
	if at.file != l.open {
		f, err := l.dir.OpenFile(name(at.file), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return at, err
		}
		if l.file != nil {
			l.file.Close()
		}
		l.file, l.open = f, at.file
	}
	st, err := l.file.Stat()
	if err != nil || st.Size() == at.size {
		return at, err
	}
	return l.mend(at, st.Size(), lost)
}

// mend goes on after a writer that was killed, or anything else that left a
// file of another size than the head says. A line that belongs to the chain is
// taken into it; half a line at the end is cut off. Anything else stays as it
// is: the chain goes on from the head, so that verify shows the break.
func (l *Log) mend(at tip, size int64, lost bool) (tip, error) {
	from := at.size
	if size < from || size-from > 2*maxRecord {
		from = max(0, size-2*maxRecord)
	}
	tail := make([]byte, size-from)
	if _, err := l.file.ReadAt(tail, from); err != nil && err != io.EOF {
		return at, err
	}
	if whole := bytes.LastIndexByte(tail, '\n') + 1; whole < len(tail) && (whole > 0 || from == 0 || from == at.size) {
		tail = tail[:whole]
		if err := l.file.Truncate(from + int64(whole)); err != nil {
			return at, err
		}
	}
	if from == at.size && !lost {
		for line := range bytes.Lines(tail) {
			if r, err := Parse(bytes.TrimSuffix(line, []byte("\n"))); err != nil || r.Seq != at.seq+1 || r.Prev != hex.EncodeToString(at.hash[:]) {
				break
			}
			at.seq, at.hash = at.seq+1, lineHash(line)
		}
	}
	at.size = from + int64(len(tail))
	return at, nil
}

// rotate begins the next file. Until the head names it, it counts for nothing.
func (l *Log) rotate(at tip, now time.Time) (tip, error) {
	next := at.file + 1
	if !l.unborn(next) { // the head is an old one
		files, err := l.files()
		if err != nil {
			return at, err
		}
		return l.resume(tip{file: files[len(files)-1]}, true)
	}
	f, err := l.dir.OpenFile(name(next), os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return at, err
	}
	if l.file != nil {
		_ = l.file.Sync() // a whole file is not written again: at least that one is on the disk
		l.file.Close()
	}
	l.file, l.open = f, next
	first := max(1, next-l.keep+1)
	begun, err := l.add(tip{file: next, seq: at.seq, hash: at.hash}, Record{Kind: Opened, Time: now, File: next, FirstFile: first})
	if err != nil {
		l.open = 0 // the head still names the file before
		return at, err
	}
	if files, err := l.files(); err == nil {
		for _, n := range files {
			if n < first {
				_ = l.dir.Remove(name(n)) // the next rotation tries again
			}
		}
	}
	return begun, nil
}

func name(file int) string { return fmt.Sprintf("%06d%s", file, suffix) }

// files are the numbers of the log's files, in order.
func (l *Log) files() ([]int, error) { return logFiles(l.dir) }

func logFiles(d *disk.Dir) (out []int, err error) {
	names, err := d.Names()
	for _, n := range names {
		digits, ok := strings.CutSuffix(n, suffix)
		number := 0
		if _, err := fmt.Sscanf(digits, "%d", &number); ok && err == nil && number > 0 && name(number) == n {
			out = append(out, number)
		}
	}
	slices.Sort(out)
	return out, err
}

// errIsNone reports whether there is no log yet.
func errIsNone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
