package mirror

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

// leaveOver lets hub-b hold deletions and park marks; whoever takes the lead then has them left over.
func (r *run) leaveOver(ctx context.Context) error {
	// kubectl is that of the bed.
	os.Setenv("PATH", filepath.Join(r.Root, "build")+":"+os.Getenv("PATH"))
	tool := slice("by-a-tool")
	tool["metadata"].(map[string]any)["annotations"] = map[string]any{"argocd.argoproj.io/tracking-id": "shop:x", "note": "mine"}
	tool["metadata"].(map[string]any)["labels"] = map[string]any{"app.kubernetes.io/instance": "shop"}
	if err := r.create(ctx, kube.SliceConfigs, tool); err != nil {
		return err
	}
	if err := r.loseMany(ctx, "over"); err != nil {
		return err
	}
	for _, verb := range []string{"confirm-deletes", "discard", "unpark"} {
		r.ctlCheck(ctx, "sync "+verb+" with a kubeconfig is refused on a hub that does not lead", r.b, 1,
			[]string{"does not lead (HubRole Standby)"}, "sync", verb, "--kubeconfig", r.b.Cluster.Kubeconfig(), "--yes", "hub-b")
	}
	return nil
}

// leftOver is what a person does with it on hub-b, which leads.
func (r *run) leftOver(ctx context.Context) error {
	sync := func(verb string, more ...string) []string {
		return append([]string{"sync", verb, "--kubeconfig", r.b.Cluster.Kubeconfig()}, more...)
	}
	count := func(want, wantHeld int) error {
		list, err := r.b.Admin.Get(ctx, kube.SliceConfigs.Path(pair.Project, "")+"?labelSelector="+copyLabel)
		n, held := 0, 0
		for _, o := range list.Items() {
			if len(o.Name()) == len(batch("over", 0)) && o.Name()[:5] == "over-" {
				n++
				if o.Text("metadata", "annotations", marks+"delete-held") != "" {
					held++
				}
			}
		}
		if err == nil && (n != want || held != wantHeld) {
			err = fmt.Errorf("%d objects, %d of them held; want %d, %d", n, held, want, wantHeld)
		}
		return err
	}
	r.check("a hub that takes the lead has the objects whose deletion was held, and their marks", count(many, many))
	r.ctlCheck(ctx, "without a terminal and a name they are not deleted", r.b, 1, []string{"over-14: is deleted", "not confirmed", "--yes hub-b"}, sync("confirm-deletes")...)
	r.ctlCheck(ctx, "nor with another hub's name", r.b, 1, []string{"not confirmed"}, sync("confirm-deletes", "--yes", "hub-a")...)
	r.ctlCheck(ctx, "nor for another list than the one that is there", r.b, 1, []string{"another list"},
		sync("confirm-deletes", "--yes", "hub-b", "--list", "0123456789abcdef")...)
	r.ctlCheck(ctx, "nor by a dry run, which lists them", r.b, 0, []string{"SliceConfig kubeslice-cisco/over-00: is deleted", "15 in all, list ", "nothing was written"},
		sync("confirm-deletes", "--dry-run")...)
	r.check("all of them are there", count(many, many))
	r.ctlCheck(ctx, "sync discard on the hub that leads", r.b, 0, []string{"discard: done: 15 stay for good"}, sync("discard", "--yes", "hub-b")...)
	r.check("takes the marks away and nothing else", count(many, 0))
	r.ctlCheck(ctx, "then none is held", r.b, 1, []string{"none is held"}, sync("confirm-deletes", "--yes", "hub-b")...)
	for i := range 3 {
		if _, err := r.b.Admin.Merge(ctx, kube.SliceConfigs.Path(pair.Project, batch("over", i)),
			kube.Object{"metadata": map[string]any{"annotations": map[string]any{marks + "delete-held": "true"}}}); err != nil {
			return err
		}
	}
	r.ctlCheck(ctx, "sync confirm-deletes on the hub that leads", r.b, 0, []string{"confirm-deletes: done: 3 are deleted"}, sync("confirm-deletes", "--yes", "hub-b")...)
	r.check("lets exactly those go that bear the mark", count(many-3, 0))

	path := kube.SliceConfigs.Path(pair.Project, "by-a-tool")
	before, err := r.b.Admin.Get(ctx, path)
	if err == nil && (before.Text("metadata", "annotations", marks+"parked") == "" || before.Text("metadata", "labels", "app.kubernetes.io/instance") != "") {
		err = fmt.Errorf("metadata %v", before.Get("metadata"))
	}
	r.check("a hub that takes the lead has the marks of deployment tools parked (B22)", err)
	r.ctlCheck(ctx, "sync unpark", r.b, 0, []string{"SliceConfig kubeslice-cisco/by-a-tool: gets its marks back", "unpark: done: "}, sync("unpark", "--yes", "hub-b")...)
	after, err := r.b.Admin.Get(ctx, path)
	if err == nil && (after.Text("metadata", "annotations", marks+"parked") != "" || after.Text("metadata", "annotations", "argocd.argoproj.io/tracking-id") != "shop:x" ||
		after.Text("metadata", "labels", "app.kubernetes.io/instance") != "shop" || after.Text("metadata", "annotations", "note") != "mine") {
		err = fmt.Errorf("metadata %v", after.Get("metadata"))
	}
	r.check("gives them back where they were (decision 4)", err)
	r.ctlCheck(ctx, "then nothing is parked", r.b, 1, []string{"nothing is parked"}, sync("unpark", "--yes", "hub-b")...)
	return nil
}
