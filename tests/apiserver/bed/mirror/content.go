package mirror

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

const podSecurity = "pod-security.kubernetes.io/enforce"

// content is what becomes of an object's fields: those that a server drops, those that are nobody's but
// the source's, and whole Namespaces that go while objects for them come.
func (r *run) content(ctx context.Context) error {
	for _, part := range []func(*run, context.Context) error{
		(*run).olderKind, (*run).meaning, (*run).generated, (*run).terminating,
	} {
		if err := part(r, ctx); err != nil {
			return err
		}
	}
	return r.armed(ctx, r.b)
}

// anyField lets a hub keep any field in spec of VpnKeyRotations, and waits until its server does.
func anyField(ctx context.Context, h *pair.Hub) error {
	patch := []byte(`[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-preserve-unknown-fields","value":true}]`)
	if _, err := h.Admin.Patch(ctx, definitions.Path("", "vpnkeyrotations.controller.kubeslice.io"), kube.JSONPatch, patch); err != nil {
		return err
	}
	breakGlass, err := kube.Load(h.Cluster.BreakGlass())
	if err != nil {
		return err
	}
	defer breakGlass.Close()
	o := named(spare("controller", "VpnKeyRotation", map[string]any{"sliceName": "x", "added": "yes"}), "trial")
	return see.Eventually(ctx, patience, func() error {
		trial, err := breakGlass.Create(ctx, rotations.Path(pair.Project, "")+"?dryRun=All", o)
		if err == nil && trial.Get("spec", "added") == nil {
			err = errors.New("the field is pruned")
		}
		return err
	})
}

// olderKind: the Standby's definition of a kind does not know a field that the Active's has (G20).
func (r *run) olderKind(ctx context.Context) error {
	if err := anyField(ctx, r.a); err != nil {
		return err
	}
	// A watch that is open shows objects by the schema that it began with.
	r.proxies[r.a].Disconnect()
	path := rotations.Path(pair.Project, "newer")
	if err := r.create(ctx, rotations, named(spare("controller", "VpnKeyRotation", map[string]any{"sliceName": "x", "added": "yes"}), "newer")); err != nil {
		return err
	}
	var version string
	r.check("a field that the Standby's server drops is named on the copy", copied(ctx, r.b, path, func(o kube.Object) error {
		version = o.ResourceVersion()
		if pruned := o.Text("metadata", "annotations", marks+"pruned"); !strings.Contains(pruned, "spec.added") || o.Get("spec", "added") != nil {
			return fmt.Errorf("pruned is %q, spec %v", pruned, o.Get("spec"))
		}
		return nil
	}))
	if err := r.armed(ctx, r.b); err != nil {
		return err
	}
	if err := r.restart(ctx); err != nil {
		return err
	}
	if err := r.synced(ctx); err != nil {
		return err
	}
	r.check("it is not written for that again, nor after a restart", copied(ctx, r.b, path, func(o kube.Object) error {
		if o.ResourceVersion() != version {
			return errors.New("it was written")
		}
		return nil
	}))
	log, err := os.ReadFile(r.b.Log())
	if n := strings.Count(string(log), "VpnKeyRotation "+pair.Project+"/newer: this hub drops fields"); err == nil && n != 1 {
		err = fmt.Errorf("%d times", n)
	}
	r.check("and told once", err)
	return r.a.Admin.Delete(ctx, path)
}

// meaning: what a server keeps of a number or a text its copy has to have, digit for digit.
func (r *run) meaning(ctx context.Context) error {
	if err := anyField(ctx, r.b); err != nil {
		return err
	}
	r.proxies[r.b].Disconnect()
	path := rotations.Path(pair.Project, "meaning")
	const fields = `{"beyond":9007199254740993,"least":-9223372036854775808,"most":9223372036854775807,"power":1e3,"tiny":1.5e-300,` +
		`"whole":1.0,"negative":-0,"negativeReal":-0.0,"long":0.1234567890123456789,"third":0.3333333333333333,` +
		`"text":"a\u0000\u001f\u007f\u2028\u2029\ud83d\ude00\"\\\/<>&é","empty":"","none":[],"nothing":{},` +
		`"nested":[1,2.5,"3",true,{"deeper":[[]]}]}`
	body := `{"apiVersion":"controller.kubeslice.io/v1alpha1","kind":"VpnKeyRotation","metadata":{"name":"meaning"},"spec":{"sliceName":"x","kept":` + fields + `}}`
	if _, err := r.a.Admin.Do(ctx, http.MethodPost, rotations.Path(pair.Project, ""), "application/json", []byte(body)); err != nil {
		return err
	}
	spec := func(h *pair.Hub) (string, error) {
		text, err := h.Admin.Do(ctx, http.MethodGet, path, "", nil)
		if err != nil {
			return "", err
		}
		var o struct{ Spec json.RawMessage } // its bytes, no number that Go makes of them
		if err := json.Unmarshal(text, &o); err != nil {
			return "", err
		}
		var compact bytes.Buffer
		err = json.Compact(&compact, o.Spec)
		return compact.String(), err
	}
	source, err := spec(r.a)
	if err != nil {
		return err
	}
	if !strings.Contains(source, "9007199254740993") || !strings.Contains(source, "0.123456789012345") {
		return fmt.Errorf("the source itself has not kept the fields: %s", source)
	}
	r.check("integers beyond 2^53, powers, -0, long decimals and every escape are the same on the copy, byte for byte", see.Eventually(ctx, patience, func() error {
		here, err := spec(r.b)
		if err == nil && here != source {
			err = fmt.Errorf("%s, not %s", here, source)
		}
		return err
	}))
	if err := r.synced(ctx); err != nil {
		return err
	}
	r.ctlCheck(ctx, "and sync diff finds them equal", r.b, 0, []string{"all are equal"}, "sync", "diff", "VpnKeyRotation")
	return r.a.Admin.Delete(ctx, path)
}

// generated: a server that gets generateName makes another name each time (M9).
func (r *run) generated(ctx context.Context) error {
	o := slice("")
	metadata := o["metadata"].(map[string]any)
	delete(metadata, "name")
	metadata["generateName"] = "made-up-"
	made, err := r.a.Admin.Create(ctx, kube.SliceConfigs.Path(pair.Project, ""), o)
	if err != nil {
		return err
	}
	path := kube.SliceConfigs.Path(pair.Project, made.Name())
	r.check("an object with a generated name has a copy of that name, and of that one only", copied(ctx, r.b, path, func(o kube.Object) error {
		if o.Get("metadata", "generateName") != nil {
			return fmt.Errorf("generateName %q", o.Text("metadata", "generateName"))
		}
		list, err := r.b.Admin.Get(ctx, kube.SliceConfigs.Path(pair.Project, ""))
		n := 0
		for _, o := range list.Items() {
			if strings.HasPrefix(o.Name(), "made-up-") {
				n++
			}
		}
		if err == nil && n != 1 {
			err = fmt.Errorf("%d objects", n)
		}
		return err
	}))
	return r.a.Admin.Delete(ctx, path)
}

// terminating: somebody deletes a Namespace's copy, and a finalizer that is nobody's of ours holds it (M6).
func (r *run) terminating(ctx context.Context) error {
	const name = "kubeslice-going"
	project := kube.Object{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name,
		"labels": map[string]any{"kubeslice-resource-owner": "kubeslice-controller", podSecurity: "privileged"}}}
	if _, err := r.a.Admin.Create(ctx, kube.Namespaces.Path("", ""), project); err != nil {
		return err
	}
	if _, err := r.a.Admin.Create(ctx, kube.SliceConfigs.Path(name, ""), slice("before")); err != nil {
		return err
	}
	if err := copied(ctx, r.b, kube.SliceConfigs.Path(name, "before"), any_); err != nil {
		return err
	}
	r.check("what a Namespace lets its Pods do is parked on the copy (B1)", copied(ctx, r.b, kube.Namespaces.Path("", name), func(o kube.Object) error {
		if o.Get("metadata", "labels", podSecurity) != nil || !strings.Contains(o.Text("metadata", "annotations", marks+"parked"), "privileged") {
			return fmt.Errorf("metadata %v", o.Get("metadata"))
		}
		return nil
	}))
	breakGlass, err := kube.Load(r.b.Cluster.BreakGlass())
	if err != nil {
		return err
	}
	defer breakGlass.Close()
	holder := kube.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "holder", "finalizers": []any{"example.com/held"}}}
	configMaps := kube.Resource{Version: "v1", Name: "configmaps"}
	if _, err := breakGlass.Create(ctx, configMaps.Path(name, ""), holder); err != nil {
		return err
	}
	old, err := r.b.Admin.Get(ctx, kube.Namespaces.Path("", name))
	if err != nil {
		return err
	}
	if err := breakGlass.Delete(ctx, kube.Namespaces.Path("", name)); err != nil {
		return err
	}
	if err := see.Eventually(ctx, patience, func() error { return gone(ctx, r.b, kube.SliceConfigs.Path(name, "before")) }); err != nil {
		return err
	}
	if _, err := r.a.Admin.Create(ctx, kube.SliceConfigs.Path(name, ""), slice("meanwhile")); err != nil {
		return err
	}
	err = r.create(ctx, kube.SliceConfigs, slice("elsewhere"))
	if err == nil {
		err = copied(ctx, r.b, kube.SliceConfigs.Path(pair.Project, "elsewhere"), any_)
	}
	r.check("a copy's Namespace that is being deleted stops nothing in others", err)
	r.check("what waits for it is counted as pending", see.Eventually(ctx, patience, func() error {
		o, err := r.b.Status(ctx)
		if err == nil && o.Int("mirror", "pending") == 0 {
			err = fmt.Errorf("mirror %v", o.Get("mirror"))
		}
		return err
	}))
	if _, err := breakGlass.Merge(ctx, configMaps.Path(name, "holder"), kube.Object{"metadata": map[string]any{"finalizers": nil}}); err != nil {
		return err
	}
	begin := time.Now()
	err = see.Eventually(ctx, 3*patience, func() error {
		for _, object := range []string{"before", "meanwhile"} {
			if _, err := r.b.Admin.Get(ctx, kube.SliceConfigs.Path(name, object)); err != nil {
				return err
			}
		}
		o, err := r.b.Admin.Get(ctx, kube.Namespaces.Path("", name))
		if err == nil && o.UID() == old.UID() {
			err = errors.New("it is the old Namespace")
		}
		return err
	})
	r.check(fmt.Sprintf("once it is gone it is made anew, with all that the source has in it, after %.0f s", time.Since(begin).Seconds()), err)
	if err := r.a.Admin.Delete(ctx, kube.SliceConfigs.Path(pair.Project, "elsewhere")); err != nil {
		return err
	}
	return r.armed(ctx, r.b)
}
