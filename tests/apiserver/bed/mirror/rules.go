package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// create makes an object on hub-a in the project's namespace.
func (r *run) create(ctx context.Context, resource kube.Resource, o kube.Object) error {
	_, err := r.a.Admin.Create(ctx, resource.Path(pair.Project, ""), o)
	return err
}

// rules checks what must not cross, and what must cross in another form.
func (r *run) rules(ctx context.Context) error {
	for _, part := range []func(*run, context.Context) error{
		(*run).staysOut, (*run).refused, (*run).parked, (*run).fieldOwners, (*run).lists, (*run).marked, (*run).immutable, (*run).finalizers,
	} {
		if err := part(r, ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) staysOut(ctx context.Context) error {
	plain := kube.Object{"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": map[string]any{"name": "webhook-key"}}
	if _, err := r.a.Admin.Create(ctx, kube.Secrets.Path(pair.Namespace, ""), plain); err != nil {
		return err
	}
	// Helm's record, a namespace of the cluster and a Secret in it, all owned by the labels' word.
	if err := r.create(ctx, kube.Secrets, secret("sh.helm.release.v1.x.v1", "helm.sh/release.v1", nil)); err != nil {
		return err
	}
	label := kube.Object{"metadata": map[string]any{"labels": map[string]any{"kubeslice-resource-owner": "kubeslice-controller"}}}
	for _, name := range []string{"kube-public", pair.Namespace} {
		if _, err := r.a.Admin.Merge(ctx, kube.Namespaces.Path("", name), label); err != nil {
			return err
		}
	}
	if _, err := r.a.Admin.Create(ctx, kube.Secrets.Path("kube-public", ""), secret("foreign", "Opaque", nil)); err != nil {
		return err
	}
	// What was made later is there: the others had their time.
	if err := r.create(ctx, kube.Secrets, secret("later", "Opaque", nil)); err != nil {
		return err
	}
	if err := copied(ctx, r.b, kube.Secrets.Path(pair.Project, "later"), any_); err != nil {
		return err
	}
	r.check("what is in the controller's namespace stays there", gone(ctx, r.b, kube.Secrets.Path(pair.Namespace, "webhook-key")))
	r.check("a Helm release is never copied", gone(ctx, r.b, kube.Secrets.Path(pair.Project, "sh.helm.release.v1.x.v1")))
	r.check("kube-* stays as it is, whatever its labels say", gone(ctx, r.b, kube.Secrets.Path("kube-public", "foreign")))
	kube.Pause(ctx, 500*time.Millisecond) // the publisher's time to do it
	for _, name := range []string{"kube-public", pair.Namespace} {
		r.check("nor does the label open the Secrets of "+name+" to the peer (B25)", gone(ctx, r.a, roleBindings.Path(name, "understudy-mirror-read")))
	}
	none := kube.Object{"metadata": map[string]any{"labels": map[string]any{"kubeslice-resource-owner": nil}}}
	_, err := r.a.Admin.Merge(ctx, kube.Namespaces.Path("", pair.Namespace), none)
	return err
}

func (r *run) refused(ctx context.Context) error {
	role := owned("rbac.authorization.k8s.io/v1", "Role", nil)
	role["rules"] = []any{map[string]any{"apiGroups": []any{"*"}, "resources": []any{"*"}, "verbs": []any{"*"}}}
	if err := r.create(ctx, roles, role); err != nil {
		return err
	}
	if err := r.create(ctx, roleBindings, binding("to-admin", "ClusterRole", "cluster-admin")); err != nil {
		return err
	}
	r.check("a Role that grants everything is listed as blocked", r.says(ctx, r.b, "Role kubeslice-cisco/spare", "allow-rules"))
	r.check("so is a RoleBinding to cluster-admin", r.says(ctx, r.b, "RoleBinding kubeslice-cisco/to-admin", "cluster-admin"))
	r.check("neither is on the Standby", func() error {
		if err := gone(ctx, r.b, roles.Path(pair.Project, "spare")); err != nil {
			return err
		}
		return gone(ctx, r.b, roleBindings.Path(pair.Project, "to-admin"))
	}())
	r.check("the mirror is not complete meanwhile", incomplete(ctx, r.b))
	if err := r.a.Admin.Delete(ctx, roles.Path(pair.Project, "spare")); err != nil {
		return err
	}
	if err := r.a.Admin.Delete(ctx, roleBindings.Path(pair.Project, "to-admin")); err != nil {
		return err
	}
	return r.armed(ctx, r.b)
}

func (r *run) parked(ctx context.Context) error {
	o := slice("tracked")
	o["metadata"].(map[string]any)["labels"] = map[string]any{"app.kubernetes.io/instance": "shop"}
	o["metadata"].(map[string]any)["annotations"] = map[string]any{"argocd.argoproj.io/tracking-id": "shop:x", "kept": "yes"}
	if err := r.create(ctx, kube.SliceConfigs, o); err != nil {
		return err
	}
	r.check("tracking marks of deployment tools are parked on the copy", copied(ctx, r.b, kube.SliceConfigs.Path(pair.Project, "tracked"), func(o kube.Object) error {
		if o.Get("metadata", "labels", "app.kubernetes.io/instance") != nil || o.Get("metadata", "annotations", "argocd.argoproj.io/tracking-id") != nil ||
			o.Text("metadata", "annotations", "kept") != "yes" {
			return fmt.Errorf("metadata %v", o.Get("metadata"))
		}
		var was kube.Object
		if err := json.Unmarshal([]byte(o.Text("metadata", "annotations", marks+"parked")), &was); err != nil || was.Text("annotations", "argocd.argoproj.io/tracking-id") != "shop:x" {
			return fmt.Errorf("parked is %q", o.Text("metadata", "annotations", marks+"parked"))
		}
		return nil
	}))
	// What such a tool's pruner does on the Standby: it deletes what bears its mark and is not in its list.
	for _, w := range rows() {
		marked, err := r.b.Admin.Get(ctx, w.resource.Path("", "")+"?labelSelector=app.kubernetes.io/instance%3Dshop")
		if err != nil {
			return err
		}
		if len(marked.Items()) > 0 {
			r.check("a pruner finds nothing of its own on the Standby (B22)", fmt.Errorf("it finds %s", marked.Items()[0].Key()))
			return nil
		}
	}
	r.check("a pruner finds nothing of its own on the Standby (B22)", nil)
	return nil
}

// fieldOwners applies the same object as the tool that made it, on the copy, where the fence lets
// the break-glass group write: no field may be somebody else's (B21).
func (r *run) fieldOwners(ctx context.Context) error {
	admin, err := kube.Load(r.b.Cluster.BreakGlass())
	if err != nil {
		return err
	}
	defer admin.Close()
	text, _ := json.Marshal(kube.Object{"apiVersion": "controller.kubeslice.io/v1alpha1", "kind": "SliceConfig",
		"metadata": map[string]any{"name": "tracked", "namespace": pair.Project}, "spec": slice("tracked")["spec"]})
	_, err = admin.Patch(ctx, kube.SliceConfigs.Path(pair.Project, "tracked")+"?fieldManager=shop&dryRun=All", kube.ApplyPatch, text)
	r.check("a tool that applies the same object again finds no field owned by the mirror", err)
	return nil
}

func (r *run) lists(ctx context.Context) error {
	admin, err := kube.Load(r.b.Cluster.BreakGlass())
	if err != nil {
		return err
	}
	defer admin.Close()
	path := kube.ServiceAccounts.Path(pair.Project, account)
	o, err := admin.Get(ctx, path)
	if err != nil {
		return err
	}
	o["secrets"] = append(o.List("secrets"), map[string]any{"name": "made-here"})
	o["imagePullSecrets"] = []any{map[string]any{"name": "pull-here"}}
	if o, err = admin.Update(ctx, path, o); err != nil {
		return err
	}
	before := o.ResourceVersion()
	names := func(o kube.Object) string { return fmt.Sprint(o.List("secrets"), o.List("imagePullSecrets")) }
	if _, err := r.a.Admin.Merge(ctx, path, kube.Object{"metadata": map[string]any{"annotations": map[string]any{"again": "1"}},
		"secrets": []any{map[string]any{"name": account}, map[string]any{"name": "made-there"}}}); err != nil {
		return err
	}
	want := fmt.Sprint([]any{map[string]any{"name": account}, map[string]any{"name": "made-there"}, map[string]any{"name": "made-here"}},
		[]any{map[string]any{"name": "pull-here"}})
	r.check("an account's lists hold what both hubs put in", copied(ctx, r.b, path, func(o kube.Object) error {
		if names(o) != want || o.ResourceVersion() == before {
			return fmt.Errorf("%s, not %s", names(o), want)
		}
		return nil
	}))
	return r.writtenAgain(ctx, path, want, names)
}

// writtenAgain lets an account's copy be written a hundred times: a controller that finds its token gone
// from the list makes another one each time.
func (r *run) writtenAgain(ctx context.Context, path, want string, names func(kube.Object) string) error {
	secrets := func() (int, error) {
		list, err := r.b.Admin.Get(ctx, kube.Secrets.Path(pair.Project, ""))
		return len(list.Items()), err
	}
	before, err := secrets()
	if err != nil {
		return err
	}
	last := ""
	for i := range 100 {
		last = fmt.Sprint("time ", i)
		if _, err := r.a.Admin.Merge(ctx, path, kube.Object{"metadata": map[string]any{"annotations": map[string]any{"again": last}}}); err != nil {
			return err
		}
	}
	r.check("after a hundred changes they still do, and no Secret was made (B23)", copied(ctx, r.b, path, func(o kube.Object) error {
		after, err := secrets()
		if err == nil && (o.Text("metadata", "annotations", "again") != last || names(o) != want || after != before) {
			err = fmt.Errorf("%q, %s, %d Secrets; want %q, %s, %d", o.Text("metadata", "annotations", "again"), names(o), after, last, want, before)
		}
		return err
	}))
	return nil
}

func (r *run) marked(ctx context.Context) error {
	o := slice("private")
	o["metadata"].(map[string]any)["annotations"] = map[string]any{marks + "mirror": "false"}
	if err := r.create(ctx, kube.SliceConfigs, o); err != nil {
		return err
	}
	r.check("an object marked mirror: \"false\" is listed", r.says(ctx, r.b, "kubeslice-cisco/private", "left out"))
	r.check("and has no copy", gone(ctx, r.b, kube.SliceConfigs.Path(pair.Project, "private")))
	path := kube.SliceConfigs.Path(pair.Project, "tracked")
	if _, err := r.a.Admin.Merge(ctx, path, kube.Object{"metadata": map[string]any{"annotations": map[string]any{marks + "hold": "until monday"}},
		"spec": map[string]any{"maxClusters": 4}}); err != nil {
		return err
	}
	err := r.says(ctx, r.b, "kubeslice-cisco/tracked", "hold")
	if err == nil {
		err = copied(ctx, r.b, path, func(o kube.Object) error {
			if o.Int("spec", "maxClusters") != 16 {
				return fmt.Errorf("its copy has changed")
			}
			return nil
		})
	}
	r.check("the copy of an object on hold stays as it is, and that is listed", err)
	_, err = r.a.Admin.Merge(ctx, path, kube.Object{"metadata": map[string]any{"annotations": map[string]any{marks + "hold": nil}}})
	if err == nil {
		err = copied(ctx, r.b, path, func(o kube.Object) error {
			if o.Int("spec", "maxClusters") != 4 {
				return fmt.Errorf("maxClusters %d", o.Int("spec", "maxClusters"))
			}
			return nil
		})
	}
	r.check("after the hold it follows", err)
	return r.armed(ctx, r.b)
}

// immutable: measured situation 5.
func (r *run) immutable(ctx context.Context) error {
	fixed := secret("fixed", "Opaque", map[string]any{"k": "djE="})
	fixed["immutable"] = true
	other := secret("fixed", "Opaque", map[string]any{"k": "djI="})
	other["immutable"] = true
	for _, c := range []struct {
		name     string
		resource kube.Resource
		old, new kube.Object
	}{
		{"a RoleBinding's roleRef", roleBindings, binding("fixed", "Role", "kubeslice-worker-cluster"), binding("fixed", "Role", "kubeslice-read-only")},
		{"a Secret's type", kube.Secrets, secret("typed", "Opaque", map[string]any{"k": "djE="}), secret("typed", "example.com/other", map[string]any{"k": "djE="})},
		{"an immutable Secret's data", kube.Secrets, fixed, other},
	} {
		path := c.resource.Path(pair.Project, c.old.Name())
		err := r.create(ctx, c.resource, c.old)
		if err == nil {
			err = copied(ctx, r.b, path, any_)
		}
		if err == nil {
			err = r.a.Admin.Delete(ctx, path)
		}
		if err == nil {
			err = r.create(ctx, c.resource, c.new)
		}
		if err == nil {
			err = copied(ctx, r.b, path, func(o kube.Object) error { return sameContent(c.new, o) })
		}
		r.check(c.name+" follows, though it cannot be changed in place", err)
	}
	return nil
}

// finalizers: measured situation 4.
func (r *run) finalizers(ctx context.Context) error {
	o := slice("ending")
	o["metadata"].(map[string]any)["finalizers"] = []any{"example.com/cleanup"}
	path := kube.SliceConfigs.Path(pair.Project, "ending")
	if err := r.create(ctx, kube.SliceConfigs, o); err != nil {
		return err
	}
	if err := copied(ctx, r.b, path, any_); err != nil {
		return err
	}
	if err := r.a.Admin.Delete(ctx, path); err != nil {
		return err
	}
	r.check("a deletion that waits for a finalizer waits on the copy, too", copied(ctx, r.b, path, func(o kube.Object) error {
		if o.Text("metadata", "deletionTimestamp") == "" || len(o.List("metadata", "finalizers")) != 1 {
			return fmt.Errorf("metadata %v", o.Get("metadata"))
		}
		return nil
	}))
	_, err := r.a.Admin.Merge(ctx, path, kube.Object{"metadata": map[string]any{"finalizers": nil}})
	if err == nil {
		err = see.Eventually(ctx, patience, func() error { return gone(ctx, r.b, path) })
	}
	r.check("and ends when the source's does", err)
	return r.armed(ctx, r.b)
}

// incomplete waits until a hub's mirror says so.
func incomplete(ctx context.Context, h *pair.Hub) error {
	return see.Eventually(ctx, patience, func() error {
		o, err := h.Status(ctx)
		if complete, ok := o.Get("mirror", "complete").(bool); err == nil && (!ok || complete) {
			err = errors.New("it says that it is complete")
		}
		return err
	})
}
