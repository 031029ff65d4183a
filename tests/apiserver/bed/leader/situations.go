package leader

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/fault"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// situation is one thing that goes wrong, and what must come of it. It gets the hub that leads and
// its Standby, both settled; afterwards the pair is settled again and everything is verified.
type situation struct {
	name    string
	quick   bool // part of `make check`
	restart bool // an API server is started anew: its policies may refuse for a while
	run     func(s *stage, ctx context.Context, before mark, active, standby *pair.Hub) (string, error)
}

var situations = []situation{
	{"every process of the Active and of the Standby stopped in turn for a second", true, false, eachStopped},
	{"a network gone for a second", true, false, blip},
	{"an API server stopped for a second", true, false, shortStop},
	{"open flows to a healthy Active forgotten", true, false, forgotten},
	{"the hubs parted, the worker sees both", false, false, parted},
	{"the Standby cannot reach the Active, one way", true, false, deafActive},
	{"the Active cannot reach the Standby, one way", false, false, deafStandby},
	{"the Standby cut off from everything", true, false, isolatedStandby},
	{"the Active cut off from everything", true, false, isolatedActive},
	{"no space in etcd of the Standby while the Active dies", false, false, standbyFull},
	{"no space in etcd of the Active", true, false, activeFull},
	{"understudyd of the Active stopped for long", true, false, frozenUnderstudy},
	{"the whole Active stopped for long", false, false, frozenHub},
	{"the right to see the Active's Lease revoked, and the token", false, false, revoked},
	{"the token of the Active's elector revoked", false, false, electorRevoked},
	{"only the API server of the Active killed", false, true, onlyServer},
	{"the Standby started during an outage of the Active", true, false, startedAlone},
	{"both hubs down, the former Active back first", true, true, formerFirst},
	{"both hubs down, the former Standby back first", false, true, standbyFirst},
	{"the Standby restored from an older copy", false, true, standbyRestored},
	{"the Active restored from an older copy", false, true, activeRestored},
}

func (s *stage) situations(ctx context.Context) error {
	ran := 0
	only, err := regexp.Compile(s.Only)
	if err != nil {
		return err
	}
	for _, one := range situations {
		if s.Quick && !one.quick || !only.MatchString(one.name) {
			continue
		}
		s.say("%s", one.name)
		before := s.mark()
		s.mayDeny = one.restart
		active := s.pair.Hubs[before.leader]
		var told string
		if err := s.after(ctx, before, func() (err error) {
			told, err = one.run(s, ctx, before, active, s.other(active))
			return err
		}); err != nil {
			if err := s.broke(ctx, one.name, err); err != nil {
				return err
			}
			ran++
			continue
		}
		s.ok("%s: %s", one.name, told)
		ran++
	}
	if ran == 0 {
		return fmt.Errorf("no situation is called %s", s.Only)
	}
	return nil
}

const notPromoted = "nobody else leads, the term stays"

// stayed demands that nothing changed, from the fault until now and for a threshold more.
func (s *stage) stayed(ctx context.Context, before mark) (string, error) {
	return notPromoted, s.stays(ctx, before, s.Threshold)
}

func eachStopped(s *stage, ctx context.Context, before mark, active, standby *pair.Hub) (string, error) {
	n := 0
	for _, h := range []*pair.Hub{active, standby} {
		for _, program := range s.programs(h) {
			if err := freeze(ctx, h, time.Second, program); err != nil {
				return "", err
			}
			if err := s.stays(ctx, before, 500*time.Millisecond); err != nil {
				return "", fmt.Errorf("%s of %s: %w", program, h.Name, err)
			}
			n++
		}
	}
	told, err := s.stayed(ctx, before)
	return fmt.Sprintf("%d times %s", n, told), err
}

func blip(s *stage, ctx context.Context, before mark, active, _ *pair.Hub) (string, error) {
	if err := s.isolate(ctx, active, time.Second); err != nil {
		return "", err
	}
	return s.stayed(ctx, before)
}

func shortStop(s *stage, ctx context.Context, before mark, active, _ *pair.Hub) (string, error) {
	if err := freezeParts(ctx, active, time.Second, cluster.APIServer); err != nil {
		return "", err
	}
	return s.stayed(ctx, before)
}

// forgotten is a device on the way that drops what it no longer knows, while the Active is well.
func forgotten(s *stage, ctx context.Context, before mark, active, _ *pair.Hub) (string, error) {
	if _, err := fault.Tell(ctx, active.Cluster.ProxySocket(), "freeze"); err != nil {
		return "", err
	}
	return notPromoted, s.stays(ctx, before, 2*s.Threshold)
}

// class waits until a hub says of its peer what it should.
func (s *stage) class(ctx context.Context, h *pair.Hub, want string) error {
	var got string
	_, err := see.Until(ctx, patience, 50*time.Millisecond, func() bool {
		o, err := h.Status(ctx)
		got = o.Text("peer", "class")
		return err == nil && got == want
	})
	if err != nil {
		return fmt.Errorf("the peer is %q to %s, want %q", got, h.Name, want)
	}
	return nil
}

func parted(s *stage, ctx context.Context, before mark, active, standby *pair.Hub) (string, error) {
	return s.vetoed(ctx, before, standby, func(seen <-chan struct{}) error { return s.part(ctx, 3*s.Threshold, seen) })
}

func deafActive(s *stage, ctx context.Context, before mark, active, standby *pair.Hub) (string, error) {
	return s.vetoed(ctx, before, standby, func(seen <-chan struct{}) error { return s.deafen(ctx, active, 3*s.Threshold, seen) })
}

// whileSeen runs a fault that lasts until something was seen, or until nobody waits for it any more.
func whileSeen(during func(seen <-chan struct{}) error, await func() error) error {
	seen, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- during(seen) }()
	err := await()
	close(seen)
	return errors.Join(err, <-ended)
}

// vetoed runs a fault in which the Standby sees nothing of the Active, and the worker does.
func (s *stage) vetoed(ctx context.Context, before mark, standby *pair.Hub, during func(seen <-chan struct{}) error) (string, error) {
	if err := whileSeen(during, func() error {
		return errors.Join(s.class(ctx, standby, "silent"), s.refuses(ctx, before, standby, "witness_veto"))
	}); err != nil {
		return "", err
	}
	told, err := s.stayed(ctx, before)
	return "the worker's word vetoes; " + told, err
}

func deafStandby(s *stage, ctx context.Context, before mark, active, standby *pair.Hub) (string, error) {
	if err := whileSeen(func(seen <-chan struct{}) error { return s.deafen(ctx, standby, 2*s.Threshold, seen) },
		func() error { return s.class(ctx, active, "silent") }); err != nil {
		return "", err
	}
	return s.stayed(ctx, before)
}

func isolatedStandby(s *stage, ctx context.Context, before mark, active, standby *pair.Hub) (string, error) {
	if err := whileSeen(func(seen <-chan struct{}) error { return s.isolate(ctx, standby, 3*s.Threshold, seen) },
		func() error { return s.refuses(ctx, before, standby, "isolated") }); err != nil {
		return "", err
	}
	told, err := s.stayed(ctx, before)
	return "it refuses as isolated; " + told, err
}

// isolatedActive is the one case in which two hubs may lead: nobody can tell the one that is alone.
func isolatedActive(s *stage, ctx context.Context, before mark, active, standby *pair.Hub) (string, error) {
	took, err := s.takenOverWhile(ctx, before, func(seen <-chan struct{}) error { return s.isolate(ctx, active, 3*s.Threshold, seen) })
	if err != nil {
		return "", err
	}
	both := s.splits[len(s.splits)-1]
	_, closed := s.seen.openings(before.leader)
	return fmt.Sprintf("%s leads after %.1f s; the old one yields %.1f s after it sees its peer again", standby.Name,
		took.Seconds(), max(0, closed-both.from-max(3*s.Threshold, took)).Seconds()), nil
}

func standbyFull(s *stage, ctx context.Context, before mark, active, standby *pair.Hub) (string, error) {
	if err := alarm(ctx, standby, "ACTIVATE"); err != nil {
		return "", err
	}
	hold(ctx, 16*time.Second) // longer than a write proves that the own server takes writes (M1)
	active.Kill()
	err := s.refuses(ctx, before, standby, "self_unhealthy")
	if opened, _ := s.seen.openings(1 - before.leader); opened > before.at {
		err = errors.Join(err, fmt.Errorf("%s leads without an API server that takes writes", standby.Name))
	}
	if err := errors.Join(err, alarm(ctx, standby, "DEACTIVATE")); err != nil {
		return "", err
	}
	took, err := s.takenOver(ctx, before.since(bootNow()), patience)
	return fmt.Sprintf("%s refuses as self_unhealthy, and leads %.1f s after it can write again", standby.Name, took.Seconds()), err
}

func activeFull(s *stage, ctx context.Context, before mark, active, standby *pair.Hub) (string, error) {
	if err := alarm(ctx, active, "ACTIVATE"); err != nil {
		return "", err
	}
	took, err := s.takenOver(ctx, before, patience)
	if err := errors.Join(err, alarm(ctx, active, "DEACTIVATE")); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s leads after %.1f s", standby.Name, took.Seconds()), nil
}

func frozenUnderstudy(s *stage, ctx context.Context, before mark, active, standby *pair.Hub) (string, error) {
	return s.takesOverDuring(ctx, before, standby, func(seen <-chan struct{}) error { return freeze(ctx, active, s.frozen(), "", seen) })
}

func frozenHub(s *stage, ctx context.Context, before mark, active, standby *pair.Hub) (string, error) {
	return s.takesOverDuring(ctx, before, standby, func(seen <-chan struct{}) error { return freezeHub(ctx, active, s.frozen(), seen) })
}

// frozen is how long a hub is stopped that the other one is to replace.
func (s *stage) frozen() time.Duration {
	if s.Quick {
		return 3 * s.Threshold
	}
	return time.Minute
}

// takenOverWhile runs a fault that lasts until the other hub leads.
func (s *stage) takenOverWhile(ctx context.Context, before mark, during func(seen <-chan struct{}) error) (took time.Duration, err error) {
	err = whileSeen(during, func() (err error) {
		took, err = s.takenOver(ctx, before, patience)
		return err
	})
	return took, err
}

func (s *stage) takesOverDuring(ctx context.Context, before mark, standby *pair.Hub, during func(seen <-chan struct{}) error) (string, error) {
	took, err := s.takenOverWhile(ctx, before, during)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s leads after %.1f s, and goes on when the other one wakes", standby.Name, took.Seconds()), nil
}

// revoke deletes a service account, whose tokens are worth nothing from then on, and gives it back, with
// a new token for the hub that used it, however that went.
func (s *stage) revoke(ctx context.Context, on *pair.Hub, account string, of *pair.Hub, during func() error) error {
	path := kube.ServiceAccounts.Path(pair.Namespace, account)
	if err := on.Admin.Delete(ctx, path); err != nil {
		return err
	}
	err := during()
	_, createErr := on.Admin.Create(ctx, kube.ServiceAccounts.Path(pair.Namespace, ""), kube.Object{
		"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": account, "namespace": pair.Namespace}})
	return errors.Join(err, createErr, s.newTokens(ctx, of))
}

// Servers know a token for 10 s more, busy ones for longer.
func revoked(s *stage, ctx context.Context, before mark, active, standby *pair.Hub) (string, error) {
	return "it is blind, not silent; " + notPromoted, s.revoke(ctx, active, "understudy-peer-observer", standby, func() error {
		// An API server knows a token for ten seconds by heart, and never looks at it again for a watch
		// that runs.
		disconnecting, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			for kube.Pause(disconnecting, 5*time.Second) {
				fault.Tell(disconnecting, active.Cluster.ProxySocket(), "disconnect")
			}
		}()
		if err := s.class(ctx, standby, "blind"); err != nil {
			return err
		}
		stop()
		return s.stays(ctx, before, 3*s.Threshold)
	})
}

func electorRevoked(s *stage, ctx context.Context, before mark, active, standby *pair.Hub) (string, error) {
	var took time.Duration
	err := s.revoke(ctx, active, "understudy-elector", active, func() (err error) {
		took, err = s.takenOver(ctx, before, patience)
		return err
	})
	return fmt.Sprintf("its page runs out, %s leads after %.1f s", standby.Name, took.Seconds()), err
}

// newTokens writes a hub's credentials anew and starts its understudyd with them.
func (s *stage) newTokens(ctx context.Context, h *pair.Hub) error {
	h.Kill()
	if err := h.Configure(ctx); err != nil {
		return err
	}
	return h.Start()
}

func onlyServer(s *stage, ctx context.Context, before mark, active, standby *pair.Hub) (string, error) {
	if err := active.Cluster.Kill(cluster.APIServer); err != nil {
		return "", err
	}
	took, err := s.takenOver(ctx, before, patience)
	return fmt.Sprintf("%s leads after %.1f s", standby.Name, took.Seconds()), err
}

func startedAlone(s *stage, ctx context.Context, before mark, active, standby *pair.Hub) (string, error) {
	standby.Kill()
	active.Kill()
	began := bootNow()
	if err := standby.Start(); err != nil {
		return "", err
	}
	took, err := s.takenOver(ctx, before.since(began), patience)
	if err == nil && took < s.Threshold {
		err = fmt.Errorf("%s leads %v after its start, before it watched for a threshold", standby.Name, took)
	}
	return fmt.Sprintf("%s leads %.1f s after its start, armed by its record", standby.Name, took.Seconds()), err
}

func bothDown(active, standby *pair.Hub) error {
	return errors.Join(killHub(active), killHub(standby))
}

func (s *stage) back(ctx context.Context, h *pair.Hub) error {
	if err := h.Cluster.Start(cluster.ControlPlane...); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := h.Cluster.Await(ctx, cluster.APIServer); err != nil {
		return err
	}
	return h.Start()
}

// formerFirst: the hub that led last comes back alone and leads again with its term, since the worker
// has heard of none that is higher.
func formerFirst(s *stage, ctx context.Context, before mark, active, standby *pair.Hub) (string, error) {
	if err := bothDown(active, standby); err != nil {
		return "", err
	}
	began := bootNow()
	if err := s.back(ctx, active); err != nil {
		return "", err
	}
	_, err := see.Until(ctx, patience, 5*time.Millisecond, func() bool {
		leader, term := s.seen.leader()
		return leader == before.leader && term == before.term
	})
	if err != nil {
		return "", fmt.Errorf("%s does not lead again with term %d", active.Name, before.term)
	}
	return fmt.Sprintf("it leads again with its term, %.1f s later", (bootNow() - began).Seconds()), s.back(ctx, standby)
}

// standbyFirst: the one that did not lead comes back alone and takes over after a threshold of its
// own; the other one finds a higher term and follows.
func standbyFirst(s *stage, ctx context.Context, before mark, active, standby *pair.Hub) (string, error) {
	if err := bothDown(active, standby); err != nil {
		return "", err
	}
	began := bootNow()
	if err := s.back(ctx, standby); err != nil {
		return "", err
	}
	took, err := s.takenOver(ctx, before.since(began), patience)
	if err != nil {
		return "", err
	}
	if took < s.Threshold {
		return "", fmt.Errorf("%s leads %v after its start, before it watched for a threshold", standby.Name, took)
	}
	if err := s.back(ctx, active); err != nil {
		return "", err
	}
	_, term := s.seen.leader()
	return fmt.Sprintf("it takes over %.1f s later; the other one follows it", took.Seconds()),
		s.stays(ctx, mark{at: bootNow(), leader: 1 - before.leader, term: term}, 2*s.Threshold)
}

func standbyRestored(s *stage, ctx context.Context, before mark, active, standby *pair.Hub) (string, error) {
	if err := standby.Cluster.Snapshot("older"); err != nil {
		return "", err
	}
	hold(ctx, 5*time.Second)
	if err := standby.Cluster.Restore("older"); err != nil {
		return "", err
	}
	if err := s.stays(ctx, before, 3*s.Threshold); err != nil {
		return "", err
	}
	return "its mirror catches up; " + notPromoted, nil
}

// activeRestored: the Active's data goes back in time, under the eyes of a Standby that is paused. It
// must not follow it there, and no term may fall; whose data counts then, an operator says.
func activeRestored(s *stage, ctx context.Context, before mark, active, standby *pair.Hub) (string, error) {
	if err := ctl(ctx, standby, "pause", "--for", "10m"); err != nil {
		return "", err
	}
	if err := active.Cluster.Snapshot("older"); err != nil {
		return "", err
	}
	hold(ctx, 5*time.Second)
	if err := active.Cluster.Restore("older"); err != nil {
		return "", err
	}
	if _, err := see.Until(ctx, patience, 100*time.Millisecond, func() bool {
		s.startDaemon(active)
		out, _, err := standby.Ctl(ctx, 0, "status")
		return err == nil && strings.Contains(out, "went back in time")
	}); err != nil {
		return "", fmt.Errorf("%s does not see that its source went back in time", standby.Name)
	}
	if err := s.stays(ctx, before, s.Threshold); err != nil {
		return "", err
	}
	if err := ctl(ctx, standby, "resume"); err != nil {
		return "", err
	}
	if err := ctl(ctx, standby, "promote", "--force", "--accept-incomplete", "--yes", standby.Name); err != nil {
		return "", err
	}
	_, err := s.takenOver(ctx, before, patience)
	return fmt.Sprintf("%s freezes its mirror; promoted by force, it leads with what it had", standby.Name), err
}

// ctl runs a command of an operator that must be carried out, now or soon.
func ctl(ctx context.Context, h *pair.Hub, words ...string) error {
	out, code, err := h.Ctl(ctx, 0, words...)
	if err == nil && code != 0 && code != 3 {
		err = fmt.Errorf("%s: understudyctl %s: exit code %d: %s", h.Name, strings.Join(words, " "), code, out)
	}
	return err
}

// refusals are the words with which a hub says why it does not promote itself.
var refusals = map[string]string{
	"witness_veto":   "see the peer renew",
	"isolated":       "none of 1 workers can be reached",
	"self_unhealthy": "promotion refused: last own write",
}

// refuses waits until a hub's log says, behind a mark, why it does not promote itself.
func (s *stage) refuses(ctx context.Context, before mark, h *pair.Hub, reason string) error {
	_, err := see.Until(ctx, patience, 100*time.Millisecond, func() bool {
		text, _ := os.ReadFile(h.Log())
		return strings.Contains(string(text[before.logged[h]:]), refusals[reason])
	})
	if err != nil {
		return fmt.Errorf("%s does not say that it refused: %s", h.Name, reason)
	}
	return nil
}
