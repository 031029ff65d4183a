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
	"understudy.test/bed/see"
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
	// Its wall clock is an hour behind: only that it changes counts. It renews for longer than its life,
	// and until everybody has heard of it.
	var last time.Time
	begin := time.Now()
	for deaf := errLate; deaf != nil || time.Since(begin) < life+2*time.Second; deaf = s.allTell(holder) {
		if time.Since(begin) > patience {
			return deaf
		}
		first = first.Add(time.Second)
		last = time.Now()
		if _, err := s.admin.Merge(ctx, leasePath, kube.Object{"spec": map[string]any{"renewTime": stamp(first)}}); err != nil {
			return err
		}
		if err := s.nobody(ctx, time.Second); err != nil {
			return fmt.Errorf("beside a foreign holder that renews: %w", err)
		}
	}
	s.fact("a client-go program that renews is respected, and named to who asks")
	r, at, err := s.leader(ctx, patience)
	if err != nil {
		return err
	}
	if waited := at.Sub(last); waited < life {
		return fmt.Errorf("taken %v after its last renewal, want %v at least", waited, life)
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

// allTell is nil when every replica says who else holds the Lease, and that it was heard of within two
// seconds, two of its renewals.
func (s *suite) allTell(holder string) error {
	for _, r := range s.replicas {
		t, err := r.told()
		if err != nil || t.Code != 503 || t.Leader != holder || t.LeaderSeenAgoMs > 2000 {
			return fmt.Errorf("%s tells %+v (%v), want 503 and %s", r.name, t, err, holder)
		}
	}
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
	if !strings.HasPrefix(identity, leader.name+"_") {
		return fmt.Errorf("%s leads, the Lease names %s", leader.name, identity)
	}
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
		if err := see.Eventually(ctx, patience, func() error {
			if code, text, err := r.get("/readyz"); err != nil || code != 200 {
				return fmt.Errorf("%s: /readyz: %d %s %v", r.name, code, text, err)
			}
			out, code := r.ctl("status")
			if code != 0 || !strings.Contains(out, "configured as replicas") || !strings.Contains(out, identity) {
				return fmt.Errorf("%s: understudyctl status: %d %s", r.name, code, out)
			}
			return nil
		}); err != nil {
			return err
		}
		if out, code := r.ctl("pause", "--for", "1m"); code != 1 || !strings.Contains(out, "nothing to command") {
			return fmt.Errorf("%s: understudyctl pause: %d %s", r.name, code, out)
		}
	}
	s.fact("%s leads; elector, dialer, monitor and runner are all that runs; the others name %s", leader.name, identity)
	var told string
	if err := see.Eventually(ctx, patience, func() error {
		events, err := s.admin.Get(ctx, kube.Events.Path(namespace, ""))
		for _, e := range events.Items() {
			if e.Text("reason") == "LeaderElection" && e.Text("involvedObject", "name") == "understudy-replicas" {
				told = e.Text("message")
				return nil
			}
		}
		return fmt.Errorf("no Event LeaderElection among %d (%v)", len(events.Items()), err)
	}); err != nil {
		return err
	}
	s.fact("an Event on the Lease tells it: %s", told)
	return nil
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
	var r *replica
	var term uint64
	run := "nobody 0"
	_, err := until(ctx, patience, 10*time.Millisecond, func() bool {
		var open bool
		if r = s.leading(); r == nil {
			return false
		}
		term, open = r.page()
		run = fmt.Sprintf("%s %d", r.name, term)
		text, _ := os.ReadFile(s.writes)
		return open && strings.Contains(string(text), run+" ")
	})
	if err != nil {
		return nil, 0, fmt.Errorf("the workload of %s (replica, term) has written nothing: %w", run, err)
	}
	s.wrote = append(s.wrote, run)
	return r, term, nil
}

// terminated: a stop ends the workload, then gives the Lease back; another one leads at once.
func (s *suite) terminated(ctx context.Context) error {
	rounds := 0
	once := func() (took time.Duration, err error) {
		last, term, err := s.holder(ctx)
		if err != nil {
			return 0, err
		}
		rounds++
		begin := time.Now()
		last.daemon.Process.Signal(syscall.SIGTERM)
		now, at, err := s.next(ctx, last, term)
		if err != nil {
			return 0, err
		}
		if last.workload() {
			return 0, fmt.Errorf("%s leads beside the workload of %s", now.name, last.name)
		}
		if err := last.end(syscall.SIGTERM); err != nil {
			return 0, err
		}
		return at.Sub(begin), last.start()
	}
	for range 2 {
		if _, err := once(); err != nil {
			return err
		}
	}
	// One that was not given back is taken when its duration of 3 s is over.
	least, err := see.Soon(retryPeriod, 8, once)
	if err != nil {
		return fmt.Errorf("another one leads after SIGTERM: %w", err)
	}
	s.fact("SIGTERM, %d times: its workload ends, the Lease is given back, another leads within a retry period: %d ms", rounds,
		least.Milliseconds())
	return nil
}

// killed: nobody has time to give anything back.
func (s *suite) killed(ctx context.Context) error {
	took, err := see.Soon(duration+2*retryPeriod, 4, func() (time.Duration, error) {
		last, term, err := s.holder(ctx)
		if err != nil {
			return 0, err
		}
		begin := time.Now()
		last.kill()
		_, at, err := s.next(ctx, last, term)
		if err != nil {
			return 0, err
		}
		return at.Sub(begin), last.start()
	})
	if err != nil {
		return fmt.Errorf("another one leads: %w", err)
	}
	s.fact("SIGKILL of understudyd: another leads after %.2f s (duration 3 s, retry period 0.4 s)", took.Seconds())
	return nil
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
	valid := bootNow() + last.opened.Remaining()
	if _, err = until(ctx, patience, time.Millisecond, func() bool { return !last.workload() }); err != nil {
		return err
	}
	// What it did last is what counts: that it is gone may be seen late.
	wrote, err := s.lastWrite(fmt.Sprintf("%s %d", last.name, term))
	if err == nil && wrote > valid {
		err = fmt.Errorf("its workload wrote %v after its validity", wrote-valid)
	}
	var now *replica
	at := begin
	if err == nil {
		now, at, err = s.next(ctx, last, term)
	}
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGCONT)
	}
	if err != nil {
		return err
	}
	if err := s.stays(ctx, now, 2*time.Second); err != nil {
		return fmt.Errorf("after SIGCONT: %w", err)
	}
	s.fact("SIGSTOP of the holder: its workload writes its last %.2f s before its validity ends, another leads after %.2f s, and still does after SIGCONT",
		(valid - wrote).Seconds(), at.Sub(begin).Seconds())
	return nil
}

// stays demands that no other replica leads for so long, and that the one does at the end.
func (s *suite) stays(ctx context.Context, leader *replica, span time.Duration) error {
	end := time.Now().Add(span)
	for open := false; !open || time.Now().Before(end); {
		for _, r := range s.replicas {
			_, opened := r.page()
			if opened && r != leader {
				return fmt.Errorf("%s leads", r.name)
			}
			if r == leader {
				open = opened
			}
		}
		if time.Since(end) > patience {
			return fmt.Errorf("%s leads no more", leader.name)
		}
		kube.Pause(ctx, 2*time.Millisecond)
	}
	return nil
}

// edited: whoever the Lease names by a person's hand, the holder is it no more (R7).
func (s *suite) edited(ctx context.Context) error {
	var closed time.Duration
	gone, err := see.Soon(time.Second, 4, func() (time.Duration, error) {
		last, _, err := s.holder(ctx)
		if err != nil {
			return 0, err
		}
		begin := time.Now()
		if _, err := s.admin.Merge(ctx, leasePath, kube.Object{"spec": map[string]any{"holderIdentity": "a-person", "leaseDurationSeconds": 2}}); err != nil {
			return 0, err
		}
		shut, err := until(ctx, patience, time.Millisecond, func() bool { _, open := last.page(); return !open })
		if err != nil {
			return 0, err
		}
		gone, err := until(ctx, patience, time.Millisecond, func() bool { return !last.workload() })
		if err != nil {
			return 0, err
		}
		_, at, err := s.leader(ctx, patience)
		if err == nil && at.Sub(begin) < 2*time.Second {
			err = fmt.Errorf("taken from a-person after %v, before its 2 s", at.Sub(begin))
		}
		closed = shut.Sub(begin)
		return gone.Sub(begin), err
	})
	if err != nil {
		return fmt.Errorf("the end of its workload after the edit: %w", err)
	}
	s.fact("holderIdentity edited by hand: page closed after %d ms, workload gone after %d ms", closed.Milliseconds(), gone.Milliseconds())
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
	if _, err := until(ctx, patience, time.Millisecond, func() bool { now, open := leader.page(); return open && now == term }); err != nil {
		now, _ := leader.page()
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
	paused := bootNow()
	var valid time.Duration // the last that any page said
	closed, err := until(ctx, patience, time.Millisecond, func() bool {
		r := s.leading()
		if r != nil {
			valid = max(valid, bootNow()+r.opened.Remaining())
		}
		return r == nil
	})
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
	if valid > paused+renewDeadline+50*time.Millisecond {
		return fmt.Errorf("a page was valid until %v after the last possible renewal", valid-paused)
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
