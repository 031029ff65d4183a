package fault

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"time"
)

// longestHold is how long an event waits for its neighbour to change places with.
const longestHold = 300 * time.Millisecond

// twist passes a watch on with its events repeated, out of order or mixed with old ones. The events
// that stand for a list, up to the bookmark that ends them, pass as they are: moved behind that
// bookmark one of them would be a lie that no client can see through, since the server promises
// that whatever has not come by then is not there.
func twist(ctx context.Context, from io.ReadCloser, kind Kind, initial bool) io.ReadCloser {
	reader, writer := io.Pipe()
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		source := bufio.NewReaderSize(from, 65536)
		for {
			line, err := source.ReadBytes('\n')
			if err != nil { // a line without its end is none
				return
			}
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
		}
	}()
	go func() {
		t := twister{kind: kind, out: writer, listing: initial}
		writer.CloseWithError(t.run(ctx, lines))
	}()
	return &piped{reader, from}
}

type twister struct {
	kind    Kind
	out     io.Writer
	listing bool     // the events stand for a list
	held    []byte   // Reorder: it waits for the next one
	past    [][]byte // Stale: what was sent
}

func (t *twister) run(ctx context.Context, lines <-chan []byte) error {
	for {
		var late <-chan time.Time
		if t.held != nil {
			late = time.After(longestHold)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			if err := t.let(nil); err != nil {
				return err
			}
		case line, more := <-lines:
			if !more {
				t.let(nil)
				return io.EOF
			}
			plain := t.listing || bytes.Contains(line, []byte(`"type":"ERROR"`))
			if bytes.Contains(line, []byte(`k8s.io/initial-events-end`)) {
				t.listing = false
			}
			if err := t.pass(line, plain); err != nil {
				return err
			}
		}
	}
}

func (t *twister) pass(line []byte, plain bool) error {
	if plain {
		return t.let(line)
	}
	switch t.kind {
	case Repeat:
		return t.let(append(bytes.Clone(line), line...))
	case Reorder:
		if t.held == nil {
			t.held = line
			return nil
		}
		// In one write: a client that loses the connection in between would have seen the
		// later version without the earlier event.
		held := t.held
		t.held = nil
		return t.let(append(bytes.Clone(line), held...))
	default:
		if bytes.Contains(line, []byte(`"type":"BOOKMARK"`)) {
			return t.let(line)
		}
		t.past = append(t.past, line)
		if len(t.past) > 50 {
			t.past = t.past[1:]
		}
		return t.let(append(bytes.Clone(line), t.past[rand.IntN(len(t.past))]...))
	}
}

// let writes what is held, then the line.
func (t *twister) let(line []byte) error {
	text := append(bytes.Clone(t.held), line...)
	t.held = nil
	if len(text) == 0 {
		return nil
	}
	_, err := t.out.Write(text)
	return err
}
