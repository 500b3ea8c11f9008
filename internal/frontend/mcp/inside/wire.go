package inside

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// MaxFrame bounds a request, and each part of an answer, in bytes.
const MaxFrame = 32 << 20

// Request is one piece of work. Op is read, write, edit or fetch.
type Request struct {
	Op   string `json:"op"`
	Path string `json:"path,omitempty"` // absolute
	// Roots are the folders that hold the file, by their real paths; none is
	// no limit.
	Roots []string `json:"roots,omitempty"`

	Offset int64 `json:"offset,omitempty"` // read: the first line, from 1
	Limit  int64 `json:"limit,omitempty"`  // read: lines
	Max    int   `json:"max,omitempty"`    // read, fetch: bytes

	// Behind a write is the content, behind an edit what is replaced, of Old bytes,
	// and what it becomes.
	Temp string `json:"temp,omitempty"` // write, edit: of NewTemp
	Old  int    `json:"old,omitempty"`
	All  bool   `json:"all,omitempty"`
	// Seen is the file as it was last read or written here; nil is never.
	Seen *Version `json:"seen,omitempty"`
	// Alone: of a file with other names only this state is edited; none of its
	// names is in a hidden place.
	Alone  bool     `json:"alone,omitempty"`
	Looked *Version `json:"looked,omitempty"`

	URL    string `json:"url,omitempty"` // fetch
	Method string `json:"method,omitempty"`
	Format string `json:"format,omitempty"`
	// Public: no internal address is dialled, where no egress sees to that.
	Public bool `json:"public,omitempty"`
	// Held: the client reaches more than commands do, so it must be a program
	// that they cannot have written.
	Held bool `json:"held,omitempty"`
}

// Version tells one state of a file from another.
type Version struct {
	Dev   uint64 `json:"dev"`
	Ino   uint64 `json:"ino"`
	Size  int64  `json:"size"`
	Mtime int64  `json:"mtime"` // nanoseconds
	Ctime int64  `json:"ctime"`
}

// Answer is what came of a request. Exactly one of Failed and the rest counts.
type Answer struct {
	Failed string `json:"failed,omitempty"` // why not, for the model
	Denied bool   `json:"denied,omitempty"` // the kernel or the limit refused it
	// Limit: it was the limit, not the kernel.
	Limit bool `json:"limit,omitempty"`

	Real    string  `json:"real,omitempty"` // of the opened file
	Version Version `json:"version"`
	Links   uint64  `json:"links,omitempty"` // names that the file has
	// Linked: edit did nothing yet, for the file has names that nobody looked at.
	Linked bool `json:"linked,omitempty"`

	Lines   int64 `json:"lines,omitempty"` // read: in the body
	First   int64 `json:"first,omitempty"`
	More    bool  `json:"more,omitempty"`    // there is more after the body
	Cut     bool  `json:"cut,omitempty"`     // read: it is the beginning of one line, which is longer
	Changed int   `json:"changed,omitempty"` // edit: places
	Created bool  `json:"created,omitempty"` // write

	Status int    `json:"status,omitempty"` // fetch
	Type   string `json:"type,omitempty"`
	URL    string `json:"url,omitempty"` // after redirects
}

// Head is a value as it goes before so many bytes of what belongs to it.
func Head(v any, body int) ([]byte, error) {
	head, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(head) > MaxFrame || body > MaxFrame {
		return nil, fmt.Errorf("a frame of %d bytes: at most %d can be sent", max(len(head), body), MaxFrame)
	}
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, 8+len(head)), uint32(len(head)))
	frame = binary.BigEndian.AppendUint32(frame, uint32(body))
	return append(frame, head...), nil
}

// Send writes a value and what belongs to it.
func Send(w io.Writer, v any, body []byte) error {
	head, err := Head(v, len(body))
	if err != nil {
		return err
	}
	if _, err = w.Write(head); err == nil && len(body) > 0 {
		_, err = w.Write(body)
	}
	return err
}

// Receive reads what Send wrote; io.EOF is the end between two frames.
func Receive(r io.Reader, v any) (body []byte, err error) {
	rest, err := ReceiveHead(r, v)
	if err != nil {
		return nil, err
	}
	body = make([]byte, rest)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return body, nil
}

// ReceiveHead reads the value, and how many bytes of what belongs to it follow.
func ReceiveHead(r io.Reader, v any) (rest int, err error) {
	var size [8]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return 0, err
	}
	head, body := binary.BigEndian.Uint32(size[:4]), binary.BigEndian.Uint32(size[4:])
	if head > MaxFrame || body > MaxFrame {
		return 0, fmt.Errorf("a frame of %d bytes: at most %d are taken", max(head, body), MaxFrame)
	}
	b := make([]byte, head)
	if _, err := io.ReadFull(r, b); err != nil {
		return 0, io.ErrUnexpectedEOF
	}
	return int(body), json.Unmarshal(b, v)
}
