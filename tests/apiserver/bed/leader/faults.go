package leader

import (
	"context"
	"fmt"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/fault"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

// trouble is one kind of random fault. It gets the hub that it befalls and how long it lasts.
type trouble struct {
	name    string
	weight  int
	restart bool // an API server is started anew, or its policies lose their parameter for a moment
	do      func(s *stage, ctx context.Context, h *pair.Hub, d time.Duration) error
}

var troubles = []trouble{
	{"understudyd killed", 4, false, func(s *stage, ctx context.Context, h *pair.Hub, d time.Duration) error {
		h.Kill()
		hold(ctx, d)
		return nil
	}},
	{"a process of understudy killed", 4, false, func(s *stage, ctx context.Context, h *pair.Hub, d time.Duration) error {
		killRole(h, pick(s, s.programs(h)[1:]))
		hold(ctx, min(d, 3*time.Second))
		return nil
	}},
	{"a process of understudy stopped", 8, false, func(s *stage, ctx context.Context, h *pair.Hub, d time.Duration) error {
		return freeze(ctx, h, d, pick(s, s.programs(h)))
	}},
	{"all of understudy stopped", 3, false, func(s *stage, ctx context.Context, h *pair.Hub, d time.Duration) error {
		return freeze(ctx, h, d, "")
	}},
	{"the whole hub stopped", 3, false, func(s *stage, ctx context.Context, h *pair.Hub, d time.Duration) error {
		return freezeHub(ctx, h, d)
	}},
	{"the API server stopped", 3, false, func(s *stage, ctx context.Context, h *pair.Hub, d time.Duration) error {
		return freezeParts(ctx, h, d, cluster.APIServer)
	}},
	{"etcd stopped", 3, false, func(s *stage, ctx context.Context, h *pair.Hub, d time.Duration) error {
		return freezeParts(ctx, h, d, cluster.Etcd)
	}},
	{"the API server killed", 2, true, func(s *stage, ctx context.Context, h *pair.Hub, d time.Duration) error {
		err := h.Cluster.Kill(cluster.APIServer)
		hold(ctx, d)
		return err
	}},
	{"etcd killed", 2, true, func(s *stage, ctx context.Context, h *pair.Hub, d time.Duration) error {
		err := h.Cluster.Kill(cluster.Etcd)
		hold(ctx, d)
		return err
	}},
	{"the whole hub killed", 3, true, func(s *stage, ctx context.Context, h *pair.Hub, d time.Duration) error {
		err := killHub(h)
		hold(ctx, d)
		return err
	}},
	{"both hubs killed, this one back first", 2, true, bothKilled},
	{"its link down for a moment", 3, false, func(s *stage, ctx context.Context, h *pair.Hub, d time.Duration) error {
		return s.isolate(ctx, h, min(d, 2*time.Second))
	}},
	{"its link down", 2, false, func(s *stage, ctx context.Context, h *pair.Hub, d time.Duration) error {
		return s.isolate(ctx, h, d)
	}},
	{"the hubs parted from each other", 3, false, func(s *stage, ctx context.Context, h *pair.Hub, d time.Duration) error {
		return s.part(ctx, d)
	}},
	{"deaf to the other hub", 3, false, func(s *stage, ctx context.Context, h *pair.Hub, d time.Duration) error {
		return s.deafen(ctx, h, d)
	}},
	{"no space in etcd", 3, false, func(s *stage, ctx context.Context, h *pair.Hub, d time.Duration) error {
		return noSpace(ctx, h, d)
	}},
	{"its Lease deleted", 2, false, func(s *stage, ctx context.Context, h *pair.Hub, d time.Duration) error {
		return h.Admin.Delete(ctx, leasePath)
	}},
	{"its HubRole deleted", 1, true, func(s *stage, ctx context.Context, h *pair.Hub, d time.Duration) error {
		return h.Admin.Delete(ctx, pair.HubRoles.Path("", "self"))
	}},
	{"to the other hub its server answers strangely", 4, false, func(s *stage, ctx context.Context, h *pair.Hub, d time.Duration) error {
		return fool(ctx, h, d, pick(s, [][]string{{"status", "503"}, {"status", "429"}, {"status", "401"}, {"status", "403"},
			{"html", "200"}, {"hang"}, {"drop"}, {"reset"}, {"delay", "700ms"}, {"cut", "80"},
			{"edit", "/spec/renewTime=7", "path=leases/"}, {"edit", "/metadata/annotations=[]", "path=leases/"}})...)
	}},
	{"open flows to it forgotten", 3, false, func(s *stage, ctx context.Context, h *pair.Hub, d time.Duration) error {
		_, err := fault.Tell(ctx, h.Cluster.ProxySocket(), "freeze")
		hold(ctx, d)
		return err
	}},
	{"the worker's API server stopped", 2, false, func(s *stage, ctx context.Context, _ *pair.Hub, d time.Duration) error {
		if err := s.pair.Work.Pause(cluster.APIServer); err != nil {
			return err
		}
		hold(ctx, d)
		return s.pair.Work.Resume(cluster.APIServer)
	}},
	{"the worker's follower stopped", 2, false, func(s *stage, ctx context.Context, _ *pair.Hub, d time.Duration) error {
		return freeze(ctx, &s.pair.Worker.Hub, d, "")
	}},
	{"a planned switchover", 4, false, func(s *stage, ctx context.Context, _ *pair.Hub, _ time.Duration) error {
		_, err := s.switchOver(ctx)
		return err
	}},
}

// bothKilled lets the hubs come back one after the other.
func bothKilled(s *stage, ctx context.Context, h *pair.Hub, d time.Duration) error {
	for _, one := range s.pair.Hubs {
		if err := killHub(one); err != nil {
			return err
		}
	}
	hold(ctx, min(d, 5*time.Second))
	if err := h.Cluster.Start(cluster.ControlPlane...); err != nil {
		return err
	}
	if err := h.Start(); err != nil {
		return err
	}
	hold(ctx, d)
	return nil
}

// pick is a random one.
func pick[T any](s *stage, all []T) T { return all[s.random.IntN(len(all))] }

// draw is a random kind of fault, by weight.
func (s *stage) draw() *trouble {
	sum := 0
	for _, t := range troubles {
		sum += t.weight
	}
	n := s.random.IntN(sum)
	for i := range troubles {
		if n -= troubles[i].weight; n < 0 {
			return &troubles[i]
		}
	}
	return nil
}

// lasts are the durations of faults: mostly short ones, since what happens happens in seconds.
var lasts = []time.Duration{1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 10, 15, 30, 60}

// faults lets random faults befall the pair, each from a settled state, until there were enough.
func (s *stage) faults(ctx context.Context) error {
	s.say("seed %d", s.Seed)
	n := 0
	for ; (n < s.Faults || time.Since(s.begin) < s.For) && ctx.Err() == nil; n++ {
		t := s.draw()
		hub := pick(s, s.pair.Hubs[:])
		d := min(pick(s, lasts)*time.Second, s.Longest)
		role := map[bool]string{true: "Active", false: "Standby"}[hub == s.active()]
		s.say("fault %d: %s, the %s: %s, %v", n+1, hub.Name, role, t.name, d)
		before := s.mark()
		s.mayDeny = t.restart
		if err := s.after(ctx, before, func() error { return t.do(s, ctx, hub, d) }); err != nil {
			name := fmt.Sprintf("fault %d of seed %d (%s, the %s: %s, %v)", n+1, s.Seed, hub.Name, role, t.name, d)
			if err := s.broke(ctx, name, err); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s.broken == 0 {
		s.ok("%d random faults of seed %d: %d changes of the leader, %d writes acknowledged, one leader at a time, nothing lost",
			n, s.Seed, s.promoted, s.ledger.count(done))
	}
	fmt.Fprintf(s.Out, "soak: %d faults, seed %d, %d changes of the leader, %d writes acknowledged, %d refused, %d unanswered, %d broken, %.0f s\n",
		n, s.Seed, s.promoted, s.ledger.count(done), s.ledger.count(refused)+s.ledger.count(denied), s.ledger.count(unknown),
		s.broken, time.Since(s.begin).Seconds())
	return nil
}

// same ends the writers and sees both hubs become equal, object by object.
func (s *stage) same(ctx context.Context) error {
	for _, w := range s.writers {
		w.End(9, time.Second)
	}
	var difference string
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		var sides [2]map[string]string
		for i, h := range s.pair.Hubs {
			list, err := h.Admin.Get(ctx, loadPath(""))
			if err != nil {
				return err
			}
			sides[i] = map[string]string{}
			for _, o := range list.Items() {
				// Its deletion waits for a person; on a hub that leads by now the mark is of before.
				if h == s.active() || !held(o) {
					sides[i][o.Name()] = o.Text("metadata", "annotations", "bed/at")
				}
			}
		}
		difference = ""
		for name, at := range sides[0] {
			if other, is := sides[1][name]; !is || other != at {
				difference = fmt.Sprintf("%s is %q on hub-a and %q on hub-b", name, at, other)
			}
		}
		if difference == "" && len(sides[0]) == len(sides[1]) {
			return nil
		}
		kube.Pause(ctx, 200*time.Millisecond)
	}
	return fmt.Errorf("the hubs differ %v after the last write: %s", patience, difference)
}
