package inside

import (
	"errors"
	"io"
)

// Serve answers requests until in ends.
func Serve(in io.Reader, out io.Writer) error {
	var room []byte // of the last file, for the next
	for {
		var r Request
		_, err := Receive(in, &r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		a, body := answer(r, &room)
		if err := Send(out, a, body); err != nil {
			return err
		}
	}
}

func answer(r Request, room *[]byte) (a Answer, body []byte) {
	switch r.Op {
	case "read":
		return read(r, room)
	case "write":
		return write(r, func([]byte, bool) ([]byte, error) { return []byte(r.Content), nil }), nil
	case "edit":
		return edit(r), nil
	case "fetch":
		return fetch(r)
	}
	return Answer{Failed: "unknown request " + r.Op}, nil
}
