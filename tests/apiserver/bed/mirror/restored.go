package mirror

import (
	"context"
	"fmt"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// restored puts an older copy in the place of hub-a's data: measured situation 2.
func (r *run) restored(ctx context.Context) error {
	hub := r.a.Cluster
	return r.wentBack(ctx, "a restored source", "restored",
		func() error { return hub.Snapshot("yesterday") }, func() error { return hub.Restore("yesterday") })
}

// restoredAhead is the way that Kubernetes advises: no version falls, all jump ahead of what clients
// know, and their watches find them compacted.
func (r *run) restoredAhead(ctx context.Context) error {
	hub := r.a.Cluster
	if err := r.wentBack(ctx, "a source restored with its versions raised", "ahead",
		func() error { return hub.Backup(ctx, "yesterday") }, func() error { return hub.RestoreAhead("yesterday") }); err != nil {
		return err
	}
	return r.lostOne(ctx)
}

// lostOne: no object of the restored source is older than its copy, one is missing. That alone would
// look like a deletion, and be followed.
func (r *run) lostOne(ctx context.Context) error {
	path := kube.SliceConfigs.Path(pair.Project, "made-since")
	if err := r.a.Cluster.Backup(ctx, "today"); err != nil {
		return err
	}
	if err := r.create(ctx, kube.SliceConfigs, slice("made-since")); err != nil {
		return err
	}
	if err := copied(ctx, r.b, path, any_); err != nil {
		return err
	}
	if err := r.putBack(ctx, func() error { return r.a.Cluster.RestoreAhead("today") }); err != nil {
		return err
	}
	r.check("versions that jump tell of a restore, though no object went back", r.freezes(ctx))
	r.check("what it lost stays", copied(ctx, r.b, path, any_))
	r.ctlCheck(ctx, "and goes when that is accepted", r.b, 0, []string{"archived first"}, "sync", "accept-restore", "--yes", "hub-b")
	if err := see.Eventually(ctx, patience, func() error { return gone(ctx, r.b, path) }); err != nil {
		return err
	}
	kept, err := archived(ctx, r.b)
	if err == nil && kept["SliceConfig "+pair.Project+"/made-since"] == nil {
		err = fmt.Errorf("the archive holds %s", names(kept))
	}
	r.check("into the archive", err)
	return r.goOn(ctx)
}

// putBack restores hub-a while hub-b is paused, so that it does not take over meanwhile.
func (r *run) putBack(ctx context.Context, restore func() error) error {
	if _, err := r.ctl(ctx, r.b, 0, nil, "pause", "--for", "30m"); err != nil {
		return err
	}
	r.a.Kill()
	if err := restore(); err != nil {
		return err
	}
	for _, part := range cluster.ControlPlane {
		if err := r.a.Cluster.Await(ctx, part); err != nil {
			return err
		}
	}
	return r.a.Start()
}

// goOn ends the pause when all is well again.
func (r *run) goOn(ctx context.Context) error {
	if err := r.synced(ctx); err != nil {
		return err
	}
	if _, err := r.ctl(ctx, r.b, 0, nil, "resume"); err != nil {
		return err
	}
	return r.takesWrites(ctx, r.a)
}

// freezes waits until hub-b's mirror says that its source went back, and what to do about it.
func (r *run) freezes(ctx context.Context) error {
	return see.Eventually(ctx, 3*patience, func() error {
		_, err := r.ctl(ctx, r.b, 0, []string{"Blocked", "went back in time", "accept-restore"}, "sync", "status")
		return err
	})
}

// wentBack edits one object and makes another one between a backup of hub-a and its restore.
func (r *run) wentBack(ctx context.Context, what, name string, save, restore func() error) error {
	edited, lost := "edited-"+name, "lost-"+name
	check := func(name string, problem error) { r.check(what+": "+name, problem) }
	ctl := func(name string, texts []string, words ...string) {
		r.ctlCheck(ctx, what+": "+name, r.b, 0, texts, words...)
	}
	if err := r.create(ctx, kube.SliceConfigs, slice(edited)); err != nil {
		return err
	}
	if err := save(); err != nil {
		return err
	}
	edit := func(n int) kube.Object { return kube.Object{"spec": map[string]any{"maxClusters": n}} }
	if _, err := r.a.Admin.Merge(ctx, kube.SliceConfigs.Path(pair.Project, edited), edit(5)); err != nil {
		return err
	}
	if err := r.create(ctx, kube.SliceConfigs, slice(lost)); err != nil {
		return err
	}
	five := func(o kube.Object) error {
		if o.Int("spec", "maxClusters") != 5 {
			return fmt.Errorf("maxClusters %d", o.Int("spec", "maxClusters"))
		}
		return nil
	}
	if err := copied(ctx, r.b, kube.SliceConfigs.Path(pair.Project, edited), five); err != nil {
		return err
	}
	if err := copied(ctx, r.b, kube.SliceConfigs.Path(pair.Project, lost), any_); err != nil {
		return err
	}
	if err := r.putBack(ctx, restore); err != nil {
		return err
	}
	check("the mirror freezes, and sync status says what to do", r.freezes(ctx))
	// The same after a restart, which knows versions by the marks of the copies only.
	r.b.Kill()
	if err := r.b.Start(); err != nil {
		return err
	}
	check("also after a restart of the Standby", r.freezes(ctx))
	check("nothing is overwritten meanwhile", copied(ctx, r.b, kube.SliceConfigs.Path(pair.Project, edited), five))
	// What is not there is known when the lists that show the restore are complete.
	check("accept-restore --dry-run lists what would be archived", see.Eventually(ctx, patience, func() error {
		defer kube.Pause(ctx, time.Second)
		_, err := r.ctl(ctx, r.b, 0, []string{
			"SliceConfig kubeslice-cisco/" + edited + ": other on the source: archived, then replaced",
			"SliceConfig kubeslice-cisco/" + lost + ": not on the source: archived, then deleted", "nothing was written"},
			"sync", "accept-restore", "--dry-run")
		return err
	}))
	ctl("accept-restore", []string{"archived first"}, "sync", "accept-restore", "--yes", "hub-b")
	check("follows the restored source", copied(ctx, r.b, kube.SliceConfigs.Path(pair.Project, edited), func(o kube.Object) error {
		if o.Int("spec", "maxClusters") != 16 {
			return fmt.Errorf("maxClusters %d", o.Int("spec", "maxClusters"))
		}
		return nil
	}))
	check("and deletes what it has lost", see.Eventually(ctx, patience, func() error {
		return gone(ctx, r.b, kube.SliceConfigs.Path(pair.Project, lost))
	}))
	kept, err := archived(ctx, r.b)
	check("both are in the archive as they were", func() error {
		if err != nil {
			return err
		}
		if kept["SliceConfig "+pair.Project+"/"+lost] == nil || kept["SliceConfig "+pair.Project+"/"+edited].Int("spec", "maxClusters") != 5 {
			return fmt.Errorf("it holds %s", names(kept))
		}
		return nil
	}())
	if err := r.synced(ctx); err != nil {
		return err
	}
	ctl("the hubs are equal", []string{"all are equal"}, "sync", "diff")
	r.b.Kill()
	if err := r.b.Start(); err != nil {
		return err
	}
	check("and a restart does not freeze again", r.synced(ctx))
	return r.goOn(ctx)
}
