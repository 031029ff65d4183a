package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// tracking is by what Argo CD knows its own.
const tracking = "argocd.argoproj.io/tracking-id"

// leaveOver lets hub-b hold deletions and park marks; whoever takes the lead then has them left over.
func (r *run) leaveOver(ctx context.Context) error {
	r.bringKubectl()
	tool := slice("by-a-tool")
	tool["metadata"].(map[string]any)["annotations"] = map[string]any{tracking: "shop:x", "note": "mine"}
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
	if err == nil && (after.Text("metadata", "annotations", marks+"parked") != "" || after.Text("metadata", "annotations", tracking) != "shop:x" ||
		after.Text("metadata", "labels", "app.kubernetes.io/instance") != "shop" || after.Text("metadata", "annotations", "note") != "mine") {
		err = fmt.Errorf("metadata %v", after.Get("metadata"))
	}
	r.check("gives them back where they were (decision 4)", err)
	r.ctlCheck(ctx, "then nothing is parked", r.b, 1, []string{"nothing is parked"}, sync("unpark", "--yes", "hub-b")...)
	return nil
}

// bringKubectl lets understudyctl find the bed's.
func (r *run) bringKubectl() {
	os.Setenv("PATH", filepath.Join(r.Root, "build")+":"+os.Getenv("PATH"))
}

// shopLeftOver is what a person does on hub-b, which leads, with copies of kinds that only the list names.
func (r *run) shopLeftOver(ctx context.Context) error {
	r.bringKubectl()
	sync := func(verb string, more ...string) []string {
		return append([]string{"sync", verb, "--kubeconfig", r.b.Cluster.Kubeconfig()}, more...)
	}
	held := map[string]any{"metadata": map[string]any{"annotations": map[string]any{marks + "delete-held": "true"}}}
	for _, path := range []string{configMaps.Path(shopSpace, "goods"), widgets.Path(shopSpace, "leaving")} {
		if _, err := r.b.Admin.Merge(ctx, path, held); err != nil {
			return err
		}
	}
	r.ctlCheck(ctx, "of listed kinds, too, sync confirm-deletes finds what is held", r.b, 0,
		[]string{"ConfigMap shop/goods: is deleted", "Widget shop/leaving: is deleted", "2 in all", "nothing was written"}, sync("confirm-deletes", "--dry-run")...)
	if _, err := r.b.Admin.Merge(ctx, widgets.Path(shopSpace, "leaving"),
		kube.Object{"metadata": map[string]any{"annotations": map[string]any{marks + "delete-held": nil}}}); err != nil {
		return err
	}
	r.ctlCheck(ctx, "and deletes it", r.b, 0, []string{"confirm-deletes: done: 1 are deleted"}, sync("confirm-deletes", "--yes", "hub-b")...)
	_, err := r.b.Admin.Get(ctx, widgets.Path(shopSpace, "leaving"))
	r.check("and nothing else", errors.Join(err, gone(ctx, r.b, configMaps.Path(shopSpace, "goods"))))
	if _, err := r.b.Admin.Merge(ctx, widgets.Path(shopSpace, "leaving"), held); err != nil {
		return err
	}
	r.ctlCheck(ctx, "sync discard takes the mark off a Widget", r.b, 0, []string{"Widget shop/leaving: stays", "discard: done: 1 stay"}, sync("discard", "--yes", "hub-b")...)
	// The elector's identity may read who leads, and now much, but no Widgets.
	if err := r.grant(ctx, "understudy-elector", map[string]any{"verbs": []any{"get", "list"}, "resources": []any{"*"}, "apiGroups": []any{
		"", "apps", "autoscaling", "batch", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "networking.k8s.io", "policy",
		"rbac.authorization.k8s.io", "resource.k8s.io", "storage.k8s.io", "controller.kubeslice.io", "worker.kubeslice.io"}}); err != nil {
		return err
	}
	r.ctlCheck(ctx, "a kind that one may not list is named", r.b, 1,
		[]string{"not looked at: widgets.shop.example.com: ", "cannot list resource", "nothing is parked on hub-b, as far as it was looked at"},
		"sync", "unpark", "--kubeconfig", filepath.Join(filepath.Dir(r.b.Config()), "elector.kubeconfig"))
	r.ctlCheck(ctx, "sync unpark on a Widget", r.b, 0, []string{"Widget shop/tracked: gets its marks back", "unpark: done: "}, sync("unpark", "--yes", "hub-b")...)
	o, err := r.b.Admin.Get(ctx, widgets.Path(shopSpace, "tracked"))
	if err == nil && (o.Text("metadata", "annotations", tracking) != "shop:x" || o.Text("metadata", "annotations", marks+"parked") != "") {
		err = fmt.Errorf("metadata %v", o.Get("metadata"))
	}
	r.check("gives it its marks back", err)
	if err := r.b.Admin.Delete(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.shop.example.com"); err != nil {
		return err
	}
	r.check("a kind that is listed and not served any more is named", see.Eventually(ctx, patience, func() error {
		_, err := r.ctl(ctx, r.b, 1, []string{"not looked at: widgets.shop.example.com: the mirror has it, but this hub does not serve it",
			"nothing is parked on hub-b, as far as it was looked at"}, sync("unpark")...)
		return err
	}))
	return nil
}
