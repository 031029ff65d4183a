package fault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
)

// Control serves a proxy's control socket: the words of a fault in, a line with the hits of the
// one before out. "hits" changes nothing; "disconnect" closes all connections and "freeze" silences
// them; both leave the fault as it is.
func (p *Proxy) Control(socket string) error {
	os.Remove(socket)
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(io.LimitReader(r.Body, 4096))
		hits := p.Hits()
		switch words := strings.Fields(string(text)); {
		case len(words) == 1 && words[0] == "hits":
		case len(words) == 1 && words[0] == "disconnect":
			p.Disconnect()
		case len(words) == 1 && words[0] == "freeze":
			p.Freeze()
		default:
			f, err := Parse(words)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			p.Set(f)
		}
		fmt.Fprintf(w, "%d\n", hits)
	}))
}

// Tell sends words to the control socket of a proxy in another process and returns its answer.
func Tell(ctx context.Context, socket string, words ...string) (string, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	body := bytes.NewBufferString(strings.Join(words, " "))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://proxy/", body)
	if err != nil {
		return "", err
	}
	reply, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	answer := strings.TrimSpace(string(text))
	if err == nil && reply.StatusCode != http.StatusOK {
		err = errors.New(answer)
	}
	return answer, err
}
