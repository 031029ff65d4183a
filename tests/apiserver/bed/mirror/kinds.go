package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// kindParts are mirror.kinds, mirror.skip and mirror.namespaces: first beside KubeSlice's set, then in its
// place on the same hubs, so that the second bootstrap takes back what the first one gave.
var kindParts = []part{
	{"start", (*run).startBeside},
	{"kinds beside the set", (*run).beside},
	{"what bootstrap refuses", (*run).listRefused},
	{"another mirror for a running pair", (*run).startShop},
	{"kinds alone", (*run).shop},
	{"who may write", (*run).shopGuarded},
	{"failover of listed kinds", (*run).shopFailover},
}

const besideMap = `# beside KubeSlice's own
mirror:
  set: kubeslice
  kinds:
  - {group: "", version: v1, resource: configmaps, kind: ConfigMap}
  skip:
  - sliceqosconfigs.controller.kubeslice.io
  - configmaps/kubeslice-cisco/big
`

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

var (
	configMaps  = kube.Resource{Group: "", Version: "v1", Name: "configmaps"}
	widgets     = kube.Resource{Group: "shop.example.com", Version: "v1", Name: "widgets"}
	deployments = kube.Resource{Group: "apps", Version: "v1", Name: "deployments"}
)

func configMap(name, value string) kube.Object {
	return kube.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"k": value}}
}

func widget(name, tier string) kube.Object {
	return kube.Object{"apiVersion": "shop.example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": name, "labels": map[string]any{"tier": tier}}, "spec": map[string]any{"replicas": 1, "color": "red"}}
}

func space(name string, labels map[string]any) kube.Object {
	return kube.Object{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name, "labels": labels}}
}

func quality(name string) kube.Object {
	return kube.Object{"apiVersion": "controller.kubeslice.io/v1alpha1", "kind": "SliceQoSConfig", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"queueType": "HTB", "priority": 1, "tcType": "BANDWIDTH_CONTROL", "bandwidthCeilingKbps": 5120,
			"bandwidthGuaranteedKbps": 2560, "dscpClass": "AF11"}}
}

func deployment(name string) kube.Object {
	labels := map[string]any{"app": name}
	return kube.Object{"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": name, "labels": map[string]any{copyLabel: "active"}},
		"spec": map[string]any{"selector": map[string]any{"matchLabels": labels}, "template": map[string]any{
			"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}}}}
}

// labelled is an object with the mirror's label, as the syncer writes it.
func labelled(o kube.Object) kube.Object {
	metadata := o["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	if labels == nil {
		labels = map[string]any{}
		metadata["labels"] = labels
	}
	labels[copyLabel] = "active"
	return o
}

// file puts a --mirror of the bed into its folder.
func (r *run) file(name, text string) (string, error) {
	path := filepath.Join(r.Dir, name)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

func (r *run) startBeside(ctx context.Context) error {
	path, err := r.file("beside.yaml", besideMap)
	if err != nil {
		return err
	}
	r.pair.Mirror = path
	if err := r.pair.Bootstrap(ctx); err != nil {
		return err
	}
	if err := r.a.Start(); err != nil {
		return err
	}
	if err := r.leads(ctx, r.a); err != nil {
		return err
	}
	if _, err := r.a.ApplySamples(ctx); err != nil {
		return err
	}
	if err := r.create(ctx, configMaps, configMap("big", "accepted")); err != nil {
		return err
	}
	if err := r.b.Start(); err != nil {
		return err
	}
	return r.armed(ctx, r.b)
}

// data waits for a copy that holds a value.
func (r *run) data(ctx context.Context, namespace, name, value string) error {
	return copied(ctx, r.b, configMaps.Path(namespace, name), func(o kube.Object) error {
		if o.Text("data", "k") != value {
			return fmt.Errorf("%s/%s holds %q, not %q", namespace, name, o.Text("data", "k"), value)
		}
		return nil
	})
}

// goes deletes an object of the source and waits until its copy is gone.
func (r *run) goes(ctx context.Context, path string) error {
	if err := r.a.Admin.Delete(ctx, path); err != nil {
		return err
	}
	return see.Eventually(ctx, patience, func() error { return gone(ctx, r.b, path) })
}

// changes creates a ConfigMap on hub-a, changes and deletes it; hub-b follows.
func (r *run) changes(ctx context.Context, namespace string) error {
	path := configMaps.Path(namespace, "settings")
	_, err := r.a.Admin.Create(ctx, configMaps.Path(namespace, ""), configMap("settings", "1"))
	if err == nil {
		err = r.data(ctx, namespace, "settings", "1")
	}
	r.check("a listed kind: a new ConfigMap of "+namespace+" follows", err)
	if _, err = r.a.Admin.Merge(ctx, path, kube.Object{"data": map[string]any{"k": "2"}}); err == nil {
		err = r.data(ctx, namespace, "settings", "2")
	}
	r.check("a listed kind: its change in "+namespace+" follows", err)
	r.check("a listed kind: its deletion in "+namespace+" follows", r.goes(ctx, path))
	// One that stays, as the last of all that was made so far: what was to follow has had its time.
	if _, err = r.a.Admin.Create(ctx, configMaps.Path(namespace, ""), configMap("later", "1")); err != nil {
		return err
	}
	return r.data(ctx, namespace, "later", "1")
}

// refuses is nil when a request is refused with a word, and the control, the same by somebody who may,
// is accepted.
func refuses(word string, err, control error) error {
	switch {
	case err == nil:
		return errors.New("it was accepted")
	case !kube.IsCode(err, http.StatusForbidden) || !strings.Contains(err.Error(), word):
		return fmt.Errorf("want 403 %s: %w", word, err)
	case control != nil:
		return fmt.Errorf("its control was refused, too: %w", control)
	}
	return nil
}

// writes sends one write as a dry run.
func writes(ctx context.Context, client *kube.Client, method, path string, o kube.Object) error {
	body, contentType := []byte(nil), ""
	if o != nil {
		text, err := json.Marshal(o)
		if err != nil {
			return err
		}
		body, contentType = text, "application/json"
		if method == http.MethodPatch {
			contentType = kube.MergePatch
		}
	}
	_, err := client.Do(ctx, method, path+"?dryRun=All", contentType, body)
	return err
}

// fenced checks that hub-b's administrator is refused a write that hub-a's may make.
func (r *run) fenced(ctx context.Context, name, method, path string, o kube.Object) {
	r.check("a hub that does not lead refuses its administrator "+name, refuses("UNDERSTUDY_FENCE",
		writes(ctx, r.b.Admin, method, path, o), writes(ctx, r.a.Admin, method, path, o)))
}

const byHand = "by-hand"

var (
	clusterRoleBindings = kube.Resource{Group: "rbac.authorization.k8s.io", Version: "v1", Name: "clusterrolebindings"}
)

// give lets hub-b's syncer create a kind, by hand; take takes it back.
func (r *run) give(ctx context.Context, resource kube.Resource) error {
	if _, err := r.b.Admin.Create(ctx, clusterRoles.Path("", ""), kube.Object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
		"metadata": map[string]any{"name": byHand}, "rules": []any{map[string]any{
			"apiGroups": []any{resource.Group}, "resources": []any{resource.Name}, "verbs": []any{"create"}}}}); err != nil {
		return err
	}
	_, err := r.b.Admin.Create(ctx, clusterRoleBindings.Path("", ""), kube.Object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
		"metadata": map[string]any{"name": byHand}, "roleRef": map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": byHand},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "understudy-syncer", "namespace": pair.Namespace}}})
	return err
}

func (r *run) take(ctx context.Context) error {
	if err := r.b.Admin.Delete(ctx, clusterRoleBindings.Path("", byHand)); err != nil {
		return err
	}
	return r.b.Admin.Delete(ctx, clusterRoles.Path("", byHand))
}

// notForSyncer checks that hub-b's syncer is refused a kind that is not listed: with the right on it that
// it was given by hand, by admission, and without that by its rights.
func (r *run) notForSyncer(ctx context.Context, name string, resource kube.Resource, namespace string, o kube.Object) error {
	syncer, err := r.b.Client("syncer")
	if err != nil {
		return err
	}
	defer syncer.Close()
	path := resource.Path(namespace, "")
	for _, word := range []string{"UNDERSTUDY_MIRROR this kind is not mirrored", "cannot create"} {
		r.check("the syncer is refused "+name+": "+word, see.Eventually(ctx, patience, func() error {
			return refuses(word, writes(ctx, syncer, http.MethodPost, path, o), writes(ctx, r.b.Admin, http.MethodPost, path, o))
		}))
		if word != "cannot create" {
			if err := r.take(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// audited checks that both hubs' audits have nothing to say.
func (r *run) audited(ctx context.Context, name string) {
	for _, h := range r.pair.Hubs {
		r.check("audit of "+h.Name+" is clean with "+name, see.Eventually(ctx, patience, func() error {
			out, code, err := h.Ctl(ctx, 0, "audit")
			if err == nil && code != 0 {
				var said []string
				for line := range strings.Lines(out) {
					if line = strings.TrimSpace(line); strings.HasPrefix(line, "finding") || strings.HasPrefix(line, "unverified") {
						said = append(said, line)
					}
				}
				err = fmt.Errorf("exit code %d: %.3000s", code, strings.Join(said, "; "))
			}
			return err
		}))
	}
}

func (r *run) beside(ctx context.Context) error {
	if err := r.create(ctx, qualities, quality("own")); err != nil {
		return err
	}
	for namespace, name := range map[string]string{"default": "out", "kube-system": "out", pair.Project: "kube-root-ca.crt"} {
		if _, err := r.a.Admin.Create(ctx, configMaps.Path(namespace, ""), configMap(name, "of hub-a")); err != nil && !kube.IsCode(err, http.StatusConflict) {
			return err
		}
	}
	if err := r.changes(ctx, pair.Project); err != nil {
		return err
	}
	r.check("mirror.skip: an object that it names does not follow", gone(ctx, r.b, configMaps.Path(pair.Project, "big")))
	r.check("mirror.skip: a kind that it names does not follow", gone(ctx, r.b, qualities.Path(pair.Project, "own")))
	r.check("a ConfigMap of `default` does not follow", gone(ctx, r.b, configMaps.Path("default", "out")))
	r.check("a ConfigMap of kube-system does not follow", gone(ctx, r.b, configMaps.Path("kube-system", "out")))
	r.check("the certificates of hub-a itself do not follow", notOf(ctx, r.b, configMaps.Path(pair.Project, "kube-root-ca.crt"), "of hub-a"))
	r.ctlCheck(ctx, "sync status names the listed kind, and the one that is skipped", r.b, 0,
		[]string{"mirror        Synced, complete", "ConfigMap            Synced", "SliceQoSConfig       Skipped"}, "sync", "status")
	r.ctlCheck(ctx, "sync status --excluded says why an object is left out", r.b, 0,
		[]string{"excluded    ConfigMap kubeslice-cisco/big: ", "mirror.skip"}, "sync", "status", "--excluded")
	r.ctlCheck(ctx, "sync diff is clean with a listed kind", r.b, 0, []string{"all are equal"}, "sync", "diff")
	r.ctlCheck(ctx, "sync diff compares a listed kind by its name", r.b, 0, []string{"all are equal"}, "sync", "diff", "ConfigMap")
	r.fenced(ctx, "a change of a ConfigMap's copy", http.MethodPatch, configMaps.Path(pair.Project, "later"), kube.Object{"data": map[string]any{"k": "edited"}})
	r.fenced(ctx, "a change of a slice's copy", http.MethodPatch, kube.SliceConfigs.Path(pair.Project, "green"), kube.Object{"spec": map[string]any{"maxClusters": 3}})
	r.check("a kind that is skipped is each hub's own to write",
		writes(ctx, r.b.Admin, http.MethodPost, qualities.Path(pair.Project, ""), quality("here")))
	r.audited(ctx, "a kind beside the set, and one skipped")
	if err := r.give(ctx, qualities); err != nil {
		return err
	}
	return r.notForSyncer(ctx, "a kind that is skipped", qualities, pair.Project, labelled(quality("copy")))
}

// notOf is nil when there is nothing at the path, or something of another value.
func notOf(ctx context.Context, h *pair.Hub, path, value string) error {
	o, err := h.Admin.Get(ctx, path)
	if kube.IsCode(err, http.StatusNotFound) {
		return nil
	}
	if err == nil && o.Text("data", "k") == value {
		err = fmt.Errorf("%s on %s is %q", path, h.Name, value)
	}
	return err
}

// listRefused runs bootstrap with lists that do not fit; nothing may change by it.
func (r *run) listRefused(ctx context.Context) error {
	before, err := r.a.Admin.Get(ctx, syncerRole)
	if err != nil {
		return err
	}
	was := r.pair.Mirror
	defer func() { r.pair.Mirror = was }()
	for _, c := range []struct{ name, text, says string }{
		{"no --mirror for a hub that has one", "", "hub-a: it has the rights of a mirror that no --mirror names: set kubeslice, "},
		{"a kind of another name", "mirror:\n  kinds:\n  - {version: v1, resource: configmaps, kind: Settings}\n",
			"hub-a: mirror.kinds: configmaps is of kind ConfigMap there; expected that, not Settings"},
		{"a kind without namespaces", "mirror:\n  kinds:\n  - {group: storage.k8s.io, version: v1, resource: storageclasses, kind: StorageClass}\n",
			"hub-a: mirror.kinds: storageclasses.storage.k8s.io has no namespaces there"},
		{"a kind that never crosses", "mirror:\n  kinds:\n  - {group: coordination.k8s.io, version: v1, resource: leases, kind: Lease}\n",
			"bad.yaml:3: mirror.kinds[0].group: \"coordination.k8s.io\" is never mirrored: it says who leads (M10)"},
	} {
		r.pair.Mirror = ""
		if c.text != "" {
			if r.pair.Mirror, err = r.file("bad.yaml", c.text); err != nil {
				return err
			}
		}
		said, err := r.pair.RunBootstrap(ctx, filepath.Join(r.Dir, "refused"))
		if err == nil {
			err = fmt.Errorf("it was done: %s", said)
		} else if err = nil; !strings.Contains(said, c.says) {
			err = fmt.Errorf("no %q in: %s", c.says, said)
		}
		r.check("bootstrap refuses "+c.name, err)
	}
	after, err := r.a.Admin.Get(ctx, syncerRole)
	if err == nil && after.ResourceVersion() != before.ResourceVersion() {
		err = errors.New("the syncer's rights were changed")
	}
	r.check("and has changed nothing", err)
	return nil
}

var syncerRole = kube.Resource{Group: "rbac.authorization.k8s.io", Version: "v1", Name: "clusterroles"}.Path("", "understudy-syncer")

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
	// Where hub-b's administrator may write, and what the publisher's probe of the fence needs (C1).
	if _, err := r.b.Admin.Create(ctx, kube.Namespaces.Path("", ""), space("elsewhere-2", nil)); err != nil {
		return err
	}
	if _, err := r.a.Admin.Create(ctx, kube.Clusters.Path(shopSpace, ""), probed()); err != nil {
		return err
	}
	for name, tier := range map[string]string{"front": "front", "back": "back", "leaving": "front"} {
		if _, err := r.a.Admin.Create(ctx, widgets.Path(shopSpace, ""), widget(name, tier)); err != nil {
			return err
		}
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
	r.ctlCheck(ctx, "sync diff is clean with listed kinds alone", r.b, 0, []string{"all are equal"}, "sync", "diff")
	return r.leaving(ctx)
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

// probed is a Cluster, which both hubs have by themselves where Clusters are not mirrored.
func probed() kube.Object {
	return kube.Object{"apiVersion": "controller.kubeslice.io/v1alpha1", "kind": "Cluster",
		"metadata": map[string]any{"name": "worker-1"}, "spec": map[string]any{}}
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
	r.check("but not what is mirrored nowhere", errors.Join(
		writes(ctx, r.b.Admin, http.MethodPost, configMaps.Path("default", ""), configMap("new", "1")),
		writes(ctx, r.b.Admin, http.MethodPost, widgets.Path("default", ""), widget("new", "front")),
		writes(ctx, r.b.Admin, http.MethodPost, deployments.Path(shopSpace, ""), deployment("new"))))
	syncer, err := r.b.Client("syncer")
	if err != nil {
		return err
	}
	defer syncer.Close()
	breakGlass, err := kube.Load(r.b.Cluster.BreakGlass())
	if err != nil {
		return err
	}
	defer breakGlass.Close()
	if _, err := breakGlass.Create(ctx, kube.Clusters.Path(shopSpace, ""), probed()); err != nil {
		return err
	}
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
	r.audited(ctx, "listed kinds alone")
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
