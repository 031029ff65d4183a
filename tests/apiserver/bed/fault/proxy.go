package fault

import (
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
	"sync"

	"understudy.test/bed/kube"
)

// Proxy is a running proxy. Its faults may be changed at any time.
type Proxy struct {
	target *url.URL
	server *http.Server
	proxy  *httputil.ReverseProxy
	silent *log.Logger

	mutex sync.Mutex
	fault Fault
	hits  int // requests that a fault met, since the last Set
	open  map[net.Conn]bool
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
	p := &Proxy{target: to, open: map[net.Conn]bool{}, fault: Fault{Kind: None}, silent: log.New(io.Discard, "", 0)}
	p.proxy = &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:      &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true},
		FlushInterval:  -1, // events of a watch pass at once
		ErrorLog:       p.silent,
		ModifyResponse: cutBody,
		// A server that cannot be reached is no answer of the server.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = &http.Server{
		Handler:   http.HandlerFunc(p.serve),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
		ErrorLog:  p.silent,
		ConnState: p.track,
	}
	return p, nil
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

func (p *Proxy) track(connection net.Conn, state http.ConnState) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	switch state {
	case http.StateNew:
		p.open[connection] = true
	case http.StateClosed, http.StateHijacked:
		delete(p.open, connection)
	}
}

// take is the fault that meets this request, nil for a connection.
func (p *Proxy) take(r *http.Request) Fault {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	f := p.fault
	if r == nil && f.Kind != Hang || r != nil && !f.concerns(r) {
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
		connection, err := l.Listener.Accept()
		if err != nil || l.proxy.take(nil).Kind != Hang {
			return connection, err
		}
		l.proxy.track(connection, http.StateNew)
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
	case Status, HTML:
		answer(w, f)
	case Delay:
		if kube.Pause(r.Context(), f.Wait) {
			p.proxy.ServeHTTP(w, r)
		}
	case Cut:
		p.proxy.ServeHTTP(w, r.WithContext(withCut(r.Context(), f.Bytes)))
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
