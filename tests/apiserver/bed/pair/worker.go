package pair

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
)

// Probes are the questions of hubs to a worker.
var Probes = kube.Resource{Group: "ha.kubeslice.io", Version: "v1alpha1", Name: "hubprobes"}

// Worker is the understudyd on a worker cluster: mode follower.
type Worker struct {
	Hub
	// Operator puts beside the follower what an operator that knows of none reads: a Secret, and a
	// Deployment that would mount it.
	Operator          bool
	Interval, Timeout string // of its looks
	// Bundle, when set, makes the CA file of a hub out of the hub's CA; Spell its endpoint.
	Bundle func(hub *Hub, ca []byte) []byte
	Spell  func(endpoint string) string
}

// OperatorSecret and OperatorDeployment are their names.
const (
	OperatorSecret     = "kubeslice-hub"
	OperatorDeployment = "kubeslice-operator"
)

func newWorker(p *Pair, c *cluster.Cluster) (*Worker, error) {
	w := &Worker{Hub: Hub{Name: c.Name, Cluster: c, pair: p, index: len(p.Hubs) + len(p.Workers)}, Interval: "2s", Timeout: "1s"}
	var err error
	if w.Admin, err = c.Client(); err != nil {
		return nil, err
	}
	w.port, err = freePort()
	return w, err
}

// Account is KubeSlice's service account of the worker, on each hub.
func (w *Worker) Account() string { return "kubeslice-rbac-worker-" + w.Name }

// HandOver is where the worker's own software reads which hub to use.
func (w *Worker) HandOver() string { return filepath.Join(w.RunDirectory(), "hub") }

// Handed is what one file of the hand-over says.
func (w *Worker) Handed(file string) string {
	text, _ := os.ReadFile(filepath.Join(w.HandOver(), file))
	return string(text)
}

// InstallWitness gives the workers' accounts of a project the sight of the hub's Lease.
func (h *Hub) InstallWitness(ctx context.Context, project string) error {
	for _, w := range h.pair.Workers {
		if err := h.pair.Apply(ctx, h.Admin, map[string]string{
			"N": Namespace, "PROJECT": project, "WORKER": w.Name, "ACCOUNT": w.Account(),
		}, "policy/rbac/hub-worker.yaml"); err != nil {
			return err
		}
	}
	return nil
}

// Reconfigure writes configuration and credentials of a hub anew, from what its cluster has now.
func (h *Hub) Reconfigure(ctx context.Context) error { return h.Configure(ctx) }

// configure writes the worker's own credential, CAs and understudy.yaml.
func (w *Worker) configure(ctx context.Context) error {
	if err := os.RemoveAll(w.path("")); err != nil {
		return err
	}
	if err := os.MkdirAll(w.path(""), 0o755); err != nil {
		return err
	}
	if err := w.credential(ctx, "follower.kubeconfig", w.Cluster, "kubeslice-system", "understudy-follower"); err != nil {
		return err
	}
	for _, hub := range w.pair.Hubs {
		ca, err := os.ReadFile(hub.Cluster.CAFile())
		if err != nil {
			return err
		}
		if w.Bundle != nil {
			ca = w.Bundle(hub, ca)
		}
		if err := os.WriteFile(w.path(hub.Name+".crt"), ca, 0o644); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(w.RunDirectory(), 0o755); err != nil {
		return err
	}
	if w.Operator {
		if err := w.installOperator(ctx); err != nil {
			return err
		}
	}
	return os.WriteFile(w.Config(), []byte(w.yaml()), 0o600)
}

// installOperator does what KubeSlice's chart does for its worker: hub-a's address in a Secret, and
// a Deployment. No kubelet runs here: what counts is what the objects say.
func (w *Worker) installOperator(ctx context.Context) error {
	objects := fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: %[1]s, namespace: kubeslice-system}
stringData: {endpoint: %[3]q, namespace: %[4]s}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[2]s, namespace: kubeslice-system}
spec:
  replicas: 0
  selector: {matchLabels: {app: operator}}
  template:
    metadata: {labels: {app: operator}}
    spec: {containers: [{name: manager, image: none}]}
`, OperatorSecret, OperatorDeployment, w.pair.Hubs[0].Cluster.URL(), Project)
	if _, err := w.Admin.ApplyAll(ctx, objects, "default", nil); err != nil {
		return err
	}
	return w.pair.Apply(ctx, w.Admin, map[string]string{"SECRET": OperatorSecret, "DEPLOYMENT": OperatorDeployment},
		"policy/rbac/worker-operator.yaml")
}

// Deployments are workloads of a worker.
var Deployments = kube.Resource{Group: "apps", Version: "v1", Name: "deployments"}

// OperatorReads is what the operator's Secret holds under a key, and RestartedFor the hub that its
// pods were replaced for, with how often the Deployment was changed.
func (w *Worker) OperatorReads(ctx context.Context, key string) string {
	o, err := w.Admin.Get(ctx, kube.Secrets.Path("kubeslice-system", OperatorSecret))
	if err != nil {
		return err.Error()
	}
	text, _ := base64.StdEncoding.DecodeString(o.Text("data", key))
	return string(text)
}

func (w *Worker) RestartedFor(ctx context.Context) (string, int64) {
	o, err := w.Admin.Get(ctx, Deployments.Path("kubeslice-system", OperatorDeployment))
	if err != nil {
		return err.Error(), 0
	}
	return o.Text("spec", "template", "metadata", "annotations", "ha.kubeslice.io/hub"), o.Int("metadata", "generation")
}

// Join puts the token that KubeSlice made for the worker on its first hub where the configuration
// names it, as whoever installs a worker does, and starts the follower. The second hub's token comes
// by itself.
func (w *Worker) Join(ctx context.Context) error {
	secret, err := w.pair.Hubs[0].Admin.Get(ctx, kube.Secrets.Path(Project, w.Account()))
	if err != nil {
		return err
	}
	token, err := base64.StdEncoding.DecodeString(secret.Text("data", "token"))
	if err != nil || len(token) == 0 {
		return fmt.Errorf("Secret %s/%s holds no token yet", Project, w.Account())
	}
	if err := os.WriteFile(w.path("hub-a.token"), token, 0o400); err != nil {
		return err
	}
	return w.Start()
}

func (w *Worker) yaml() string {
	var b strings.Builder
	line := func(format string, arguments ...any) { fmt.Fprintf(&b, format+"\n", arguments...) }
	line("mode: follower")
	line("self: %s", w.Name)
	line("hubs:")
	for _, hub := range w.pair.Hubs {
		endpoint := hub.Cluster.URL()
		if w.Spell != nil {
			endpoint = w.Spell(endpoint)
		}
		line("- {name: %s, endpoint: %q, ca-file: %s}", hub.Name, endpoint, w.path(hub.Name+".crt"))
	}
	line("namespace: %s", Namespace)
	operator := ""
	if w.Operator {
		operator = fmt.Sprintf(", operator-secret: %s, operator-deployment: %s", OperatorSecret, OperatorDeployment)
	}
	line("follower: {project-namespace: %s, interval: %s, timeout: %s, handover-directory: %s%s}",
		Project, w.Interval, w.Timeout, w.HandOver(), operator)
	line("credentials:")
	line("  follower: {kubeconfig: %s}", w.path("follower.kubeconfig"))
	line("  hub-a: {token-file: %s}", w.path("hub-a.token"))
	line("workload: {command: [/bin/sleep, infinity], stop-grace: 0s}")
	line("listen: {http: \"127.0.0.1:%d\"}", w.port)
	line("dial: {allow: [%s]}", w.pair.reachable())
	line("run: {directory: %s, uid-base: %d, status-group: root, admin-group: root}", w.RunDirectory(), w.UIDBase())
	line("allow-missing: []")
	return b.String()
}
