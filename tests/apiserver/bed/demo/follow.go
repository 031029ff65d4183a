package demo

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

// join starts the follower on worker-1 and sees it settle with hub-a: its own view in the status of
// ClusterController, and what its software reads. The token for hub-b arrives and is proven long
// before it is needed.
func (s *story) join(ctx context.Context) error {
	w := s.pair.Worker
	proven := watch(ctx, s.worker, pair.Controllers.Path("", ""), false, func(o kube.Object) bool {
		return condition(o, "CredentialReady-hub-a") == "True Proved" && condition(o, "CredentialReady-hub-b") == "True Proved"
	})
	follows := s.watchFollower(ctx, s.a)
	if _, err := until(ctx, patience, 100*time.Millisecond, func() bool { return w.Join(ctx) == nil }); err != nil {
		return fmt.Errorf("its understudyd: %w", w.Join(ctx))
	}
	got, err := await(ctx, follows, patience)
	if fault := w.Fault(); fault != nil {
		return fault
	}
	if err != nil {
		return fmt.Errorf("the status of ClusterController says that it follows hub-a: %w", err)
	}
	if err := s.tellFollower(ctx, got, s.a); err != nil {
		return err
	}
	if got, err = await(ctx, proven, patience); err != nil {
		return fmt.Errorf("tokens for both hubs are proven: %w", err)
	}
	s.factAt(got.At, "worker-1", "its tokens for hub-a and hub-b are proven, hub-b's by delivery")
	return s.workload(ctx, &w.Hub)
}

// watchFollower sees the follower say that it is connected to a hub.
func (s *story) watchFollower(ctx context.Context, h *pair.Hub) <-chan sight {
	return watch(ctx, s.worker, pair.Controllers.Path("", ""), false, func(o kube.Object) bool {
		c := condition(o, "ControllerConnected")
		return o.Text("status", "connectedEndpoint") == h.Cluster.URL() &&
			o.Int("status", "observedTerm") == o.Int("spec", "term") && (c == "True Connected" || c == "True ReconnectedAfterFailover")
	})
}

// tellFollower prints the worker's own view, and holds the hand-over against it.
func (s *story) tellFollower(ctx context.Context, got sight, h *pair.Hub) error {
	w := s.pair.Worker
	term := got.Object.Int("spec", "term")
	s.factAt(got.At, "worker-1", "ControllerConnected %s: it follows %s",
		condition(got.Object, "ControllerConnected"), h.Name)
	at, err := until(ctx, patience, 5*time.Millisecond, func() bool {
		return w.Handed("endpoint") == h.Cluster.URL() && w.Handed("term") == fmt.Sprint(term)
	})
	if err != nil {
		return fmt.Errorf("the hand-over directory names %s with term %d: it has %q, term %q: %w",
			h.Name, term, w.Handed("endpoint"), w.Handed("term"), err)
	}
	s.factAt(at, "worker-1", "its hand-over directory names %s with term %d", h.Name, term)
	// What was handed over is good: the hub knows its bearer.
	client, err := kube.New(w.Handed("endpoint"), []byte(w.Handed("ca.crt")), kube.User{Token: w.Handed("token")})
	if err != nil {
		return fmt.Errorf("what was handed over: %w", err)
	}
	defer client.Close()
	if _, err := client.Get(ctx, kube.Clusters.Path(w.Handed("namespace"), "worker-1")); err != nil {
		return fmt.Errorf("what was handed over is no use at %s: %w", h.Name, err)
	}
	if err := s.tellEvents(ctx, h); err != nil {
		return err
	}
	return s.tellOperator(ctx, h)
}

// tellEvents finds upstream's Events about the worker's Cluster object, each once.
func (s *story) tellEvents(ctx context.Context, h *pair.Hub) error {
	want := map[string]int{"ControllerConnected": 1, "ControllerEndpointChanged": 0}
	if h != s.a {
		want["ControllerEndpointChanged"] = 1
	}
	seen := map[string]int{}
	_, err := until(ctx, patience, 50*time.Millisecond, func() bool {
		list, err := h.Admin.Get(ctx, kube.Events.Path(pair.Project, ""))
		clear(seen)
		for _, item := range list.List("items") {
			e, _ := item.(map[string]any)
			if about, _ := e["involvedObject"].(map[string]any); about["kind"] == "Cluster" && about["name"] == "worker-1" {
				seen[fmt.Sprint(e["reason"])]++
			}
		}
		return err == nil && seen["ControllerConnected"] >= 1 && seen["ControllerEndpointChanged"] >= want["ControllerEndpointChanged"]
	})
	if err != nil || seen["ControllerEndpointChanged"] != want["ControllerEndpointChanged"] {
		return fmt.Errorf("Events about Cluster worker-1 on %s: %v, want %v: %w", h.Name, seen, want, err)
	}
	return nil
}

// tellOperator holds what an operator without a follower would read against the hand-over: the same
// hub, and pods that are replaced once for another hub and never for the first one.
func (s *story) tellOperator(ctx context.Context, h *pair.Hub) error {
	w := s.pair.Worker
	if !w.Operator {
		return nil
	}
	want, restarts := "", int64(1)
	if h != s.a {
		want, restarts = h.Name, 2
	}
	at, err := until(ctx, patience, 20*time.Millisecond, func() bool {
		hub, n := w.RestartedFor(ctx)
		return w.OperatorReads(ctx, "endpoint") == w.Handed("endpoint") && w.OperatorReads(ctx, "token") == w.Handed("token") &&
			w.OperatorReads(ctx, "ca.crt") == w.Handed("ca.crt") && w.OperatorReads(ctx, "namespace") == pair.Project &&
			hub == want && n == restarts
	})
	if err != nil {
		hub, n := w.RestartedFor(ctx)
		return fmt.Errorf("its operator's Secret names %q, its pods were replaced for %q, generation %d: %w",
			w.OperatorReads(ctx, "endpoint"), hub, n, err)
	}
	s.factAt(at, "worker-1", "its operator's Secret names %s; pods replaced %d times", h.Name, restarts-1)
	return nil
}

// watchWitness sees the follower answer hub-b's question about hub-a.
func (s *story) watchWitness(ctx context.Context) <-chan sight {
	asked := map[string]bool{}
	if o, err := s.worker.Get(ctx, pair.Probes.Path("", "hub-b")); err == nil {
		asked[o.Text("spec", "nonce")] = true
	}
	return watch(ctx, s.worker, pair.Probes.Path("", ""), false, func(o kube.Object) bool {
		nonce := o.Text("spec", "nonce")
		return o.Name() == "hub-b" && !asked[nonce] && nonce != "" && o.Text("status", "nonce") == nonce
	})
}

// tellWitness prints the answer, which must be what is so: an API server that is gone is unreachable,
// one whose controller is gone shows a Lease that nobody renews.
func (s *story) tellWitness(got sight) error {
	result, age := got.Object.Text("status", "result"), got.Object.Int("status", "ageMs")
	switch {
	case !s.OnlyController && result == "unreachable":
		s.factAt(got.At, "worker-1", "asked by hub-b, its follower says of hub-a: unreachable")
	case s.OnlyController && result == "read" && got.Object.Text("status", "holder") == "hub-a" && age > 0:
		s.factAt(got.At, "worker-1", "asked by hub-b, its follower says of hub-a: not renewed for %d ms", age)
	default:
		return fmt.Errorf("worker-1 says of the killed hub-a: %v", got.Object["status"])
	}
	return nil
}

// rehearse takes the worker's admission policy away and back, and sees what the Standby's dry runs
// make of it (H20). They come with each start of a repointer.
func (s *story) rehearse(ctx context.Context) error {
	bindings := kube.Resource{Group: "admissionregistration.k8s.io", Version: "v1", Name: "validatingadmissionpolicybindings"}
	admin, err := kube.Load(s.pair.Work.BreakGlass())
	if err != nil {
		return err
	}
	defer admin.Close()
	if err := s.rehearsed(ctx, "ok"); err != nil {
		return err
	}
	if err := admin.Delete(ctx, bindings.Path("", "understudy-worker")); err != nil {
		return err
	}
	if err := s.guarded(ctx, false); err != nil {
		return err
	}
	if err := s.rehearsed(ctx, "no-fence"); err != nil {
		return err
	}
	s.fact("hub-b", "rehearsal on worker-1: state no-fence, its policy was taken away")
	if _, err := s.ctlSoon(ctx, s.b, 1, "NO  worker worker-1 rehearsed", "drill"); err != nil {
		return err
	}
	if err := s.pair.Apply(ctx, admin, nil, "policy/admission/worker.yaml"); err != nil {
		return err
	}
	if err := s.guarded(ctx, true); err != nil {
		return err
	}
	if err := s.rehearsed(ctx, "ok"); err != nil {
		return err
	}
	s.fact("hub-b", "rehearsal on worker-1: ok, its policy is back")
	return s.drill(ctx)
}

// drill asks the Standby what a takeover would find, and the Active, which is none.
func (s *story) drill(ctx context.Context) error {
	var out string
	before, err := lease(ctx, s.b)
	if err != nil {
		return err
	}
	// Whatever is written to hub-b's Lease meanwhile: none of it may be a claim.
	claimed := watch(ctx, s.b.Admin, kube.Leases.Path(pair.Namespace, ""), false, func(o kube.Object) bool {
		return o.Text("metadata", "name") == "kubeslice-controller-ha" && o.Text("spec", "holderIdentity") != ""
	})
	says := func() error {
		said, code, err := s.b.Ctl(ctx, 0, "drill")
		if out = said; err != nil || code != 0 {
			return fmt.Errorf("it ends with %d, %w", code, err)
		}
		for _, line := range []string{
			`ok  last look at the peer's Lease +\d+ ms  read over a new connection: hub-a leads, term 2\n`,
			`ok  question to the workers +\d+ ms  of 1: 1 see the peer renew, 0 do not, 0 have nobody who answers, 0 not reached\n`,
			`ok  claim of the own Lease, dry run +\d+ ms  term 3 would be taken\n`,
			`what was tried took \d+ ms\n`, `would take over after 3\.800 s of silence`,
		} {
			if !regexp.MustCompile(line).MatchString(out) {
				return fmt.Errorf("it does not say %q", line)
			}
		}
		return nil
	}
	var last error
	if _, err := until(ctx, patience, 2*time.Second, func() bool {
		last = says()
		return last == nil
	}); err != nil {
		return fmt.Errorf("understudyctl drill on hub-b: %w: %w:\n%s", err, last, out)
	}
	after, err := lease(ctx, s.b)
	if err != nil {
		return err
	}
	for _, field := range [][]string{{"spec", "holderIdentity"}, {"spec", "leaseTransitions"},
		{"metadata", "annotations", "ha.kubeslice.io/term"}, {"metadata", "annotations", "ha.kubeslice.io/phase"}} {
		if fmt.Sprint(before.Text(field...), before.Int(field...)) != fmt.Sprint(after.Text(field...), after.Int(field...)) {
			return fmt.Errorf("a drill has changed %v of hub-b's Lease: %v, before %v", field, after, before)
		}
	}
	select {
	case o := <-claimed:
		return fmt.Errorf("a drill has claimed hub-b's Lease: %v", o)
	default:
	}
	s.fact("hub-b", "a drill looks at hub-a anew, asks worker-1, tries the claim; no claim was ever in its Lease")
	if _, err := s.ctl(ctx, s.a, 1, "NO  state of this hub", "drill"); err != nil {
		return err
	}
	if _, term, err := page(ctx, s.a, true, patience); err != nil || term != 2 {
		return fmt.Errorf("hub-a leads no more after a drill: term %d, %w", term, err)
	}
	s.fact("hub-b", "a drill says that it would take over; on hub-a, which leads, that it would not")
	return nil
}

// guarded waits until worker-1's API server refuses a claim in another's name, or refuses it no more: it
// takes a moment to follow its policies, and a rehearsal comes with each start of a repointer only.
func (s *story) guarded(ctx context.Context, want bool) error {
	text := fmt.Sprintf(`{"apiVersion":"ha.kubeslice.io/v1alpha1","kind":"ClusterController","metadata":{"name":"active"},`+
		`"spec":{"endpoint":%q,"identity":"hub-a","term":1000}}`, s.a.Cluster.URL())
	client, err := s.b.Client("worker-1")
	if err != nil {
		return err
	}
	defer client.Close()
	if _, err := until(ctx, patience, 50*time.Millisecond, func() bool {
		_, err := client.Patch(ctx, pair.Controllers.Path("", "active")+"?force=true&fieldManager=understudy&dryRun=All", kube.ApplyPatch, []byte(text))
		return (err != nil && strings.Contains(err.Error(), "UNDERSTUDY_IDENTITY")) == want
	}); err != nil {
		return fmt.Errorf("worker-1 refuses a claim in another's name, want %v: %w", want, err)
	}
	return nil
}

// rehearsed waits until hub-b shows worker-1 in a state, by a rehearsal that begins now.
func (s *story) rehearsed(ctx context.Context, state string) error {
	pid, err := s.aPid(ctx, s.b, "repointer")
	if err != nil {
		return err
	}
	syscall.Kill(pid, syscall.SIGKILL)
	var seen string
	_, err = until(ctx, patience, 50*time.Millisecond, func() bool {
		o, err := s.b.Status(ctx)
		if err != nil {
			return false
		}
		for _, w := range o.List("workers") {
			m, _ := w.(map[string]any)
			seen = fmt.Sprint(m["state"])
		}
		return seen == state
	})
	if err != nil {
		return fmt.Errorf("worker-1 is %s at hub-b, not %s: %w", seen, state, err)
	}
	return nil
}

// condition is "STATUS REASON" of one condition, "" when it is not there.
func condition(o kube.Object, kind string) string {
	for _, c := range o.List("status", "conditions") {
		m, _ := c.(map[string]any)
		if m["type"] == kind {
			return fmt.Sprintf("%v %v", m["status"], m["reason"])
		}
	}
	return ""
}
