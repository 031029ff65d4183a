// Package rights proves on real API servers what each identity of understudy may do and what is
// refused to it: RBAC with least rights, the admission policies in every role of a hub (C1, C2),
// the doors of a worker (C11), and that a token is good on its own cluster only. Nothing of the
// product runs here but its manifests; the tokens are those that the pair hands to its processes.
//
// A row is one request and its wanted answer. Writes are dry runs, which pass authorization,
// validation and admission like others and change nothing, so rows need no order. Every refusal
// has its control: the same request by group understudy:break-glass must be accepted, else the
// row would prove only that the request is wrong.
package rights

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

// Wanted answers that several tables share: RBAC says "cannot", the policies say their own words.
const (
	accepted   = "ok"
	noRight    = "403 cannot"
	noGrant    = "403 attempting to grant"
	fenced     = "403 UNDERSTUDY_FENCE"
	notAllowed = "403 UNDERSTUDY_MIRROR"
	notBound   = "403 UNDERSTUDY_BINDING"
	// Nobody writes into the mirror when HubRole/self is missing: not even break-glass, because a
	// parameter is resolved before match conditions (C2).
	unknownRole = "422 no params found"
	stranger    = "401"
)

// atOnce is how many rows are asked at the same time.
const atOnce = 8

// Options of a run.
type Options struct {
	Root, Dir string // of the repository; for credentials
	Bed       *cluster.Bed
	Out       io.Writer
}

// account is one identity on one cluster; root is group understudy:break-glass there.
type account struct{ client, root *kube.Client }

type suite struct {
	Options
	pair     *pair.Pair
	accounts map[string]account
	failed   int
}

// Run installs everything and asks all rows. The error says how many were answered wrongly.
func Run(ctx context.Context, o Options) error {
	p, err := pair.New(o.Root, o.Dir, o.Bed, pair.FastLease)
	if err != nil {
		return err
	}
	if err := p.Bootstrap(ctx); err != nil {
		return err
	}
	s := &suite{Options: o, pair: p, accounts: map[string]account{}}
	if err := s.open(); err != nil {
		return err
	}
	for _, part := range []func(*suite, context.Context) error{
		(*suite).tokens, (*suite).populate, (*suite).exactRights, (*suite).hubRights, (*suite).witness,
		(*suite).hubRoles, (*suite).controllers, (*suite).bindings, (*suite).leaseAsParameter, (*suite).worker, (*suite).manifests,
	} {
		if err := part(s, ctx); err != nil {
			return err
		}
	}
	if s.failed > 0 {
		return fmt.Errorf("%d checks of rights failed", s.failed)
	}
	return nil
}

// row is one request of an account, in words, and the wanted answer: accepted, or a status code
// and a word of the message.
type row struct {
	as, what, want string
	request
}

// request is what is sent. A PUT carries an edit of the object as it is.
type request struct {
	method, path, contentType string
	body                      any // kube.Object, string, or func(kube.Object)
	real                      bool
}

func get(path string) request { return request{method: http.MethodGet, path: path} }

// watch ends by itself after a second.
func watch(path string) request {
	mark := "?"
	if strings.Contains(path, "?") {
		mark = "&"
	}
	return get(path + mark + "watch=1&timeoutSeconds=1")
}

func post(path string, o kube.Object) request {
	return request{http.MethodPost, path, "application/json", o, false}
}

func put(path string, edit func(kube.Object)) request {
	return request{http.MethodPut, path, "application/json", edit, false}
}

func merge(path string, o kube.Object) request {
	return request{http.MethodPatch, path, kube.MergePatch, o, false}
}

func jsonPatch(path, text string) request {
	return request{http.MethodPatch, path, kube.JSONPatch, text, false}
}

func apply(path string, o kube.Object) request {
	return request{http.MethodPatch, path + "?force=true&fieldManager=understudy", kube.ApplyPatch, o, false}
}

func remove(path string) request { return request{method: http.MethodDelete, path: path} }

// really makes the request a real one, for rows that are asked in their order.
func really(r request) request {
	r.real = true
	return r
}

// send asks once. root reads what a PUT changes, whoever asks.
func (r request) send(ctx context.Context, client, root *kube.Client) error {
	var body []byte
	var err error
	switch b := r.body.(type) {
	case string:
		body = []byte(b)
	case kube.Object:
		body, err = json.Marshal(b)
	case func(kube.Object):
		var o kube.Object
		if o, err = root.Get(ctx, r.path); err == nil {
			b(o)
			body, err = json.Marshal(o)
		}
	}
	if err != nil {
		return fmt.Errorf("test: %w", err)
	}
	path := r.path
	if r.method != http.MethodGet && !r.real {
		mark := "?"
		if strings.Contains(path, "?") {
			mark = "&"
		}
		path += mark + "dryRun=All"
	}
	// A kind that was defined a moment ago may not be ready yet; that is no answer.
	for end := time.Now().Add(patience); ; {
		_, err = client.Do(ctx, r.method, path, r.contentType, body)
		if !kube.IsCode(err, http.StatusTooManyRequests) || time.Now().After(end) || !kube.Pause(ctx, 100*time.Millisecond) {
			return err
		}
	}
}

// differs says how an answer differs from the wanted one, "" when it does not.
func differs(err error, want string) string {
	if want == accepted {
		if err != nil {
			return "refused: " + err.Error()
		}
		return ""
	}
	code, word, _ := strings.Cut(want, " ")
	number, _ := strconv.Atoi(code)
	var status *kube.StatusError
	if err == nil {
		return "accepted"
	}
	if !errors.As(err, &status) || status.Code != number || !strings.Contains(status.Message, word) {
		return "answered " + err.Error()
	}
	return ""
}

// ask judges one row: "" when all is as wanted.
func (s *suite) ask(ctx context.Context, r row) string {
	a, ok := s.accounts[r.as]
	if !ok {
		return "test: no account " + r.as
	}
	if wrong := differs(r.send(ctx, a.client, a.root), r.want); wrong != "" {
		return wrong
	}
	// 422 refuses the content, whoever sends it: its control is another row.
	if strings.HasPrefix(r.want, "403") {
		if err := r.send(ctx, a.root, a.root); err != nil {
			return "the control was refused, too: " + err.Error()
		}
	}
	return ""
}

// table asks independent rows, several at a time, and reports them in their order.
func (s *suite) table(ctx context.Context, name string, rows []row) {
	wrong := make([]string, len(rows))
	slots := make(chan struct{}, atOnce)
	var group sync.WaitGroup
	for i, r := range rows {
		slots <- struct{}{}
		group.Go(func() {
			wrong[i] = s.ask(ctx, r)
			<-slots
		})
	}
	group.Wait()
	for i, r := range rows {
		s.report(name+": "+r.as+" "+r.what+": "+r.want, wrong[i])
	}
}

// inOrder asks rows that build on each other.
func (s *suite) inOrder(ctx context.Context, name string, rows []row) {
	for _, r := range rows {
		r.request.real = true
		s.report(name+": "+r.as+" "+r.what+": "+r.want, s.ask(ctx, r))
	}
}

// report prints one check; wrong is "" when it passed.
func (s *suite) report(name, wrong string) {
	if wrong == "" {
		fmt.Fprintf(s.Out, "ok - rights: %s\n", name)
		return
	}
	s.failed++
	fmt.Fprintf(s.Out, "not ok - rights: %s: %s\n", name, strings.ReplaceAll(wrong, "\n", " "))
}
