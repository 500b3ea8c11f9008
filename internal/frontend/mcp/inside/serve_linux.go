package inside

import (
	"errors"
	"fmt"
	"io"
)

// Serve answers requests until in ends.
func Serve(in io.Reader, out io.Writer) error {
	var room []byte // of the last file, for the next
	for {
		var r Request
		body, err := Receive(in, &r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		a, said := answer(r, body, &room)
		if err := Send(out, a, said); err != nil {
			return err
		}
	}
}

func answer(r Request, body []byte, room *[]byte) (a Answer, said []byte) {
	switch r.Op {
	case "read":
		return read(r, room)
	case "write":
		return write(r, func([]byte, bool) ([]byte, error) { return body, nil }), nil
	case "edit":
		if r.Old < 0 || r.Old > len(body) {
			return Answer{Failed: fmt.Sprintf("an edit of %d bytes, of which there are %d", r.Old, len(body))}, nil
		}
		return edit(r, body[:r.Old:r.Old], body[r.Old:]), nil
	case "fetch":
		return fetch(r)
	}
	return Answer{Failed: "unknown request " + r.Op}, nil
}
