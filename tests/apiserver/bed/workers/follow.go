package workers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// join lets all three workers follow hub-a, and a person see it in one line.
func (r *run) join(ctx context.Context) error {
	for _, w := range r.workers {
		if err := see.Eventually(ctx, patience, func() error { return w.Join(ctx) }); err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
	}
	r.check("three workers follow hub-a: claim, status and hand-over agree", r.allFollow(ctx, r.workers, r.a))
	r.check("the tokens for both hubs are proven on each, hub-b's by delivery (H12)", all(r.workers, func(w *pair.Worker) error {
		return see.Eventually(ctx, patience, func() error { return r.proven(ctx, w) })
	}))
	r.check("their Clusters on hub-a say the same (6.6)", all(r.workers, func(w *pair.Worker) error {
		return see.Eventually(ctx, patience, func() error {
			o, err := r.a.Admin.Get(ctx, kube.Clusters.Path(pair.Project, w.Name))
			if err != nil {
				return err
			}
			if c, e := condition(o, "ControllerConnected"), condition(o, "ControllerEndpointSynced"); c != "True Connected" || e != "True EndpointUpToDate" {
				return fmt.Errorf("ControllerConnected %q, ControllerEndpointSynced %q", c, e)
			}
			return nil
		})
	}))
	r.check("kubectl get clustercontroller tells a person all", see.Eventually(ctx, patience, func() error { return r.printed(ctx) }))
	for _, h := range []*pair.Hub{r.a, r.b} {
		r.check(h.Name+" shows each worker as ok", all(r.workers, func(w *pair.Worker) error {
			return see.Eventually(ctx, patience, func() error { return shows(ctx, h, w, "ok") })
		}))
	}
	return nil
}

func (r *run) proven(ctx context.Context, w *pair.Worker) error {
	for _, h := range []*pair.Hub{r.a, r.b} {
		if err := has(ctx, w, "CredentialReady-"+h.Name, "True Proved"); err != nil {
			return err
		}
	}
	return nil
}

// printed is nil when the columns hold what a person asks for.
func (r *run) printed(ctx context.Context) error {
	w := r.workers[0]
	out, err := exec.CommandContext(ctx, filepath.Join(r.Root, "build/kubectl"), "--kubeconfig", w.Cluster.Kubeconfig(),
		"get", "clustercontroller").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 2 {
		return fmt.Errorf("it prints %q", out)
	}
	term, err := told(ctx, w, r.a)
	if err != nil {
		return err
	}
	header := "NAME HUB TERM ENDPOINT CONNECTED OBSERVED STATE SYNCED AGE"
	want := fmt.Sprintf("active hub-a %d %s %s %d Connected EndpointUpToDate", term, r.a.Cluster.URL(), r.a.Cluster.URL(), term)
	if got := strings.Join(strings.Fields(lines[0]), " "); got != header {
		return fmt.Errorf("the columns are %q, not %q", got, header)
	}
	if got := strings.Join(strings.Fields(lines[1]), " "); !strings.HasPrefix(got, want) {
		return fmt.Errorf("it prints %q, not %q", got, want)
	}
	return nil
}

// allFollow waits until workers follow a hub.
func (r *run) allFollow(ctx context.Context, workers []*pair.Worker, h *pair.Hub) error {
	return all(workers, func(w *pair.Worker) error {
		return see.Eventually(ctx, patience, func() error { return follows(ctx, w, h) })
	})
}

// failOver takes the leading hub away while one worker is offline, which gets its hub when it returns.
func (r *run) failOver(ctx context.Context) error {
	leads, next, err := r.leader(ctx)
	if err != nil {
		return err
	}
	online, offline := r.workers[:2], r.workers[2]
	if err := offline.Cluster.Cut(); err != nil {
		return err
	}
	begin, started := time.Now(), starts(online[0])
	leads.Kill()
	leads.Cluster.Kill(cluster.ControlPlane...)
	r.check("a failover re-points the workers that are there, and the one that is away delays nothing (H20)", r.allFollow(ctx, online, next))
	for i, h := range r.histories[:2] {
		if c, ok := h.last(next.Name); ok {
			r.tell("%s names %s with term %d %.2f s after the kill", r.workers[i].Name, next.Name, c.term, c.at.Sub(begin).Seconds())
		}
	}
	r.check("the worker that is away stays where it is (W19)", handedOnly(offline, leads))
	if err := offline.Cluster.Heal(); err != nil {
		return err
	}
	back := time.Now()
	r.check("a worker that was offline for the failover gets its hub when it is back", r.allFollow(ctx, r.workers[2:], next))
	r.tell("%s follows %s %.2f s after its return", offline.Name, next.Name, time.Since(back).Seconds())
	r.check("ReconnectedAfterFailover was told once, and is Connected now (W25)", all(r.workers, func(w *pair.Worker) error {
		return see.Eventually(ctx, patience, func() error { return has(ctx, w, "ControllerConnected", "True Connected") })
	}))
	problem := see.Eventually(ctx, patience, func() error {
		again, pid := starts(online[0])-started, online[0].Workload()
		if again < 1 || pid == 0 {
			return fmt.Errorf("started %d times, pid now %d", again, pid)
		}
		return nil
	})
	if again := starts(online[0]) - started; again > 1 {
		problem = fmt.Errorf("started %d times", again)
	}
	r.check("its command was started anew once, and its understudyd not at all (W20)", errors.Join(problem, online[0].Fault()))
	return r.comeBack(ctx, leads, next)
}

// starts counts how often a worker's command was started.
func starts(w *pair.Worker) int {
	text, _ := os.ReadFile(w.Log())
	return strings.Count(string(text), "workload started")
}

// comeBack starts a killed hub again and waits until it is the other's Standby.
func (r *run) comeBack(ctx context.Context, h, leads *pair.Hub) error {
	if err := h.Cluster.Start(cluster.Etcd, cluster.APIServer); err != nil {
		return err
	}
	if err := h.Cluster.Await(ctx, cluster.APIServer); err != nil {
		return err
	}
	// Controllers that find no API server end.
	if err := h.Cluster.Start(cluster.Controllers); err != nil {
		return err
	}
	if err := h.Start(); err != nil {
		return err
	}
	err := r.armed(ctx, h)
	r.check(h.Name+" is back as a Standby, and every worker stays with "+leads.Name, errors.Join(err, r.allFollow(ctx, r.workers, leads)))
	return nil
}

// leader is the hub that leads, and the other.
func (r *run) leader(ctx context.Context) (leads, other *pair.Hub, err error) {
	err = see.Eventually(ctx, patience, func() error {
		for i, h := range r.pair.Hubs {
			o, err := h.Admin.Get(ctx, pair.HubRoles.Path("", "self"))
			if err == nil && o.Text("spec", "role") == "Leading" {
				leads, other = h, r.pair.Hubs[1-i]
				return nil
			}
		}
		return errors.New("no hub leads")
	})
	return leads, other, err
}

func handedOnly(w *pair.Worker, h *pair.Hub) error {
	if bare(w.Handed("endpoint")) != h.Cluster.URL() {
		return fmt.Errorf("%s hands over %s", w.Name, w.Handed("endpoint"))
	}
	return nil
}

// stale lets a hub sleep through a failover with all it holds, and then push with all it holds.
func (r *run) stale(ctx context.Context) error {
	old, next, err := r.leader(ctx)
	if err != nil {
		return err
	}
	term, err := told(ctx, r.workers[0], old)
	if err != nil {
		return err
	}
	pids := []int{old.Daemon().Pid()}
	for _, role := range old.Roles() {
		pids = append(pids, role.Pid)
	}
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGSTOP)
	}
	r.check("a hub that stands still is replaced at every worker", r.allFollow(ctx, r.workers, next))
	for _, w := range r.workers {
		problem := r.pushAsStale(ctx, w, old, next, term)
		r.check(w.Name+" refuses the credentials of the hub that was replaced: lower and equal terms, the other's name, deletion (C11)", problem)
	}
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGCONT)
	}
	r.check("awake again it moves no worker (H16, C9)", all(r.workers, func(w *pair.Worker) error {
		return stays(ctx, 2*time.Second, func() error { return keeps(ctx, w, next) })
	}))
	if err := old.Fault(); err != nil { // a sleep of that length may end it, as a watchdog would
		if err := old.Start(); err != nil {
			return err
		}
	}
	err = errors.Join(r.role(ctx, old, "Standby"), r.armed(ctx, old))
	r.check("and is a Standby", err)
	return nil
}

// pushAsStale tries every door with the very credential that the hub's repointer holds.
func (r *run) pushAsStale(ctx context.Context, w *pair.Worker, old, next *pair.Hub, term int64) error {
	client, err := kube.Load(filepath.Join(r.Dir, old.Name, w.Name+".kubeconfig"))
	if err != nil {
		return err
	}
	defer client.Close()
	now, err := told(ctx, w, next)
	if err != nil {
		return err
	}
	push := func(identity, endpoint string, term int64) func() error {
		return func() error {
			_, err := client.Patch(ctx, active+"?force=true&fieldManager=understudy", kube.ApplyPatch, claimText(identity, endpoint, term))
			return err
		}
	}
	for _, try := range []struct {
		what, word string
		code       int
		do         func() error
	}{
		{"its last term", "UNDERSTUDY_TERM", 422, push(old.Name, old.Cluster.URL(), term)},
		{"the term of the other", "UNDERSTUDY_TERM", 422, push(old.Name, old.Cluster.URL(), now)},
		{"a term below it", "UNDERSTUDY_TERM", 422, push(old.Name, old.Cluster.URL(), now-1)},
		{"a higher term in the other's name", "UNDERSTUDY_IDENTITY", 403, push(next.Name, old.Cluster.URL(), now+2)},
		{"a deletion", "cannot delete", 403, func() error { return client.Delete(ctx, active) }},
		{"another name", "UNDERSTUDY_NAME", 422, func() error {
			_, err := client.Create(ctx, pair.Controllers.Path("", ""), claimObject("second", old.Name, old.Cluster.URL(), now+1))
			return err
		}},
	} {
		err := try.do()
		if !kube.IsCode(err, try.code) || !strings.Contains(err.Error(), try.word) {
			return fmt.Errorf("%s: answered %v, want %d %s", try.what, err, try.code, try.word)
		}
	}
	return nil
}

func claimObject(name, identity, endpoint string, term int64) kube.Object {
	return kube.Object{"apiVersion": "ha.kubeslice.io/v1alpha1", "kind": "ClusterController",
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"endpoint": endpoint, "identity": identity, "term": term}}
}

func claimText(identity, endpoint string, term int64) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"ha.kubeslice.io/v1alpha1","kind":"ClusterController","metadata":{"name":"active"},`+
		`"spec":{"endpoint":%q,"identity":%q,"term":%d}}`, endpoint, identity, term)
}
