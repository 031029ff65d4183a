package leader

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// Targets of the figures, as the design sets them, for the lease profile of 3 s.
const (
	failoverTarget  = 5 * time.Second
	detectionTarget = 100 * time.Millisecond // beyond the threshold
	promotionTarget = 100 * time.Millisecond // beyond the time in which its API server has a call of it
	switchovers     = 5
)

func (s *stage) figure(name string, values []time.Duration, of func([]time.Duration) time.Duration, target time.Duration) {
	value, limit, verdict := of(values), "-", "ok"
	if target > 0 {
		limit = fmt.Sprintf("%.0f", float64(target.Microseconds())/1000)
		if value > target {
			verdict = "short"
		}
	}
	fmt.Fprintf(s.Out, "bench %s %.1f ms target %s %s\n", name, float64(value.Microseconds())/1000, limit, verdict)
}

func median(all []time.Duration) time.Duration { return slices.Sorted(slices.Values(all))[len(all)/2] }
func least(all []time.Duration) time.Duration  { return slices.Min(all) }
func most(all []time.Duration) time.Duration   { return slices.Max(all) }

// three prints the smallest, the median and the largest; the target is the largest's.
func (s *stage) three(name string, values []time.Duration, target time.Duration) {
	s.figure(name+"_min", values, least, 0)
	s.figure(name+"_median", values, median, 0)
	s.figure(name+"_max", values, most, target)
}

// renewals is when a hub's Lease was last seen to be renewed, by a watch beside its Standby's.
type renewals struct {
	mutex sync.Mutex
	last  map[*pair.Hub]time.Time
}

func (r *renewals) watch(ctx context.Context, h *pair.Hub) {
	for ctx.Err() == nil {
		h.Admin.ListWatch(ctx, kube.Leases.Path(pair.Namespace, ""), func([]kube.Object) error { return nil },
			func(e kube.Event) error {
				if e.Object.Name() == "kubeslice-controller-ha" && e.Object.Text("spec", "holderIdentity") == h.Name {
					r.mutex.Lock()
					r.last[h] = time.Now()
					r.mutex.Unlock()
				}
				return nil
			})
		kube.Pause(ctx, 50*time.Millisecond)
	}
}

func (r *renewals) of(h *pair.Hub) time.Time {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.last[h]
}

// said is when a hub's log, behind a mark, first holds some words.
func said(h *pair.Hub, before mark, words string) (time.Time, error) {
	text, err := os.ReadFile(h.Log())
	if err != nil {
		return time.Time{}, err
	}
	for line := range strings.Lines(string(text[before.logged[h]:])) {
		if strings.Contains(line, words) {
			stamp, _, _ := strings.Cut(line, " ")
			return time.Parse(time.RFC3339Nano, strings.TrimPrefix(stamp, "time="))
		}
	}
	return time.Time{}, fmt.Errorf("%s did not say %q", h.Name, words)
}

// bench measures crash failovers, hub by hub in turn, and planned switchovers.
func (s *stage) bench(ctx context.Context) error {
	seen := &renewals{last: map[*pair.Hub]time.Time{}}
	for _, h := range s.pair.Hubs {
		go seen.watch(ctx, h)
	}
	var failover, detection, promotion, called, beyond []time.Duration
	for range s.Failovers {
		kube.Pause(ctx, time.Duration(s.random.IntN(800))*time.Millisecond)
		active := s.active()
		standby := s.other(active)
		if _, err := see.Until(ctx, patience, 10*time.Millisecond, func() bool {
			return time.Since(seen.of(active)) < s.Threshold
		}); err != nil {
			return fmt.Errorf("%s's renewals: %w", active.Name, err)
		}
		before := s.mark()
		s.mayDeny = true
		active.Kill()
		if err := active.Cluster.Kill(cluster.ControlPlane...); err != nil {
			return err
		}
		before = before.since(bootNow())
		took, err := s.takenOver(ctx, before, 30*time.Second)
		if err != nil {
			return err
		}
		opened := time.Now().Add(-(bootNow() - before.at - took))
		considered, err := said(standby, before, "promotion considered")
		if err != nil {
			return err
		}
		failover = append(failover, took)
		detection = append(detection, considered.Sub(seen.of(active))-s.Threshold)
		promotion = append(promotion, opened.Sub(considered))
		calls, err := inCalls(s.Bed.Dir, standby, considered, opened)
		if err != nil {
			return err
		}
		called = append(called, calls)
		beyond = append(beyond, opened.Sub(considered)-calls)
		if err := s.settle(ctx); err != nil {
			return err
		}
		if err := s.verify(before); err != nil {
			return err
		}
	}
	s.three("failover_crash_3s_profile", failover, failoverTarget)
	s.three("detection_beyond_threshold", detection, detectionTarget)
	s.figure("promotion_median", promotion, median, 0)
	s.figure("promotion_in_calls_median", called, median, 0)
	s.three("promotion_beyond_its_calls", beyond, promotionTarget)
	return s.benchSwitchover(ctx)
}

// benchSwitchover measures planned switchovers there and back.
func (s *stage) benchSwitchover(ctx context.Context) error {
	var whole, closed []time.Duration
	for range switchovers {
		if err := s.settle(ctx); err != nil {
			return err
		}
		before := s.mark()
		took, err := s.switchOver(ctx)
		if err != nil {
			return err
		}
		whole = append(whole, took)
		if _, err := s.takenOver(ctx, before, 5*time.Second); err != nil {
			return err
		}
		opened, _ := s.seen.openings(1 - before.leader)
		_, shut := s.seen.openings(before.leader)
		closed = append(closed, opened-shut)
		if err := s.settle(ctx); err != nil {
			return err
		}
		if err := s.verify(before); err != nil {
			return err
		}
	}
	s.three("switchover", whole, 0)
	s.three("switchover_nobody_leads", closed, 0)
	return nil
}
