package mirror

import (
	"context"
	"fmt"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

var definitions = kube.Resource{Group: "apiextensions.k8s.io", Version: "v1", Name: "customresourcedefinitions"}

// situations are those in which another implementation was seen to fail, by their numbers.
func (r *run) situations(ctx context.Context) error {
	if err := r.localEdit(ctx); err != nil {
		return err
	}
	if err := r.whileDown(ctx); err != nil {
		return err
	}
	return r.missingKind(ctx)
}

// localEdit is number 10: somebody with the break-glass right changes copies.
func (r *run) localEdit(ctx context.Context) error {
	admin, err := kube.Load(r.b.Cluster.BreakGlass())
	if err != nil {
		return err
	}
	defer admin.Close()
	path := kube.SliceConfigs.Path(pair.Project, "tracked")
	if _, err := admin.Merge(ctx, path, kube.Object{"spec": map[string]any{"maxClusters": 9}}); err != nil {
		return err
	}
	r.check("a local edit of a copy is repaired", copied(ctx, r.b, path, func(o kube.Object) error {
		if o.Int("spec", "maxClusters") != 4 {
			return fmt.Errorf("maxClusters %d", o.Int("spec", "maxClusters"))
		}
		return nil
	}))
	if _, err := admin.Merge(ctx, path, kube.Object{"metadata": map[string]any{"labels": map[string]any{copyLabel: nil}}}); err != nil {
		return err
	}
	r.check("a copy without its mark is listed as blocked", r.says(ctx, r.b, "kubeslice-cisco/tracked", "no copy"))
	err = admin.Delete(ctx, path)
	if err == nil {
		err = copied(ctx, r.b, path, any_)
	}
	r.check("and is mirrored again once it is out of the way", err)
	return r.armed(ctx, r.b)
}

// versions are those of all copies on hub-b.
func (r *run) versions(ctx context.Context) (map[string]string, error) {
	all := map[string]string{}
	for _, w := range rows() {
		list, err := r.b.Admin.Get(ctx, w.resource.Path("", "")+"?labelSelector="+copyLabel)
		if err != nil {
			return nil, err
		}
		for _, o := range list.Items() {
			all[w.kind+" "+o.Key()] = o.ResourceVersion()
		}
	}
	return all, nil
}

// whileDown is number 11, and that a restart with everything equal writes nothing.
func (r *run) whileDown(ctx context.Context) error {
	before, err := r.versions(ctx)
	if err != nil {
		return err
	}
	r.b.Kill()
	if err := r.a.Admin.Delete(ctx, kube.SliceConfigs.Path(pair.Project, "tracked")); err != nil {
		return err
	}
	if err := r.b.Start(); err != nil {
		return err
	}
	r.check("what was deleted while the Standby was down is gone soon after its start", see.Eventually(ctx, patience, func() error {
		return gone(ctx, r.b, kube.SliceConfigs.Path(pair.Project, "tracked"))
	}))
	if err := r.armed(ctx, r.b); err != nil {
		return err
	}
	delete(before, "SliceConfig "+pair.Project+"/tracked")
	after, err := r.versions(ctx)
	for name, version := range before {
		if err == nil && after[name] != version {
			err = fmt.Errorf("%s was written", name)
		}
	}
	r.check(fmt.Sprintf("the restart wrote none of the %d equal copies", len(before)), err)
	return nil
}

// missingKind is number 12: one CRD is gone on the Active.
func (r *run) missingKind(ctx context.Context) error {
	name := "workerserviceimports.worker.kubeslice.io"
	crd, err := r.a.Admin.Get(ctx, definitions.Path("", name))
	if err != nil {
		return err
	}
	r.b.Kill()
	if _, err := r.a.Admin.Merge(ctx, imports.Path(pair.Project, "ledger-shop-green-worker-2"), kube.Object{"metadata": map[string]any{"finalizers": nil}}); err != nil {
		return err
	}
	if err := r.a.Admin.Delete(ctx, definitions.Path("", name)); err != nil {
		return err
	}
	if err := see.Eventually(ctx, patience, func() error { return gone(ctx, r.a, imports.Path("", "")) }); err != nil {
		return err
	}
	if err := r.b.Start(); err != nil {
		return err
	}
	err = r.create(ctx, kube.SliceConfigs, slice("meanwhile"))
	if err == nil {
		err = copied(ctx, r.b, kube.SliceConfigs.Path(pair.Project, "meanwhile"), any_)
	}
	r.check("a kind that the Active lacks stops only itself", err)
	r.check("its copies stay", copied(ctx, r.b, imports.Path(pair.Project, "ledger-shop-green-worker-2"), any_))
	r.check("and the mirror says that it is not complete", incomplete(ctx, r.b))
	delete(crd["metadata"].(map[string]any), "resourceVersion")
	delete(crd["metadata"].(map[string]any), "uid")
	delete(crd, "status")
	if _, err := r.a.Admin.Create(ctx, definitions.Path("", ""), crd); err != nil {
		return err
	}
	if err := see.Eventually(ctx, patience, func() error {
		_, err := r.a.Admin.Create(ctx, imports.Path(pair.Project, ""), spare("worker", "WorkerServiceImport", map[string]any{"sliceName": "green"}))
		return err
	}); err != nil {
		return err
	}
	again := spare("worker", "WorkerServiceImport", map[string]any{"sliceName": "green"})
	again["metadata"].(map[string]any)["name"] = "ledger-shop-green-worker-2"
	if err := r.create(ctx, imports, again); err != nil {
		return err
	}
	// It is looked for every 30 s.
	r.check("and goes on when it is back", see.Eventually(ctx, 2*patience, func() error {
		_, err := r.b.Admin.Get(ctx, imports.Path(pair.Project, "spare"))
		return err
	}))
	return r.armed(ctx, r.b)
}
