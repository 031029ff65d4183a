package fault

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"

	"understudy.test/bed/kube"
)

type faultKey struct{}

// change is called with each answer of the server and puts the fault of its request into the body.
func change(reply *http.Response) error {
	ctx := reply.Request.Context()
	f, ok := ctx.Value(faultKey{}).(Fault)
	if !ok {
		return nil
	}
	body := reply.Body
	switch f.Kind {
	case Cut:
		reply.Body = &short{ReadCloser: body, left: f.Bytes, end: func() error { return errors.New("cut") }}
	case Stall:
		reply.Body = &short{ReadCloser: body, left: f.Bytes, end: func() error {
			<-ctx.Done()
			return ctx.Err()
		}}
	case Drip:
		reply.Body = &drip{body, ctx, f}
	case Gzip:
		return pack(reply)
	case Edit:
		return editBody(reply, f)
	case FirstPage:
		return endList(reply)
	default:
		initial := reply.Request.URL.Query().Get("sendInitialEvents") == "true"
		reply.Body = twist(ctx, body, f.Kind, initial)
	}
	return nil
}

// short ends after its bytes; an error of end makes the reverse proxy abort the client's request.
type short struct {
	io.ReadCloser
	left int64
	end  func() error
}

func (s *short) Read(b []byte) (int, error) {
	if s.left == 0 {
		return 0, s.end()
	}
	n, err := s.ReadCloser.Read(b[:min(int64(len(b)), s.left)])
	s.left -= int64(n)
	return n, err
}

type drip struct {
	io.ReadCloser
	ctx   context.Context
	fault Fault
}

func (d *drip) Read(b []byte) (int, error) {
	if !kube.Pause(d.ctx, d.fault.Wait) {
		return 0, d.ctx.Err()
	}
	return d.ReadCloser.Read(b[:1])
}

// replace gives an answer another body.
func replace(reply *http.Response, body []byte) {
	reply.Body.Close()
	reply.Body = io.NopCloser(bytes.NewReader(body))
	reply.ContentLength = int64(len(body))
	reply.Header.Del("Content-Length")
}

// isWatch: such a body has no end that one could wait for.
func isWatch(r *http.Request) bool {
	query := r.URL.Query()
	return query.Get("watch") == "true" || query.Get("watch") == "1"
}

func pack(reply *http.Response) error {
	reply.Header.Set("Content-Encoding", "gzip")
	if isWatch(reply.Request) {
		from := reply.Body
		reader, writer := io.Pipe()
		packer := gzip.NewWriter(writer)
		go func() {
			buffer := make([]byte, 16384)
			for {
				n, err := from.Read(buffer)
				packer.Write(buffer[:n])
				packer.Flush()
				if err != nil {
					packer.Close()
					writer.CloseWithError(err)
					return
				}
			}
		}()
		reply.Body = &piped{reader, from}
		return nil
	}
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	packer := gzip.NewWriter(&packed)
	packer.Write(text)
	packer.Close()
	replace(reply, packed.Bytes())
	return nil
}

// piped closes both ends when the client has gone.
type piped struct {
	*io.PipeReader
	from io.Closer
}

func (p *piped) Close() error {
	p.PipeReader.Close()
	return p.from.Close()
}

// endList takes the continue token away and leaves everything else as it is, the count of the items
// that are missing, too, where the server says it.
func endList(reply *http.Response) error {
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return err
	}
	var list map[string]json.RawMessage
	var metadata map[string]json.RawMessage
	if json.Unmarshal(text, &list) == nil && json.Unmarshal(list["metadata"], &metadata) == nil {
		delete(metadata, "continue")
		list["metadata"], _ = json.Marshal(metadata)
		text, _ = json.Marshal(list)
	}
	replace(reply, text)
	return nil
}

// editBody reads the whole answer, which must be one JSON object, and gives out another one. Lists
// are entered by number; a way that does not exist is made of objects, or leads nowhere in a list.
func editBody(reply *http.Response, f Fault) error {
	var whole any
	numbers := json.NewDecoder(reply.Body)
	numbers.UseNumber()
	if err := numbers.Decode(&whole); err != nil {
		return err
	}
	text, err := json.Marshal(edited(whole, f.Field, f.Value))
	if err != nil {
		return err
	}
	replace(reply, text)
	return nil
}

func edited(at any, way []string, value any) any {
	if len(way) == 0 {
		return value
	}
	if list, ok := at.([]any); ok {
		if i, err := strconv.Atoi(way[0]); err == nil && i >= 0 && i < len(list) {
			list[i] = edited(list[i], way[1:], value)
		}
		return list
	}
	object, ok := at.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	if object[way[0]] = edited(object[way[0]], way[1:], value); object[way[0]] == nil {
		delete(object, way[0])
	}
	return object
}
