package workers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

var active = pair.Controllers.Path("", "active")

// told is nil when a worker is told to follow a hub, for which term it returns.
func told(ctx context.Context, w *pair.Worker, h *pair.Hub) (int64, error) {
	o, err := w.Admin.Get(ctx, active)
	if err != nil {
		return 0, err
	}
	if o.Text("spec", "identity") != h.Name || o.Text("spec", "endpoint") != h.Cluster.URL() {
		return 0, fmt.Errorf("it is told %s at %s, term %d, not %s", o.Text("spec", "identity"),
			o.Text("spec", "endpoint"), o.Int("spec", "term"), h.Name)
	}
	return o.Int("spec", "term"), nil
}

// follows is nil when a worker says itself, in the object and in what it hands over, that it follows
// a hub, and for the term that it is told.
func follows(ctx context.Context, w *pair.Worker, h *pair.Hub) error {
	if err := w.Fault(); err != nil {
		return err
	}
	o, err := w.Admin.Get(ctx, active)
	if err != nil {
		return err
	}
	if _, err := told(ctx, w, h); err != nil {
		return err
	}
	connected := condition(o, "ControllerConnected")
	if bare(o.Text("status", "connectedEndpoint")) != h.Cluster.URL() || !strings.HasPrefix(connected, "True ") {
		return fmt.Errorf("it is connected to %q: %s", o.Text("status", "connectedEndpoint"), connected)
	}
	if c := condition(o, "ControllerEndpointSynced"); c != "True EndpointUpToDate" {
		return fmt.Errorf("ControllerEndpointSynced is %s", c)
	}
	if observed := o.Int("status", "observedTerm"); observed != o.Int("spec", "term") {
		return fmt.Errorf("it has observed term %d of %d", observed, o.Int("spec", "term"))
	}
	return handed(w, h, o.Int("spec", "term"))
}

// keeps is nil while a worker stays with a hub, for longer than one look: it is told so, hands it over, and
// neither the hub nor its certificate was found wrong. A look may be late on a busy machine.
func keeps(ctx context.Context, w *pair.Worker, h *pair.Hub) error {
	term, err := told(ctx, w, h)
	if err != nil {
		return err
	}
	return errors.Join(w.Fault(), handed(w, h, term), hasNot(ctx, w, "ControllerConnected", "False Refused"),
		hasNot(ctx, w, "ControllerConnected", "False CertVerificationFailed"))
}

// handed is nil when the worker's software reads that hub and that term.
func handed(w *pair.Worker, h *pair.Hub, term int64) error {
	if bare(w.Handed("endpoint")) != h.Cluster.URL() || w.Handed("term") != strconv.FormatInt(term, 10) {
		return fmt.Errorf("it hands over %s with term %s, not %s with %d", w.Handed("endpoint"), w.Handed("term"), h.Name, term)
	}
	return nil
}

// bare is an endpoint without the slash with which one of the workers spells it.
func bare(endpoint string) string { return strings.TrimSuffix(endpoint, "/") }

// condition is "STATUS REASON" of one condition, "" when it is not there.
func condition(o kube.Object, kind string) string {
	for _, c := range o.List("status", "conditions") {
		m, _ := c.(map[string]any)
		if m["type"] == kind {
			return fmt.Sprintf("%v %v", m["status"], m["reason"])
		}
	}
	return ""
}

// hasNot is nil unless a condition of the worker's object is that one; has, when it is.
func hasNot(ctx context.Context, w *pair.Worker, kind, unwanted string) error {
	o, err := w.Admin.Get(ctx, active)
	if err == nil && condition(o, kind) == unwanted {
		err = fmt.Errorf("%s is %q", kind, unwanted)
	}
	return err
}

func has(ctx context.Context, w *pair.Worker, kind, want string) error {
	o, err := w.Admin.Get(ctx, active)
	if err != nil {
		return err
	}
	if got := condition(o, kind); got != want {
		return fmt.Errorf("%s is %q, not %q", kind, got, want)
	}
	return nil
}

// holds is has for a while: a try that got no answer in time, as on a busy machine, says nothing else.
func holds(ctx context.Context, w *pair.Worker, long time.Duration, kind, want string) error {
	return errors.Join(stays(ctx, long, func() error {
		err := has(ctx, w, kind, want)
		if err != nil && hasNot(ctx, w, kind, "False Unreachable") != nil {
			return nil
		}
		return err
	}), see.Eventually(ctx, patience, func() error { return has(ctx, w, kind, want) }))
}

// state is what a hub says of a worker, "" when it says nothing.
func state(ctx context.Context, h *pair.Hub, w *pair.Worker) string {
	o, err := h.Status(ctx)
	if err != nil {
		return ""
	}
	for _, item := range o.List("workers") {
		if m, _ := item.(map[string]any); m["name"] == w.Name {
			return fmt.Sprint(m["state"])
		}
	}
	return ""
}

// shows is nil when a hub shows a worker in a state.
func shows(ctx context.Context, h *pair.Hub, w *pair.Worker, want string) error {
	if got := state(ctx, h, w); got != want {
		return fmt.Errorf("%s shows %s as %q, not %q", h.Name, w.Name, got, want)
	}
	return nil
}

// maxTerm is the follower's floor on its disk.
func maxTerm(w *pair.Worker) int64 {
	text, _ := os.ReadFile(filepath.Join(w.HandOver(), "maxTerm"))
	term, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return term
}

// history is all that a worker was ever told, and the floor of its follower at each time.
type history struct {
	sync.Mutex
	worker *pair.Worker
	claims []claim
	wrong  []string
	floor  int64
}

type claim struct {
	identity string
	term     int64
	at       time.Time
}

// watchHistory follows a worker's object until the context ends.
func watchHistory(ctx context.Context, w *pair.Worker) *history {
	h := &history{worker: w}
	take := func(o kube.Object) {
		if o.Name() == "active" {
			h.add(claim{o.Text("spec", "identity"), o.Int("spec", "term"), time.Now()})
		}
	}
	go func() {
		for ctx.Err() == nil {
			w.Admin.ListWatch(ctx, pair.Controllers.Path("", ""), func(all []kube.Object) error {
				for _, o := range all {
					take(o)
				}
				return nil
			}, func(e kube.Event) error {
				switch e.Type {
				case "DELETED":
					h.forget()
				case "ADDED", "MODIFIED":
					take(e.Object)
				}
				return nil
			})
			kube.Pause(ctx, 50*time.Millisecond)
		}
	}()
	return h
}

func (h *history) add(c claim) {
	h.Lock()
	defer h.Unlock()
	if n := len(h.claims); n > 0 {
		last := h.claims[n-1]
		if last.identity == c.identity && last.term == c.term {
			return
		}
		if c.term < last.term || c.term == last.term {
			h.wrong = append(h.wrong, fmt.Sprintf("%s/%d after %s/%d", c.identity, c.term, last.identity, last.term))
		}
	}
	h.claims = append(h.claims, c)
	if floor := maxTerm(h.worker); floor < h.floor {
		h.wrong = append(h.wrong, fmt.Sprintf("the floor fell from %d to %d", h.floor, floor))
	} else {
		h.floor = floor
	}
}

// forget is for a deletion, after which the object alone binds nobody; the follower's floor does.
func (h *history) forget() {
	h.Lock()
	defer h.Unlock()
	h.claims = nil
}

// last is when a hub was first told with the latest term.
func (h *history) last(hub string) (claim, bool) {
	h.Lock()
	defer h.Unlock()
	if n := len(h.claims); n > 0 && h.claims[n-1].identity == hub {
		return h.claims[n-1], true
	}
	return claim{}, false
}

func (r *run) judgeHistories() error {
	for _, h := range r.histories {
		h.Lock()
		wrong := h.wrong
		h.Unlock()
		if len(wrong) > 0 {
			return fmt.Errorf("%s: %s", h.worker.Name, strings.Join(wrong, ", "))
		}
	}
	return nil
}
