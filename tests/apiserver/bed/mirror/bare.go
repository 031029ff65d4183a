package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// bareParts are two hubs of another controller: no kind of KubeSlice is served there, and no worker is told
// whom to follow.
var bareParts = []part{
	{"hubs without KubeSlice", (*run).startBare},
	{"what an operator sees", (*run).bareSeen},
	{"failover without KubeSlice", (*run).bareFailover},
	{"return of the other", (*run).bareReturn},
	{"a binding is gone", (*run).bareUnbound},
}

const bareMap = `mirror:
  set: none
  namespaces: team=shop
  kinds:
  - {version: v1, resource: configmaps, kind: ConfigMap, label-selector: tier=front}
  - {group: apps, version: v1, resource: deployments, kind: Deployment}
  - {group: shop.example.com, version: v1, resource: widgets, kind: Widget, status: true}
`

const (
	inForce = "UNDERSTUDY_FENCE"
	// What a promotion takes once its Lease is claimed; without an answer of the probe it is 2 s (H4).
	promotionMost = 1500 * time.Millisecond
	// A hub says soon after its start what came of the probe: half of the time until the next one.
	provenWithin = 15 * time.Second
)

// ofKubeSlice are the kinds that such a hub has not got. Names of understudy's own objects are no more than names.
var ofKubeSlice = regexp.MustCompile(`(controller|worker)\.kubeslice\.io|\b(Clusters?|Projects?|Slice[A-Z]\w*|Worker[A-Z]\w*)\b`)

// silent is nil when a text says nothing of KubeSlice.
func silent(text string) error {
	if found := ofKubeSlice.FindString(text); found != "" {
		return fmt.Errorf("%q in: %.2000s", found, text)
	}
	return nil
}

func frontMap(name, value string) kube.Object {
	o := configMap(name, value)
	o["metadata"].(map[string]any)["labels"] = map[string]any{"tier": "front"}
	return o
}

func (r *run) startBare(ctx context.Context) error {
	var err error
	if r.pair.Mirror, err = r.file("bare.yaml", bareMap); err != nil {
		return err
	}
	// The hub was there before understudy: its controller's kind on both, its objects on one.
	for _, h := range r.pair.Hubs {
		if _, err := h.Admin.ApplyAll(ctx, widgetKind, "default", nil); err != nil {
			return err
		}
		for _, kind := range []kube.Resource{kube.Clusters, kube.SliceConfigs, gateways} {
			if err := gone(ctx, h, kind.Path("", "")); err != nil {
				return fmt.Errorf("KubeSlice is there: %w", err)
			}
		}
	}
	if err := r.bareStock(ctx); err != nil {
		return err
	}
	said, err := r.pair.RunBootstrap(ctx, r.pair.Output())
	if err == nil {
		err = silent(said)
	}
	r.check("bootstrap without a worker, on hubs without KubeSlice", err)
	if err := r.pair.Place(ctx); err != nil {
		return err
	}
	out, code, err := r.a.Ctl(ctx, 0, "check-config", r.a.Config(), "--pair", r.b.Config())
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d: %s", code, out)
	}
	r.check("check-config finds that the two configurations fit", err)
	for _, h := range r.pair.Hubs {
		if err := h.Start(); err != nil {
			return err
		}
		if h == r.a {
			if err := r.leads(ctx, r.a); err != nil {
				return err
			}
		}
	}
	return r.armed(ctx, r.b)
}

func (r *run) bareStock(ctx context.Context) error {
	for _, o := range []struct {
		path   string
		object kube.Object
	}{
		{kube.Namespaces.Path("", ""), space(shopSpace, map[string]any{"team": "shop"})},
		{configMaps.Path(shopSpace, ""), frontMap("goods", "1")},
		{configMaps.Path(shopSpace, ""), configMap("own", "1")},
		{deployments.Path(shopSpace, ""), unlabelled(deployment("till"))},
		{widgets.Path(shopSpace, ""), widget("front", "front")},
	} {
		if _, err := r.a.Admin.Create(ctx, o.path, o.object); err != nil {
			return err
		}
	}
	_, err := r.a.Admin.Merge(ctx, widgets.Path(shopSpace, "front", "status"), kube.Object{"status": map[string]any{"phase": "Ready"}})
	return err
}

// unlabelled is an object without the mirror's label.
func unlabelled(o kube.Object) kube.Object {
	delete(o["metadata"].(map[string]any)["labels"].(map[string]any), copyLabel)
	return o
}

// bareSeen asks all that looks at a pair: each answer is right, and none speaks of what is not there.
func (r *run) bareSeen(ctx context.Context) error {
	r.check("a ConfigMap with the labels of its selector follows", r.data(ctx, shopSpace, "goods", "1"))
	r.check("one without them does not", gone(ctx, r.b, configMaps.Path(shopSpace, "own")))
	r.check("a Deployment follows", copied(ctx, r.b, deployments.Path(shopSpace, "till"), any_))
	r.check("a Widget follows, with its status", r.is(ctx, "front", "red", "Ready"))
	for _, c := range []struct {
		h     *pair.Hub
		texts []string
		words []string
	}{
		{r.a, []string{"hub-a"}, []string{"status"}},
		{r.b, []string{"hub-b"}, []string{"status"}},
		{r.a, []string{"this hub leads"}, []string{"sync", "status"}},
		{r.b, []string{"mirror        Synced, complete", "ConfigMap            Synced", "Deployment           Synced", "Widget               Synced"}, []string{"sync", "status"}},
		{r.b, []string{"all are equal"}, []string{"sync", "diff"}},
		{r.b, []string{"would"}, []string{"drill"}},
		{r.a, []string{"no worker"}, []string{"worker", "list"}},
		{r.a, nil, []string{"history"}},
	} {
		out := r.ctlCheck(ctx, strings.Join(c.words, " ")+" of "+c.h.Name+" without KubeSlice", c.h, 0, c.texts, c.words...)
		r.check("and says nothing of it", silent(out))
	}
	r.proven(ctx, r.a, "HubRole is Leading")
	r.proven(ctx, r.b, inForce)
	r.audited(ctx, "hubs without KubeSlice", "")
	return nil
}

// proven checks that the API server was tried, in the role that the hub has: by audit, and by the metric that
// an alert stands on.
func (r *run) proven(ctx context.Context, h *pair.Hub, word string) {
	r.check("the fence of "+h.Name+" is proven: "+word, see.Eventually(ctx, provenWithin, func() error {
		out, _, err := h.Ctl(ctx, 0, "audit")
		if err != nil {
			return err
		}
		for line := range strings.Lines(out) {
			if strings.Contains(line, "the API server enforces") && strings.Contains(line, word) && !strings.Contains(line, "unverified") {
				return metricIs(h, "understudy_admission_fence_ok", "1")
			}
		}
		return fmt.Errorf("no %q in %.3000s", word, out)
	}))
}

func metricIs(h *pair.Hub, name, value string) error {
	reply, err := http.Get(h.HTTP() + "/metrics")
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, name+" ") && strings.HasSuffix(strings.TrimSpace(line), " "+value) {
			return nil
		}
	}
	return fmt.Errorf("%s of %s is not %s", name, h.Name, value)
}

// bareFailover kills hub-a: hub-b leads within the Lease's time, and its page waits for no probe in vain.
func (r *run) bareFailover(ctx context.Context) error {
	if err := r.armed(ctx, r.b); err != nil {
		return err
	}
	claimed := see.Watch(ctx, r.b.Admin, kube.Leases.Path(pair.Namespace, ""), false, func(o kube.Object) bool {
		return o.Name() == "kubeslice-controller-ha" && o.Text("spec", "holderIdentity") == "hub-b"
	})
	killed := time.Now()
	r.die(r.a)
	claim, err := see.Await(ctx, claimed, patience)
	if err != nil {
		return fmt.Errorf("hub-b claims its Lease: %w", err)
	}
	opened, _, err := see.Page(ctx, r.b, true, patience)
	if err != nil {
		return err
	}
	took := opened.Sub(claim.At)
	fmt.Fprintf(r.Out, "# mirror: without KubeSlice hub-b claims %.2f s after hub-a was killed, and leads %.0f ms later\n",
		claim.At.Sub(killed).Seconds(), float64(took.Microseconds())/1000)
	err = nil
	if took > promotionMost {
		err = fmt.Errorf("its page opens %v after the claim", took)
	}
	r.check("a promotion without KubeSlice waits for no probe in vain (H4)", err)
	edit := kube.Object{"metadata": map[string]any{"annotations": map[string]any{"edited": "yes"}}}
	for name, path := range map[string]string{"ConfigMap": configMaps.Path(shopSpace, "goods"),
		"Deployment": deployments.Path(shopSpace, "till"), "Widget": widgets.Path(shopSpace, "front")} {
		r.check("after it a "+name+" is hub-b's to write", see.Eventually(ctx, patience, func() error {
			return writes(ctx, r.b.Admin, http.MethodPatch, path, edit)
		}))
	}
	_, err = r.b.Admin.Merge(ctx, widgets.Path(shopSpace, "front"), kube.Object{"spec": map[string]any{"color": "green"}})
	if err != nil {
		return err
	}
	r.proven(ctx, r.b, "a governed write was accepted")
	return nil
}

// bareReturn brings hub-a back: it follows, and its API server refuses what it refuses on a Standby.
func (r *run) bareReturn(ctx context.Context) error {
	if err := r.repairOnly(ctx, r.a); err != nil {
		return err
	}
	if err := r.a.Start(); err != nil {
		return err
	}
	if err := role(ctx, r.a, "Standby"); err != nil {
		return err
	}
	if err := r.armed(ctx, r.a); err != nil {
		return err
	}
	o, err := r.a.Admin.Get(ctx, widgets.Path(shopSpace, "front"))
	if err == nil && (o.Text("spec", "color") != "green" || o.Text("metadata", "labels", copyLabel) != "active") {
		err = fmt.Errorf("%v, %v", o.Get("spec"), o.Get("metadata", "labels"))
	}
	r.check("hub-a returns and holds what hub-b has written since", err)
	r.check("its administrator is refused", see.Eventually(ctx, patience, func() error {
		edit := kube.Object{"spec": map[string]any{"replicas": 9}}
		return refuses(inForce, writes(ctx, r.a.Admin, http.MethodPatch, deployments.Path(shopSpace, "till"), edit),
			writes(ctx, r.b.Admin, http.MethodPatch, deployments.Path(shopSpace, "till"), edit))
	}))
	r.proven(ctx, r.a, inForce)
	for _, h := range r.pair.Hubs {
		text, err := os.ReadFile(h.Log())
		if err == nil {
			err = silent(loud(string(text)))
		}
		r.check("no warning in the log of "+h.Name+" is about KubeSlice", err)
	}
	return nil
}

// loud are the lines of a log that ask for somebody.
func loud(text string) string {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, "level=warn") || strings.Contains(line, "level=error") {
			lines.WriteString(line)
		}
	}
	return lines.String()
}

var roleBindingOfPolicy = bindings.Path("", "understudy-role-in-namespaces")

// bareUnbound takes the one binding away by which mirrored objects are guarded: the probe must see it.
func (r *run) bareUnbound(ctx context.Context) error {
	was, err := r.a.Admin.Get(ctx, roleBindingOfPolicy)
	if err != nil {
		return err
	}
	if err := r.a.Admin.Delete(ctx, roleBindingOfPolicy); err != nil {
		return err
	}
	edit := kube.Object{"metadata": map[string]any{"annotations": map[string]any{"edited": "yes"}}}
	if err := see.Eventually(ctx, patience, func() error {
		return writes(ctx, r.a.Admin, http.MethodPatch, widgets.Path(shopSpace, "front"), edit)
	}); err != nil {
		return fmt.Errorf("without its binding the policy goes on: %w", err)
	}
	kill(pidOf(r.a, "elector")) // the next one tries at once, not in half a minute
	r.check("audit finds a hub whose binding is gone", see.Eventually(ctx, patience, func() error {
		out, code, err := r.a.Ctl(ctx, 0, "audit")
		if err == nil && (code != 1 || !strings.Contains(out, "a governed write was accepted")) {
			err = fmt.Errorf("exit code %d: %.2000s", code, out)
		}
		return errors.Join(err, metricIs(r.a, "understudy_admission_fence_ok", "0"))
	}))
	delete(was["metadata"].(map[string]any), "resourceVersion")
	_, err = r.a.Admin.Create(ctx, bindings.Path("", ""), was)
	return err
}
