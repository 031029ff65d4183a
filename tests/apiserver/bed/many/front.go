// Package many measures a hub with two hundred worker clusters. One real API server is all of them:
// each worker has an address of its own, and a proxy behind that address keeps the workers' objects
// apart by their names, so that every request is a request to a real server and every write a write.
// It prints figures and must not know how the product works.
package many

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"

	"understudy.test/bed/cluster"
)

// front is one worker's address in front of the server that all share.
type front struct {
	name, address string
	listener      net.Listener
	server        *http.Server
	mutex         sync.Mutex
	open          map[net.Conn]bool
	held          []net.Conn // of the filled queue
	hole          context.Context
	dig           context.CancelFunc
}

// fronts are all workers, at 127.1.0.1 and so on.
type fronts struct {
	port  int
	proxy *httputil.ReverseProxy
	all   []*front
}

type nameKey struct{}

// newFronts starts to listen for n workers in front of a cluster.
func newFronts(c *cluster.Cluster, n int) (*fronts, error) {
	ca, err := os.ReadFile(c.CAFile())
	if err != nil {
		return nil, err
	}
	certificate, err := tls.LoadX509KeyPair(c.Path("pki", "server.crt"), c.Path("pki", "server.key"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("no CA")
	}
	to, err := url.Parse(c.URL())
	if err != nil {
		return nil, err
	}
	f := &fronts{port: c.Port.Proxy}
	silent := log.New(io.Discard, "", 0)
	f.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			rename(r.Out, r.In.Context().Value(nameKey{}).(string))
		},
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true},
		FlushInterval: -1,
		ErrorLog:      silent,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	for i := range n {
		w := &front{name: fmt.Sprintf("w-%d", i+1), address: fmt.Sprintf("127.1.%d.%d", (i+1)/250, (i+1)%250+1), open: map[net.Conn]bool{}}
		w.hole, w.dig = context.WithCancel(context.Background())
		if w.listener, err = net.Listen("tcp", w.at(f.port)); err != nil {
			return nil, err
		}
		w.server = &http.Server{
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
			ErrorLog:  silent,
			ConnState: w.track,
			Handler: http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
				if w.hole.Err() == nil {
					f.proxy.ServeHTTP(out, in.WithContext(context.WithValue(in.Context(), nameKey{}, w.name)))
				} else {
					<-in.Context().Done()
				}
			}),
		}
		go w.server.ServeTLS(w.listener, "", "")
		f.all = append(f.all, w)
	}
	return f, nil
}

func (w *front) at(port int) string { return fmt.Sprintf("%s:%d", w.address, port) }

func (w *front) track(connection net.Conn, state http.ConnState) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	switch state {
	case http.StateNew:
		w.open[connection] = true
	case http.StateClosed, http.StateHijacked:
		delete(w.open, connection)
	}
}

// rename turns the names that every worker has into this worker's.
func rename(r *http.Request, name string) {
	r.URL.Path = strings.Replace(r.URL.Path, "/clustercontrollers/active", "/clustercontrollers/"+name, 1)
	if at := strings.Index(r.URL.Path, "/hubprobes/"); at >= 0 {
		r.URL.Path += "-" + name
	}
	r.URL.RawPath = ""
	query := r.URL.Query()
	if query.Get("fieldSelector") == "metadata.name=active" {
		query.Set("fieldSelector", "metadata.name="+name)
		r.URL.RawQuery = query.Encode()
	}
	if r.Method != http.MethodPatch {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	body = bytes.Replace(body, []byte(`"name":"active"`), []byte(`"name":"`+name+`"`), 1)
	if strings.Contains(r.URL.Path, "/hubprobes/") {
		body = bytes.Replace(body, []byte(`"},"spec"`), []byte(`-`+name+`"},"spec"`), 1)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
}

// blackHole makes a worker silent: what is open stays open and carries nothing more. A new connection
// is accepted and never served, or finds a queue that is full, so that not even its first packet
// is answered.
func (w *front) blackHole(port int, full bool) error {
	w.dig()
	w.listener.Close()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	at := &syscall.SockaddrInet4{Port: port}
	copy(at.Addr[:], net.ParseIP(w.address).To4())
	if err := syscall.Bind(fd, at); err != nil {
		return err
	}
	backlog := 128
	if full {
		backlog = 0
	}
	if err := syscall.Listen(fd, backlog); err != nil {
		return err
	}
	if full { // one waits in the queue, and there is no second place
		connection, err := net.Dial("tcp", w.at(port))
		if err != nil {
			return err
		}
		w.held = append(w.held, connection)
	}
	return nil
}

// Close ends all of them.
func (f *fronts) Close() {
	for _, w := range f.all {
		w.server.Close()
	}
}
