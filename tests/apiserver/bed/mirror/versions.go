package mirror

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// serve lets a hub serve these versions of a kind, and no others; they differ in their names only. The
// first that the kind had stays the one that is stored.
func serve(ctx context.Context, h *pair.Hub, resource kube.Resource, versions ...string) error {
	return see.Eventually(ctx, patience, func() error {
		definition, err := h.Admin.Get(ctx, definitions.Path("", resource.Name+"."+resource.Group))
		if err != nil {
			return err
		}
		first := definition.List("spec", "versions")[0].(map[string]any)
		text, err := json.Marshal(first)
		if err != nil {
			return err
		}
		all := []any{first}
		first["served"] = false
		for _, name := range versions {
			if name == first["name"] {
				first["served"] = true
				continue
			}
			var more map[string]any
			if err := json.Unmarshal(text, &more); err != nil {
				return err
			}
			more["name"], more["served"], more["storage"] = name, true, false
			all = append(all, more)
		}
		definition["spec"].(map[string]any)["versions"] = all
		_, err = h.Admin.Update(ctx, definitions.Path("", definition.Name()), definition)
		return err
	})
}

// otherVersions: the hubs are upgraded one after the other, so that they serve a kind under different
// versions for a while.
func (r *run) otherVersions(ctx context.Context) error {
	exports := rowOf("ServiceExportConfig")
	old := exports.resource
	newer := old
	newer.Version = "v1alpha2"
	kind := func(state, fault string) error {
		return see.Eventually(ctx, 2*patience, func() error {
			o, err := r.b.Status(ctx)
			for _, k := range o.List("kinds") {
				k := kube.Object(k.(map[string]any))
				if k.Text("kind") == exports.kind && k.Text("state") == state && strings.Contains(k.Text("fault"), fault) && (fault != "" || k.Text("fault") == "") {
					return nil
				}
			}
			return fmt.Errorf("%s is not %s with %q: %v (%v)", exports.kind, state, fault, o.Get("kinds"), err)
		})
	}
	crosses := func(name string, there kube.Resource) error {
		if err := r.create(ctx, old, named(exports.spare, name)); err != nil {
			return err
		}
		return copied(ctx, r.b, there.Path(exports.namespace, name), any_)
	}
	if err := serve(ctx, r.a, old, old.Version, newer.Version); err != nil {
		return err
	}
	if err := serve(ctx, r.b, old, newer.Version); err != nil {
		return err
	}
	r.check("a kind that this hub serves under another version only is mirrored under that, and that is told",
		kind("Synced", "mirrored as v1alpha2: not both hubs served v1alpha1"))
	r.check("what is made meanwhile crosses", crosses("under-v1alpha2", newer))
	r.check("the mirror is complete with it", r.armed(ctx, r.b))
	r.ctlCheck(ctx, "sync diff compares it under that version", r.b, 0, []string{"all are equal"}, "sync", "diff", exports.kind)
	if err := serve(ctx, r.a, old, old.Version); err != nil {
		return err
	}
	r.check("without a version in common the kind is Blocked", kind("Blocked", "no version of serviceexportconfigs in common"))
	r.check("and a promotion is, too", incomplete(ctx, r.b))
	if err := serve(ctx, r.a, old, old.Version, newer.Version); err != nil {
		return err
	}
	r.check("with one again it is used", kind("Synced", "mirrored as v1alpha2"))
	if err := serve(ctx, r.b, old, old.Version, newer.Version); err != nil {
		return err
	}
	r.check("once both hubs serve the version that is meant, that is used", kind("Synced", ""))
	r.check("and what is made then crosses", crosses("under-v1alpha1", old))
	return r.armed(ctx, r.b)
}
