package fault

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"sync/atomic"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
)

// Proxy is a running proxy. Its faults may be changed at any time.
type Proxy struct {
	target *url.URL
	server *http.Server
	proxy  *httputil.ReverseProxy
	silent *log.Logger

	mutex sync.Mutex
	plan  func(*http.Request) Fault
	fault Fault
	hits  int // requests that a fault met, since the last Set
	open  map[net.Conn]*connection
}

// New makes a proxy in front of target, whose certificate ca vouches for; certificate is what
// clients of the proxy see.
func New(target string, ca []byte, certificate tls.Certificate) (*Proxy, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("the CA holds no certificate in PEM")
	}
	p := &Proxy{target: to, open: map[net.Conn]*connection{}, fault: Fault{Kind: None}, silent: log.New(io.Discard, "", 0)}
	p.proxy = &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:      &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true},
		FlushInterval:  -1, // events of a watch pass at once
		ErrorLog:       p.silent,
		ModifyResponse: change,
		// A server that cannot be reached is no answer of the server.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = &http.Server{
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, c)
		},
		Handler:   http.HandlerFunc(p.serve),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
		ErrorLog:  p.silent,
		ConnState: p.track,
	}
	return p, nil
}

// Before makes the proxy of a cluster and listens where its clients look for it.
func Before(c *cluster.Cluster) (*Proxy, net.Listener, error) {
	ca, err := os.ReadFile(c.CAFile())
	if err != nil {
		return nil, nil, err
	}
	certificate, err := tls.LoadX509KeyPair(c.Path("pki", "server.crt"), c.Path("pki", "server.key"))
	if err != nil {
		return nil, nil, err
	}
	p, err := New(c.URL(), ca, certificate)
	if err != nil {
		return nil, nil, err
	}
	l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", c.Address, c.Port.Proxy))
	return p, l, err
}

// Serve runs the proxy on a listener until Close.
func (p *Proxy) Serve(l net.Listener) error {
	return p.server.ServeTLS(&listener{l, p}, "", "")
}

// Close ends the proxy and all its connections.
func (p *Proxy) Close() error {
	p.Disconnect()
	return p.server.Close()
}

// Set changes the fault for requests and connections from now on.
func (p *Proxy) Set(f Fault) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.fault, p.hits = f, 0
}

// Plan asks a function for the fault of each request that the one that is set does not concern; nil
// ends that. It is called by one goroutine at a time.
func (p *Proxy) Plan(plan func(*http.Request) Fault) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.plan = plan
}

// Hits counts the requests, and for Hang the connections, that the fault met since it was set.
func (p *Proxy) Hits() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.hits
}

// Disconnect closes every open connection, watches in their course and hung ones too.
func (p *Proxy) Disconnect() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for connection := range p.open {
		connection.Close()
		delete(p.open, connection)
	}
}

// Freeze makes every connection that is open now go silent for ever, both ways, while new ones work:
// a flow that a device on the way has forgotten.
func (p *Proxy) Freeze() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, c := range p.open {
		if c != nil {
			c.frozen.Store(true)
		}
	}
}

// connection is a client's. Frozen, it takes nothing in and lets nothing out until it is closed.
type connection struct {
	net.Conn
	frozen atomic.Bool
	gone   chan struct{}
	close  sync.Once
}

func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.frozen.Load() {
		return n, err
	}
	<-c.gone
	return 0, net.ErrClosed
}

func (c *connection) Write(b []byte) (int, error) {
	if c.frozen.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *connection) Close() error {
	c.close.Do(func() { close(c.gone) })
	return c.Conn.Close()
}

type connectionKey struct{}

// sever resets the connection of a request: what its other end has not read yet is lost, too.
func (p *Proxy) sever(r *http.Request) {
	client, _ := r.Context().Value(connectionKey{}).(net.Conn)
	if c := below(client); c != nil {
		c.Conn.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
}

func (p *Proxy) track(client net.Conn, state http.ConnState) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	switch state {
	case http.StateNew:
		p.open[client] = below(client)
	case http.StateClosed, http.StateHijacked:
		delete(p.open, client)
	}
}

// below is our connection under the server's TLS, nil for one that hangs.
func below(client net.Conn) *connection {
	if over, ok := client.(*tls.Conn); ok {
		client = over.NetConn()
	}
	c, _ := client.(*connection)
	return c
}

// take is the fault that meets this request, nil for a connection.
func (p *Proxy) take(r *http.Request) Fault {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	f := p.fault
	if r == nil && f.Kind != Hang || r != nil && !f.concerns(r) {
		if p.plan != nil && r != nil {
			return p.plan(r)
		}
		return Fault{Kind: None}
	}
	p.hits++
	if f.Times > 0 && p.hits >= f.Times {
		p.fault = Fault{Kind: None}
	}
	return f
}

// listener keeps connections from the server while they shall hang.
type listener struct {
	net.Listener
	proxy *Proxy
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		client, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.proxy.take(nil).Kind != Hang {
			return &connection{Conn: client, gone: make(chan struct{})}, nil
		}
		l.proxy.track(client, http.StateNew)
	}
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	f := p.take(r)
	switch f.Kind {
	case Hang:
		<-r.Context().Done()
	case Drop, Reset:
		p.proxy.ServeHTTP(&swallow{http.Header{}}, r)
		if f.Kind == Drop {
			<-r.Context().Done()
		}
		panic(http.ErrAbortHandler)
	case Sever:
		p.sever(r)
		panic(http.ErrAbortHandler)
	case Status, HTML, Redirect:
		answer(w, f)
	case Delay:
		if kube.Pause(r.Context(), f.Wait) {
			p.proxy.ServeHTTP(w, r)
		}
	case Cut, Stall, Drip, Gzip, Edit, Repeat, Reorder, Stale, FirstPage:
		r.Header.Del("Accept-Encoding") // a packed answer cannot be changed
		p.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), faultKey{}, f)))
	default:
		p.proxy.ServeHTTP(w, r)
	}
}

func answer(w http.ResponseWriter, f Fault) {
	if f.Kind == HTML {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Code)
		fmt.Fprintf(w, "<html><body><h1>%d %s</h1></body></html>\n", f.Code, http.StatusText(f.Code))
		return
	}
	if f.Kind == Redirect {
		// Nobody listens there, and whoever follows takes a credential along.
		w.Header().Set("Location", "https://127.0.0.1:1/")
		w.WriteHeader(f.Code)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	w.WriteHeader(f.Code)
	json.NewEncoder(w).Encode(map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": f.Code,
		"reason": reasons[f.Code], "message": "a fault of the test bed",
	})
}

var reasons = map[int]string{
	401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 410: "Expired", 422: "Invalid",
	429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout",
}

// swallow takes the server's whole answer and lets nothing through.
type swallow struct{ header http.Header }

func (s *swallow) Header() http.Header         { return s.header }
func (s *swallow) WriteHeader(int)             {}
func (s *swallow) Write(b []byte) (int, error) { return len(b), nil }
