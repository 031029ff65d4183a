package fault

import (
	"context"
	"errors"
	"io"
	"net/http"
)

type cutKey struct{}

// withCut marks a request whose answer shall end after n bytes of its body.
func withCut(ctx context.Context, n int64) context.Context {
	return context.WithValue(ctx, cutKey{}, n)
}

// cutBody is called with each answer of the server: the copy of a marked one fails after its
// bytes, which makes the reverse proxy abort the client's request.
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
