package mirror

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// soakTime bounds the faults, settleTime what may pass from the last of them until all is equal: a
// watch that stalls without a word is only noticed when a bookmark is 90 s late.
const (
	soakTime   = 20 * time.Minute
	settleTime = 150 * time.Second
)

// writers is how many change the source at once, population how many objects each keeps.
const (
	writers    = 3
	population = 80
)

// soak breaks the mirror's requests while the source changes, then demands that both hubs are equal.
func (r *run) soak(ctx context.Context, seed uint64, faults int) error {
	begin := time.Now()
	before := pidOf(r.b, "syncer")
	var changes atomic.Int64
	var group sync.WaitGroup
	writing, stop := context.WithTimeout(ctx, soakTime)
	defer stop()
	failed := make(chan error, writers)
	for i := range writers {
		w := &writer{hub: r.a, random: rand.New(rand.NewPCG(seed, uint64(100+i))), name: fmt.Sprintf("soak-%d", i), there: map[string]bool{}, unsure: map[string]bool{}}
		group.Go(func() {
			for writing.Err() == nil {
				if err := w.change(ctx); err != nil {
					failed <- err
					return
				}
				changes.Add(1)
				kube.Pause(writing, time.Duration(20+w.random.IntN(60))*time.Millisecond)
			}
		})
	}
	p := newPlan(seed, faults)
	for _, proxy := range r.proxies {
		proxy.Plan(p.next)
	}
	// Watches live long: now and then all connections end, so that they meet faults, too.
	for turn := 1; p.remaining() > 0 && writing.Err() == nil && len(failed) == 0; turn++ {
		kube.Pause(ctx, 100*time.Millisecond)
		if turn%15 == 0 && p.disconnect() {
			r.proxies[r.pair.Hubs[turn/15%2]].Disconnect()
		}
	}
	last := time.Now()
	stop()
	group.Wait()
	for _, proxy := range r.proxies {
		proxy.Plan(nil)
	}
	if len(failed) > 0 {
		return <-failed
	}
	if p.remaining() > 0 {
		return fmt.Errorf("%d faults met no request in %v", p.remaining(), soakTime)
	}
	var d difference
	err := see.Eventually(ctx, settleTime, func() (err error) {
		if d, err = r.compare(ctx, r.a, r.b); err == nil {
			err = d.problem()
		}
		return err
	})
	equal := time.Since(last)
	r.check(fmt.Sprintf("seed %d: %v, %d changes of the source: %d objects, %d lost, %d extra, %d different, equal %.1f s after the last fault, in %.0f s",
		seed, p, changes.Load(), d.objects, len(d.lost), len(d.extra), len(d.different), equal.Seconds(), time.Since(begin).Seconds()), err)
	r.check("after it the mirror says that it is complete", see.Eventually(ctx, settleTime, func() error {
		if !r.b.Armed(ctx) {
			o, _ := r.b.Status(ctx)
			return fmt.Errorf("it is not: %v, blocked %v", o.Get("mirror"), o.Get("blocked"))
		}
		return nil
	}))
	r.check("and writes nothing any more", r.quiet(ctx))
	r.check("and its process is the one that began", func() error {
		if now := pidOf(r.b, "syncer"); now != before {
			return fmt.Errorf("pid %d, not %d", now, before)
		}
		return nil
	}())
	r.check(fmt.Sprintf("its memory is bounded: %.1f MiB", mib(pidOf(r.b, "syncer"))), within(mib(pidOf(r.b, "syncer")), 24))
	return r.leads(ctx, r.a)
}

func within(have, most float64) error {
	if have == 0 || have > most {
		return fmt.Errorf("%.1f MiB, want at most %.0f", have, most)
	}
	return nil
}

// quiet is nil once no copy has changed for two seconds: what writes without end never is.
func (r *run) quiet(ctx context.Context) error {
	return see.Eventually(ctx, patience, func() error {
		before, err := r.versions(ctx)
		if err != nil {
			return err
		}
		kube.Pause(ctx, 2*time.Second)
		after, err := r.versions(ctx)
		if err != nil {
			return err
		}
		for name, version := range after {
			if before[name] != version {
				return errors.New(name + " was written")
			}
		}
		return nil
	})
}

// writer changes objects of many kinds on one hub.
type writer struct {
	hub    *pair.Hub
	random *rand.Rand
	name   string
	there  map[string]bool // "kind number"
	unsure map[string]bool // of those a request had no answer: the object may be there or not
}

// sample is a kind that a writer makes: an object by its number, and how it is changed.
type sample struct {
	kind     string
	resource kube.Resource
	make     func(name string) kube.Object
	patch    func(n int) kube.Object
	status   func(n int) kube.Object // nil: it has none
}

func named(o kube.Object, name string) kube.Object {
	metadata := map[string]any{}
	for key, value := range o["metadata"].(map[string]any) {
		metadata[key] = value
	}
	metadata["name"] = name
	changed := kube.Object{}
	for key, value := range o {
		changed[key] = value
	}
	changed["metadata"] = metadata
	return changed
}

func annotate(n int) kube.Object {
	return kube.Object{"metadata": map[string]any{"annotations": map[string]any{"soak/change": fmt.Sprint(n)}}}
}

func specOf(key string) func(n int) kube.Object {
	return func(n int) kube.Object { return kube.Object{"spec": map[string]any{key: fmt.Sprint("v", n)}} }
}

func samples() []sample {
	var all []sample
	for _, w := range rows() {
		if w.spare == nil || w.kind == "Project" {
			continue
		}
		s := sample{kind: w.kind, resource: w.resource, make: func(name string) kube.Object { return named(w.spare, name) }, patch: annotate}
		switch w.kind {
		case "Secret":
			s.patch = func(n int) kube.Object { return kube.Object{"stringData": map[string]any{"k": fmt.Sprint(n)}} }
		case "SliceConfig":
			s.patch = func(n int) kube.Object { return kube.Object{"spec": map[string]any{"maxClusters": 2 + n%30}} }
		case "VpnKeyRotation":
			s.patch = specOf("sliceName")
		case "Cluster":
			s.patch = func(n int) kube.Object {
				return kube.Object{"spec": map[string]any{"nodeIPs": []any{fmt.Sprintf("198.51.100.%d", n%250)}}}
			}
			s.status = func(n int) kube.Object { return kube.Object{"status": map[string]any{"networkPresent": n%2 == 0}} }
		case "WorkerSliceGateway":
			s.status = func(n int) kube.Object { return kube.Object{"status": map[string]any{"gatewayNumber": n % 100}} }
		}
		all = append(all, s)
	}
	return all
}

// change does one thing to one object of the source.
func (w *writer) change(ctx context.Context) error {
	all := samples()
	s := all[w.random.IntN(len(all))]
	number := w.random.IntN(population / len(all))
	key := fmt.Sprint(s.kind, " ", number)
	name := fmt.Sprintf("%s-%d", w.name, number)
	path := s.resource.Path(pair.Project, name)
	n := w.random.IntN(1000)
	var err error
	switch {
	case !w.there[key]:
		_, err = w.hub.Admin.Create(ctx, s.resource.Path(pair.Project, ""), s.make(name))
		w.there[key] = true
	case n < 30:
		err = w.hub.Admin.Delete(ctx, path)
		delete(w.there, key)
	case n < 200 && s.status != nil:
		_, err = w.hub.Admin.Merge(ctx, path+"/status", s.status(n))
	default:
		_, err = w.hub.Admin.Merge(ctx, path, s.patch(n))
	}
	var late *url.Error
	if errors.As(err, &late) { // the writer's own connection, on a busy machine
		w.unsure[key] = true
		return nil
	}
	if unsure := w.unsure[key]; unsure && (kube.IsCode(err, 404) || kube.IsCode(err, 409)) {
		w.there[key] = kube.IsCode(err, 409)
		err = nil
	}
	delete(w.unsure, key)
	if err != nil {
		return fmt.Errorf("the writer of %s %s: %w", s.kind, name, err)
	}
	return nil
}
