package leader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/fault"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// What can be done to a hub. Each of these breaks something, waits, and mends it; processes that are
// dead then are started when the pair settles.

// hold waits while something is broken: for so long, and until what must be seen meanwhile was seen.
func hold(ctx context.Context, d time.Duration, until ...<-chan struct{}) {
	kube.Pause(ctx, d)
	for _, seen := range until {
		select {
		case <-seen:
		case <-ctx.Done():
		}
	}
}

// killHub ends everything of a hub with SIGKILL, as the loss of its machine does.
func killHub(h *pair.Hub) error {
	h.Kill()
	return h.Cluster.Kill(cluster.ControlPlane...)
}

// freeze stops processes of a hub for a time: all of understudy's, or those that run one program.
func freeze(ctx context.Context, h *pair.Hub, d time.Duration, program string, until ...<-chan struct{}) error {
	var pids []int
	// One that was killed a moment ago comes back after a while.
	if _, err := see.Until(ctx, patience, 20*time.Millisecond, func() bool {
		pids = nil
		if h.Fault() == nil && (program == "" || program == "understudyd") {
			pids = append(pids, h.Daemon().Pid())
		}
		for _, r := range h.Roles() {
			if program == "" || strings.TrimSuffix(r.Name, " (deleted)") == program {
				pids = append(pids, r.Pid)
			}
		}
		return len(pids) > 0
	}); err != nil {
		return fmt.Errorf("%s: no process %q: %w", h.Name, program, err)
	}
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGSTOP)
	}
	hold(ctx, d, until...)
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGCONT)
	}
	return nil
}

// freezeParts stops parts of the hub's control plane for a time.
func freezeParts(ctx context.Context, h *pair.Hub, d time.Duration, parts ...cluster.Part) error {
	if err := h.Cluster.Pause(parts...); err != nil {
		return err
	}
	hold(ctx, d)
	return h.Cluster.Resume(parts...)
}

// freezeHub stops the whole hub, as the hypervisor does with a machine.
func freezeHub(ctx context.Context, h *pair.Hub, d time.Duration, until ...<-chan struct{}) error {
	if err := h.Cluster.Pause(cluster.ControlPlane...); err != nil {
		return err
	}
	err := freeze(ctx, h, d, "", until...)
	if resumeErr := h.Cluster.Resume(cluster.ControlPlane...); err == nil {
		err = resumeErr
	}
	return err
}

// programs are those that a hub runs while its peer lives: only a Standby has a syncer.
func (s *stage) programs(h *pair.Hub) []string {
	all := []string{"understudyd", "elector", "observer", "publisher", "repointer", "monitor", "dialer", "runner"}
	if h != s.active() {
		all = append(all, "syncer")
	}
	return all
}

func killRole(h *pair.Hub, program string) {
	for _, r := range h.Roles() {
		if r.Name == program {
			syscall.Kill(r.Pid, syscall.SIGKILL)
			return
		}
	}
}

// isolate takes the hub's link away: neither the other hub nor a worker reaches it. Nothing can then
// keep it from leading on while the other one takes over: the worker obeys the higher term.
func (s *stage) isolate(ctx context.Context, h *pair.Hub, d time.Duration, until ...<-chan struct{}) error {
	leads := h == s.active()
	if leads {
		s.seen.allow(true)
		s.splits = append(s.splits, split{from: bootNow()})
	}
	if err := h.Cluster.Cut(); err != nil {
		return err
	}
	hold(ctx, d, until...)
	if err := h.Cluster.Heal(); err != nil || !leads {
		return err
	}
	return s.reunite(ctx)
}

// reunite waits for the end of a split: of the two, one leads. A claim that was under way when the
// link came up may still open, for its look at the peer went out before. Connections that died in silence
// are given up after a while.
func (s *stage) reunite(ctx context.Context) error {
	hold(ctx, 2*time.Second)
	if _, err := see.Until(ctx, patience, 5*time.Millisecond, func() bool { return !s.bothLead() }); err != nil {
		return fmt.Errorf("both hubs lead %v after they see each other again", patience)
	}
	s.splits[len(s.splits)-1].to = bootNow()
	s.seen.allow(false)
	return nil
}

func (s *stage) bothLead() bool {
	s.seen.mutex.Lock()
	defer s.seen.mutex.Unlock()
	return s.seen.open[0] && s.seen.open[1]
}

// part cuts the two hubs off from each other, both ways; the worker sees both.
func (s *stage) part(ctx context.Context, d time.Duration, until ...<-chan struct{}) error {
	a, b := s.pair.Hubs[0].Cluster, s.pair.Hubs[1].Cluster
	if err := a.CutFrom(b); err != nil {
		return err
	}
	hold(ctx, d, until...)
	return a.HealFrom(b)
}

// deafen lets nothing of the other hub through to this hub's servers; this one sees the other.
func (s *stage) deafen(ctx context.Context, h *pair.Hub, d time.Duration, until ...<-chan struct{}) error {
	if err := h.Cluster.CutTo(s.other(h).Cluster); err != nil {
		return err
	}
	hold(ctx, d, until...)
	return h.Cluster.HealTo(s.other(h).Cluster)
}

// noSpace raises etcd's alarm for a full disk: it answers reads and refuses writes.
func noSpace(ctx context.Context, h *pair.Hub, d time.Duration) error {
	if err := alarm(ctx, h, "ACTIVATE"); err != nil {
		return err
	}
	hold(ctx, d)
	return alarm(ctx, h, "DEACTIVATE")
}

func alarm(ctx context.Context, h *pair.Hub, action string) error {
	url := fmt.Sprintf("http://%s:%d/v3/maintenance/alarm", h.Cluster.Address, h.Cluster.Port.Etcd)
	body := fmt.Sprintf(`{"action":%q,"memberID":"1","alarm":"NOSPACE"}`, action)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewBufferString(body))
	if err != nil {
		return err
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if text, _ := io.ReadAll(reply.Body); reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: alarm: %d %s", url, reply.StatusCode, text)
	}
	return nil
}

// fool sets a fault in the proxy through which the other hub looks at this one.
func fool(ctx context.Context, h *pair.Hub, d time.Duration, words ...string) error {
	if _, err := fault.Tell(ctx, h.Cluster.ProxySocket(), words...); err != nil {
		return err
	}
	hold(ctx, d)
	_, err := fault.Tell(ctx, h.Cluster.ProxySocket(), "none")
	fault.Tell(ctx, h.Cluster.ProxySocket(), "disconnect")
	return err
}

var leasePath = kube.Leases.Path(pair.Namespace, "kubeslice-controller-ha")

func lease(ctx context.Context, h *pair.Hub) (kube.Object, error) { return h.Admin.Get(ctx, leasePath) }

// switchOver hands over as soon as all checks pass, and says how long that took.
func (s *stage) switchOver(ctx context.Context) (time.Duration, error) {
	h := s.active()
	var took time.Duration
	var last error
	if _, err := see.Until(ctx, patience, 100*time.Millisecond, func() bool {
		if _, code, err := h.Ctl(ctx, 0, "switchover", "--check"); err != nil || code != 0 {
			return false
		}
		begin := time.Now()
		last = ctl(ctx, h, "switchover", "--wait")
		took = time.Since(begin)
		// What was true of the other hub when it was asked for may be so no more.
		return last == nil || !strings.Contains(last.Error(), "nothing was changed")
	}); err != nil {
		return 0, fmt.Errorf("switchover: %w", errors.Join(err, last))
	}
	return took, last
}
