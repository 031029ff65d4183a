package pair

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"understudy.test/bed/kube"
)

// workerAccount is KubeSlice's service account of the worker, on each hub.
const workerAccount = "kubeslice-rbac-worker-" + worker

// Probes are the questions of hubs to a worker.
var Probes = kube.Resource{Group: "ha.kubeslice.io", Version: "v1alpha1", Name: "hubprobes"}

// Worker is the understudyd on worker-1: mode follower.
type Worker struct {
	Hub
	// Operator puts beside the follower what an operator that knows of none reads: a Secret, and a
	// Deployment that would mount it.
	Operator bool
}

// OperatorSecret and OperatorDeployment are their names.
const (
	OperatorSecret     = "kubeslice-hub"
	OperatorDeployment = "kubeslice-operator"
)

func newWorker(p *Pair) (*Worker, error) {
	w := &Worker{Hub: Hub{Name: worker, Cluster: p.Work, pair: p, index: 2}}
	var err error
	if w.Admin, err = p.Work.Client(); err != nil {
		return nil, err
	}
	w.port, err = freePort()
	return w, err
}

// HandOver is where the worker's own software reads which hub to use.
func (w *Worker) HandOver() string { return filepath.Join(w.RunDirectory(), "hub") }

// Handed is what one file of the hand-over says.
func (w *Worker) Handed(file string) string {
	text, _ := os.ReadFile(filepath.Join(w.HandOver(), file))
	return string(text)
}

// InstallWitness gives the worker's account of a project the sight of the hub's Lease.
func (h *Hub) InstallWitness(ctx context.Context, project string) error {
	return h.pair.Apply(ctx, h.Admin, map[string]string{
		"N": Namespace, "PROJECT": project, "WORKER": worker, "ACCOUNT": workerAccount,
	}, "policy/rbac/hub-worker.yaml")
}

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
	secret, err := w.pair.Hubs[0].Admin.Get(ctx, kube.Secrets.Path(Project, workerAccount))
	if err != nil {
		return err
	}
	token, err := base64.StdEncoding.DecodeString(secret.Text("data", "token"))
	if err != nil || len(token) == 0 {
		return fmt.Errorf("Secret %s/%s holds no token yet", Project, workerAccount)
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
		line("- {name: %s, endpoint: %q, ca-file: %s}", hub.Name, hub.Cluster.URL(), w.path(hub.Name+".crt"))
	}
	line("namespace: %s", Namespace)
	operator := ""
	if w.Operator {
		operator = fmt.Sprintf(", operator-secret: %s, operator-deployment: %s", OperatorSecret, OperatorDeployment)
	}
	line("follower: {project-namespace: %s, interval: 2s, timeout: 1s, handover-directory: %s%s}", Project, w.HandOver(), operator)
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
