// Goal: each fault does to a client what its name says, to the requests that it names and to no
// others, and the server behind sees what it must. Method: a small TLS server behind the proxy.
package fault

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// patience is far beyond what an answer takes; quiet is how long it is waited for one that must not come.
const (
	patience = time.Minute
	quiet    = 800 * time.Millisecond
)

type bench struct {
	proxy  *Proxy
	url    string
	client *http.Client
	seen   atomic.Int32 // requests that reached the server
	token  atomic.Value
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.seen.Add(1)
		b.token.Store(r.Header.Get("Authorization"))
		switch {
		case isWatch(r):
			b.events(w, r)
		case r.URL.Query().Get("limit") != "":
			io.WriteString(w, `{"kind":"List","metadata":{"continue":"t","remainingItemCount":2,"n":9007199254740993},"items":[{}]}`)
		case r.URL.Path == "/json":
			io.WriteString(w, `{"spec":{"renewTime":"now","n":9007199254740993},"x.y/z":{}}`)
		case r.URL.Path == "/list":
			io.WriteString(w, `{"items":[{"metadata":{}},{"metadata":{}}]}`)
		default:
			io.WriteString(w, strings.Repeat("x", 100))
		}
	}))
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	p, err := New(server.URL, ca, server.TLS.Certificates[0])
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go p.Serve(l)
	t.Cleanup(func() { p.Close() })
	b.proxy, b.url = p, "https://"+l.Addr().String()
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: transport.TLSClientConfig.RootCAs}
	transport.ForceAttemptHTTP2 = true
	b.client = &http.Client{Transport: transport}
	t.Cleanup(transport.CloseIdleConnections)
	return b
}

// events is a watch of six events behind the initial ones, if these were asked for.
func (b *bench) events(w http.ResponseWriter, r *http.Request) {
	flush := func() { w.(http.Flusher).Flush() }
	if r.URL.Query().Get("sendInitialEvents") != "" {
		io.WriteString(w, event("ADDED", "i")+event("ADDED", "j")+
			`{"type":"BOOKMARK","object":{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}},"n":"end"}}`+"\n")
	}
	for _, n := range []string{"1", "2", "3", "4", "5", "6"} {
		io.WriteString(w, event("MODIFIED", n))
		flush()
	}
	if r.URL.Query().Get("open") != "" {
		<-r.Context().Done()
	}
}

func event(kind, n string) string { return `{"type":"` + kind + `","object":{"n":"` + n + `"}}` + "\n" }

// order is what a body says, one character an event.
func order(text string) string {
	var all strings.Builder
	for line := range strings.Lines(text) {
		_, rest, _ := strings.Cut(line, `"n":"`)
		n, _, _ := strings.Cut(rest, `"`)
		all.WriteString(n)
	}
	return all.String()
}

func (b *bench) set(t *testing.T, words string) {
	t.Helper()
	f, err := Parse(strings.Fields(words))
	if err != nil {
		t.Fatal(err)
	}
	b.proxy.Set(f)
}

func (b *bench) get(path string) (*http.Response, string, error) { return b.within(patience, path) }

// silent says whether there is no answer.
func (b *bench) silent(path string) error {
	if _, _, err := b.within(quiet, path); !timedOut(err) {
		return fmt.Errorf("%v, want silence", err)
	}
	return nil
}

// halts reads so many bytes of a body, and demands that then nothing comes any more, its end neither.
func (b *bench) halts(path string, bytes int) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, b.url+path, nil)
	reply, err := b.client.Do(request)
	if err != nil {
		return "", err
	}
	defer reply.Body.Close()
	text := make([]byte, bytes)
	if n, err := io.ReadFull(reply.Body, text); err != nil {
		return string(text[:n]), err
	}
	defer time.AfterFunc(quiet, cancel).Stop()
	if more, err := io.ReadAll(reply.Body); len(more) > 0 || !errors.Is(err, context.Canceled) {
		return string(text) + string(more), fmt.Errorf("%d bytes more, %v, want silence", len(more), err)
	}
	return string(text), nil
}

func (b *bench) within(d time.Duration, path string) (*http.Response, string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, b.url+path, nil)
	request.Header.Set("Authorization", "Bearer secret")
	reply, err := b.client.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	return reply, string(text), err
}

func timedOut(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

func TestWithoutAFaultTheServerAnswers(t *testing.T) {
	b := newBench(t)
	reply, text, err := b.get("/a")
	if err != nil || reply.StatusCode != 200 || len(text) != 100 || b.token.Load() != "Bearer secret" {
		t.Fatalf("%v, %d bytes, authorization %v", err, len(text), b.token.Load())
	}
}

func TestStatusIsAnsweredHereForTheNamedRequestsOnly(t *testing.T) {
	b := newBench(t)
	b.set(t, "status 429 retry-after=7 method=GET path=/leases times=2")
	for range 2 {
		reply, text, err := b.get("/leases/x")
		if err != nil || reply.StatusCode != 429 || reply.Header.Get("Retry-After") != "7" || !strings.Contains(text, `"TooManyRequests"`) {
			t.Fatalf("%v: %v %s", err, reply, text)
		}
		if reply, _, err := b.get("/other"); err != nil || reply.StatusCode != 200 {
			t.Fatalf("another path: %v %v", err, reply)
		}
	}
	if reply, _, err := b.get("/leases/x"); err != nil || reply.StatusCode != 200 {
		t.Fatalf("after its times: %v %v", err, reply)
	}
	if b.seen.Load() != 3 || b.proxy.Hits() != 2 {
		t.Errorf("the server saw %d requests, want 3; hits %d, want 2", b.seen.Load(), b.proxy.Hits())
	}
}

func TestHTMLComesWith200(t *testing.T) {
	b := newBench(t)
	b.set(t, "html 200")
	reply, text, err := b.get("/")
	if err != nil || reply.StatusCode != 200 || !strings.HasPrefix(text, "<html>") || b.seen.Load() != 0 {
		t.Errorf("%v %v %q", err, reply, text)
	}
}

func TestDropAndResetLoseTheAnswerOfAnAppliedRequest(t *testing.T) {
	b := newBench(t)
	b.set(t, "drop times=1")
	if err := b.silent("/"); err != nil {
		t.Errorf("drop: %v", err)
	}
	b.set(t, "reset times=1")
	if _, _, err := b.get("/"); err == nil || timedOut(err) {
		t.Errorf("reset: %v, want an error at once", err)
	}
	if b.seen.Load() != 2 {
		t.Errorf("the server saw %d requests, want both", b.seen.Load())
	}
}

func TestCutEndsTheBodyAtTheByte(t *testing.T) {
	b := newBench(t)
	b.set(t, "cut 40 times=1")
	reply, text, err := b.get("/")
	if reply == nil || len(text) != 40 || err == nil {
		t.Errorf("%v, %d bytes, want 40 and an error", err, len(text))
	}
}

func TestDelayPassesOnLater(t *testing.T) {
	b := newBench(t)
	b.set(t, "delay 50ms")
	begin := time.Now()
	if reply, _, err := b.get("/"); err != nil || reply.StatusCode != 200 || time.Since(begin) < 50*time.Millisecond {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	b.set(t, "delay 10s times=1")
	if err := b.silent("/"); err != nil {
		t.Error(err)
	}
}

func TestHangAcceptsAndServesNobody(t *testing.T) {
	b := newBench(t)
	if _, _, err := b.get("/"); err != nil { // leaves an open connection
		t.Fatal(err)
	}
	b.set(t, "hang")
	if err := b.silent("/"); err != nil {
		t.Errorf("on an open connection: %v", err)
	}
	b.client.CloseIdleConnections()
	if err := b.silent("/"); err != nil {
		t.Errorf("on a new connection: %v", err)
	}
	b.set(t, "none")
	b.proxy.Disconnect()
	// A connection that a timed-out request just left may not count as idle yet: a new pool.
	b.client.Transport = b.client.Transport.(*http.Transport).Clone()
	if _, _, err := b.get("/"); err != nil {
		t.Errorf("after the fault: %v", err)
	}
	if b.seen.Load() != 2 {
		t.Errorf("the server saw %d requests, want 2", b.seen.Load())
	}
}

func TestEditChangesOneFieldOfAnAnswer(t *testing.T) {
	b := newBench(t)
	for words, want := range map[string]string{
		"edit /spec/renewTime=5":            `{"spec":{"n":9007199254740993,"renewTime":5},"x.y/z":{}}`,
		"edit /spec/renewTime=null":         `{"spec":{"n":9007199254740993},"x.y/z":{}}`,
		`edit /x.y~1z/a~0=["b"] path=/json`: `{"spec":{"n":9007199254740993,"renewTime":"now"},"x.y/z":{"a~":["b"]}}`,
	} {
		b.set(t, words)
		if _, text, err := b.get("/json"); err != nil || text != want {
			t.Errorf("%s: %v %s, want %s", words, err, text, want)
		}
	}
	for words, want := range map[string]string{
		"edit /items=[]":              `{"items":[]}`,
		"edit /items/1/metadata=null": `{"items":[{"metadata":{}},{}]}`,
		"edit /items/7/metadata=null": `{"items":[{"metadata":{}},{"metadata":{}}]}`,
		"edit /items/0=7":             `{"items":[7,{"metadata":{}}]}`,
	} {
		b.set(t, words)
		if _, text, err := b.get("/list"); err != nil || text != want {
			t.Errorf("%s: %v %s, want %s", words, err, text, want)
		}
	}
	if _, err := Parse([]string{"edit", "spec=1"}); err == nil {
		t.Error("a pointer without / is taken")
	}
}

func TestFreezeSilencesWhatIsOpenAndNothingElse(t *testing.T) {
	b := newBench(t)
	if _, _, err := b.get("/"); err != nil {
		t.Fatal(err)
	}
	b.proxy.Freeze()
	if err := b.silent("/"); err != nil {
		t.Errorf("on the old connection: %v", err)
	}
	b.client.Transport = b.client.Transport.(*http.Transport).Clone()
	if _, _, err := b.get("/"); err != nil {
		t.Errorf("on a new connection: %v", err)
	}
	b.proxy.Disconnect()
}

func TestAStalledBodyNeverEnds(t *testing.T) {
	b := newBench(t)
	b.set(t, "stall 40 times=1")
	if text, err := b.halts("/", 40); err != nil {
		t.Errorf("%v after %d bytes, want 40 and then silence", err, len(text))
	}
}

func TestASeveredConnectionTakesItsOtherRequestsAlong(t *testing.T) {
	b := newBench(t)
	other := make(chan error)
	go func() {
		request, _ := http.NewRequest(http.MethodGet, b.url+"/w?watch=true&open=1", nil)
		reply, err := b.client.Do(request)
		if err == nil {
			other <- nil
			_, err = io.ReadAll(reply.Body)
		}
		other <- err
	}()
	if err := <-other; err != nil {
		t.Fatal(err)
	}
	b.set(t, "sever path=/bad times=1")
	if _, _, err := b.get("/bad"); err == nil || timedOut(err) {
		t.Errorf("%v, want an error at once", err)
	}
	if err := <-other; err == nil {
		t.Error("the other request of the connection came to a good end")
	}
	if _, _, err := b.get("/"); err != nil || b.seen.Load() != 2 {
		t.Errorf("afterwards: %v; the server saw %d requests, want 2", err, b.seen.Load())
	}
}

func TestARedirectLeadsNowhere(t *testing.T) {
	b := newBench(t)
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	b.set(t, "redirect 302")
	reply, _, err := b.get("/")
	if err != nil || reply.StatusCode != 302 || reply.Header.Get("Location") == "" || b.seen.Load() != 0 {
		t.Errorf("%v %v", err, reply)
	}
}

func TestGzipComesUnasked(t *testing.T) {
	b := newBench(t)
	b.client.Transport.(*http.Transport).DisableCompression = true
	b.set(t, "gzip")
	for path, want := range map[string]string{"/": strings.Repeat("x", 100), "/?watch=true": "123456"} {
		reply, text, err := b.get(path)
		if err != nil || reply.Header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("%s: %v %v", path, err, reply)
		}
		unpacked, err := gzip.NewReader(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(unpacked)
		if got := string(plain); err != nil || got != want && order(got) != want {
			t.Errorf("%s: %v %q", path, err, got)
		}
	}
}

func TestADripIsSlow(t *testing.T) {
	b := newBench(t)
	b.set(t, "drip 1ms")
	begin := time.Now()
	if _, text, err := b.get("/"); err != nil || len(text) != 100 || time.Since(begin) < 100*time.Millisecond {
		t.Errorf("%v, %d bytes after %v", err, len(text), time.Since(begin))
	}
	b.set(t, "drip 1h")
	if err := b.silent("/"); err != nil {
		t.Error(err)
	}
}

func TestEventsAreTwistedBehindTheInitialOnes(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct{ fault, query, want string }{
		{"none", "", "123456"},
		{"repeat", "", "112233445566"},
		{"reorder", "", "214365"},
		{"repeat", "&sendInitialEvents=true", "ijend112233445566"},
		{"reorder", "&sendInitialEvents=true", "ijend214365"},
	} {
		b.set(t, c.fault)
		if _, text, err := b.get("/?watch=true" + c.query); err != nil || order(text) != c.want {
			t.Errorf("%s%s: %v %q, want %q", c.fault, c.query, err, order(text), c.want)
		}
	}
	b.set(t, "stale")
	_, text, err := b.get("/?watch=true")
	got := order(text)
	if err != nil || len(got) != 12 {
		t.Fatalf("stale: %v %q", err, got)
	}
	for i := range 6 {
		if got[2*i] != byte('1'+i) || got[2*i+1] > got[2*i] {
			t.Errorf("stale: %q, want each event and behind it one that is no newer", got)
		}
	}
	b.set(t, "reorder")
	if text, err := b.halts("/?watch=true&open=1", 6*len(event("MODIFIED", "1"))); err != nil || order(text) != "214365" {
		t.Errorf("an open watch: %v %q", err, order(text))
	}
	b.set(t, "repeat")
	if _, text, err := b.get("/"); err != nil || len(text) != 100 || b.proxy.Hits() != 0 {
		t.Errorf("what is no watch: %v, %d bytes, %d hits", err, len(text), b.proxy.Hits())
	}
}

func TestAListLosesItsSecondPage(t *testing.T) {
	b := newBench(t)
	b.set(t, "firstpage")
	_, text, err := b.get("/?limit=1")
	if err != nil || strings.Contains(text, "continue") || !strings.Contains(text, `"remainingItemCount":2`) ||
		!strings.Contains(text, "9007199254740993") {
		t.Errorf("%v %s", err, text)
	}
	if _, text, err := b.get("/?limit=1&continue=t"); err != nil || !strings.Contains(text, "continue") || b.proxy.Hits() != 1 {
		t.Errorf("a later page: %v %s, %d hits", err, text, b.proxy.Hits())
	}
}

func TestAPlanMeetsEachRequestThatNoFaultConcerns(t *testing.T) {
	b := newBench(t)
	b.proxy.Plan(func(r *http.Request) Fault {
		if r.URL.Path == "/a" {
			return Fault{Kind: Status, Code: 503}
		}
		return Fault{Kind: None}
	})
	b.set(t, "status 429 path=/b")
	for path, want := range map[string]int{"/a": 503, "/b": 429, "/c": 200} {
		if reply, _, err := b.get(path); err != nil || reply.StatusCode != want {
			t.Errorf("%s: %v %v, want %d", path, err, reply, want)
		}
	}
	b.proxy.Plan(nil)
	if reply, _, err := b.get("/a"); err != nil || reply.StatusCode != 200 {
		t.Errorf("after the plan: %v %v", err, reply)
	}
}

func TestTheControlSocketTakesWords(t *testing.T) {
	b := newBench(t)
	socket := filepath.Join(t.TempDir(), "s")
	go b.proxy.Control(socket)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		hits, err := Tell(ctx, socket, "status", "503")
		if err == nil && hits == "0" {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("%q %v", hits, err)
		}
	}
	if reply, _, err := b.get("/"); err != nil || reply.StatusCode != 503 {
		t.Errorf("%v %v", err, reply)
	}
	if hits, err := Tell(ctx, socket, "hits"); err != nil || hits != "1" {
		t.Errorf("hits %q %v, want 1", hits, err)
	}
	if _, err := Tell(ctx, socket, "explode"); err == nil {
		t.Error("a fault that is none was taken")
	}
}

func TestParseRefusesWhatIsNoFault(t *testing.T) {
	for _, text := range []string{"", "explode", "status", "status x", "status 42", "cut", "cut -1", "delay soon",
		"none times", "stall", "drip", "redirect", "sever 3", "reorder times=x", "none times=x", "hang retry-after=2", "drop now=yes"} {
		if f, err := Parse(strings.Fields(text)); err == nil {
			t.Errorf("%q: %+v, want an error", text, f)
		}
	}
}
