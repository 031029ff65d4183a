package mirror

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

const shopMap = `mirror:
  set: none
  namespaces: team=shop
  kinds:
  - {version: v1, resource: configmaps, kind: ConfigMap}
  - {version: v1, resource: secrets, kind: Secret}
  - group: shop.example.com
    version: v1
    resource: widgets
    kind: Widget
    label-selector: tier=front
    status: true
`

// widgetKind is a user's own kind, with a status and a scale.
const widgetKind = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.shop.example.com}
spec:
  group: shop.example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {replicas: {type: integer}, color: {type: string}}}
          status: {type: object, properties: {replicas: {type: integer}, phase: {type: string}}}
`

const shopSpace = "shop"

// startShop takes the same hubs to a mirror without KubeSlice's kinds, in other namespaces.
func (r *run) startShop(ctx context.Context) error {
	path, err := r.file("shop.yaml", shopMap)
	if err != nil {
		return err
	}
	if _, err := r.a.Admin.ApplyAll(ctx, widgetKind, "default", nil); err != nil {
		return err
	}
	r.pair.Mirror = path
	said, err := r.pair.RunBootstrap(ctx, r.pair.Output())
	if err != nil {
		return err
	}
	err = nil
	if want := "hub-b: warning: it does not serve widgets.shop.example.com in version v1"; !strings.Contains(said, want) || strings.Contains(said, "hub-a: warning") {
		err = fmt.Errorf("want %q, and nothing of hub-a, in: %s", want, said)
	}
	r.check("bootstrap warns of a kind that a hub does not serve yet (M7)", err)
	if _, err := r.b.Admin.ApplyAll(ctx, widgetKind, "default", nil); err != nil {
		return err
	}
	r.check("another mirror takes back the rights of the first one", r.narrowed(ctx))
	// A right that audit has to find: it is asked for once in five minutes, and when a syncer starts.
	if err := r.give(ctx, deployments); err != nil {
		return err
	}
	for _, h := range []*pair.Hub{r.b, r.a} {
		r.check("a reload takes "+h.Name+" to another mirror", r.reload(ctx, h))
	}
	if err := r.stock(ctx); err != nil {
		return err
	}
	if err := r.data(ctx, shopSpace, "goods", "1"); err != nil {
		return err
	}
	// What the first one copied stays, and is nobody's but hub-b's now.
	if err := r.b.Admin.Delete(ctx, kube.Namespaces.Path("", pair.Project)); err != nil {
		return err
	}
	return see.Eventually(ctx, patience, func() error { return gone(ctx, r.b, kube.Namespaces.Path("", pair.Project)) })
}

// reload puts the map of the shop in the place of the first one, as a person would, and reloads.
func (r *run) reload(ctx context.Context, h *pair.Hub) error {
	text, err := os.ReadFile(h.Config())
	if err != nil {
		return err
	}
	if strings.Count(string(text), besideMap) != 1 {
		return fmt.Errorf("the map of --mirror is not in the configuration as it was written: %s", text)
	}
	if err := os.WriteFile(h.Config(), []byte(strings.Replace(string(text), besideMap, shopMap, 1)), 0o600); err != nil {
		return err
	}
	_, err = r.ctl(ctx, h, 0, []string{"reloaded; changed: ", "mirror: set", "mirror: namespaces", "mirror: kinds", "mirror: skip"}, "reload")
	return err
}

// narrowed: what the first mirror was given and the second one does not need is gone.
func (r *run) narrowed(ctx context.Context) error {
	for _, c := range []struct {
		hub        *pair.Hub
		who, allow string
		path       string
	}{
		{r.b, "syncer", configMaps.Path("", ""), kube.SliceConfigs.Path("", "")},
		{r.b, "peer-syncer", configMaps.Path("", ""), kube.SliceConfigs.Path("", "")},
		{r.b, "syncer", kube.Namespaces.Path("", ""), kube.Secrets.Path(pair.Project, "")},
		{r.b, "peer-syncer", kube.Namespaces.Path("", ""), kube.Secrets.Path(pair.Project, "")},
	} {
		client, err := c.hub.Client(c.who)
		if err != nil {
			return err
		}
		err = see.Eventually(ctx, patience, func() error {
			_, refused := client.Get(ctx, c.path)
			_, control := client.Get(ctx, c.allow)
			return refuses("cannot list", refused, control)
		})
		client.Close()
		if err != nil {
			return fmt.Errorf("%s: %s: %w", c.who, c.path, err)
		}
	}
	for h, name := range map[*pair.Hub]string{r.a: "understudy-mirror-read", r.b: "understudy-mirror-secrets"} {
		if err := gone(ctx, h, roleBindings.Path(pair.Project, name)); err != nil {
			return err
		}
	}
	return nil
}

// stock makes hub-a's objects: what must cross, and beside each what must not.
func (r *run) stock(ctx context.Context) error {
	mark := map[string]any{"team": "shop"}
	for _, o := range []kube.Object{space(shopSpace, mark), space("shop-2", mark), space("elsewhere", map[string]any{"team": "other"})} {
		if _, err := r.a.Admin.Create(ctx, kube.Namespaces.Path("", ""), o); err != nil {
			return err
		}
	}
	// The label alone opens none of these.
	for _, name := range []string{"default", "kube-system", pair.Namespace} {
		if _, err := r.a.Admin.Merge(ctx, kube.Namespaces.Path("", name), kube.Object{"metadata": map[string]any{"labels": mark}}); err != nil {
			return err
		}
	}
	for _, namespace := range []string{"default", "kube-system", pair.Namespace, "elsewhere", "shop-2", shopSpace} {
		if _, err := r.a.Admin.Create(ctx, configMaps.Path(namespace, ""), configMap("goods", "1")); err != nil {
			return err
		}
		if _, err := r.a.Admin.Create(ctx, kube.Secrets.Path(namespace, ""), secret("key", "Opaque", map[string]any{"k": "djE="})); err != nil {
			return err
		}
	}
	// Where hub-b's administrator may write.
	if _, err := r.b.Admin.Create(ctx, kube.Namespaces.Path("", ""), space("elsewhere-2", nil)); err != nil {
		return err
	}
	for name, tier := range map[string]string{"front": "front", "back": "back", "leaving": "front"} {
		if _, err := r.a.Admin.Create(ctx, widgets.Path(shopSpace, ""), widget(name, tier)); err != nil {
			return err
		}
	}
	tracked := widget("tracked", "front")
	tracked["metadata"].(map[string]any)["annotations"] = map[string]any{tracking: "shop:x"}
	if _, err := r.a.Admin.Create(ctx, widgets.Path(shopSpace, ""), tracked); err != nil {
		return err
	}
	_, err := r.a.Admin.Merge(ctx, widgets.Path(shopSpace, "front", "status"), kube.Object{"status": map[string]any{"phase": "Ready"}})
	return err
}

// is waits for a Widget's copy with a color and a phase.
func (r *run) is(ctx context.Context, name, color, phase string) error {
	return copied(ctx, r.b, widgets.Path(shopSpace, name), func(o kube.Object) error {
		if o.Text("spec", "color") != color || o.Text("status", "phase") != phase {
			return fmt.Errorf("%s is %v, %v", name, o.Get("spec"), o.Get("status"))
		}
		return nil
	})
}

func (r *run) shop(ctx context.Context) error {
	r.check("audit finds a right on a kind that is not listed", r.finds(ctx, "create deployments.apps *"))
	r.check("mirror.namespaces: a ConfigMap of a Namespace with the label follows", r.data(ctx, shopSpace, "goods", "1"))
	r.check("so does a Secret, by a right that is bound there", copied(ctx, r.b, kube.Secrets.Path(shopSpace, "key"), any_))
	r.check("a Widget with the labels of its selector follows, with its status", r.is(ctx, "front", "red", "Ready"))
	path := widgets.Path(shopSpace, "front")
	_, err := r.a.Admin.Merge(ctx, path, kube.Object{"spec": map[string]any{"color": "blue"}})
	if err == nil {
		err = r.is(ctx, "front", "blue", "Ready")
	}
	r.check("its change follows", err)
	if _, err = r.a.Admin.Merge(ctx, widgets.Path(shopSpace, "front", "status"), kube.Object{"status": map[string]any{"phase": "Sold"}}); err == nil {
		err = r.is(ctx, "front", "blue", "Sold")
	}
	r.check("a change of its status follows", err)
	if err := r.changes(ctx, shopSpace); err != nil {
		return err
	}
	r.check("a Widget without the labels of its selector does not follow", gone(ctx, r.b, widgets.Path(shopSpace, "back")))
	for _, namespace := range []string{"default", "kube-system", pair.Namespace, "elsewhere"} {
		r.check("nothing of "+namespace+" follows", errors.Join(gone(ctx, r.b, configMaps.Path(namespace, "goods")),
			gone(ctx, r.b, kube.Secrets.Path(namespace, "key"))))
	}
	r.check("a Namespace with another label does not follow", gone(ctx, r.b, kube.Namespaces.Path("", "elsewhere")))
	r.ctlCheck(ctx, "sync status lists exactly the listed kinds", r.b, 0,
		[]string{"mirror        Synced, complete", "Secret               Synced", "ConfigMap            Synced", "Widget               Synced"}, "sync", "status")
	out, _, err := r.b.Ctl(ctx, 0, "sync", "status")
	if err == nil && strings.Contains(out, "SliceConfig") {
		err = fmt.Errorf("KubeSlice's kinds are there: %s", out)
	}
	r.check("and none of KubeSlice's", err)
	if err := r.unbound(ctx); err != nil {
		return err
	}
	r.ctlCheck(ctx, "sync diff is clean with listed kinds alone", r.b, 0, []string{"all are equal"}, "sync", "diff")
	return r.leaving(ctx)
}

// unbound takes the right on Secrets away from the syncer, whose watch of them goes on without.
func (r *run) unbound(ctx context.Context) error {
	breakGlass, err := kube.Load(r.b.Cluster.BreakGlass())
	if err != nil {
		return err
	}
	defer breakGlass.Close()
	if err := breakGlass.Delete(ctx, roleBindings.Path(shopSpace, "understudy-mirror-secrets")); err != nil {
		return err
	}
	if _, err := r.a.Admin.Merge(ctx, kube.Secrets.Path(shopSpace, "key"), kube.Object{"data": map[string]any{"k": "djI="}}); err != nil {
		return err
	}
	r.check("a binding that somebody deleted is made again, and the Secret follows", copied(ctx, r.b, kube.Secrets.Path(shopSpace, "key"), func(o kube.Object) error {
		if o.Text("data", "k") != "djI=" {
			return errors.New("it is the one of before")
		}
		return nil
	}))
	return nil
}

// finds waits until hub-b's audit has a finding with a text.
func (r *run) finds(ctx context.Context, text string) error {
	return see.Eventually(ctx, patience, func() error {
		out, code, err := r.b.Ctl(ctx, 0, "audit")
		if err == nil && (code != 1 || !strings.Contains(out, text)) {
			err = fmt.Errorf("exit code %d, want %q in: %.2000s", code, text, out)
		}
		return err
	})
}

// leaving takes labels away: what has left the mirror is not gone (C14).
func (r *run) leaving(ctx context.Context) error {
	if err := copied(ctx, r.b, widgets.Path(shopSpace, "leaving"), any_); err != nil {
		return err
	}
	if err := copied(ctx, r.b, configMaps.Path("shop-2", "goods"), any_); err != nil {
		return err
	}
	if _, err := r.a.Admin.Merge(ctx, widgets.Path(shopSpace, "leaving"), kube.Object{"metadata": map[string]any{"labels": map[string]any{"tier": nil}}}); err != nil {
		return err
	}
	if _, err := r.a.Admin.Merge(ctx, kube.Namespaces.Path("", "shop-2"), kube.Object{"metadata": map[string]any{"labels": map[string]any{"team": nil}}}); err != nil {
		return err
	}
	// What comes later in the same watch: another Namespace, and a Widget that is deleted.
	if _, err := r.a.Admin.Create(ctx, kube.Namespaces.Path("", ""), space("shop-3", map[string]any{"team": "shop"})); err != nil {
		return err
	}
	if err := copied(ctx, r.b, kube.Namespaces.Path("", "shop-3"), any_); err != nil {
		return err
	}
	if _, err := r.a.Admin.Create(ctx, widgets.Path(shopSpace, ""), widget("sold", "front")); err != nil {
		return err
	}
	if err := copied(ctx, r.b, widgets.Path(shopSpace, "sold"), any_); err != nil {
		return err
	}
	r.check("a Widget's deletion follows", r.goes(ctx, widgets.Path(shopSpace, "sold")))
	r.check("one that lost its label is not deleted (C14)", copied(ctx, r.b, widgets.Path(shopSpace, "leaving"), any_))
	r.check("nor is what lies in a Namespace that lost its label", copied(ctx, r.b, configMaps.Path("shop-2", "goods"), any_))
	_, err := r.a.Admin.Merge(ctx, widgets.Path(shopSpace, "leaving"), kube.Object{
		"metadata": map[string]any{"labels": map[string]any{"tier": "front"}}, "spec": map[string]any{"color": "green"}})
	if err == nil {
		err = r.is(ctx, "leaving", "green", "")
	}
	r.check("one that has it again follows again", err)
	return nil
}

func (r *run) shopGuarded(ctx context.Context) error {
	edit := kube.Object{"metadata": map[string]any{"annotations": map[string]any{"edited": "yes"}}}
	r.fenced(ctx, "a change of a ConfigMap", http.MethodPatch, configMaps.Path(shopSpace, "goods"), edit)
	r.fenced(ctx, "the deletion of a ConfigMap", http.MethodDelete, configMaps.Path(shopSpace, "goods"), nil)
	r.fenced(ctx, "a new ConfigMap", http.MethodPost, configMaps.Path(shopSpace, ""), configMap("new", "1"))
	r.fenced(ctx, "a change of a Secret", http.MethodPatch, kube.Secrets.Path(shopSpace, "key"), edit)
	r.fenced(ctx, "a change of a Widget", http.MethodPatch, widgets.Path(shopSpace, "front"), edit)
	r.fenced(ctx, "a change of a Widget's status", http.MethodPatch, widgets.Path(shopSpace, "front", "status"),
		kube.Object{"status": map[string]any{"phase": "Lost"}})
	r.fenced(ctx, "a change of a Widget's scale", http.MethodPatch, widgets.Path(shopSpace, "front", "scale"),
		kube.Object{"spec": map[string]any{"replicas": 7}})
	r.fenced(ctx, "a new Widget without labels, too", http.MethodPost, widgets.Path(shopSpace, ""), widget("new", "back"))
	r.fenced(ctx, "a change of the Namespace", http.MethodPatch, kube.Namespaces.Path("", shopSpace), edit)
	for _, name := range []string{"default", "kube-system", pair.Namespace} {
		_, err := r.b.Admin.Merge(ctx, kube.Namespaces.Path("", name), kube.Object{"metadata": map[string]any{"labels": map[string]any{"team": "shop"}}})
		if err == nil {
			err = writes(ctx, r.b.Admin, http.MethodPost, configMaps.Path(name, ""), configMap("new", "1"))
		}
		r.check("but not what lies in "+name+", whatever its labels", err)
	}
	r.check("nor what is mirrored nowhere", errors.Join(
		writes(ctx, r.b.Admin, http.MethodPost, configMaps.Path("default", ""), configMap("new", "1")),
		writes(ctx, r.b.Admin, http.MethodPost, widgets.Path("default", ""), widget("new", "front")),
		writes(ctx, r.b.Admin, http.MethodPost, deployments.Path(shopSpace, ""), deployment("new"))))
	syncer, breakGlass, end, err := r.syncerAndControl()
	if err != nil {
		return err
	}
	defer end()
	for _, c := range []struct {
		name, word, path string
		o                kube.Object
	}{
		{"a ConfigMap where the label is not", "this namespace is not mirrored", configMaps.Path("elsewhere-2", ""), configMap("new", "1")},
		{"a ConfigMap in kube-system", "UNDERSTUDY_MIRROR", configMaps.Path("kube-system", ""), configMap("new", "1")},
		{"a RoleBinding that is not its own", "this kind is not mirrored", roleBindings.Path(shopSpace, ""), binding("other", "ClusterRole", "understudy-mirror-secrets")},
	} {
		o := labelled(c.o)
		r.check("the syncer is refused "+c.name, refuses(c.word, writes(ctx, syncer, http.MethodPost, c.path, o),
			writes(ctx, breakGlass, http.MethodPost, c.path, o)))
	}
	r.check("and may write what is listed", errors.Join(
		writes(ctx, syncer, http.MethodPost, configMaps.Path(shopSpace, ""), labelled(configMap("new", "1"))),
		writes(ctx, syncer, http.MethodPost, widgets.Path(shopSpace, ""), labelled(widget("new", "front")))))
	if err := r.notForSyncer(ctx, "Deployments", deployments, shopSpace, deployment("new")); err != nil {
		return err
	}
	kill(pidOf(r.b, "syncer")) // the next one asks for its rights anew
	r.audited(ctx, "listed kinds alone", "")
	return nil
}

// shopFailover kills hub-a: what was a copy is hub-b's to write.
func (r *run) shopFailover(ctx context.Context) error {
	if err := r.armed(ctx, r.b); err != nil {
		return err
	}
	r.die(r.a)
	if err := r.leads(ctx, r.b); err != nil {
		return err
	}
	edit := kube.Object{"metadata": map[string]any{"annotations": map[string]any{"edited": "yes"}}}
	for name, path := range map[string]string{
		"ConfigMap": configMaps.Path(shopSpace, "goods"), "Secret": kube.Secrets.Path(shopSpace, "key"),
		"Widget": widgets.Path(shopSpace, "front"), "Widget's status": widgets.Path(shopSpace, "front", "status"),
	} {
		// The policy follows the role with a moment's delay.
		r.check("after the failover a "+name+" is hub-b's to write", see.Eventually(ctx, patience, func() error {
			return writes(ctx, r.b.Admin, http.MethodPatch, path, edit)
		}))
	}
	syncer, err := r.b.Client("syncer")
	if err != nil {
		return err
	}
	defer syncer.Close()
	o := labelled(configMap("new", "1"))
	r.check("and no more the syncer's", refuses("UNDERSTUDY_MIRROR this hub leads",
		writes(ctx, syncer, http.MethodPost, configMaps.Path(shopSpace, ""), o), writes(ctx, r.b.Admin, http.MethodPost, configMaps.Path(shopSpace, ""), o)))
	o, err = r.b.Admin.Get(ctx, widgets.Path(shopSpace, "front"))
	if err == nil && (o.Text("spec", "color") != "blue" || o.Text("status", "phase") != "Sold") {
		err = fmt.Errorf("%v, %v", o.Get("spec"), o.Get("status"))
	}
	r.check("which holds what hub-a had last", err)
	return nil
}
