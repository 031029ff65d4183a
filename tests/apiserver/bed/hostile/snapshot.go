package hostile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// synced is the label of copies, archived the type of the Secrets in which a syncer keeps what it
// replaces: the one thing that it may make outside of the mirror.
const (
	synced   = "ha.kubeslice.io/synced-from"
	archived = "ha.kubeslice.io/archived-object"
)

// contents is everything that an API server holds, by resource and key, as text without what moves
// by itself.
type contents map[string]string

// moving are resources whose objects come and go, or tell the time.
var moving = map[string]bool{
	"events": true, "componentstatuses": true, "hubprobes": true, "endpoints": true, "endpointslices": true,
}

// read lists everything. outside leaves out the mirror: copies, and what is in their namespaces.
func read(ctx context.Context, client *kube.Client, outside bool) (contents, error) {
	paths := []string{"/api/v1"}
	groups, err := client.Get(ctx, "/apis")
	if err != nil {
		return nil, err
	}
	for _, g := range groups.List("groups") {
		group := kube.Object(g.(map[string]any))
		paths = append(paths, "/apis/"+group.Text("preferredVersion", "groupVersion"))
	}
	mirrored := map[string]bool{}
	if outside {
		if mirrored, err = mirroredNamespaces(ctx, client); err != nil {
			return nil, err
		}
	}
	all := contents{}
	for _, path := range paths {
		if err := all.readGroup(ctx, client, path, func(o kube.Object) bool {
			return outside && (o.Text("metadata", "labels", synced) != "" || mirrored[o.Namespace()] || o.Text("type") == archived)
		}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func mirroredNamespaces(ctx context.Context, client *kube.Client) (map[string]bool, error) {
	list, err := client.Get(ctx, kube.Namespaces.Path("", ""))
	if err != nil {
		return nil, err
	}
	mirrored := map[string]bool{}
	for _, o := range list.Items() {
		mirrored[o.Name()] = o.Text("metadata", "labels", synced) != ""
	}
	return mirrored, nil
}

func (all contents) readGroup(ctx context.Context, client *kube.Client, path string, skip func(kube.Object) bool) error {
	resources, err := client.Get(ctx, path)
	if err != nil {
		return err
	}
	for _, item := range resources.List("resources") {
		resource := kube.Object(item.(map[string]any))
		name := resource.Text("name")
		if moving[name] || strings.Contains(name, "/") || !slices.Contains(resource.List("verbs"), any("list")) {
			continue
		}
		var list kube.Object
		if err := see.Eventually(ctx, patience, func() (err error) { // 429 while a storage nobody asked for begins
			list, err = client.Get(ctx, path+"/"+name)
			return err
		}); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, o := range list.Items() {
			if skip(o) || name == "leases" && o.Namespace() != pair.Namespace {
				continue
			}
			text, err := json.Marshal(still(name, o))
			if err != nil {
				return err
			}
			all[name+" "+o.Key()] = string(text)
		}
	}
	return nil
}

// still is an object without what its own writers change all the time.
func still(resource string, o kube.Object) kube.Object {
	meta, _ := o.Get("metadata").(map[string]any)
	for _, field := range []string{"managedFields", "resourceVersion"} {
		delete(meta, field)
	}
	switch resource {
	case "leases": // who claims, and for which term
		annotations, _ := o.Get("metadata", "annotations").(map[string]any)
		kept := map[string]any{}
		for _, name := range []string{"term", "led-term", "phase", "instance"} {
			kept[name] = annotations["ha.kubeslice.io/"+name]
		}
		return kube.Object{"holder": o.Text("spec", "holderIdentity"), "kept": kept, "uid": o.UID()}
	case "hubroles", "clustercontrollers":
		delete(o, "status")
	case "clusters": // followers report there
		status, _ := o.Get("status").(map[string]any)
		delete(status, "conditions")
		active, _ := o.Get("status", "activeController").(map[string]any)
		delete(active, "lastUpdated")
	}
	return o
}

// same is nil when nothing changed; it names what did.
func same(before, after contents) error {
	var changed []string
	for _, key := range slices.Sorted(maps.Keys(before)) {
		switch text, there := after[key]; {
		case !there:
			changed = append(changed, key+" is gone")
		case text != before[key]:
			changed = append(changed, key+" was "+cut(before[key])+" and is "+cut(text))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if _, there := before[key]; !there {
			changed = append(changed, key+" is new")
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return fmt.Errorf("%d changes: %s", len(changed), strings.Join(changed[:min(4, len(changed))], ", "))
}

func cut(text string) string { return text[:min(600, len(text))] }

// places are the clusters of a run as they are: hub-b without its mirror.
type places struct {
	names []string
	all   []contents
}

func (r *run) look(ctx context.Context) (*places, error) {
	p := &places{names: []string{"hub-a", "hub-b outside of the mirror"}}
	clients := []*kube.Client{r.a.Admin, r.b.Admin}
	for _, w := range r.pair.Workers {
		p.names, clients = append(p.names, w.Name), append(clients, w.Admin)
	}
	p.all = make([]contents, len(clients))
	errs := make([]error, len(clients))
	var group sync.WaitGroup
	for i, client := range clients {
		group.Go(func() { p.all[i], errs[i] = read(ctx, client, client == r.b.Admin) })
	}
	group.Wait()
	return p, errors.Join(errs...)
}

// same prints one line for each place.
func (r *run) same(before, after *places, what string) {
	for i, name := range before.names {
		r.check(same(before.all[i], after.all[i]), "%s: nothing changed on %s, %d objects", what, name, len(after.all[i]))
	}
}
