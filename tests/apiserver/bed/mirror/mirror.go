// Package mirror holds the mirror of two real hubs against its rules: kinds x operations, what must
// stay out, what must be changed on the way, the situations that other implementations fail in, and
// the return of a hub that has a past of its own. It prints one line a check and must not know how
// the syncer works.
package mirror

import (
	"context"
	"fmt"
	"io"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/fault"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// patience is far beyond what is right; a busy machine is no fault.
const patience = 60 * time.Second

const (
	copyLabel = "ha.kubeslice.io/synced-from"
	marks     = "ha.kubeslice.io/"
)

// Options of one run.
type Options struct {
	Root, Dir string
	Bed       *cluster.Bed
	Out       io.Writer
	// Soak runs nothing but that many faults by that seed.
	Soak  int
	Seed  uint64
	Verbs bool   // only what an operator does
	Kinds bool   // only what a configuration lists
	Bare  bool   // only hubs of another controller, without workers: the bed has none
	Part  string // only that part
}

type run struct {
	Options
	pair    *pair.Pair
	a, b    *pair.Hub
	proxies map[*pair.Hub]*fault.Proxy // in front of each hub's API server
	failed  int
}

type part struct {
	name string
	run  func(*run, context.Context) error
}

var parts = []part{
	{"table", (*run).table},
	{"rules", (*run).rules},
	{"situations", (*run).situations},
	{"content", (*run).content},
	{"odd", (*run).odd},
	{"soak", (*run).shortSoak},
	{"in the way", (*run).inTheWay},
	{"rejoin", (*run).rejoin},
	{"rejoin of the other", (*run).rejoinBack},
}

// Run checks everything; the error says how many checks failed, or why it could not go on.
func Run(ctx context.Context, o Options) error {
	p, err := pair.New(o.Root, o.Dir, o.Bed, pair.FastLease)
	if err != nil {
		return err
	}
	defer p.Close()
	r := &run{Options: o, pair: p, a: p.Hubs[0], b: p.Hubs[1], proxies: map[*pair.Hub]*fault.Proxy{}}
	defer r.closeProxies()
	list := append([]part{{"start", (*run).start}}, parts...)
	if o.Verbs {
		list = append(list[:1], verbs...)
	}
	if o.Kinds {
		list = kindParts
	}
	if o.Bare {
		list = bareParts
	}
	if o.Soak > 0 {
		list = []part{list[0], {"soak", func(r *run, ctx context.Context) error { return r.soak(ctx, o.Seed, o.Soak) }}}
	}
	for _, part := range list {
		if o.Part != "" && part.name != "start" && part.name != o.Part {
			continue
		}
		begin := time.Now()
		if err := part.run(r, ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		fmt.Fprintf(o.Out, "# mirror, %s: %.0f s\n", part.name, time.Since(begin).Seconds())
		if r.failed > 5 {
			break
		}
	}
	if r.failed > 0 {
		return fmt.Errorf("%d checks failed", r.failed)
	}
	return nil
}

func (r *run) shortSoak(ctx context.Context) error { return r.soak(ctx, 1, 40) }

// proxy puts the requests of syncers and observers behind proxies that do nothing until they are told to.
func (r *run) proxy() error {
	r.pair.Proxied = []string{"understudy-syncer", "understudy-peer-syncer", "understudy-peer-observer"}
	for _, h := range r.pair.Hubs {
		p, l, err := fault.Before(h.Cluster)
		if err != nil {
			return err
		}
		r.proxies[h] = p
		go p.Serve(l)
	}
	return nil
}

func (r *run) closeProxies() {
	for _, p := range r.proxies {
		p.Close()
	}
}

// check prints one line; problem nil means that it holds.
func (r *run) check(name string, problem error) {
	if problem == nil {
		fmt.Fprintf(r.Out, "ok - mirror: %s\n", name)
		return
	}
	r.failed++
	fmt.Fprintf(r.Out, "not ok - mirror: %s: %v\n", name, problem)
}

func (r *run) start(ctx context.Context) error {
	if err := r.proxy(); err != nil {
		return err
	}
	if err := r.startSource(ctx); err != nil {
		return err
	}
	if err := r.b.Start(); err != nil {
		return err
	}
	return r.armed(ctx, r.b)
}

// startSource installs both hubs and lets hub-a lead, with the samples.
func (r *run) startSource(ctx context.Context) error {
	if err := r.pair.Bootstrap(ctx); err != nil {
		return err
	}
	if err := r.a.Start(); err != nil {
		return err
	}
	if err := r.leads(ctx, r.a); err != nil {
		return err
	}
	_, err := r.a.ApplySamples(ctx)
	return err
}

// role waits for HubRole/self, the API server's own view of the hub.
func role(ctx context.Context, h *pair.Hub, want string) error {
	return see.Eventually(ctx, patience, func() error {
		o, err := h.Admin.Get(ctx, pair.HubRoles.Path("", "self"))
		if err == nil && o.Text("spec", "role") != want {
			err = fmt.Errorf("%s is %s, not %s", h.Name, o.Text("spec", "role"), want)
		}
		return err
	})
}

// leads waits for the page as well, which opens once the API server lets writers in.
func (r *run) leads(ctx context.Context, h *pair.Hub) error {
	if err := role(ctx, h, "Leading"); err != nil {
		return err
	}
	_, _, err := see.Page(ctx, h, true, patience)
	return err
}

// passes watches for a role of a hub that may be over before anybody asks for it.
func passes(ctx context.Context, h *pair.Hub, role string) <-chan see.Sight {
	return see.Watch(ctx, h.Admin, pair.HubRoles.Path("", ""), false, func(o kube.Object) bool {
		return o.Name() == "self" && o.Text("spec", "role") == role
	})
}

func (r *run) armed(ctx context.Context, h *pair.Hub) error { return armedWithin(ctx, h, patience) }

// armedWithin says what the hub lacks, if it is not armed and complete in time.
func armedWithin(ctx context.Context, h *pair.Hub, patience time.Duration) error {
	return see.Eventually(ctx, patience, func() error {
		if h.Armed(ctx) {
			return nil
		}
		o, err := h.Status(ctx)
		return fmt.Errorf("%s is not armed and complete: mirror %v, listed %v, %v", h.Name, o.Get("mirror"), o.Get("blocked"), err)
	})
}

// gone is nil when nothing is at that path.
func gone(ctx context.Context, h *pair.Hub, path string) error {
	_, err := h.Admin.Get(ctx, path)
	if err == nil {
		return fmt.Errorf("%s is on %s", path, h.Name)
	}
	if kube.IsCode(err, 404) {
		return nil
	}
	return err
}

// copied returns the copy at a path once it satisfies is.
func copied(ctx context.Context, h *pair.Hub, path string, is func(kube.Object) error) error {
	return see.Eventually(ctx, patience, func() error {
		o, err := h.Admin.Get(ctx, path)
		if err != nil {
			return err
		}
		if o.Text("metadata", "labels", copyLabel) != "active" {
			return fmt.Errorf("%s on %s has no label of the mirror", path, h.Name)
		}
		return is(o)
	})
}

func any_(kube.Object) error { return nil }

// says is the reason that a hub's status lists for an object, or an error.
func (r *run) says(ctx context.Context, h *pair.Hub, object, word string) error {
	return see.Eventually(ctx, patience, func() error { return listed(ctx, h, object, word) })
}
