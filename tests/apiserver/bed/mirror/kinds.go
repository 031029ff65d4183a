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
	{"what Roles may grant", (*run).allowRules},
	{"what bootstrap refuses", (*run).listRefused},
	{"another mirror for a running pair", (*run).startShop},
	{"kinds alone", (*run).shop},
	{"who may write", (*run).shopGuarded},
	{"failover of listed kinds", (*run).shopFailover},
	{"what listed kinds leave over", (*run).shopLeftOver},
}

const besideMap = `# beside KubeSlice's own
mirror:
  set: kubeslice
  kinds:
  - {group: "", version: v1, resource: configmaps, kind: ConfigMap}
  skip:
  - sliceqosconfigs.controller.kubeslice.io
  - configmaps/kubeslice-cisco/big
  allow-rules: ["core/pods:create,delete", "clusterrole/view:bind", "*/leases:update"]
`

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

func quality(name string) kube.Object { return named(rowOf("SliceQoSConfig").spare, name) }

func deployment(name string) kube.Object {
	labels := map[string]any{"app": name}
	return labelled(kube.Object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"selector": map[string]any{"matchLabels": labels}, "template": map[string]any{
			"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}}}})
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
	if err := r.startSource(ctx); err != nil {
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
	clusterRoleBindings = rbac("clusterrolebindings")
	syncerRole          = clusterRoles.Path("", "understudy-syncer")
)

// give lets hub-b's syncer create a kind, by hand; take takes it back.
func (r *run) give(ctx context.Context, resource kube.Resource) error {
	return r.grant(ctx, "understudy-syncer", map[string]any{
		"apiGroups": []any{resource.Group}, "resources": []any{resource.Name}, "verbs": []any{"create"}})
}

// grant gives an identity of hub-b what a rule says, by hand.
func (r *run) grant(ctx context.Context, account string, rule map[string]any) error {
	if _, err := r.b.Admin.Create(ctx, clusterRoles.Path("", ""), kube.Object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
		"metadata": map[string]any{"name": byHand}, "rules": []any{rule}}); err != nil {
		return err
	}
	_, err := r.b.Admin.Create(ctx, clusterRoleBindings.Path("", ""), kube.Object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
		"metadata": map[string]any{"name": byHand}, "roleRef": map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": byHand},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": account, "namespace": pair.Namespace}}})
	return err
}

func (r *run) take(ctx context.Context) error {
	if err := r.b.Admin.Delete(ctx, clusterRoleBindings.Path("", byHand)); err != nil {
		return err
	}
	return r.b.Admin.Delete(ctx, clusterRoles.Path("", byHand))
}

// syncerAndControl are hub-b's syncer, and who is refused nothing for comparison. The caller ends both.
func (r *run) syncerAndControl() (syncer, breakGlass *kube.Client, end func(), err error) {
	if syncer, err = r.b.Client("syncer"); err != nil {
		return nil, nil, nil, err
	}
	if breakGlass, err = kube.Load(r.b.Cluster.BreakGlass()); err != nil {
		syncer.Close()
		return nil, nil, nil, err
	}
	return syncer, breakGlass, func() { syncer.Close(); breakGlass.Close() }, nil
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

// enforced is what audit says of the fence: it looks every half minute.
const enforced = "the API server enforces the role"

// audited checks that the hubs' audits have nothing to say, but for what may not have been looked at yet.
func (r *run) audited(ctx context.Context, name, except string) {
	for _, h := range r.pair.Hubs {
		r.check("audit of "+h.Name+" is clean with "+name, see.Eventually(ctx, patience, func() error {
			out, code, err := h.Ctl(ctx, 0, "audit")
			if err != nil || code == 0 {
				return err
			}
			var said []string
			for line := range strings.Lines(out) {
				line = strings.TrimSpace(line)
				if strings.HasPrefix(line, "finding") || strings.HasPrefix(line, "unverified") && (except == "" || !strings.Contains(line, except)) {
					said = append(said, line)
				}
			}
			if code != 2 || except == "" || len(said) > 0 {
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
	r.audited(ctx, "a kind beside the set, and one skipped", enforced)
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

// allowRules: what mirror.allow-rules lists crosses, by the syncer's word and the policy's; without it the
// policy's no holds, whatever a syncer thinks.
func (r *run) allowRules(ctx context.Context) error {
	granting := func(name, group, resource string, verbs ...any) kube.Object {
		role := owned("rbac.authorization.k8s.io/v1", "Role", nil)
		role["metadata"].(map[string]any)["name"] = name
		role["rules"] = []any{map[string]any{"apiGroups": []any{group}, "resources": []any{resource}, "verbs": verbs}}
		return role
	}
	// An API server gives up on an expression that costs it too much.
	large := granting("takes-leases-of-many", "", "leases", "update")
	groups := make([]any, 4000)
	for i := range groups {
		groups[i] = fmt.Sprintf("g%d.example.com", i)
	}
	large["rules"].([]any)[0].(map[string]any)["apiGroups"] = groups
	allowed := map[string]kube.Object{"by-group": granting("starts-pods", "", "pods", "create", "delete"),
		"by *": granting("takes-leases", "coordination.k8s.io", "leases", "update"), "a large one": large}
	for how, role := range allowed {
		if err := r.create(ctx, roles, role); err != nil {
			return err
		}
		r.check("allow-rules: a Role that grants what is listed follows, "+how, copied(ctx, r.b, roles.Path(pair.Project, role.Name()), any_))
	}
	if err := r.create(ctx, roleBindings, binding("to-view", "ClusterRole", "view")); err != nil {
		return err
	}
	r.check("allow-rules: a RoleBinding to a ClusterRole that is listed follows", copied(ctx, r.b, roleBindings.Path(pair.Project, "to-view"), any_))

	syncer, breakGlass, end, err := r.syncerAndControl()
	if err != nil {
		return err
	}
	defer end()
	refused := func(word string, resource kube.Resource, o kube.Object) error {
		return see.Eventually(ctx, patience, func() error {
			path := resource.Path(pair.Project, "")
			return refuses(word, writes(ctx, syncer, http.MethodPost, path, labelled(o)), writes(ctx, breakGlass, http.MethodPost, path, o))
		})
	}
	const more, other = "this Role grants more than a copy may", "this RoleBinding refers to more than a copy may"
	r.check("the syncer is refused another verb", refused(more, roles, granting("new", "", "pods", "create", "patch")))
	r.check("and another ClusterRole", refused(other, roleBindings, binding("new", "ClusterRole", "edit")))

	was := r.pair.Mirror
	without, err := r.file("without.yaml", strings.Split(besideMap, "  allow-rules")[0])
	if err != nil {
		return err
	}
	r.pair.Mirror = without
	if _, err := r.pair.RunBootstrap(ctx, filepath.Join(r.Dir, "without")); err != nil {
		return err
	}
	r.check("without allow-rules in --mirror the syncer is refused what they listed", errors.Join(
		refused(more, roles, granting("new", "", "pods", "create")), refused(more, roles, granting("new", "coordination.k8s.io", "leases", "update")),
		refused(other, roleBindings, binding("new", "ClusterRole", "view"))))
	r.pair.Mirror = was
	if _, err := r.pair.RunBootstrap(ctx, filepath.Join(r.Dir, "with")); err != nil {
		return err
	}
	r.check("and with them may write it again", see.Eventually(ctx, patience, func() error {
		return writes(ctx, syncer, http.MethodPost, roles.Path(pair.Project, ""), labelled(granting("new", "", "pods", "create")))
	}))
	return nil
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
		{"a rule that would end a text of the policy", "mirror:\n  allow-rules: [\"core/pods:get'] + ['*/*:*\"]\n",
			"bad.yaml:2: mirror.allow-rules[0]: \"core/pods:get'] + ['*/*:*\" is no such rule"},
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
