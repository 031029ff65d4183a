package leader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// patience is how long a pair may take to settle. An API server that was started anew may refuse
// what its admission policies guard for up to 30 s, until it looks for their parameters again.
const patience = 120 * time.Second

// mark is how things stand before a fault.
type mark struct {
	at     time.Duration
	known  time.Duration // what was acknowledged until then is on the Standby
	leader int
	term   uint64
	logged map[*pair.Hub]int64 // how long each hub's log was
}

func (s *stage) mark() mark {
	leader, term := s.seen.leader()
	m := mark{bootNow(), s.known, leader, term, map[*pair.Hub]int64{}}
	for _, h := range s.pair.Hubs {
		if info, err := os.Stat(h.Log()); err == nil {
			m.logged[h] = info.Size()
		}
	}
	return m
}

// since is the same mark at another time.
func (m mark) since(at time.Duration) mark {
	m.at = at
	return m
}

// until is when the last write was acknowledged that must survive the loss of its hub at the mark.
func (m mark) until() time.Duration { return min(m.at-lag, m.known) }

// active and standby are the hubs as they stand.
func (s *stage) active() *pair.Hub {
	leader, _ := s.seen.leader()
	return s.pair.Hubs[max(leader, 0)]
}

func (s *stage) other(h *pair.Hub) *pair.Hub {
	if h == s.pair.Hubs[0] {
		return s.pair.Hubs[1]
	}
	return s.pair.Hubs[0]
}

// settle starts what ended and waits until one hub leads and is written to, the other one could take
// over, and the worker knows.
func (s *stage) settle(ctx context.Context) error {
	var missing error
	began := bootNow()
	_, err := see.Until(ctx, patience, 50*time.Millisecond, func() bool {
		if missing = s.repair(); missing == nil {
			missing = s.unsettled(ctx, began)
		}
		return missing == nil
	})
	if err != nil {
		s.tell(ctx)
		return fmt.Errorf("not settled within %v: %w", patience, missing)
	}
	return nil
}

// tell prints what both hubs say of themselves.
func (s *stage) tell(ctx context.Context) {
	for _, h := range s.pair.Hubs {
		out, _, err := h.Ctl(ctx, 0, "status")
		for line := range strings.Lines(fmt.Sprintln(out, err)) {
			fmt.Fprintf(s.Out, "# %s", line)
		}
	}
}

// repair starts what does not run: as systemd does an understudyd, as a kubelet does an API server.
func (s *stage) repair() error {
	for _, h := range s.pair.Hubs {
		for _, part := range append([]cluster.Part{cluster.Proxy}, cluster.ControlPlane...) {
			if !h.Cluster.Running(part) {
				if err := h.Cluster.Start(part); err != nil {
					return err
				}
			}
		}
		if err := s.startDaemon(h); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) startDaemon(h *pair.Hub) error {
	if h.Fault() == nil || time.Since(s.started[h]) < time.Second {
		return nil
	}
	s.started[h] = time.Now()
	return h.Start()
}

// unsettled says what is missing, nil when nothing is.
func (s *stage) unsettled(ctx context.Context, began time.Duration) error {
	if err := s.ledger.read(); err != nil {
		return err
	}
	leader, term := s.seen.leader()
	if leader < 0 {
		return errors.New("no hub leads alone")
	}
	if standby := s.pair.Hubs[1-leader]; !standby.Armed(ctx) {
		return fmt.Errorf("%s is not armed with a complete mirror", standby.Name)
	} else if err := recorded(ctx, standby, term); err != nil {
		return err
	} else if err := caughtUp(ctx, standby); err != nil {
		return err
	}
	if told := s.seen.toldTerm(); told != term {
		return fmt.Errorf("%s leads with term %d, the worker was told %d", s.pair.Hubs[leader].Name, term, told)
	}
	if last := s.ledger.last(s.pair.Hubs[leader].Name); last.sent < began || last.outcome != done {
		return fmt.Errorf("the last write on %s: %s %s", s.pair.Hubs[leader].Name, last.outcome, last.err)
	}
	return s.mirrored(ctx, s.pair.Hubs[leader], s.pair.Hubs[1-leader], term)
}

// mirrored says whether a Standby holds all that the hub that leads has acknowledged in its term, until a
// moment ago: how far behind the mirror is when its source is lost depends on the machine.
func (s *stage) mirrored(ctx context.Context, active, standby *pair.Hub, term uint64) error {
	at := bootNow() - lag/2
	if err := s.ledger.read(); err != nil {
		return err
	}
	list, err := standby.Admin.Get(ctx, loadPath(""))
	if err != nil {
		return err
	}
	found := map[string]time.Duration{}
	for _, o := range list.Items() {
		if at, ours := written(o); ours {
			found[o.Name()] = at
		}
	}
	own := ledger{all: slices.DeleteFunc(slices.Clone(s.ledger.all), func(e entry) bool { return e.hub != active.Name || e.term != term })}
	if err := own.holds(found, at, entry{hub: standby.Name, sent: bootNow()}); err != nil {
		return fmt.Errorf("as a Standby %w", err)
	}
	s.known = at
	return nil
}

// annotation reads what a hub says in an annotation of one of its Leases, and returns its text as well.
func annotation(ctx context.Context, h *pair.Hub, lease, name string, into any) (string, error) {
	o, err := h.Admin.Get(ctx, lease)
	if err != nil {
		return "", err
	}
	text := o.Text("metadata", "annotations", "ha.kubeslice.io/"+name)
	return text, json.Unmarshal([]byte(text), into)
}

// caughtUp says whether a Standby's mirror has written what it knows of: armed by its record it may take
// over before, and for up to half a minute its API server may refuse each write.
func caughtUp(ctx context.Context, h *pair.Hub) error {
	var says struct {
		Complete bool
		LagMs    int64
	}
	text, err := annotation(ctx, h, leasePath, "standby", &says)
	if err != nil || !says.Complete || says.LagMs >= 5000 {
		return fmt.Errorf("the mirror of %s is behind: %s %v", h.Name, text, err)
	}
	return nil
}

// recorded says whether a Standby would still know after a loss of power that its mirror is complete.
func recorded(ctx context.Context, h *pair.Hub, term uint64) error {
	var mirror struct {
		SourceTerm uint64
		Complete   bool
	}
	text, err := annotation(ctx, h, leasePath+"-peer", "mirror", &mirror)
	if err != nil || !mirror.Complete || mirror.SourceTerm != term {
		return fmt.Errorf("the record of %s does not say that its mirror of term %d is complete: %s %v", h.Name, term, text, err)
	}
	return nil
}

// after does something to the settled pair and sees it settle again, with nothing broken.
func (s *stage) after(ctx context.Context, before mark, do func() error) error {
	if err := do(); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	return s.verify(before)
}

// broke tells what broke and makes the pair whole, so that the rest can be tried. It gives up when the
// pair does not settle any more.
func (s *stage) broke(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.broken++
	fmt.Fprintf(s.Out, "not ok - leader: %s: %v (%.0f s, %v)\n", name, err, time.Since(s.begin).Seconds(), bootNow())
	settled := s.settle(ctx)
	s.seen.forget()
	s.ledger.void("", 0)
	s.ledger.judged = bootNow()
	s.deniedBefore = s.ledger.count(denied)
	if settled != nil {
		return fmt.Errorf("%d broken; after the last one: %w", s.broken, settled)
	}
	return nil
}

// verify holds what was seen since a mark against what may be.
func (s *stage) verify(before mark) error {
	if err := s.ledger.read(); err != nil {
		return err
	}
	if err := s.seen.fault(); err != nil {
		return err
	}
	if err := s.ledger.oneAtATime(s.splits); err != nil {
		return err
	}
	if err := s.ledger.nothingLost(before.at, before.until(), before.term); err != nil {
		return err
	}
	if n := s.ledger.count(denied); n > s.deniedBefore {
		e := s.ledger.find(denied, s.deniedBefore)
		if !s.mayDeny {
			return fmt.Errorf("%d writes were denied while the page was open, first on %s under term %d at %v: %s",
				n-s.deniedBefore, e.hub, e.term, e.sent, e.err)
		}
		s.deniedBefore = n
	}
	if leader, term := s.seen.leader(); term != before.term {
		s.promoted++
		if before.leader >= 0 {
			s.ledger.void(s.pair.Hubs[before.leader].Name, before.until())
		}
		if leader == before.leader {
			s.say("%s leads again, term %d", s.pair.Hubs[leader].Name, term)
		}
	}
	return nil
}

// stays sees that the same hub leads with the same term for a while.
func (s *stage) stays(ctx context.Context, before mark, d time.Duration) error {
	until := time.Now().Add(d)
	for time.Now().Before(until) && kube.Pause(ctx, 20*time.Millisecond) {
		if leader, term := s.seen.leader(); leader >= 0 && (leader != before.leader || term != before.term) {
			return fmt.Errorf("%s leads with term %d", s.pair.Hubs[leader].Name, term)
		}
		if opened, _ := s.seen.openings(1 - before.leader); opened > before.at {
			return fmt.Errorf("%s leads", s.pair.Hubs[1-before.leader].Name)
		}
	}
	return ctx.Err()
}

// takenOver waits until the other hub leads, and says how long after the mark.
func (s *stage) takenOver(ctx context.Context, before mark, within time.Duration) (time.Duration, error) {
	var took time.Duration
	if _, err := see.Until(ctx, within, 2*time.Millisecond, func() bool {
		opened, _ := s.seen.openings(1 - before.leader)
		took = opened - before.at
		return opened > before.at
	}); err != nil {
		return 0, fmt.Errorf("%s does not lead %v after the fault", s.pair.Hubs[1-before.leader].Name, within)
	}
	return took, nil
}
