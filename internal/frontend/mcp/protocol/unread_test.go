package protocol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"
)

// A client that does not read what it is sent, as one that was stopped, holds
// up neither the work of a tool nor the end of the server.
func TestUnread(t *testing.T) {
	for _, end := range []string{"its input ends", "it is told to end"} {
		t.Run(end, func(t *testing.T) {
			worked, over := make(chan int), make(chan error, 1)
			s := testServer(nil)
			s.Tools = append(s.Tools, NewTool("steps", "works", Hints{}, func(ctx context.Context, r *Request, _ struct{}) (*Result, struct{}, error) {
				for i := range 3 {
					r.Progress(float64(i), "a step")
					worked <- i
				}
				<-ctx.Done()
				return nil, struct{}{}, ctx.Err()
			}))
			in, toServer := io.Pipe()
			_, out := io.Pipe() // nobody reads
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			go func() {
				w := &firstOnly{out: out, first: make(chan struct{})}
				over <- s.Serve(ctx, in, w)
			}()
			send := func(line string) {
				t.Helper()
				if _, err := io.WriteString(toServer, line+"\n"); err != nil {
					t.Fatal(err)
				}
			}
			send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}`)
			send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"steps","_meta":{"progressToken":"p"}}}`)
			for i := range 3 {
				select {
				case <-worked:
				case <-time.After(10 * time.Second):
					t.Fatalf("the tool waits for the client to read its progress, at step %d", i)
				}
			}
			for i := range 5 {
				send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, 10+i))
			}
			if end == "its input ends" {
				toServer.Close()
			} else {
				send(`nothing that is JSON, which is answered where lines are read`)
				stop()
			}
			select {
			case err := <-over:
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("the server ended with %v", err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("the server waits for a client that does not read")
			}
		})
	}
}

// firstOnly takes the first line, the answer to the handshake.
type firstOnly struct {
	out   io.Writer
	first chan struct{}
}

func (w *firstOnly) Write(b []byte) (int, error) {
	select {
	case <-w.first:
		return w.out.Write(b)
	default:
		close(w.first)
		return len(b), nil
	}
}
