package mirror

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

var webhooks = kube.Resource{Group: "admissionregistration.k8s.io", Version: "v1", Name: "validatingwebhookconfigurations"}

// inTheWay is what stands between a running mirror and its servers: webhooks, kinds that go while
// they are watched, a connection that somebody on the way has forgotten.
func (r *run) inTheWay(ctx context.Context) error {
	for _, part := range []func(*run, context.Context) error{
		(*run).deadWebhook, (*run).strictWebhook, (*run).frozen, (*run).removed,
	} {
		if err := part(r, ctx); err != nil {
			return err
		}
	}
	return nil
}

// webhook is a configuration for one resource of the mirror on hub-b.
func webhook(name, url string, ca []byte, resource kube.Resource) kube.Object {
	return kube.Object{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": map[string]any{"name": name},
		"webhooks": []any{map[string]any{"name": name + ".example.com", "failurePolicy": "Fail", "sideEffects": "None",
			"timeoutSeconds": 2, "admissionReviewVersions": []any{"v1"},
			"clientConfig": map[string]any{"url": url, "caBundle": base64.StdEncoding.EncodeToString(ca)},
			"rules": []any{map[string]any{"apiGroups": []any{resource.Group}, "apiVersions": []any{resource.Version},
				"operations": []any{"CREATE", "UPDATE"}, "resources": []any{resource.Name}}}}}}
}

// annotated changes an object on hub-a.
func (r *run) annotated(ctx context.Context, path, key, value string) error {
	_, err := r.a.Admin.Merge(ctx, path, kube.Object{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
	return err
}

func (r *run) carries(ctx context.Context, path, key, value string) error {
	return copied(ctx, r.b, path, func(o kube.Object) error {
		if o.Text("metadata", "annotations", key) != value {
			return fmt.Errorf("annotations %v", o.Get("metadata", "annotations"))
		}
		return nil
	})
}

// deadWebhook is B24's first half: it must be asked, and nobody answers.
func (r *run) deadWebhook(ctx context.Context) error {
	configuration := webhook("nobody", "https://127.0.0.1:1/", nil, qualities)
	delete(configuration.List("webhooks")[0].(map[string]any)["clientConfig"].(map[string]any), "caBundle")
	if _, err := r.b.Admin.Create(ctx, webhooks.Path("", ""), configuration); err != nil {
		return err
	}
	breakGlass, err := kube.Load(r.b.Cluster.BreakGlass())
	if err != nil {
		return err
	}
	defer breakGlass.Close()
	trial := func() error {
		o, err := breakGlass.Get(ctx, qualities.Path(pair.Project, "steady"))
		if err == nil {
			_, err = breakGlass.Update(ctx, qualities.Path(pair.Project, "steady")+"?dryRun=All", o)
		}
		if err == nil || !strings.Contains(err.Error(), "nobody.example.com") {
			return fmt.Errorf("the webhook is not asked yet (%v)", err)
		}
		return nil
	}
	if err := see.Eventually(ctx, patience, trial); err != nil {
		return err
	}
	path, other := qualities.Path(pair.Project, "steady"), kube.SliceConfigs.Path(pair.Project, "green")
	// H5: before anything changes. A resync looks at once, else it would be seen within a minute.
	noticed := func(texts ...string) error {
		if _, err := r.ctl(ctx, r.b, 0, nil, "sync", "resync", "SliceQoSConfig"); err != nil {
			return err
		}
		return see.Eventually(ctx, patience, func() error {
			_, err := r.ctl(ctx, r.b, 0, texts, "sync", "status")
			return err
		})
	}
	// Other kinds may still speak of the faults of the part before: their watches are quiet.
	r.check("a webhook that would stop the mirror is named before it does, and the mirror stays complete", noticed(
		", complete", "SliceQoSConfig       Degraded", `    Internal error occurred: failed calling webhook "nobody.example.com"`))
	if err := r.annotated(ctx, path, "webhook", "dead"); err != nil {
		return err
	}
	r.check("a webhook that must be asked and does not answer is named", r.says(ctx, r.b, "SliceQoSConfig "+pair.Project+"/steady", "nobody.example.com"))
	err = r.annotated(ctx, other, "webhook", "none")
	if err == nil {
		err = r.carries(ctx, other, "webhook", "none")
	}
	r.check("other kinds go on", err)
	if err := r.b.Admin.Delete(ctx, webhooks.Path("", "nobody")); err != nil {
		return err
	}
	// It is tried again in longer and longer steps, a minute at the most.
	r.check("without it the object follows", see.Eventually(ctx, 3*patience, func() error { return r.carries(ctx, path, "webhook", "dead") }))
	r.check("and nothing would stop the mirror any more", noticed(", complete", "SliceQoSConfig       Synced"))
	return r.armed(ctx, r.b)
}

// strictWebhook is the other half: it forbids one annotation.
func (r *run) strictWebhook(ctx context.Context) error {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var review kube.Object
		json.NewDecoder(q.Body).Decode(&review)
		response := map[string]any{"uid": review.Text("request", "uid"), "allowed": true}
		if kube.Object(review).Get("request", "object", "metadata", "annotations", "forbidden") != nil {
			response["allowed"] = false
			response["status"] = map[string]any{"code": 400, "message": "no object may be marked forbidden"}
		}
		json.NewEncoder(w).Encode(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
	}))
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if _, err := r.b.Admin.Create(ctx, webhooks.Path("", ""), webhook("strict", server.URL, ca, kube.SliceConfigs)); err != nil {
		return err
	}
	refused := kube.SliceConfigs.Path(pair.Project, "marked-forbidden")
	o := slice("marked-forbidden")
	if err := r.create(ctx, kube.SliceConfigs, o); err != nil {
		return err
	}
	if err := copied(ctx, r.b, refused, any_); err != nil {
		return err
	}
	trial := slice("trial")
	trial["metadata"].(map[string]any)["annotations"] = map[string]any{"forbidden": "yes"}
	breakGlass, err := kube.Load(r.b.Cluster.BreakGlass())
	if err != nil {
		return err
	}
	defer breakGlass.Close()
	if err := see.Eventually(ctx, patience, func() error {
		_, err := breakGlass.Create(ctx, kube.SliceConfigs.Path(pair.Project, "")+"?dryRun=All", trial)
		if err == nil || !strings.Contains(err.Error(), "strict.example.com") {
			return fmt.Errorf("the webhook is not asked yet (%v)", err)
		}
		return nil
	}); err != nil {
		return err
	}
	if err := r.annotated(ctx, refused, "forbidden", "yes"); err != nil {
		return err
	}
	r.check("a webhook that forbids an object is named, with its words",
		r.says(ctx, r.b, "SliceConfig "+pair.Project+"/marked-forbidden", "no object may be marked forbidden"))
	err = r.annotated(ctx, kube.SliceConfigs.Path(pair.Project, "green"), "webhook", "strict")
	if err == nil {
		err = r.carries(ctx, kube.SliceConfigs.Path(pair.Project, "green"), "webhook", "strict")
	}
	r.check("other objects of the kind go on", err)
	if err := r.b.Admin.Delete(ctx, webhooks.Path("", "strict")); err != nil {
		return err
	}
	if err := r.a.Admin.Delete(ctx, refused); err != nil {
		return err
	}
	return r.armed(ctx, r.b)
}

// frozen is measured situation 1: a device on the way has forgotten the flows to a healthy Active.
func (r *run) frozen(ctx context.Context) error {
	path := kube.SliceConfigs.Path(pair.Project, "green")
	r.proxies[r.a].Freeze()
	if err := r.annotated(ctx, path, "frozen", "yes"); err != nil {
		return err
	}
	begin := time.Now()
	err := see.Eventually(ctx, 2*patience, func() error {
		o, err := r.b.Admin.Get(ctx, path)
		if err == nil && o.Text("metadata", "annotations", "frozen") != "yes" {
			err = errors.New("the change is not there")
		}
		return err
	})
	r.check(fmt.Sprintf("connections that carry nothing any more are replaced: a change followed after %.0f s", time.Since(begin).Seconds()), err)
	kube.Pause(ctx, time.Until(begin.Add(12*time.Second))) // three thresholds
	r.check("nobody was promoted by that", func() error {
		if err := r.leads(ctx, r.a); err != nil {
			return err
		}
		return role(ctx, r.b, "Standby")
	}())
	return r.armed(ctx, r.b)
}

// removed: one CRD goes on each hub while it is watched, with all objects of its kind. The Standby's
// comes back, the Active's first as another kind under the old name.
func (r *run) removed(ctx context.Context) error {
	exports := rowOf("ServiceExportConfig")
	path := exports.resource.Path(exports.namespace, exports.sample)
	before, err := r.b.Admin.Get(ctx, path)
	if err != nil {
		return err
	}
	if _, err := r.a.Admin.Merge(ctx, rotations.Path(pair.Project, "green"), kube.Object{"metadata": map[string]any{"finalizers": nil}}); err != nil {
		return err
	}
	theirs, err := remove(ctx, r.a, "vpnkeyrotations.controller.kubeslice.io", rotations)
	if err != nil {
		return err
	}
	ours, err := remove(ctx, r.b, "serviceexportconfigs.controller.kubeslice.io", exports.resource)
	if err != nil {
		return err
	}
	r.check("a CRD that goes while it is watched makes the mirror incomplete", incomplete(ctx, r.b))
	other := kube.SliceConfigs.Path(pair.Project, "green")
	if err = r.annotated(ctx, other, "removed", "yes"); err == nil {
		err = r.carries(ctx, other, "removed", "yes")
	}
	r.check("other kinds go on", err)
	if _, err := r.b.Admin.Create(ctx, definitions.Path("", ""), ours); err != nil {
		return err
	}
	if err := r.renamed(ctx, theirs); err != nil {
		return err
	}
	renewed := named(spare("controller", "VpnKeyRotation", map[string]any{"sliceName": "green"}), "green")
	if err := see.Eventually(ctx, patience, func() error { return r.create(ctx, rotations, renewed) }); err != nil {
		return err
	}
	begin := time.Now()
	// Each is looked for every 30 s.
	r.check("installed again on the Standby, its copies are made again", see.Eventually(ctx, 2*patience, func() error {
		o, err := r.b.Admin.Get(ctx, path)
		if err == nil && o.UID() == before.UID() {
			err = errors.New("it is the old object")
		}
		return err
	}))
	r.check("installed again on the Active, its objects are mirrored again", see.Eventually(ctx, 2*patience, func() error {
		return r.equal(ctx)
	}))
	err = armedWithin(ctx, r.b, 2*patience)
	r.check(fmt.Sprintf("and the mirror is complete again, after %.0f s", time.Since(begin).Seconds()), err)
	return nil
}

// remove takes a CRD away and returns it as it can be made again.
func remove(ctx context.Context, h *pair.Hub, name string, resource kube.Resource) (kube.Object, error) {
	definition, err := h.Admin.Get(ctx, definitions.Path("", name))
	if err != nil {
		return nil, err
	}
	metadata := definition["metadata"].(map[string]any)
	delete(metadata, "resourceVersion")
	delete(metadata, "uid")
	delete(definition, "status")
	if err := h.Admin.Delete(ctx, definitions.Path("", name)); err != nil {
		return nil, err
	}
	return definition, see.Eventually(ctx, patience, func() error { return gone(ctx, h, resource.Path("", "")) })
}

// renamed: the resource has its old name, and its objects are of another kind.
func (r *run) renamed(ctx context.Context, definition kube.Object) error {
	names := definition["spec"].(map[string]any)["names"].(map[string]any)
	call := func(kind, singular string) {
		names["kind"], names["listKind"], names["singular"] = kind, kind+"List", singular
	}
	call("KeyTurn", "keyturn")
	if _, err := r.a.Admin.Create(ctx, definitions.Path("", ""), definition); err != nil {
		return err
	}
	turn := named(spare("controller", "KeyTurn", map[string]any{"sliceName": "green"}), "turn")
	if err := see.Eventually(ctx, patience, func() error { return r.create(ctx, rotations, turn) }); err != nil {
		return err
	}
	r.check("a kind that is renamed at the source is named, and nothing of it is copied", see.Eventually(ctx, 2*patience, func() error {
		o, err := r.b.Status(ctx)
		for _, k := range o.List("kinds") {
			k := kube.Object(k.(map[string]any))
			if k.Text("kind") == "VpnKeyRotation" && strings.Contains(k.Text("fault"), "KeyTurn") {
				return gone(ctx, r.b, rotations.Path(pair.Project, "turn"))
			}
		}
		return fmt.Errorf("no kind's fault says KeyTurn: %v (%v)", o.Get("kinds"), err)
	}))
	again, err := remove(ctx, r.a, "vpnkeyrotations.controller.kubeslice.io", rotations)
	if err != nil {
		return err
	}
	names = again["spec"].(map[string]any)["names"].(map[string]any)
	call("VpnKeyRotation", "vpnkeyrotation")
	_, err = r.a.Admin.Create(ctx, definitions.Path("", ""), again)
	return err
}
