package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/fence"
)

var (
	paused = []step{
		{"a paused Standby", (*story).pauseHolds},
		{"strange Leases of the peer", (*story).strangeLeases},
		{"the end of a pause", (*story).pauseEnds},
	}
	otherHands = []step{{"another hand on HubRole", (*story).hubRoleOfAnotherHand}}
	audits     = []step{
		{"an audit of both hubs", (*story).audited},
		{"sockets that are removed", (*story).socketsRemoved},
	}
	waivers  = []step{{"protections that are missing", (*story).waiversHold}, {"one uid for all", (*story).oneUID}}
	switched = []step{
		{"who may command, and what is no command", (*story).commandHostile},
		{"each check of a switchover", (*story).checkSwitchover},
		{"a switchover that cannot be finished", (*story).switchoverFails},
		{"a switchover called off", (*story).switchoverCalledOff},
		{"a switchover under load", (*story).switchover},
		{"a forced promotion back", (*story).forceBack},
		{"history", (*story).history},
	}
	// scenarios are further stories on the same stage, each for a test.
	scenarios = map[string][]step{
		"bootstrap":  slices.Concat(steps[:4], bootstrapped),
		"pause":      slices.Concat(steps[:3], paused, []step{{"a takeover without the pause", (*story).takeOver}}),
		"reload":     slices.Concat(steps[:3], rotated),
		"switchover": slices.Concat(steps[:3], switched),
		"operator":   slices.Concat(steps[:3], otherHands, audits, paused, switched),
		"audit":      slices.Concat(steps[:3], audits),
		"runbook":    slices.Concat(steps[:4], []step{{"the runbook", (*story).runbook}}),
		"hands":      slices.Concat(steps[:3], otherHands),
		"waivers":    slices.Concat(steps[:3], waivers),
		"upgrade":    slices.Concat(steps[:4], upgraded),
	}
)

// ScenarioNames are the names, for people.
func ScenarioNames() string {
	return strings.Join(slices.Sorted(maps.Keys(scenarios)), ", ")
}

// RunScenario runs one of them. The pair is returned also with an error; the caller closes it.
func RunScenario(ctx context.Context, o Options, name string, begin time.Time) (*pair.Pair, error) {
	told, known := scenarios[name]
	if !known {
		return nil, fmt.Errorf("no scenario %q, want one of %s", name, ScenarioNames())
	}
	if slices.Contains([]string{"reload", "bootstrap"}, name) {
		o.Lease = pair.DefaultLease // what closes a page is told from a machine that is busy
	}
	p, err := pair.New(o.Root, o.Dir, o.Bed, o.Lease)
	if err != nil {
		return nil, err
	}
	s := &story{Options: o, timeline: &timeline{out: o.Out, begin: begin, check: o.Check, job: name},
		pair: p, a: p.Hubs[0], b: p.Hubs[1]}
	if s.worker, err = p.Work.Client(); err != nil {
		return p, err
	}
	if name == "upgrade" {
		s.a.Programs = s.before()
	}
	for _, h := range p.Hubs {
		if !slices.Contains([]string{"switchover", "reload", "upgrade", "bootstrap", "runbook", "waivers"}, name) {
			p.Proxied = []string{"understudy-peer-observer"}
			if err := h.Cluster.Start(cluster.Proxy); err != nil {
				return p, err
			}
		}
	}
	for _, step := range told {
		if err = step.run(s, ctx); err != nil {
			err = fmt.Errorf("%s: %w", step.name, err)
			break
		}
	}
	s.endReconcilers()
	return p, err
}

// ctl runs understudyctl as root and demands an exit code and a text in what it prints.
func (s *story) ctl(ctx context.Context, h *pair.Hub, code int, text string, words ...string) (string, error) {
	return s.ctlAs(ctx, h, 0, code, text, words...)
}

func (s *story) ctlAs(ctx context.Context, h *pair.Hub, uid, code int, text string, words ...string) (string, error) {
	out, got, err := h.Ctl(ctx, uid, words...)
	if err != nil {
		return out, err
	}
	if got != code || !strings.Contains(out, text) {
		return out, fmt.Errorf("%s: understudyctl %s: exit code %d, want %d; want %q in:\n%s",
			h.Name, strings.Join(words, " "), got, code, text, out)
	}
	return out, nil
}

// ctlSoon is ctl for what the hub will say soon: what its log, an API server or another of its processes
// tells already may be news to the one that answers. Only so many commands a minute are answered.
func (s *story) ctlSoon(ctx context.Context, h *pair.Hub, code int, text string, words ...string) (out string, last error) {
	if _, err := until(ctx, patience, 2*time.Second, func() bool {
		out, last = s.ctl(ctx, h, code, text, words...)
		return last == nil
	}); err != nil {
		return out, fmt.Errorf("%w: %w", err, last)
	}
	return out, nil
}

// inMetricsOf waits until a hub's metrics hold all these texts.
func (s *story) inMetricsOf(ctx context.Context, h *pair.Hub, texts ...string) error {
	var missing []string
	if _, err := until(ctx, patience, 100*time.Millisecond, func() bool {
		said, err := metrics(h)
		missing = slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return strings.Contains(said, text) })
		return err == nil && len(missing) == 0
	}); err != nil {
		return fmt.Errorf("the metrics of %s do not say %q: %w", h.Name, missing, err)
	}
	return nil
}

// atMostOne watches both pages until it is told to end, and returns how often both were open.
func (s *story) atMostOne() (end func() int) {
	stop, both := make(chan struct{}), 0
	var group sync.WaitGroup
	group.Go(func() {
		var pages [2]*fence.Page
		for i, h := range s.pair.Hubs {
			pages[i], _ = fence.Open(h.FencePage())
			defer pages[i].Close()
		}
		for {
			select {
			case <-stop:
				return
			default:
			}
			_, a := pages[0].Term()
			_, b := pages[1].Term()
			if a && b {
				both++
			}
			time.Sleep(200 * time.Microsecond)
		}
	})
	return func() int {
		close(stop)
		group.Wait()
		return both
	}
}

// state waits until a hub's status says that it is in a state.
func (s *story) state(ctx context.Context, h *pair.Hub, want string) error {
	var last string
	_, err := until(ctx, patience, 20*time.Millisecond, func() bool {
		o, err := h.Status(ctx)
		last = o.Text("leadership", "state")
		return err == nil && last == want
	})
	if err != nil {
		return fmt.Errorf("%s is %q, not %q: %w", h.Name, last, want, err)
	}
	return nil
}

func role(h *pair.Hub, ctx context.Context) string {
	o, err := h.Admin.Get(ctx, pair.HubRoles.Path("", "self"))
	if err != nil {
		return err.Error()
	}
	return o.Text("spec", "role")
}

func lease(ctx context.Context, h *pair.Hub) (kube.Object, error) {
	return h.Admin.Get(ctx, leasePath)
}

var leasePath = kube.Leases.Path(pair.Namespace, "kubeslice-controller-ha")
