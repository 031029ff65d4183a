package mirror

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"understudy.test/bed/fault"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// pass lets hub-b copy several pages of objects at its start, through an API server that takes its
// time from some object on: status is reported once a second, and a fast one would be through before
// anybody looked, or changed what is copied already.
func (r *run) pass(ctx context.Context) error {
	const count, prompt = 600, 150
	r.b.Kill()
	if err := eightAtATime(count, func(i int) error {
		// A machine that is busy with this may keep hub-a from leading for a moment.
		return see.Eventually(ctx, patience, func() error {
			err := r.create(ctx, kube.SliceConfigs, slice(fmt.Sprintf("pass-%03d", i)))
			if kube.IsCode(err, http.StatusConflict) {
				return nil
			}
			return err
		})
	}); err != nil {
		return err
	}
	var asked atomic.Int64
	var hurry atomic.Bool
	r.proxies[r.b].Plan(func(q *http.Request) fault.Fault {
		if q.Method != http.MethodPost || !strings.HasSuffix(q.URL.Path, "/"+kube.SliceConfigs.Name) || hurry.Load() || asked.Add(1) <= prompt {
			return fault.Fault{Kind: fault.None}
		}
		return fault.Fault{Kind: fault.Delay, Wait: 3 * time.Second}
	})
	defer r.proxies[r.b].Plan(nil)
	if err := r.b.Start(); err != nil {
		return err
	}
	r.check("while a pass runs its status says how many of how many, how fast, and how long it will take", see.Eventually(ctx, patience, func() error {
		o, err := r.b.Status(ctx)
		if err != nil {
			return err
		}
		done, total := o.Int("mirror", "progress", "done"), o.Int("mirror", "progress", "total")
		rate, _ := o.Get("mirror", "progress", "perSecond").(float64)
		if total <= count || done <= 0 || done >= total || rate <= 0 || o.Int("mirror", "progress", "remainingMs") <= 0 {
			return fmt.Errorf("%v", o.Get("mirror"))
		}
		return nil
	}))
	r.check("a change to what is copied already does not wait for the rest of the pass", r.overtakes(ctx, count))
	hurry.Store(true)
	if err := r.armed(ctx, r.b); err != nil {
		return err
	}
	r.ctlCheck(ctx, "sync diff compares page after page", r.b, 0, []string{"objects compared: all are equal"}, "sync", "diff", "SliceConfig")
	r.check("afterwards there is no progress to tell", see.Eventually(ctx, patience, func() error {
		o, err := r.b.Status(ctx)
		if err == nil && (o.Get("mirror", "progress") != nil || o.Int("mirror", "objects") < count) {
			err = fmt.Errorf("%v", o.Get("mirror"))
		}
		return err
	}))
	if err := eightAtATime(count, func(i int) error {
		return see.Eventually(ctx, patience, func() error {
			if err := r.a.Admin.Delete(ctx, kube.SliceConfigs.Path(pair.Project, fmt.Sprintf("pass-%03d", i))); !kube.IsCode(err, http.StatusNotFound) {
				return err
			}
			return nil
		})
	}); err != nil {
		return err
	}
	return see.Eventually(ctx, 3*patience, func() error {
		o, err := r.b.Status(ctx)
		if err == nil && (o.Int("mirror", "objects") > 100 || o.Int("mirror", "pending") > 0) {
			err = fmt.Errorf("%v", o.Get("mirror"))
		}
		return err
	})
}

// overtakes changes an object of a pass whose copy is there, and looks that the copy follows while
// copies of others are still missing.
func (r *run) overtakes(ctx context.Context, count int) error {
	copies := func() (names []string, err error) {
		list, err := r.b.Admin.Get(ctx, kube.SliceConfigs.Path(pair.Project, ""))
		if err != nil {
			return nil, err
		}
		for _, o := range list.Items() {
			if strings.HasPrefix(o.Name(), "pass-") {
				names = append(names, o.Name())
			}
		}
		return names, nil
	}
	var names []string
	if err := see.Eventually(ctx, patience, func() (err error) {
		if names, err = copies(); err == nil && len(names) == 0 {
			err = errors.New("no copy is there")
		}
		return err
	}); err != nil {
		return err
	}
	path := kube.SliceConfigs.Path(pair.Project, names[0])
	if err := r.annotated(ctx, path, "pass", "live"); err != nil {
		return err
	}
	if err := r.carries(ctx, path, "pass", "live"); err != nil {
		return err
	}
	if names, err := copies(); err != nil || len(names) == count {
		return fmt.Errorf("%d of %d copies were there before it (%v)", len(names), count, err)
	}
	return nil
}

// throttled: an API server that asks for time gets it, from a write and from a watch.
func (r *run) throttled(ctx context.Context) error {
	const seconds = 3
	for _, c := range []struct {
		name   string
		proxy  *pair.Hub
		begins func(*http.Request) bool
		cause  func() error
	}{
		{"a write", r.b, func(q *http.Request) bool {
			return q.Method == http.MethodPut && strings.HasSuffix(q.URL.Path, "/steady")
		}, func() error { return nil }},
		{"a watch", r.a, func(q *http.Request) bool {
			return q.URL.Query().Get("watch") != "" && strings.HasSuffix(q.URL.Path, "/"+qualities.Name)
		}, func() error {
			_, err := r.ctl(ctx, r.b, 0, nil, "sync", "resync", "SliceQoSConfig")
			return err
		}},
	} {
		var mutex sync.Mutex
		var refused, again time.Time
		r.proxies[c.proxy].Plan(func(q *http.Request) fault.Fault {
			mutex.Lock()
			defer mutex.Unlock()
			if !c.begins(q) || !again.IsZero() {
				return fault.Fault{Kind: fault.None}
			}
			if refused.IsZero() {
				refused = time.Now()
				return fault.Fault{Kind: fault.Status, Code: http.StatusTooManyRequests, RetryAfter: fmt.Sprint(seconds)}
			}
			again = time.Now()
			return fault.Fault{Kind: fault.None}
		})
		path := qualities.Path(pair.Project, "steady")
		err := r.annotated(ctx, path, "throttled", c.name)
		if err == nil {
			err = c.cause()
		}
		if err == nil {
			err = see.Eventually(ctx, patience, func() error {
				mutex.Lock()
				defer mutex.Unlock()
				if again.IsZero() {
					return errors.New("it was not asked again")
				}
				return nil
			})
		}
		r.proxies[c.proxy].Plan(nil)
		if waited := again.Sub(refused); err == nil && waited < seconds*time.Second {
			err = fmt.Errorf("asked again after %v, the server had said %d s", waited, seconds)
		}
		r.check("429 with Retry-After on "+c.name+": not asked again before that", err)
		r.check("429 on "+c.name+": the object follows", r.carries(ctx, path, "throttled", c.name))
	}
	return r.armed(ctx, r.b)
}
