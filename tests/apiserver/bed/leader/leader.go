// Package leader tries to break leadership on real API servers: it kills, freezes, parts and fools
// two hubs while a writer beside each of them writes whenever its fence allows, and holds what was
// acknowledged against what is there afterwards. Every situation starts from a settled pair and ends
// in one. It must not ask the code under test who leads: it looks at pages, objects and write logs.
package leader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// Options of a run.
type Options struct {
	Root, Dir string
	Bed       *cluster.Bed // hub-a and hub-b in network namespaces of their own
	Lease     pair.Lease
	Threshold time.Duration // duration and padding of it
	Out       io.Writer
	Seed      uint64
	Faults    int           // how many random faults
	For       time.Duration // random faults for so long instead
	Longest   time.Duration // no fault lasts longer
	Only      string        // only the situations whose names match
	Quick     bool          // those situations that take seconds, also before random faults
	Failovers int           // of the bench
}

// stage is a run under way.
type stage struct {
	Options
	pair     *pair.Pair
	begin    time.Time
	random   *rand.Rand
	worker   *kube.Client
	ledger   ledger
	known    time.Duration // what was acknowledged until then is on the Standby, as it settled
	seen     *watcher
	writers  []*pair.Process
	splits   []split
	broken   int                     // checks that failed and were told
	promoted int                     // how often another hub led after a fault
	started  map[*pair.Hub]time.Time // when its understudyd was last started by us

	deniedBefore int  // writes that were denied and told
	mayDeny      bool // an API server was started anew: its policies may refuse for a while
}

func (s *stage) say(format string, arguments ...any) {
	fmt.Fprintf(s.Out, "%8.2f  %s\n", time.Since(s.begin).Seconds(), fmt.Sprintf(format, arguments...))
}

// ok is a line that counts as a check.
func (s *stage) ok(format string, arguments ...any) {
	fmt.Fprintf(s.Out, "ok - leader: %s (%.0f s)\n", fmt.Sprintf(format, arguments...), time.Since(s.begin).Seconds())
}

// setUp brings the pair up: hub-a leads, hub-b is armed, worker-1 follows, both writers run.
func setUp(ctx context.Context, o Options) (*stage, error) {
	p, err := pair.New(o.Root, o.Dir, o.Bed, o.Lease)
	if err != nil {
		return nil, err
	}
	s := &stage{Options: o, pair: p, begin: time.Now(), random: rand.New(rand.NewPCG(o.Seed, 4)),
		seen: &watcher{pair: p}, started: map[*pair.Hub]time.Time{}}
	p.Proxied = []string{"understudy-peer-observer", "understudy-peer-syncer"}
	for _, h := range p.Hubs {
		if err := h.Cluster.Start(cluster.Proxy); err != nil {
			return s, err
		}
	}
	if s.worker, err = p.Work.Client(); err != nil {
		return s, err
	}
	if err := p.Bootstrap(ctx); err != nil {
		return s, err
	}
	if err := p.Hubs[0].Start(); err != nil {
		return s, err
	}
	if _, _, err := see.Page(ctx, p.Hubs[0], true, patience); err != nil {
		return s, fmt.Errorf("hub-a leads: %w", errors.Join(err, p.Hubs[0].Fault()))
	}
	if _, err := p.Hubs[0].ApplySamples(ctx); err != nil {
		return s, fmt.Errorf("sample objects: %w", err)
	}
	if err := p.Hubs[1].Start(); err != nil {
		return s, err
	}
	if _, err := see.Until(ctx, patience, 100*time.Millisecond, func() bool { return p.Worker.Join(ctx) == nil }); err != nil {
		return s, fmt.Errorf("worker-1: %w", p.Worker.Join(ctx))
	}
	if err := s.startWriters(); err != nil {
		return s, err
	}
	go s.seen.pages(ctx)
	go s.seen.worker(ctx, s.worker)
	return s, s.settle(ctx)
}

func (s *stage) startWriters() error {
	for i, h := range s.pair.Hubs {
		s.ledger.files[i] = filepath.Join(s.Dir, h.Name+"-writes.log")
		os.Remove(s.ledger.files[i])
		argv := append(h.Cluster.Enter(), filepath.Join(s.Root, "build/bed"), "write",
			"--kubeconfig", h.Cluster.Kubeconfig(), "--hub", h.Name, "--fence", h.FencePage())
		w, err := s.pair.Start(s.ledger.files[i], argv...)
		if err != nil {
			return err
		}
		s.writers = append(s.writers, w)
	}
	return nil
}

// Run runs the situations, or those random faults that the options want, and prints one line a
// check. The pair is returned also with an error; the caller closes it.
func Run(ctx context.Context, o Options) (*pair.Pair, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s, err := setUp(ctx, o)
	if s == nil {
		return nil, err
	}
	if err == nil {
		s.ok("two hubs in networks of their own, a writer beside each, worker-1: settled")
		err = s.wanted(ctx)
	}
	for _, w := range s.writers {
		w.End(9, time.Second)
	}
	return s.pair, err
}

// wanted runs what the options want.
func (s *stage) wanted(ctx context.Context) error {
	if s.Failovers > 0 {
		return s.bench(ctx)
	}
	random := s.Faults > 0 || s.For > 0
	if s.Quick || !random {
		if err := s.situations(ctx); err != nil {
			return err
		}
	}
	if random {
		if err := s.faults(ctx); err != nil {
			return err
		}
	}
	if err := s.same(ctx); err != nil {
		return err
	}
	if s.broken > 0 {
		return fmt.Errorf("%d broken, see above", s.broken)
	}
	s.ok("%d writes acknowledged, %d changes of the leader: one leader at a time, nothing lost, both hubs equal",
		s.ledger.count(done), s.promoted)
	return nil
}
