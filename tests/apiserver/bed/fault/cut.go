package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
)

type cutKey struct{}

// withCut marks a request whose answer shall end after n bytes of its body.
func withCut(ctx context.Context, n int64) context.Context {
	return context.WithValue(ctx, cutKey{}, n)
}

type editKey struct{}

// withEdit marks a request in whose answer a field shall be another one.
func withEdit(ctx context.Context, f Fault) context.Context {
	return context.WithValue(ctx, editKey{}, f)
}

// changeBody is called with each answer of the server.
func changeBody(reply *http.Response) error {
	if f, ok := reply.Request.Context().Value(editKey{}).(Fault); ok {
		return editBody(reply, f)
	}
	return cutBody(reply)
}

// editBody reads the whole answer, which must be one JSON object, and gives out another one.
func editBody(reply *http.Response, f Fault) error {
	defer reply.Body.Close()
	var whole map[string]any
	numbers := json.NewDecoder(reply.Body)
	numbers.UseNumber()
	if err := numbers.Decode(&whole); err != nil {
		return err
	}
	at, last := whole, f.Field[len(f.Field)-1]
	for _, name := range f.Field[:len(f.Field)-1] {
		next, ok := at[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[name] = next
		}
		at = next
	}
	if at[last] = f.Value; f.Value == nil {
		delete(at, last)
	}
	text, err := json.Marshal(whole)
	if err != nil {
		return err
	}
	reply.Body = io.NopCloser(bytes.NewReader(text))
	reply.ContentLength = int64(len(text))
	reply.Header.Set("Content-Length", strconv.Itoa(len(text)))
	return nil
}

// cutBody makes the copy of a marked answer fail after its bytes, which makes the reverse proxy
// abort the client's request.
func cutBody(reply *http.Response) error {
	if n, ok := reply.Request.Context().Value(cutKey{}).(int64); ok {
		reply.Body = &short{reply.Body, n}
	}
	return nil
}

type short struct {
	io.ReadCloser
	left int64
}

func (s *short) Read(b []byte) (int, error) {
	if s.left == 0 {
		return 0, errors.New("cut")
	}
	n, err := s.ReadCloser.Read(b[:min(int64(len(b)), s.left)])
	s.left -= int64(n)
	return n, err
}
