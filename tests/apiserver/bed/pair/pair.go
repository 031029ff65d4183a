// Package pair puts understudy on two hubs and the workers of a bed, as an operator would: CRDs,
// admission policies, accounts with least rights, tokens, configurations, and one understudyd per
// hub under real uids. The demo and the tests on real API servers stand on it. It must not know
// what a right answer is: that is the business of its callers.
package pair

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
)

// Namespace is the controller's on the hubs, Project that of the sample project.
const (
	Namespace = "kubeslice-controller"
	Project   = "kubeslice-cisco"
)

var (
	HubRoles    = kube.Resource{Group: "ha.kubeslice.io", Version: "v1alpha1", Name: "hubroles"}
	Controllers = kube.Resource{Group: "ha.kubeslice.io", Version: "v1alpha1", Name: "clustercontrollers"}
)

// Lease are the four times of the configuration, as YAML durations.
type Lease struct{ Duration, RenewDeadline, RetryPeriod, Padding string }

// The profiles of the documents.
var (
	FastLease    = Lease{"3s", "2.5s", "0.4s", "0.8s"}
	DefaultLease = Lease{"15s", "10s", "2s", "5s"}
)

// Pair is two hubs and the worker clusters behind them.
type Pair struct {
	Workers []*Worker // in the bed's order
	Worker  *Worker   // the first, nil when there is none

	Root  string // of the repository: manifests and build/
	Dir   string // where configurations, credentials and logs go
	Hubs  [2]*Hub
	Work  *cluster.Cluster
	Lease Lease
	// Block is promotion.block-window, "" for none: tests take the lead back and forth.
	Block string
	// Proxied are the accounts whose requests go through the fault proxies of the clusters, which
	// must run.
	Proxied []string
	// Mirror is the file of bootstrap's --mirror, "" for none.
	Mirror string
	// ShardSize is repointer.shard-size, 0 for the default.
	ShardSize int
	// Alone lets a hub take over without asking workers.
	Alone bool
	// More are further workers of both hubs, by name, each with the kubeconfig that a hub has for it.
	More []MoreWorker
	bed  *cluster.Bed
	uids int // of hub-a; hub-b's follow; chosen by Bootstrap
}

// MoreWorker is a worker cluster that no cluster of the bed is.
type MoreWorker struct {
	Name       string
	Kubeconfig func(hub *Hub) []byte
}

func (p *Pair) witness() string {
	if p.Alone {
		return "none"
	}
	return "workers"
}

func (p *Pair) block() string {
	if p.Block == "" {
		return "0s"
	}
	return p.Block
}

// Hub is one of the two, with what runs on it.
type Hub struct {
	Name    string
	Cluster *cluster.Cluster
	Admin   *kube.Client
	// Container or System, when set, is what its understudyd runs in.
	Container *Container
	System    *System
	pair      *Pair
	index     int
	port      int
	daemon    *Process
	// Lacks are protections that its understudyd starts without, and whose names stand in
	// allow-missing, unless Refuses.
	Lacks   []string
	Refuses bool
	// Programs is where understudyd and the roles lie, "" for what make built.
	Programs string
}

// Client is a client with the identity that the named kubeconfig of the hub's understudyd holds.
func (h *Hub) Client(identity string) (*kube.Client, error) {
	return kube.Load(h.path(identity + ".kubeconfig"))
}

// New prepares a pair on a bed's clusters hub-a and hub-b; its others are the workers. Close ends it.
func New(root, dir string, bed *cluster.Bed, lease Lease) (*Pair, error) {
	p := &Pair{Root: root, Dir: dir, Lease: lease, bed: bed}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	// The run directories lie beside etcd's data, on a tmpfs; others than root must reach them.
	if err := os.Chmod(bed.Data, 0o755); err != nil {
		return nil, err
	}
	var err error
	for i, name := range []string{"hub-a", "hub-b"} {
		h := &Hub{Name: name, pair: p, index: i}
		if h.Cluster, err = bed.Cluster(name); err != nil {
			return nil, err
		}
		if h.Admin, err = h.Cluster.Client(); err != nil {
			return nil, err
		}
		if h.port, err = cluster.FreePort(); err != nil {
			return nil, err
		}
		p.Hubs[i] = h
	}
	for _, c := range bed.Clusters {
		if c == p.Hubs[0].Cluster || c == p.Hubs[1].Cluster {
			continue
		}
		w, err := newWorker(p, c)
		if err != nil {
			return nil, err
		}
		p.Workers = append(p.Workers, w)
	}
	if len(p.Workers) > 0 {
		p.Worker, p.Work = p.Workers[0], p.Workers[0].Cluster
	}
	return p, nil
}

// Close ends all understudyds.
func (p *Pair) Close() {
	for _, w := range p.Workers {
		w.Kill()
	}
	for _, h := range p.Hubs {
		h.Kill()
	}
}

// RunDirectory is the hub's, FencePage the page in it, StatusSocket what understudyctl asks.
func (h *Hub) RunDirectory() string { return filepath.Join(h.pair.bed.Data, "run", h.Name) }
func (h *Hub) FencePage() string    { return filepath.Join(h.RunDirectory(), "fence") }
func (h *Hub) StatusSocket() string { return filepath.Join(h.RunDirectory(), "status.sock") }

// HTTP is the address of the hub's monitor, Log understudyd's, Config its configuration.
func (h *Hub) HTTP() string   { return fmt.Sprintf("http://127.0.0.1:%d", h.port) }
func (h *Hub) Log() string    { return filepath.Join(h.pair.Dir, h.Name+".log") }
func (h *Hub) Config() string { return h.path("understudy.yaml") }

// UIDBase is the first of the hub's uids, as the host counts.
func (h *Hub) UIDBase() int {
	if root := h.root(); root != 0 {
		return root + containerUID
	}
	return h.pair.uids + UIDRange*h.index
}

// ApplySamples makes the objects of a KubeSlice project on a hub, and says how many.
func (h *Hub) ApplySamples(ctx context.Context) (int, error) {
	text, err := os.ReadFile(filepath.Join(h.pair.Root, "tests/apiserver/samples/hub-objects.yaml"))
	if err != nil {
		return 0, err
	}
	return h.Admin.ApplyAll(ctx, string(text), "default", map[string]string{"N": Namespace})
}

// Apply applies files of the repository.
func (p *Pair) Apply(ctx context.Context, client *kube.Client, set map[string]string, files ...string) error {
	for _, file := range files {
		paths := []string{filepath.Join(p.Root, file)}
		if strings.Contains(file, "*") {
			paths, _ = filepath.Glob(paths[0])
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if _, err := client.ApplyAll(ctx, string(text), "default", set); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return nil
}
