package workers

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// hands edits and deletes the object as people can.
func (r *run) hands(ctx context.Context) error {
	leads, other, err := r.leader(ctx)
	if err != nil {
		return err
	}
	w := r.workers[1]
	term, err := told(ctx, w, leads)
	if err != nil {
		return err
	}
	root, err := kube.Load(w.Cluster.BreakGlass())
	if err != nil {
		return err
	}
	defer root.Close()

	_, err = w.Admin.Merge(ctx, active, kube.Object{"spec": map[string]any{"endpoint": "https://192.0.2.1:6443"}})
	r.check("an administrator edits the claim: refused (C11)", wantCode(err, 403))
	r.check("an administrator deletes the claim: refused (M5)", wantCode(w.Admin.Delete(ctx, active), 403))

	// A foreign endpoint at the same term: the follower goes by its list and by the hub's Lease.
	if _, err := root.Merge(ctx, active, kube.Object{"spec": map[string]any{"endpoint": "https://192.0.2.1:6443"}}); err != nil {
		return err
	}
	r.check("somebody breaks the glass and names a foreign endpoint: the worker stays (W3, H19)",
		stays(ctx, 2*time.Second, func() error { return handed(w, leads, term) }))
	if err := root.Delete(ctx, active); err != nil {
		return err
	}
	r.check("somebody breaks the glass and deletes the claim: the hub makes it again, the worker stayed", errors.Join(
		handed(w, leads, term), r.allFollow(ctx, []*pair.Worker{w}, leads)))

	// D42: deleted, and created by the hub that does not lead, with a lower term.
	stale, err := kube.Load(filepath.Join(r.Dir, other.Name, w.Name+".kubeconfig"))
	if err != nil {
		return err
	}
	defer stale.Close()
	if err := root.Delete(ctx, active); err != nil {
		return err
	}
	_, err = stale.Create(ctx, pair.Controllers.Path("", ""), claimObject("active", other.Name, other.Cluster.URL(), term-1))
	if err != nil && !kube.IsCode(err, 409) {
		return fmt.Errorf("the other hub creates the claim: %w", err)
	}
	r.check("deleted, and made by the other hub with a lower term: the floor holds, the right hub comes back (C11)", errors.Join(
		stays(ctx, 500*time.Millisecond, func() error { return handed(w, leads, term) }),
		r.allFollow(ctx, []*pair.Worker{w}, leads), floorIs(w, term)))

	if err := r.writers(ctx, w, root, leads, other); err != nil {
		return err
	}
	if err := r.impossibleTerm(ctx, w, root, stale, leads, other); err != nil {
		return err
	}
	if err := r.withoutRule(ctx, w, root, leads, other); err != nil {
		return err
	}
	return r.withoutDefinition(ctx, w, root, leads)
}

// writers binds a hub's controller, which has a credential of its own here, to the claim (M16).
func (r *run) writers(ctx context.Context, w *pair.Worker, root *kube.Client, leads, other *pair.Hub) error {
	if _, err := root.ApplyAll(ctx, writerAccounts, "default", nil); err != nil {
		return err
	}
	if err := r.pair.Apply(ctx, root, map[string]string{"WRITER": "gateway-writer", "GROUP": "", "RESOURCES": "configmaps"},
		"policy/admission/worker-writers.yaml"); err != nil {
		return err
	}
	write := func(h *pair.Hub) error {
		token, err := root.Token(ctx, system, "gateway-writer-"+h.Name, time.Hour)
		if err != nil {
			return err
		}
		client, err := kube.New(w.Cluster.URL(), root.CA, kube.User{Token: token})
		if err != nil {
			return err
		}
		defer client.Close()
		_, err = client.Create(ctx, "/api/v1/namespaces/default/configmaps?dryRun=All",
			kube.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"generateName": "gateway-"}})
		return err
	}
	r.check("a controller of the hub that does not lead is refused by the policy for its writes, the other's is not (M16)",
		see.Eventually(ctx, patience, func() error {
			if err := write(leads); err != nil {
				return err
			}
			if err := write(other); !kube.IsCode(err, 403) || !strings.Contains(err.Error(), "UNDERSTUDY_WRITER") {
				return fmt.Errorf("the controller of %s: %v", other.Name, err)
			}
			return nil
		}))
	return nil
}

const writerAccounts = `apiVersion: v1
kind: ServiceAccount
metadata: {name: gateway-writer-hub-a, namespace: kubeslice-system}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: gateway-writer-hub-b, namespace: kubeslice-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: gateway-writer, namespace: default}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: gateway-writer, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: gateway-writer}
subjects:
- {kind: ServiceAccount, name: gateway-writer-hub-a, namespace: kubeslice-system}
- {kind: ServiceAccount, name: gateway-writer-hub-b, namespace: kubeslice-system}
`

// impossibleTerm claims the highest term that the other hub can have. No API server can go below it
// again, so a person must delete it.
func (r *run) impossibleTerm(ctx context.Context, w *pair.Worker, root, rogue *kube.Client, leads, other *pair.Hub) error {
	last := int64(1)<<53 - 1
	if other == r.a {
		last-- // its terms are even
	}
	floor := maxTerm(w)
	led, _ := see.Leading(leads)
	if _, err := rogue.Patch(ctx, active+"?force=true&fieldManager=understudy", kube.ApplyPatch,
		claimText(other.Name, other.Cluster.URL(), last)); err != nil {
		return err
	}
	r.check("a term at the limit of what can be: the worker stays, its floor stays (C7)", errors.Join(
		stays(ctx, 2*time.Second, func() error { return handedOnly(w, leads) }), floorIs(w, floor)))
	r.check("a term at the limit: the hub goes on leading", see.Eventually(ctx, patience, func() error {
		if now, _ := see.Leading(leads); now != led {
			return fmt.Errorf("%s leads with term %d, before %d", leads.Name, now, led)
		}
		return r.is(ctx, leads, "Leading")
	}))
	if err := root.Delete(ctx, active); err != nil {
		return err
	}
	r.check("a term at the limit, deleted by break-glass: the hub claims again, without a restart (B13)", r.allFollow(ctx, []*pair.Worker{w}, leads))
	return nil
}

// withoutRule puts an older definition there, whose API server lets a term fall.
func (r *run) withoutRule(ctx context.Context, w *pair.Worker, root *kube.Client, leads, other *pair.Hub) error {
	path := definition.Path("", "clustercontrollers.ha.kubeslice.io")
	if _, err := root.Patch(ctx, path, kube.JSONPatch,
		[]byte(`[{"op":"remove","path":"/spec/versions/0/schema/openAPIV3Schema/x-kubernetes-validations"}]`)); err != nil {
		return err
	}
	now, err := told(ctx, w, leads)
	if err != nil {
		return err
	}
	// The server follows its definitions with a moment's delay, and a rehearsal comes with each start only.
	if err := see.Eventually(ctx, patience, func() error {
		_, err := root.Patch(ctx, active+"?force=true&fieldManager=understudy&dryRun=All", kube.ApplyPatch,
			claimText(leads.Name, leads.Cluster.URL(), now-1))
		return err
	}); err != nil {
		return fmt.Errorf("the server lets a term fall: %w", err)
	}
	restartRepointer(other)
	r.check("a CRD without the rule: the Standby's rehearsal says no-fence (H20)", see.Eventually(ctx, patience, func() error {
		return shows(ctx, other, w, "no-fence")
	}))
	return r.pair.Apply(ctx, root, nil, "policy/crds/worker.yaml")
}

// restartRepointer makes a hub rehearse now: a rehearsal comes with each start.
func restartRepointer(h *pair.Hub) {
	for _, role := range h.Roles() {
		if role.Name == "repointer" {
			syscall.Kill(role.Pid, syscall.SIGKILL)
		}
	}
}

var definition = kube.Resource{Group: "apiextensions.k8s.io", Version: "v1", Name: "customresourcedefinitions"}

func (r *run) withoutDefinition(ctx context.Context, w *pair.Worker, root *kube.Client, leads *pair.Hub) error {
	if err := root.Delete(ctx, definition.Path("", "clustercontrollers.ha.kubeslice.io")); err != nil {
		return err
	}
	r.check("the CRD is gone: state no-crd at both hubs, the worker stays", errors.Join(
		see.Eventually(ctx, 2*patience, func() error { return shows(ctx, r.a, w, "no-crd") }),
		see.Eventually(ctx, 2*patience, func() error { return shows(ctx, r.b, w, "no-crd") }),
		handedOnly(w, leads)))
	if err := r.pair.Apply(ctx, root, nil, "policy/crds/worker.yaml"); err != nil {
		return err
	}
	r.check("the CRD is back: claimed, followed and ok again", errors.Join(
		see.Eventually(ctx, 3*patience, func() error { return follows(ctx, w, leads) }),
		see.Eventually(ctx, 2*patience, func() error { return shows(ctx, leads, w, "ok") })))
	return nil
}

func wantCode(err error, code int) error {
	if kube.IsCode(err, code) {
		return nil
	}
	return fmt.Errorf("answered %v, want %d", err, code)
}

func floorIs(w *pair.Worker, term int64) error {
	if floor := maxTerm(w); floor != term {
		return fmt.Errorf("the floor is %d, not %d", floor, term)
	}
	return nil
}

// rival is B13 in full: a credential of the other hub claims a higher term on one worker and is not
// heard of again. The Active out-terms it, everywhere, after the five minutes of decision 14.
func (r *run) rival(ctx context.Context) error {
	leads, other, err := r.leader(ctx)
	if err != nil {
		return err
	}
	w := r.workers[0]
	term, err := told(ctx, w, leads)
	if err != nil {
		return err
	}
	rogue, err := kube.Load(filepath.Join(r.Dir, other.Name, w.Name+".kubeconfig"))
	if err != nil {
		return err
	}
	defer rogue.Close()
	if _, err := rogue.Patch(ctx, active+"?force=true&fieldManager=understudy", kube.ApplyPatch,
		claimText(other.Name, other.Cluster.URL(), term+1)); err != nil {
		return err
	}
	begin := time.Now()
	err = see.Eventually(ctx, 6*time.Minute, func() error {
		return all(r.workers, func(w *pair.Worker) error {
			now, err := told(ctx, w, leads)
			if err == nil && now <= term+1 {
				err = fmt.Errorf("term %d", now)
			}
			return err
		})
	})
	r.check("a rival with a higher term is out-termed at every worker (B13)", errors.Join(err, r.allFollow(ctx, r.workers, leads)))
	r.tell("out-termed after %.0f s", time.Since(begin).Seconds())
	return nil
}
