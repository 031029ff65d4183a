package replicas

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
)

// foreignKeys: what only a hub has is refused by its name, and nothing is started.
func (s *suite) foreignKeys(ctx context.Context) error {
	r := s.replicas[0]
	wrong := r.path("wrong.yaml")
	for line, want := range map[string]string{
		"hubs: [{name: a, endpoint: \"https://a\"}]": "hubs: is for a pair of hubs",
		"workers: []":               "workers: is for a pair of hubs",
		"promotion: {mode: manual}": "promotion: is for a pair of hubs",
	} {
		if err := os.WriteFile(wrong, []byte(r.yaml()+line+"\n"), 0o600); err != nil {
			return err
		}
		out, err := exec.CommandContext(ctx, r.program(), "-n", "--config", wrong).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			return fmt.Errorf("%s: want %q in: %s", line, want, out)
		}
	}
	if out, err := exec.CommandContext(ctx, r.program(), "-n", "--config", r.path("understudy.yaml")).CombinedOutput(); err != nil {
		return fmt.Errorf("the right one: %s", out)
	}
	s.fact("what only a pair of hubs has is refused by name")
	return nil
}

// stranger: the Lease is held by hand, as a client-go program would, while the replicas start.
func (s *suite) stranger(ctx context.Context) error {
	const holder, life = "other-host_2f6c1a70-5d0e-4c1c-9c55-0d9d0f5e7a11", 4 * time.Second
	stamp := func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }
	first := time.Now().Add(-time.Hour)
	_, err := s.admin.Create(ctx, kube.Leases.Path(namespace, ""), kube.Object{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": map[string]any{"name": "understudy-replicas", "labels": map[string]any{"team": "other"}},
		"spec": map[string]any{"holderIdentity": holder, "leaseDurationSeconds": 4, "leaseTransitions": 11,
			"acquireTime": stamp(first), "renewTime": stamp(first)},
	})
	if err != nil {
		return err
	}
	for _, r := range s.replicas {
		if err := r.start(); err != nil {
			return err
		}
	}
	// Its wall clock is an hour behind: only that it changes counts.
	var last time.Time
	for range 6 {
		first = first.Add(time.Second)
		if _, err := s.admin.Merge(ctx, leasePath, kube.Object{"spec": map[string]any{"renewTime": stamp(first)}}); err != nil {
			return err
		}
		last = time.Now()
		if err := s.nobody(ctx, time.Second); err != nil {
			return fmt.Errorf("beside a foreign holder that renews: %w", err)
		}
	}
	for _, r := range s.replicas {
		t, err := r.told()
		if err != nil || t.Code != 503 || t.Leader != holder || t.LeaderSeenAgoMs > 2000 {
			return fmt.Errorf("%s tells %+v (%v), want 503 and %s", r.name, t, err, holder)
		}
	}
	s.fact("a client-go program that renews is respected, and named to who asks")
	r, at, err := s.leader(ctx, patience)
	if err != nil {
		return err
	}
	if waited := at.Sub(last); waited < life || waited > life+3*retryPeriod {
		return fmt.Errorf("taken %v after its last renewal, want %v to %v", waited, life, life+3*retryPeriod)
	}
	o, err := s.lease(ctx)
	if err != nil {
		return err
	}
	term, _ := r.page()
	if o.Int("spec", "leaseTransitions") != 12 || o.Int("spec", "leaseDurationSeconds") != 3 ||
		!strings.HasPrefix(o.Text("spec", "holderIdentity"), r.name+"_") ||
		o.Text("metadata", "labels", "team") != "other" || term != 12 {
		return fmt.Errorf("the Lease afterwards: %v, term of the page %d", o["spec"], term)
	}
	s.fact("it is silent: taken %.2f s after its last renewal (its own duration is 4 s), transitions 12, its label is kept",
		at.Sub(last).Seconds())
	return nil
}

// oneLeads: one runs the workload and renews, the others hold still and tell whom to ask.
func (s *suite) oneLeads(ctx context.Context) error {
	leader, _, err := s.leader(ctx, patience)
	if err != nil {
		return err
	}
	if _, err := until(ctx, patience, 10*time.Millisecond, leader.workload); err != nil {
		return fmt.Errorf("its workload: %w", err)
	}
	o, err := s.lease(ctx)
	if err != nil {
		return err
	}
	identity := o.Text("spec", "holderIdentity")
	for _, r := range s.replicas {
		var names []string
		for name := range r.processes() {
			names = append(names, name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != "dialer elector monitor runner" {
			return fmt.Errorf("%s runs %s", r.name, got)
		}
		if r != leader && r.workload() {
			return fmt.Errorf("%s is passive and runs a workload", r.name)
		}
		_, err := until(ctx, patience, 50*time.Millisecond, func() bool {
			t, err := r.told()
			if r == leader {
				return err == nil && t.Code == 200 && t.Term == 12 && t.RemainingMs > 0 && t.RemainingMs <= renewDeadline.Milliseconds()
			}
			return err == nil && t.Code == 503 && t.Leader == identity && t.LeaderSeenAgoMs <= duration.Milliseconds()
		})
		if err != nil {
			t, _ := r.told()
			return fmt.Errorf("%s tells %+v, the Lease names %s", r.name, t, identity)
		}
		if code, text, err := r.get("/readyz"); err != nil || code != 200 {
			return fmt.Errorf("%s: /readyz: %d %s %v", r.name, code, text, err)
		}
		out, code := r.ctl("status")
		if code != 0 || !strings.Contains(out, "configured as replicas") || !strings.Contains(out, identity) {
			return fmt.Errorf("%s: understudyctl status: %d %s", r.name, code, out)
		}
		if out, code := r.ctl("pause", "--for", "1m"); code != 1 || !strings.Contains(out, "nothing to command") {
			return fmt.Errorf("%s: understudyctl pause: %d %s", r.name, code, out)
		}
	}
	s.fact("%s leads; elector, dialer, monitor and runner are all that runs; the others name %s", leader.name, identity)
	events, err := s.admin.Get(ctx, kube.Events.Path(namespace, ""))
	if err != nil {
		return err
	}
	for _, e := range events.Items() {
		if e.Text("reason") == "LeaderElection" && e.Text("involvedObject", "name") == "understudy-replicas" {
			s.fact("an Event on the Lease tells it: %s", e.Text("message"))
			return nil
		}
	}
	return fmt.Errorf("no Event LeaderElection among %d", len(events.Items()))
}

// rights: the identity may do what it needs, and nothing beside it.
func (s *suite) rights(ctx context.Context) error {
	client, err := kube.Load(s.replicas[0].path("elector.kubeconfig"))
	if err != nil {
		return err
	}
	defer client.Close()
	other := kube.Object{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": "other"}}
	if _, err := s.admin.Create(ctx, kube.Leases.Path(namespace, ""), other); err != nil {
		return err
	}
	for what, try := range map[string]func() error{
		"another Lease": func() error { _, err := client.Get(ctx, kube.Leases.Path(namespace, "other")); return err },
		"all Leases":    func() error { _, err := client.Get(ctx, kube.Leases.Path(namespace, "")); return err },
		"to change another": func() error {
			_, err := client.Merge(ctx, kube.Leases.Path(namespace, "other"), kube.Object{})
			return err
		},
		"to delete its Lease": func() error { return client.Delete(ctx, leasePath) },
		"to patch its Lease":  func() error { _, err := client.Merge(ctx, leasePath, kube.Object{}); return err },
		"Secrets":             func() error { _, err := client.Get(ctx, kube.Secrets.Path(namespace, "")); return err },
		"another namespace":   func() error { _, err := client.Get(ctx, kube.Leases.Path("kube-system", "")); return err },
		"Events":              func() error { _, err := client.Get(ctx, kube.Events.Path(namespace, "")); return err },
	} {
		if err := try(); !kube.IsCode(err, 403) {
			return fmt.Errorf("%s: %v, want 403", what, err)
		}
	}
	if _, err := client.Get(ctx, leasePath); err != nil {
		return err
	}
	s.fact("its identity may read and update the one Lease, create Leases and Events, and nothing else")
	return nil
}

// next waits for a leader other than the last one and checks the term.
func (s *suite) next(ctx context.Context, last *replica, term uint64) (*replica, time.Time, error) {
	var now *replica
	at, err := until(ctx, patience, time.Millisecond, func() bool {
		now = s.leading()
		return now != nil && now != last
	})
	if err != nil {
		return nil, at, fmt.Errorf("nobody else leads: %w", err)
	}
	if got, _ := now.page(); got <= term {
		return nil, at, fmt.Errorf("%s leads with term %d, not above %d", now.name, got, term)
	}
	return now, at, nil
}

// holder is the one that leads now, with its term; its workload has written.
func (s *suite) holder(ctx context.Context) (*replica, uint64, error) {
	r, _, err := s.leader(ctx, patience)
	if err != nil {
		return nil, 0, err
	}
	term, _ := r.page()
	run := fmt.Sprintf("%s %d", r.name, term)
	_, err = until(ctx, patience, 10*time.Millisecond, func() bool {
		text, _ := os.ReadFile(s.writes)
		return strings.Contains(string(text), run+" ")
	})
	if err != nil {
		return nil, 0, fmt.Errorf("the workload of %s with term %d has written nothing: %w", r.name, term, err)
	}
	s.wrote = append(s.wrote, run)
	return r, term, nil
}

// terminated: a stop ends the workload, then gives the Lease back; another one leads at once.
func (s *suite) terminated(ctx context.Context) error {
	var worst time.Duration
	for range 3 {
		last, term, err := s.holder(ctx)
		if err != nil {
			return err
		}
		begin := time.Now()
		last.daemon.Process.Signal(syscall.SIGTERM)
		now, at, err := s.next(ctx, last, term)
		if err != nil {
			return err
		}
		worst = max(worst, at.Sub(begin))
		if last.workload() {
			return fmt.Errorf("%s leads beside the workload of %s", now.name, last.name)
		}
		if err := last.end(syscall.SIGTERM); err != nil {
			return err
		}
		if err := last.start(); err != nil {
			return err
		}
	}
	if worst > retryPeriod {
		return fmt.Errorf("another one leads %v after SIGTERM, want less than a retry period (%v)", worst, retryPeriod)
	}
	s.fact("SIGTERM: its workload ends, the Lease is given back, another leads: %d ms at worst of 3", worst.Milliseconds())
	return nil
}

// killed: nobody has time to give anything back.
func (s *suite) killed(ctx context.Context) error {
	last, term, err := s.holder(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	last.kill()
	now, at, err := s.next(ctx, last, term)
	if err != nil {
		return err
	}
	if took := at.Sub(begin); took > duration+2*retryPeriod {
		return fmt.Errorf("%s leads after %v, want at most %v", now.name, took, duration+2*retryPeriod)
	}
	s.fact("SIGKILL of understudyd: another leads after %.2f s (duration 3 s, retry period 0.4 s)", at.Sub(begin).Seconds())
	return last.start()
}

// electorKilled: its supervisor proves that the holder is dead, so that nobody has to wait.
func (s *suite) electorKilled(ctx context.Context) error {
	last, term, err := s.holder(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	if pid := last.processes()["elector"]; pid > 0 {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	var now uint64
	at, err := until(ctx, patience, time.Millisecond, func() bool {
		var open bool
		now, open = last.page()
		return open && now > term
	})
	if err != nil {
		return fmt.Errorf("%s does not lead again: %w", last.name, err)
	}
	s.fact("SIGKILL of the elector alone: the same replica leads again after %.2f s, with the next term", at.Sub(begin).Seconds())
	return nil
}

// frozen: everything of the holder stands still but its runner, which ends the workload in time.
func (s *suite) frozen(ctx context.Context) error {
	last, term, err := s.holder(ctx)
	if err != nil {
		return err
	}
	pids := []int{last.daemon.Process.Pid}
	for name, pid := range last.processes() {
		if name != "runner" {
			pids = append(pids, pid)
		}
	}
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGSTOP)
	}
	begin := time.Now()
	validFor := last.opened.Remaining()
	over, err := until(ctx, patience, time.Millisecond, func() bool { return !last.workload() })
	if err != nil {
		return err
	}
	if left := last.opened.Remaining(); left <= 0 {
		return fmt.Errorf("its workload outlived its validity")
	}
	now, at, err := s.next(ctx, last, term)
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGCONT)
	}
	if err != nil {
		return err
	}
	if err := s.stays(ctx, now, 2*time.Second); err != nil {
		return fmt.Errorf("after SIGCONT: %w", err)
	}
	s.fact("SIGSTOP of the holder: its workload is ended %.2f s before its validity, another leads after %.2f s, and still does after SIGCONT",
		(validFor - over.Sub(begin)).Seconds(), at.Sub(begin).Seconds())
	return nil
}

// stays demands that one replica leads, and no other one, for so long.
func (s *suite) stays(ctx context.Context, leader *replica, span time.Duration) error {
	end := time.Now().Add(span)
	for time.Now().Before(end) {
		for _, r := range s.replicas {
			if _, open := r.page(); open != (r == leader) {
				return fmt.Errorf("%s: page open is %v", r.name, open)
			}
		}
		kube.Pause(ctx, 2*time.Millisecond)
	}
	return nil
}

// edited: whoever the Lease names by a person's hand, the holder is it no more (R7).
func (s *suite) edited(ctx context.Context) error {
	last, _, err := s.holder(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	if _, err := s.admin.Merge(ctx, leasePath, kube.Object{"spec": map[string]any{"holderIdentity": "a-person", "leaseDurationSeconds": 2}}); err != nil {
		return err
	}
	closed, err := until(ctx, patience, time.Millisecond, func() bool { _, open := last.page(); return !open })
	if err != nil {
		return err
	}
	gone, err := until(ctx, patience, time.Millisecond, func() bool { return !last.workload() })
	if err != nil {
		return err
	}
	if gone.Sub(begin) > time.Second {
		return fmt.Errorf("its workload ended %v after the edit, want less than 1 s", gone.Sub(begin))
	}
	if _, at, err := s.leader(ctx, patience); err != nil {
		return err
	} else if at.Sub(begin) < 2*time.Second {
		return fmt.Errorf("taken from a-person after %v, before its 2 s", at.Sub(begin))
	}
	s.fact("holderIdentity edited by hand: page closed after %d ms, workload gone after %d ms",
		closed.Sub(begin).Milliseconds(), gone.Sub(begin).Milliseconds())
	return nil
}

// deleted: the holder writes it again, and nobody takes it meanwhile (R14).
func (s *suite) deleted(ctx context.Context) error {
	leader, term, err := s.holder(ctx)
	if err != nil {
		return err
	}
	before, err := s.lease(ctx)
	if err != nil {
		return err
	}
	for range 20 {
		if err := s.admin.Delete(ctx, leasePath); err != nil {
			return err
		}
		var o kube.Object
		if _, err := until(ctx, patience, 5*time.Millisecond, func() bool { o, err = s.lease(ctx); return err == nil }); err != nil {
			return fmt.Errorf("it is not there again: %w", err)
		}
		if o.Text("spec", "holderIdentity") != before.Text("spec", "holderIdentity") ||
			o.Text("spec", "acquireTime") != before.Text("spec", "acquireTime") ||
			o.Int("spec", "leaseTransitions") != before.Int("spec", "leaseTransitions") {
			return fmt.Errorf("it is another one: %v, was %v", o["spec"], before["spec"])
		}
	}
	if now, _ := leader.page(); now != term {
		return fmt.Errorf("%s: term %d, was %d", leader.name, now, term)
	}
	s.fact("the Lease deleted 20 times: written again by its holder each time, the same term goes on")
	return nil
}

// outage: without the API server nobody leads; who leads afterwards is one.
func (s *suite) outage(ctx context.Context) error {
	last, _, err := s.holder(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := s.hub.Pause(cluster.APIServer); err != nil {
		return err
	}
	closed, err := until(ctx, patience, time.Millisecond, func() bool { return s.leading() == nil })
	if err == nil && last.workload() {
		err = fmt.Errorf("the workload of %s is still there", last.name)
	}
	if err == nil {
		err = s.nobody(ctx, 3*time.Second)
	}
	resumed := time.Now()
	if resumeErr := s.hub.Resume(cluster.APIServer); err == nil {
		err = resumeErr
	}
	if err != nil {
		return err
	}
	if closed.Sub(begin) > renewDeadline+50*time.Millisecond {
		return fmt.Errorf("a page was open %v after the last possible renewal", closed.Sub(begin))
	}
	_, at, err := s.leader(ctx, patience)
	if err != nil {
		return err
	}
	for _, r := range s.replicas {
		if r.ended() {
			return fmt.Errorf("understudyd of %s ended", r.name)
		}
	}
	s.fact("API server stopped for %.1f s: nobody leads from %.2f s on, one again %.2f s after its return",
		resumed.Sub(begin).Seconds(), closed.Sub(begin).Seconds(), at.Sub(resumed).Seconds())
	return nil
}

// writeLog: what the workloads wrote, in the order in which it was written, is one after the other.
func (s *suite) writeLog(context.Context) error {
	for _, r := range s.replicas {
		r.end(syscall.SIGTERM)
	}
	text, err := os.ReadFile(s.writes)
	if err != nil {
		return err
	}
	var runs []string
	var last uint64
	lines := 0
	for line := range strings.Lines(string(text)) {
		var name, up string
		var term uint64
		if n, _ := fmt.Sscan(line, &name, &term, &up); n != 3 {
			return fmt.Errorf("line %q", line)
		}
		lines++
		run := fmt.Sprintf("%s %d", name, term)
		if len(runs) > 0 && runs[len(runs)-1] == run {
			continue
		}
		if slices.Contains(runs, run) || term < last {
			return fmt.Errorf("%s wrote again after %s", run, runs[len(runs)-1])
		}
		runs, last = append(runs, run), term
	}
	for _, run := range s.wrote {
		if !slices.Contains(runs, run) {
			return fmt.Errorf("what %s (replica, term) wrote is gone: %d lines of %v", run, lines, runs)
		}
	}
	s.fact("write log: %d lines of %d leaders, one after the other, terms only rise", lines, len(runs))
	return nil
}

// standalone: without anybody else and without an API server the page is open while it lives.
func (s *suite) standalone(ctx context.Context) error {
	r := s.replicas[0]
	if err := os.WriteFile(r.path("alone.yaml"), []byte(r.alone()), 0o600); err != nil {
		return err
	}
	if err := r.startWith("alone.yaml"); err != nil {
		return err
	}
	if _, err := until(ctx, patience, 10*time.Millisecond, func() bool { _, open := r.page(); return open && r.workload() }); err != nil {
		return fmt.Errorf("its page and its workload: %w", err)
	}
	if t, err := r.told(); err != nil || t.Code != 200 || t.Term != 1 {
		return fmt.Errorf("it tells %+v (%v)", t, err)
	}
	if pid := r.processes()["elector"]; pid > 0 {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	if _, err := until(ctx, patience, time.Millisecond, func() bool { _, open := r.page(); return !open }); err != nil {
		return fmt.Errorf("its page is open beside a dead elector: %w", err)
	}
	if _, err := until(ctx, patience, 10*time.Millisecond, func() bool { _, open := r.page(); return open && r.workload() }); err != nil {
		return fmt.Errorf("after its elector: %w", err)
	}
	if err := r.end(syscall.SIGTERM); err != nil {
		return err
	}
	if _, open := r.page(); open || r.workload() {
		return fmt.Errorf("after a stop: page open %v, workload %v", open, r.workload())
	}
	s.fact("mode standalone: page open and workload running without an API server; both end with it")
	return nil
}
