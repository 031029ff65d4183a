// Package see waits for things that others make: objects on API servers, fence pages, lines of logs.
// It looks from outside and asks nothing of the code under test. The demo and the fault runs use it.
package see

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/fence"
)

// ErrLate is the end of a wait that saw nothing.
var ErrLate = errors.New("not seen in time")

// Until asks often whether something is so, and returns when it was first seen to be.
func Until(ctx context.Context, patience, period time.Duration, is func() bool) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if is() {
			return time.Now(), nil
		}
		if !kube.Pause(ctx, period) {
			return time.Time{}, fmt.Errorf("%w (%v)", ErrLate, patience)
		}
	}
}

// Eventually asks often until the answer is nil, and returns the last problem when it never was.
func Eventually(ctx context.Context, patience time.Duration, ask func() error) error {
	var last error
	if _, err := Until(ctx, patience, 20*time.Millisecond, func() bool {
		last = ask()
		return last == nil
	}); err != nil {
		return fmt.Errorf("after %v: %w", patience, last)
	}
	return nil
}

// Soon tries something up to so many times until it took no longer than most, and returns the shortest
// time: a busy machine makes one of them late, a fault makes each.
func Soon(most time.Duration, tries int, once func() (time.Duration, error)) (time.Duration, error) {
	least := time.Duration(0)
	for n := range tries {
		took, err := once()
		if err != nil {
			return took, err
		}
		if n == 0 || took < least {
			least = took
		}
		if least <= most {
			return least, nil
		}
	}
	return least, fmt.Errorf("it takes %v at best of %d, want at most %v", least, tries, most)
}

// Sight is something that a watch in the background has seen.
type Sight struct {
	At     time.Time
	Object kube.Object
}

// Watch reports the first object of a collection for which is says yes, or the deletion of one
// when gone is set, which must be there by now. It survives the loss of the server.
func Watch(ctx context.Context, client *kube.Client, path string, gone bool, is func(kube.Object) bool) <-chan Sight {
	seen := make(chan Sight, 1)
	stop := errors.New("seen")
	ready := make(chan struct{})
	go func() {
		first, was := true, false
		for ctx.Err() == nil {
			err := client.ListWatch(ctx, path, func(all []kube.Object) error {
				if first {
					first = false
					close(ready)
				}
				found := slices.IndexFunc(all, is)
				if found >= 0 && !gone {
					seen <- Sight{time.Now(), all[found]}
					return stop
				}
				if was && found < 0 && gone { // it went between two watches
					seen <- Sight{At: time.Now()}
					return stop
				}
				was = was || found >= 0
				return nil
			}, func(e kube.Event) error {
				if (e.Type == "DELETED") == gone && e.Type != "BOOKMARK" && is(e.Object) {
					seen <- Sight{time.Now(), e.Object}
					return stop
				}
				return nil
			})
			if errors.Is(err, stop) {
				return
			}
			kube.Pause(ctx, 50*time.Millisecond)
		}
	}()
	select { // the watch runs before its caller makes what it shall see
	case <-ready:
	case <-time.After(time.Minute):
	case <-ctx.Done():
	}
	return seen
}

// Await takes what a watch reports, or gives up.
func Await(ctx context.Context, seen <-chan Sight, patience time.Duration) (Sight, error) {
	select {
	case s := <-seen:
		return s, nil
	case <-time.After(patience):
		return Sight{}, fmt.Errorf("%w (%v)", ErrLate, patience)
	case <-ctx.Done():
		return Sight{}, ctx.Err()
	}
}

// Page waits until a hub's fence page says that it leads, or that it does not. Nobody opens the page
// of a hub whose understudyd has ended.
func Page(ctx context.Context, h *pair.Hub, leads bool, patience time.Duration) (time.Time, uint64, error) {
	var opened *fence.Page
	var term uint64
	defer func() {
		if opened != nil {
			opened.Close()
		}
	}()
	at, err := Until(ctx, patience, time.Millisecond, func() bool {
		if opened == nil {
			opened, _ = fence.Open(h.FencePage())
		}
		var ok bool
		if opened != nil {
			term, ok = opened.Term()
		}
		return ok == leads || leads && h.Fault() != nil
	})
	return at, term, err
}

// Logged waits until a log holds a text.
func Logged(ctx context.Context, path, text string, patience time.Duration) (time.Time, error) {
	return Until(ctx, patience, 10*time.Millisecond, func() bool {
		log, _ := os.ReadFile(path)
		return strings.Contains(string(log), text)
	})
}

// Named says yes for the object of that name.
func Named(name string) func(kube.Object) bool {
	return func(o kube.Object) bool { return o.Name() == name }
}

// Remaining is how long a hub's page is open from now on if nobody writes it.
func Remaining(h *pair.Hub) time.Duration {
	page, err := fence.Open(h.FencePage())
	if err != nil {
		return 0
	}
	defer page.Close()
	return page.Remaining()
}

// Leading is whether a hub's page is open now, and for which term.
func Leading(h *pair.Hub) (uint64, bool) {
	page, err := fence.Open(h.FencePage())
	if err != nil {
		return 0, false
	}
	defer page.Close()
	return page.Term()
}
