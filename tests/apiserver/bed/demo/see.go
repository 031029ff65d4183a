package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/fence"
)

// errLate is the end of a wait that saw nothing.
var errLate = errors.New("not seen in time")

// until asks often whether something is so, and returns when it was first seen to be.
func until(ctx context.Context, patience, period time.Duration, is func() bool) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if is() {
			return time.Now(), nil
		}
		if !kube.Pause(ctx, period) {
			return time.Time{}, fmt.Errorf("%w (%v)", errLate, patience)
		}
	}
}

// sight is something that a watch in the background has seen.
type sight struct {
	At     time.Time
	Object kube.Object
}

// watch reports the first object of a collection for which is says yes, or the deletion of one
// when gone is set. It survives the loss of the server.
func watch(ctx context.Context, client *kube.Client, path string, gone bool, is func(kube.Object) bool) <-chan sight {
	seen := make(chan sight, 1)
	stop := errors.New("seen")
	ready := make(chan struct{})
	go func() {
		first := true
		for ctx.Err() == nil {
			err := client.ListWatch(ctx, path, func(all []kube.Object) error {
				if first {
					first = false
					close(ready)
				}
				for _, o := range all {
					if !gone && is(o) {
						seen <- sight{time.Now(), o}
						return stop
					}
				}
				return nil
			}, func(e kube.Event) error {
				if (e.Type == "DELETED") == gone && e.Type != "BOOKMARK" && is(e.Object) {
					seen <- sight{time.Now(), e.Object}
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
	case <-time.After(10 * time.Second):
	case <-ctx.Done():
	}
	return seen
}

func await(ctx context.Context, seen <-chan sight, patience time.Duration) (sight, error) {
	select {
	case s := <-seen:
		return s, nil
	case <-time.After(patience):
		return sight{}, fmt.Errorf("%w (%v)", errLate, patience)
	case <-ctx.Done():
		return sight{}, ctx.Err()
	}
}

// page waits until a hub's fence page says that it leads, or that it does not. Nobody opens the page
// of a hub whose understudyd has ended.
func page(ctx context.Context, h *pair.Hub, leads bool, patience time.Duration) (time.Time, uint64, error) {
	var opened *fence.Page
	var term uint64
	defer func() {
		if opened != nil {
			opened.Close()
		}
	}()
	at, err := until(ctx, patience, time.Millisecond, func() bool {
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

// logged waits until a log holds a text.
func logged(ctx context.Context, path, text string, patience time.Duration) (time.Time, error) {
	return until(ctx, patience, 10*time.Millisecond, func() bool {
		log, _ := os.ReadFile(path)
		return strings.Contains(string(log), text)
	})
}

func named(name string) func(kube.Object) bool {
	return func(o kube.Object) bool { return o.Name() == name }
}
