package leader

import (
	"context"
	"fmt"
	"sync"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

// watcher looks at both fence pages and at what the worker is told, all the time.
type watcher struct {
	mutex  sync.Mutex
	pair   *pair.Pair
	split  bool             // two open pages are expected
	both   int              // looks at which both were open and should not have been
	opened [2]time.Duration // when the page of each hub was last seen to open
	closed [2]time.Duration
	terms  [2]uint64
	open   [2]bool
	told   uint64 // highest term that the worker was told
	fell   string // how that term fell
}

const lookPeriod = time.Millisecond

func (w *watcher) pages(ctx context.Context) {
	gates := [2]pageGate{{path: w.pair.Hubs[0].FencePage()}, {path: w.pair.Hubs[1].FencePage()}}
	for kube.Pause(ctx, lookPeriod) {
		var open [2]bool
		var terms [2]uint64
		for i := range gates {
			var left time.Duration
			terms[i], left = gates[i].leads()
			open[i] = left > 0
		}
		// The first one again: between the two looks this program may have stood still.
		again, left := gates[0].leads()
		stillOpen := left > 0 && again == terms[0]
		now := bootNow()
		w.mutex.Lock()
		if open[0] && open[1] && stillOpen && !w.split {
			w.both++
		}
		for i := range gates {
			switch {
			case open[i] && (!w.open[i] || terms[i] != w.terms[i]):
				w.opened[i], w.terms[i] = now, terms[i]
			case !open[i] && w.open[i]:
				w.closed[i] = now
			}
		}
		w.open = open
		w.mutex.Unlock()
	}
}

// worker watches the term that the worker is told: it never falls (I3).
func (w *watcher) worker(ctx context.Context, client *kube.Client) {
	seen := func(c kube.Object) {
		term := uint64(c.Int("spec", "term"))
		w.mutex.Lock()
		defer w.mutex.Unlock()
		if term < w.told {
			w.fell = fmt.Sprintf("the worker was told term %d after term %d", term, w.told)
		}
		w.told = term
	}
	for ctx.Err() == nil {
		client.ListWatch(ctx, pair.Controllers.Path("", ""), func(all []kube.Object) error {
			for _, c := range all {
				seen(c)
			}
			return nil
		}, func(e kube.Event) error {
			if e.Type == "ADDED" || e.Type == "MODIFIED" {
				seen(e.Object)
			}
			return nil
		})
		kube.Pause(ctx, 100*time.Millisecond)
	}
}

// leader is the index of the hub whose page alone is open, -1 for none or tww.
func (w *watcher) leader() (int, uint64) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for i := range w.open {
		if w.open[i] && !w.open[1-i] {
			return i, w.terms[i]
		}
	}
	return -1, 0
}

// openings is when a hub's page was last seen to open, and when to close.
func (w *watcher) openings(i int) (opened, closed time.Duration) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.opened[i], w.closed[i]
}

// toldTerm is the term that the worker was told last.
func (w *watcher) toldTerm() uint64 {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.told
}

// allow says whether two open pages are expected from now on.
func (w *watcher) allow(split bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.split = split
}

// forget begins anew, after what was seen has been told.
func (w *watcher) forget() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.both, w.fell = 0, ""
}

// fault is what was seen that must never be.
func (w *watcher) fault() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.both > 0 {
		return fmt.Errorf("both fence pages were open at once, at %d looks", w.both)
	}
	if w.fell != "" {
		return fmt.Errorf("%s", w.fell)
	}
	return nil
}
