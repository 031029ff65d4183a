// Package workers holds what three worker clusters see of two hubs against the rules: whom they are
// told to follow and whom they follow, over failovers, partitions, returns of stale hubs, and over
// what arrives there as credentials and by hand. Every cluster has its own network namespace, so
// that single links can be cut. It prints one line a check and must not know how the product works.
package workers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// patience is far beyond what is right; a busy machine is no fault.
const patience = 60 * time.Second

// Names are the clusters that a run needs, all of them isolated.
var Names = []string{"hub-a", "hub-b", "worker-1", "worker-2", "worker-3"}

// Options of one run.
type Options struct {
	Root, Dir string
	Bed       *cluster.Bed
	Out       io.Writer
	Parts     []string // names of parts; none: all but those that are long
}

type run struct {
	Options
	pair      *pair.Pair
	a, b      *pair.Hub
	workers   []*pair.Worker
	histories []*history
	mutex     sync.Mutex
	failed    int
	// What CutTo cut, to be healed when a part fails half-way.
	cuts [][2]*cluster.Cluster
}

type part struct {
	name string
	run  func(*run, context.Context) error
	long bool
}

var parts = []part{
	{"join", (*run).join, false},
	{"partition", (*run).partition, false},
	{"failover", (*run).failOver, false},
	{"stale", (*run).stale, false},
	{"hands", (*run).atOnce, false},
	{"renewal", (*run).renewal, false},
	{"single", (*run).single, false},
	{"rival", (*run).rival, true},
}

// Run checks everything; the error says how many checks failed, or why it could not go on.
func Run(ctx context.Context, o Options) error {
	p, err := pair.New(o.Root, o.Dir, o.Bed, pair.FastLease)
	if err != nil {
		return err
	}
	defer p.Close()
	r := &run{Options: o, pair: p, a: p.Hubs[0], b: p.Hubs[1], workers: p.Workers}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := r.start(ctx); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	for _, part := range parts {
		if !r.wants(part) {
			continue
		}
		if err := part.run(r, ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	r.check("no worker's term ever fell, none had two hubs (I3, I4)", r.judgeHistories())
	if r.failed > 0 {
		return fmt.Errorf("%d checks failed", r.failed)
	}
	return nil
}

func (r *run) wants(p part) bool {
	for _, name := range r.Parts {
		if name == p.name {
			return true
		}
	}
	return len(r.Parts) == 0 && !p.long || p.name == "join"
}

// check prints one line; problem nil means that it holds.
func (r *run) check(name string, problem error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if problem == nil {
		fmt.Fprintf(r.Out, "ok - workers: %s\n", name)
		return
	}
	r.failed++
	fmt.Fprintf(r.Out, "not ok - workers: %s: %s\n", name, strings.ReplaceAll(problem.Error(), "\n", " "))
}

func (r *run) tell(format string, arguments ...any) {
	fmt.Fprintf(r.Out, "# "+format+"\n", arguments...)
}

// stays asks for a while; the answer must be nil each time.
func stays(ctx context.Context, long time.Duration, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	for {
		if err := ask(); err != nil && ctx.Err() == nil {
			return err
		}
		if !kube.Pause(ctx, 50*time.Millisecond) {
			return nil
		}
	}
}

// both asks two things at the same time.
func both(one, other func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- other() }()
	return errors.Join(one(), <-ended)
}

// all is nil when nothing is wrong at each of the workers.
func all(workers []*pair.Worker, ask func(*pair.Worker) error) error {
	var wrong []error
	for _, w := range workers {
		if err := ask(w); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", w.Name, err))
		}
	}
	return errors.Join(wrong...)
}

// start brings the pair up with hub-a leading, and all workers registered at it.
func (r *run) start(ctx context.Context) error {
	// worker-2 trusts each hub through a bundle of three, of which one is over and one is of nobody
	// here; worker-3 spells the endpoints in another way (D11, G15).
	expired, err := r.a.Cluster.Expired()
	if err != nil {
		return err
	}
	stranger, err := r.a.Cluster.Renew()
	if err != nil {
		return err
	}
	r.workers[1].Bundle = func(_ *pair.Hub, ca []byte) []byte {
		return bytes.Join([][]byte{[]byte("the hubs' authorities\n"), expired, stranger.CA, ca}, nil)
	}
	for _, w := range r.workers {
		w.Interval = "1s"
	}
	r.workers[2].Spell = func(endpoint string) string { return endpoint + "/" }
	if err := r.pair.Bootstrap(ctx); err != nil {
		return err
	}
	for _, w := range r.workers {
		r.histories = append(r.histories, watchHistory(ctx, w))
	}
	if err := r.a.Start(); err != nil {
		return err
	}
	if err := r.role(ctx, r.a, "Leading"); err != nil {
		return err
	}
	if _, err := r.a.ApplySamples(ctx); err != nil {
		return err
	}
	if _, err := r.a.Admin.ApplyAll(ctx, workerObjects("worker-3"), "default", map[string]string{"N": pair.Namespace}); err != nil {
		return err
	}
	if err := r.b.Start(); err != nil {
		return err
	}
	return r.armed(ctx, r.b)
}

// workerObjects are what KubeSlice keeps of a worker in its project.
func workerObjects(name string) string {
	return strings.ReplaceAll(`apiVersion: v1
kind: ServiceAccount
metadata:
  name: kubeslice-rbac-worker-NAME
  namespace: kubeslice-cisco
  labels: {kubeslice-resource-owner: kubeslice-controller, kubeslice-controller-resource-name: Cluster-NAME}
---
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata:
  name: kubeslice-rbac-worker-NAME
  namespace: kubeslice-cisco
  annotations: {kubernetes.io/service-account.name: kubeslice-rbac-worker-NAME}
  labels: {kubeslice-resource-owner: kubeslice-controller, kubeslice-controller-resource-name: Cluster-NAME}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: kubeslice-rbac-worker-NAME
  namespace: kubeslice-cisco
  labels: {kubeslice-resource-owner: kubeslice-controller, kubeslice-controller-resource-name: Cluster-NAME}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: kubeslice-worker-cluster}
subjects: [{kind: ServiceAccount, name: kubeslice-rbac-worker-NAME, namespace: kubeslice-cisco}]
---
apiVersion: controller.kubeslice.io/v1alpha1
kind: Cluster
metadata: {name: NAME, namespace: kubeslice-cisco}
spec: {networkInterface: eth0, nodeIPs: [198.51.100.33]}
status: {secretName: kubeslice-rbac-worker-NAME, registrationStatus: Registered}
`, "NAME", name)
}

// role waits for HubRole/self, the API server's own view of the hub, and for the page of one that leads,
// which opens once the server lets writers in.
func (r *run) role(ctx context.Context, h *pair.Hub, want string) error {
	return see.Eventually(ctx, patience, func() error {
		if err := h.Fault(); err != nil {
			return err
		}
		o, err := h.Admin.Get(ctx, pair.HubRoles.Path("", "self"))
		if err == nil && o.Text("spec", "role") != want {
			err = fmt.Errorf("%s is %s, not %s", h.Name, o.Text("spec", "role"), want)
		}
		if _, open := see.Leading(h); err == nil && open != (want == "Leading") {
			err = fmt.Errorf("%s is %s, its page open: %v", h.Name, want, open)
		}
		return err
	})
}

func (r *run) armed(ctx context.Context, h *pair.Hub) error {
	return see.Eventually(ctx, patience, func() error {
		if !h.Armed(ctx) {
			return errors.New(h.Name + " is not armed and complete")
		}
		return h.Fault()
	})
}

// cut loses what the first opens to the others, and what they open to it.
func (r *run) cut(c *cluster.Cluster, others ...*cluster.Cluster) error {
	for _, other := range others {
		for _, pair := range [][2]*cluster.Cluster{{c, other}, {other, c}} {
			if err := pair[0].CutTo(pair[1]); err != nil {
				return err
			}
			r.cuts = append(r.cuts, pair)
		}
	}
	return nil
}

// heal ends the cuts between two clusters, or all of them.
func (r *run) heal(only ...*cluster.Cluster) error {
	var left [][2]*cluster.Cluster
	for _, pair := range r.cuts {
		if len(only) == 2 && (pair != [2]*cluster.Cluster{only[0], only[1]} && pair != [2]*cluster.Cluster{only[1], only[0]}) {
			left = append(left, pair)
			continue
		}
		if err := pair[0].HealTo(pair[1]); err != nil {
			return err
		}
	}
	r.cuts = left
	return nil
}
