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
	w.port, err = cluster.FreePort()
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

// place takes the worker's folder of bootstrap's output to where its understudyd reads it, with what a
// bed has otherwise.
func (w *Worker) place(ctx context.Context) error {
	text, err := w.copyFolder()
	if err != nil {
		return err
	}
	for _, hub := range w.pair.Hubs {
		if w.Bundle != nil {
			ca, err := os.ReadFile(hub.Cluster.CAFile())
			if err != nil {
				return err
			}
			if err := os.WriteFile(w.path(hub.Name+".crt"), w.Bundle(hub, ca), 0o644); err != nil {
				return err
			}
		}
		if w.Spell != nil {
			text = strings.ReplaceAll(text, `"`+hub.Cluster.URL()+`"`, `"`+w.Spell(hub.Cluster.URL())+`"`)
		}
	}
	operator := ""
	if w.Operator {
		if err := w.installOperator(ctx); err != nil {
			return err
		}
		operator = fmt.Sprintf(", operator-secret: %s, operator-deployment: %s", OperatorSecret, OperatorDeployment)
	}
	text = strings.Replace(text, "follower: {project-namespace: "+Project+"}",
		fmt.Sprintf("follower: {project-namespace: %s, interval: %s, timeout: %s, handover-directory: %s%s}",
			Project, w.Interval, w.Timeout, w.HandOver(), operator), 1)
	if !strings.Contains(text, "hub-a.token") { // KubeSlice makes it later: Join
		text += fmt.Sprintf("  hub-a: {token-file: %s}\n", w.path("hub-a.token"))
	}
	return os.WriteFile(w.Config(), []byte(text+w.surroundings()), 0o600)
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
