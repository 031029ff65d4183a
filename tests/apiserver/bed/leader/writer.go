package leader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/fence"
)

const (
	writePeriod = 15 * time.Millisecond
	// leastLeft: a write that cannot end within the time that the page leaves is not started (C10).
	leastLeft    = 300 * time.Millisecond
	writeTimeout = 2 * time.Second
	loadObjects  = 6 // are changed all the time
	madeObjects  = 8 // come and go
)

// What a writer does, and what becomes of it.
const (
	puts    = "puts"
	deletes = "deletes"
	lists   = "lists" // what a hub has that begins to lead: a line an object, then one for all
	keeps   = "keeps" // of these: was deleted, and the brake held it; from now on it is there again (H8)

	done    = "done"
	refused = "refused" // the server's answer was no
	denied  = "denied"  // a policy said no, while the page was open before and after
	unknown = "unknown" // no answer in time

	all = "*"
)

// bootNow is the clock of the fence, the same for every process of the machine.
func bootNow() time.Duration {
	var ts syscall.Timespec
	const boottime = 7
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, boottime, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano())
}

func loadPath(name string) string { return kube.SliceConfigs.Path(pair.Project, name) }

// writer stands for a controller beside a hub: it writes while the fence page says that the hub
// leads, one write after the other, and notes each with the times when it was sent and answered.
type writer struct {
	client *kube.Client
	hub    string
	gate   pageGate
	log    io.Writer
	term   uint64   // under which the objects were listed; 0: not leading
	made   []string // objects that come and go, the oldest first
}

// Write runs a writer until the context ends: a process of its own in the network of its hub.
func Write(ctx context.Context, client *kube.Client, hub, path string, log io.Writer) error {
	w := &writer{client: client, hub: hub, gate: pageGate{path: path}, log: log}
	for n := 0; kube.Pause(ctx, writePeriod); n++ {
		term, left := w.gate.leads()
		if left == 0 {
			w.term = 0
		}
		if left < leastLeft {
			continue
		}
		if w.term != term { // whether it still leads after that is another look at the page
			w.inherit(ctx, term)
			continue
		}
		w.write(ctx, n, term, min(left, writeTimeout))
	}
	return nil
}

func (w *writer) note(sent, answered time.Duration, term uint64, op, outcome, object string, value int64, err error) {
	fmt.Fprintf(w.log, "%s %d %d %d %s %s %s %d %.120q\n", w.hub, sent, answered, term, op, outcome, object, value, fmt.Sprint(err))
}

// written is when a writer wrote an object that it made and that stands.
func written(o kube.Object) (at time.Duration, ours bool) {
	n, err := strconv.ParseInt(o.Text("metadata", "annotations", "bed/at"), 10, 64)
	return time.Duration(n), err == nil && !held(o)
}

// held: many were deleted while this hub was away: the brake holds it, and says so (H8).
func held(o kube.Object) bool {
	return o.Get("metadata", "annotations", "ha.kubeslice.io/delete-held") != nil
}

// inherit notes what is there at the beginning of a term. Without an answer it is tried again.
func (w *writer) inherit(ctx context.Context, term uint64) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	sent := bootNow()
	list, err := w.client.Get(ctx, loadPath(""))
	if err != nil {
		return
	}
	answered := bootNow()
	w.made = nil
	for _, o := range list.Items() {
		at, ours := written(o)
		if !ours {
			if held(o) {
				w.note(sent, answered, term, keeps, done, o.Name(), 0, nil)
			}
			continue
		}
		w.note(sent, answered, term, lists, done, o.Name(), int64(at), nil)
		if strings.HasPrefix(o.Name(), "made-") {
			w.made = append(w.made, o.Name())
		}
	}
	slices.Sort(w.made)
	w.note(sent, answered, term, lists, done, all, int64(len(list.Items())), nil)
	w.term = term
}

// write changes an object, or now and then makes a new one or deletes the oldest.
func (w *writer) write(ctx context.Context, n int, term uint64, within time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	sent := bootNow()
	name, op, outcome := fmt.Sprintf("load-%d", n%loadObjects), puts, done
	var err error
	switch {
	case n%20 == 10 && len(w.made) >= madeObjects:
		name, op = w.made[0], deletes
		w.made = w.made[1:]
		if err = w.client.Delete(ctx, loadPath(name)); kube.IsCode(err, http.StatusNotFound) {
			err = nil
		}
	case n%20 == 0:
		name = fmt.Sprintf("made-%020d", sent)
		w.made = append(w.made, name)
		err = w.create(ctx, name, term, sent)
	default:
		_, err = w.client.Merge(ctx, loadPath(name), kube.Object{"metadata": map[string]any{"annotations": w.marks(term, sent)}})
		if kube.IsCode(err, http.StatusNotFound) {
			err = w.create(ctx, name, term, sent)
		}
	}
	answered := bootNow()
	var status *kube.StatusError
	if after, left := w.gate.leads(); kube.IsCode(err, http.StatusForbidden) && left > 0 && after == term {
		outcome = denied
	} else if errors.As(err, &status) {
		outcome = refused
	} else if err != nil {
		outcome = unknown
	}
	w.note(sent, answered, term, op, outcome, name, int64(sent), err)
}

func (w *writer) marks(term uint64, sent time.Duration) map[string]any {
	return map[string]any{"bed/at": fmt.Sprint(int64(sent)), "bed/by": w.hub, "bed/term": fmt.Sprint(term)}
}

func (w *writer) create(ctx context.Context, name string, term uint64, sent time.Duration) error {
	_, err := w.client.Create(ctx, loadPath(""), kube.Object{
		"apiVersion": "controller.kubeslice.io/v1alpha1", "kind": "SliceConfig",
		"metadata": map[string]any{"name": name, "namespace": pair.Project, "annotations": w.marks(term, sent)},
		"spec": map[string]any{
			"sliceSubnet": "10.9.0.0/16", "clusters": []any{"worker-1"}, "maxClusters": 16,
			"sliceGatewayProvider": map[string]any{"sliceGatewayType": "OpenVPN", "sliceCaType": "Local"},
			"vpnConfig":            map[string]any{"cipher": "AES-256-CBC"},
		},
	})
	return err
}

// pageGate keeps a fence page open and opens it anew when another file lies in its place.
type pageGate struct {
	path  string
	page  *fence.Page
	again time.Duration // not before this is the path looked at once more
}

func (g *pageGate) leads() (term uint64, left time.Duration) {
	if g.page != nil {
		if term, ok := g.page.Term(); ok {
			return term, g.page.Remaining()
		}
	}
	if now := bootNow(); now >= g.again {
		g.again = now + 100*time.Millisecond
		if g.page == nil || g.page.Replaced() {
			if g.page != nil {
				g.page.Close()
			}
			g.page, _ = fence.Open(g.path)
		}
	}
	return 0, 0
}
