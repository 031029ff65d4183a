package mirror

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

const lost = "kubeslice-lost"

// archived are the archived objects of a hub, by kind and key, decompressed.
func archived(ctx context.Context, h *pair.Hub) (map[string]kube.Object, error) {
	list, err := h.Admin.Get(ctx, kube.Secrets.Path(pair.Namespace, "")+"?fieldSelector=type%3Dha.kubeslice.io/archived-object")
	if err != nil {
		return nil, err
	}
	all := map[string]kube.Object{}
	for _, s := range list.Items() {
		packed, err := base64.StdEncoding.DecodeString(s.Text("data", "object.json.gz"))
		if err != nil {
			return nil, err
		}
		unpacked, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name(), err)
		}
		text, err := io.ReadAll(unpacked)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name(), err)
		}
		var o kube.Object
		if err := json.Unmarshal(text, &o); err != nil {
			return nil, err
		}
		all[o.Text("kind")+" "+o.Key()] = o
	}
	return all, nil
}

// die ends a hub at once, and what would be left of it after a repair: its API server.
func (r *run) die(h *pair.Hub) {
	h.Kill()
	h.Cluster.Kill(cluster.ControlPlane...)
}

func (r *run) repair(ctx context.Context, h *pair.Hub) error {
	if err := r.repairOnly(ctx, h); err != nil {
		return err
	}
	return r.takesWrites(ctx, h)
}

// repairOnly starts a hub's API server again, and does not ask what it takes.
func (r *run) repairOnly(ctx context.Context, h *pair.Hub) error {
	if err := h.Cluster.Start(cluster.ControlPlane...); err != nil {
		return err
	}
	for _, part := range cluster.ControlPlane {
		if err := h.Cluster.Await(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// takesWrites waits for a hub whose API server was started anew. One that starts before its CRDs are
// served looks for its policies' parameters again only when it resets its REST mapper, every 30 s, and
// until then refuses what they guard.
func (r *run) takesWrites(ctx context.Context, h *pair.Hub) error {
	return see.Eventually(ctx, patience+30*time.Second, func() error {
		_, err := h.Admin.Create(ctx, kube.SliceConfigs.Path(pair.Project, "")+"?dryRun=All", slice("probe"))
		if err != nil {
			err = fmt.Errorf("%s takes no write after its repair: %w", h.Name, err)
		}
		return err
	})
}

// past makes what hub-a had written and nobody had seen when it died: its fence is still open in
// its API server, so the administrator may.
func (r *run) past(ctx context.Context) error {
	extra := slice("unseen")
	extra["metadata"].(map[string]any)["finalizers"] = []any{"example.com/never-cleared"}
	project := kube.Object{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": lost,
		"labels": map[string]any{"kubeslice-resource-owner": "kubeslice-controller"}}}
	for _, step := range []func() error{
		func() error { return r.create(ctx, kube.SliceConfigs, extra) },
		func() error {
			_, err := r.a.Admin.Merge(ctx, kube.SliceConfigs.Path(pair.Project, "green"), kube.Object{"spec": map[string]any{"maxClusters": 7}})
			return err
		},
		func() error { _, err := r.a.Admin.Create(ctx, kube.Namespaces.Path("", ""), project); return err },
		func() error {
			_, err := r.a.Admin.Create(ctx, kube.SliceConfigs.Path(lost, ""), slice("only-here"))
			return err
		},
		func() error {
			_, err := r.a.Admin.Create(ctx, kube.Secrets.Path(lost, ""), secret("key", "Opaque", map[string]any{"k": "djE="}))
			return err
		},
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// applied is what a deployment tool does with its object, with or without one label.
func (r *run) applied(ctx context.Context, client *kube.Client, query string, extra bool) error {
	o := slice("shop")
	metadata := o["metadata"].(map[string]any)
	metadata["namespace"] = pair.Project
	if extra {
		metadata["labels"] = map[string]any{"shop/extra": "yes"}
	}
	text, err := json.Marshal(o)
	if err == nil {
		_, err = client.Patch(ctx, kube.SliceConfigs.Path(pair.Project, "shop")+"?fieldManager=shop"+query, kube.ApplyPatch, text)
	}
	return err
}

// handedOver: a tool that had an object on the old Active goes on with it on the new one (B21), by
// docs/mirror.md.
func (r *run) handedOver(ctx context.Context) error {
	// The policy that guards the copies follows the role with a moment's delay.
	r.check("a tool applies its object on the promoted hub without a conflict", see.Eventually(ctx, patience, func() error {
		return r.applied(ctx, r.b.Admin, "&dryRun=All", true)
	}))
	path := kube.SliceConfigs.Path(pair.Project, "shop")
	o, err := r.b.Admin.Get(ctx, path)
	if err != nil {
		return err
	}
	for _, entry := range o.List("metadata", "managedFields") {
		if entry := entry.(map[string]any); entry["manager"] == "before-first-apply" {
			entry["manager"], entry["operation"] = "shop", "Apply"
		}
	}
	if _, err := r.b.Admin.Update(ctx, path, o); err != nil {
		return err
	}
	if err := r.applied(ctx, r.b.Admin, "", false); err != nil {
		return err
	}
	o, err = r.b.Admin.Get(ctx, path)
	if err == nil && o.Get("metadata", "labels", "shop/extra") != nil {
		err = fmt.Errorf("labels %v, owners %v", o.Get("metadata", "labels"), o.Get("metadata", "managedFields"))
	}
	r.check("and once it owns what it owned before, what it leaves out goes", err)
	return nil
}

// rejoin lets hub-a die and come back with a past of its own.
func (r *run) rejoin(ctx context.Context) error {
	if err := r.applied(ctx, r.a.Admin, "", true); err != nil {
		return err
	}
	if err := copied(ctx, r.b, kube.SliceConfigs.Path(pair.Project, "shop"), any_); err != nil {
		return err
	}
	r.die(r.a)
	if err := r.leads(ctx, r.b); err != nil {
		return err
	}
	if err := r.handedOver(ctx); err != nil {
		return err
	}
	if err := r.repair(ctx, r.a); err != nil {
		return err
	}
	if err := r.past(ctx); err != nil {
		return err
	}
	if _, err := r.b.Admin.Create(ctx, kube.SliceConfigs.Path(pair.Project, ""), slice("after")); err != nil {
		return err
	}
	token, err := r.a.Admin.Get(ctx, kube.Secrets.Path(pair.Project, account))
	if err != nil {
		return err
	}
	rejoining := passes(ctx, r.a, "Rejoining")
	if err := r.a.Start(); err != nil {
		return err
	}
	if _, err := see.Await(ctx, rejoining, patience); err != nil {
		return fmt.Errorf("HubRole Rejoining on hub-a: %w", err)
	}
	r.check("a hub that lost the lead rejoins: HubRole says so", nil)
	// Interrupted in the middle: it goes on where it was.
	for _, p := range r.a.Roles() {
		if p.Name == "syncer" {
			kill(p.Pid)
		}
	}
	if err := r.armed(ctx, r.a); err != nil {
		return err
	}
	r.check("and is complete, though its syncer was killed meanwhile; HubRole is Standby again", role(ctx, r.a, "Standby"))
	kept, err := archived(ctx, r.a)
	if err != nil {
		return err
	}
	for name, want := range map[string]string{
		"SliceConfig " + pair.Project + "/unseen": "", "SliceConfig " + pair.Project + "/green": "", "SliceConfig " + lost + "/only-here": "",
		"Secret " + lost + "/key": "", "Namespace " + lost: "",
	} {
		r.check("the archive holds what nobody else has: "+name, func() error {
			if kept[name] == nil {
				return fmt.Errorf("it is not among %d%s", len(kept), want)
			}
			return nil
		}())
	}
	r.check("it holds the content as it was", func() error {
		if kept["SliceConfig "+pair.Project+"/green"].Int("spec", "maxClusters") != 7 {
			return fmt.Errorf("spec %v", kept["SliceConfig "+pair.Project+"/green"].Get("spec"))
		}
		return nil
	}())
	r.check("it does not hold what was equal", func() error {
		if kept["Secret "+pair.Project+"/later"] != nil || kept["Role "+pair.Project+"/kubeslice-worker-cluster"] != nil {
			return fmt.Errorf("equal objects were archived")
		}
		return nil
	}())
	r.check("it holds no token", func() error {
		for name, o := range kept {
			if o.Get("data", "token") != nil {
				return fmt.Errorf("%s has one", name)
			}
		}
		return nil
	}())
	r.check("what differed is what the new Active has", copied(ctx, r.a, kube.SliceConfigs.Path(pair.Project, "green"), func(o kube.Object) error {
		if o.Int("spec", "maxClusters") != 8 || o.Get("metadata", "finalizers") != nil {
			return fmt.Errorf("maxClusters %d, finalizers %v", o.Int("spec", "maxClusters"), o.Get("metadata", "finalizers"))
		}
		return nil
	}))
	r.check("what the new Active made is here", copied(ctx, r.a, kube.SliceConfigs.Path(pair.Project, "after"), any_))
	r.check("what was too much is gone, finalizer or not", gone(ctx, r.a, kube.SliceConfigs.Path(pair.Project, "unseen")))
	r.check("in a namespace of the past, too", gone(ctx, r.a, kube.SliceConfigs.Path(lost, "only-here")))
	r.check("that namespace waits for a person's word", r.says(ctx, r.a, "Namespace "+lost, "held"))
	r.check("a token that is good here is kept", copied(ctx, r.a, kube.Secrets.Path(pair.Project, account), func(o kube.Object) error {
		if o.Text("data", "token") != token.Text("data", "token") {
			return fmt.Errorf("it is another one")
		}
		return nil
	}))
	for _, w := range rows() {
		r.check(w.kind+": adopted", copied(ctx, r.a, w.resource.Path(w.namespace, w.sample), any_))
	}
	return nil
}

// rejoinBack turns the roles once more: hub-b returns with copies that were edited while it led, and
// with an object that inherited the mark of a copy (measured situation 9).
func (r *run) rejoinBack(ctx context.Context) error {
	r.die(r.b)
	if err := r.leads(ctx, r.a); err != nil {
		return err
	}
	if err := r.repair(ctx, r.b); err != nil {
		return err
	}
	if _, err := r.b.Admin.Merge(ctx, kube.SliceConfigs.Path(pair.Project, "meanwhile"), kube.Object{"spec": map[string]any{"maxClusters": 5}}); err != nil {
		return err
	}
	heir := slice("heir")
	heir["metadata"].(map[string]any)["labels"] = map[string]any{copyLabel: "active"}
	if _, err := r.b.Admin.Create(ctx, kube.SliceConfigs.Path(pair.Project, ""), heir); err != nil {
		return err
	}
	rejoining := passes(ctx, r.b, "Rejoining")
	if err := r.b.Start(); err != nil {
		return err
	}
	if _, err := see.Await(ctx, rejoining, patience); err != nil {
		return fmt.Errorf("HubRole Rejoining on hub-b: %w", err)
	}
	if err := r.armed(ctx, r.b); err != nil {
		return err
	}
	kept, err := archived(ctx, r.b)
	if err != nil {
		return err
	}
	r.check("a copy that was edited while its hub led is archived, then follows", func() error {
		if kept["SliceConfig "+pair.Project+"/meanwhile"].Int("spec", "maxClusters") != 5 {
			return fmt.Errorf("the archive holds %s", names(kept))
		}
		return copied(ctx, r.b, kube.SliceConfigs.Path(pair.Project, "meanwhile"), func(o kube.Object) error {
			if o.Int("spec", "maxClusters") != 16 {
				return fmt.Errorf("maxClusters %d", o.Int("spec", "maxClusters"))
			}
			return nil
		})
	}())
	r.check("an object that inherited a copy's mark is archived before it goes", func() error {
		if kept["SliceConfig "+pair.Project+"/heir"] == nil {
			return fmt.Errorf("the archive holds %s", names(kept))
		}
		return gone(ctx, r.b, kube.SliceConfigs.Path(pair.Project, "heir"))
	}())
	return nil
}

func names(all map[string]kube.Object) string {
	var list []string
	for name := range all {
		list = append(list, name)
	}
	return strings.Join(list, ", ")
}
