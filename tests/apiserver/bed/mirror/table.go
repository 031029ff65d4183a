package mirror

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
	"understudy.test/bed/see"
)

// row is one mirrored kind with one object of the samples, and one to make and delete.
type row struct {
	kind      string
	resource  kube.Resource
	namespace string
	sample    string
	spare     kube.Object
}

func crd(group, plural string) kube.Resource {
	return kube.Resource{Group: group + ".kubeslice.io", Version: "v1alpha1", Name: plural}
}

func rbac(plural string) kube.Resource {
	return kube.Resource{Group: "rbac.authorization.k8s.io", Version: "v1", Name: plural}
}

var (
	roles        = rbac("roles")
	roleBindings = rbac("rolebindings")
	rotations    = crd("controller", "vpnkeyrotations")
	imports      = crd("worker", "workerserviceimports")
)

const account = "kubeslice-rbac-worker-worker-1"

func rows() []row {
	c, w := func(p string) kube.Resource { return crd("controller", p) }, func(p string) kube.Resource { return crd("worker", p) }
	return []row{
		{"Namespace", kube.Namespaces, "", pair.Project, nil},
		{"ServiceAccount", kube.ServiceAccounts, pair.Project, account, owned("v1", "ServiceAccount", nil)},
		{"Role", roles, pair.Project, "kubeslice-worker-cluster", owned("rbac.authorization.k8s.io/v1", "Role", nil)},
		{"RoleBinding", roleBindings, pair.Project, account, binding("spare", "Role", "kubeslice-worker-cluster")},
		{"Project", kube.Projects, pair.Namespace, "cisco", spare("controller", "Project", nil)},
		{"Cluster", kube.Clusters, pair.Project, "worker-1", spare("controller", "Cluster", nil)},
		{"SliceConfig", kube.SliceConfigs, pair.Project, "green", slice("spare")},
		{"ServiceExportConfig", c("serviceexportconfigs"), pair.Project, "ledger-shop-green-worker-1", spare("controller",
			"ServiceExportConfig", map[string]any{"serviceName": "s", "sourceCluster": "worker-1", "sliceName": "green"})},
		{"SliceQoSConfig", c("sliceqosconfigs"), pair.Project, "steady", spare("controller", "SliceQoSConfig", map[string]any{
			"queueType": "HTB", "priority": 1, "tcType": "BANDWIDTH_CONTROL", "bandwidthCeilingKbps": 1024,
			"bandwidthGuaranteedKbps": 512, "dscpClass": "AF11"})},
		{"VpnKeyRotation", rotations, pair.Project, "green", spare("controller", "VpnKeyRotation", map[string]any{"sliceName": "green"})},
		{"WorkerSliceConfig", w("workersliceconfigs"), pair.Project, "green-worker-1", spare("worker", "WorkerSliceConfig", map[string]any{"sliceName": "green"})},
		{"WorkerSliceGateway", w("workerslicegateways"), pair.Project, "green-worker-1-worker-2", spare("worker", "WorkerSliceGateway", map[string]any{"sliceName": "green"})},
		{"WorkerServiceImport", imports, pair.Project, "ledger-shop-green-worker-2", spare("worker", "WorkerServiceImport", map[string]any{"sliceName": "green"})},
		{"Secret", kube.Secrets, pair.Project, "green-worker-1-worker-2", secret("spare", "Opaque", map[string]any{"k": "djE="})},
	}
}

func rowOf(kind string) row {
	all := rows()
	return all[slices.IndexFunc(all, func(r row) bool { return r.kind == kind })]
}

func spare(group, kind string, spec map[string]any) kube.Object {
	if spec == nil {
		spec = map[string]any{}
	}
	return kube.Object{"apiVersion": group + ".kubeslice.io/v1alpha1", "kind": kind,
		"metadata": map[string]any{"name": "spare"}, "spec": spec}
}

func owned(apiVersion, kind string, labels map[string]any) kube.Object {
	all := map[string]any{"kubeslice-resource-owner": "kubeslice-controller"}
	for k, v := range labels {
		all[k] = v
	}
	return kube.Object{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "spare", "labels": all}}
}

func binding(name, kind, to string) kube.Object {
	o := owned("rbac.authorization.k8s.io/v1", "RoleBinding", nil)
	o["metadata"].(map[string]any)["name"] = name
	o["roleRef"] = map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": to}
	o["subjects"] = []any{map[string]any{"kind": "ServiceAccount", "name": account, "namespace": pair.Project}}
	return o
}

func secret(name, kind string, data map[string]any) kube.Object {
	return kube.Object{"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": map[string]any{"name": name}, "data": data}
}

func slice(name string) kube.Object {
	return kube.Object{
		"apiVersion": "controller.kubeslice.io/v1alpha1", "kind": "SliceConfig",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"sliceSubnet": "10.9.0.0/16", "clusters": []any{"worker-1"}, "maxClusters": 16,
			"sliceGatewayProvider": map[string]any{"sliceGatewayType": "OpenVPN", "sliceCaType": "Local"},
			"vpnConfig":            map[string]any{"cipher": "AES-256-CBC"},
		},
	}
}

// content is what source and copy must have in common.
func content(o kube.Object) kube.Object {
	kept := kube.Object{}
	for key, value := range o {
		if key != "metadata" {
			kept[key] = value
		}
	}
	return kept
}

func sameContent(source, copy kube.Object) error {
	if !reflect.DeepEqual(content(source), content(copy)) {
		x, _ := json.Marshal(content(source))
		y, _ := json.Marshal(content(copy))
		return fmt.Errorf("the copy differs: %s and %s", x, y)
	}
	return nil
}

// table checks each kind: the copy as it must be, a change, a new object, its deletion.
func (r *run) table(ctx context.Context) error {
	for _, w := range rows() {
		path := w.resource.Path(w.namespace, w.sample)
		source, err := r.a.Admin.Get(ctx, path)
		if err != nil {
			return err
		}
		r.check(w.kind+": the copy holds what the source holds, and nothing of the source's server", copied(ctx, r.b, path, func(o kube.Object) error {
			if o.Get("metadata", "finalizers") != nil {
				return fmt.Errorf("finalizers %v", o.Get("metadata", "finalizers"))
			}
			for _, entry := range o.List("metadata", "managedFields") {
				manager := kube.Object(entry.(map[string]any)).Text("manager")
				if manager != "before-first-apply" && manager != "kube-controller-manager" {
					return fmt.Errorf("%s owns fields of it", manager)
				}
			}
			if o.UID() == source.UID() || o.Text("metadata", "annotations", marks+"source-rv") == "" {
				return fmt.Errorf("uid %s, annotations %v", o.UID(), o.Get("metadata", "annotations"))
			}
			return sameContent(source, o)
		}))
		_, err = r.a.Admin.Merge(ctx, path, kube.Object{"metadata": map[string]any{"annotations": map[string]any{"test/changed": "yes"}}})
		if err == nil {
			err = copied(ctx, r.b, path, func(o kube.Object) error {
				if o.Text("metadata", "annotations", "test/changed") != "yes" {
					return fmt.Errorf("annotations %v", o.Get("metadata", "annotations"))
				}
				return nil
			})
		}
		r.check(w.kind+": a change follows", err)
		if w.spare == nil {
			continue
		}
		spare := w.resource.Path(w.namespace, "spare")
		if _, err = r.a.Admin.Create(ctx, w.resource.Path(w.namespace, ""), w.spare); err == nil {
			err = copied(ctx, r.b, spare, any_)
		}
		r.check(w.kind+": a new object follows", err)
		if err = r.a.Admin.Delete(ctx, spare); err == nil {
			err = see.Eventually(ctx, patience, func() error { return gone(ctx, r.b, spare) })
		}
		r.check(w.kind+": a deletion follows", err)
	}
	return r.tableOwners(ctx)
}

func (r *run) tableOwners(ctx context.Context) error {
	owner, err := r.b.Admin.Get(ctx, kube.SliceConfigs.Path(pair.Project, "green"))
	if err != nil {
		return err
	}
	r.check("VpnKeyRotation: its owner is the copy of its owner", copied(ctx, r.b, rotations.Path(pair.Project, "green"), func(o kube.Object) error {
		refs := o.List("metadata", "ownerReferences")
		if len(refs) != 1 || kube.Object(refs[0].(map[string]any)).Text("uid") != owner.UID() {
			return fmt.Errorf("owners %v", refs)
		}
		return nil
	}))
	r.check("Secret: a token is made by this hub, good here, and another one", copied(ctx, r.b, kube.Secrets.Path(pair.Project, account), func(o kube.Object) error {
		source, err := r.a.Admin.Get(ctx, kube.Secrets.Path(pair.Project, account))
		if err == nil && (o.Text("data", "token") == "" || o.Text("data", "token") == source.Text("data", "token")) {
			err = fmt.Errorf("the token is missing or the source's")
		}
		return err
	}))
	return nil
}

// listed says whether a hub's status lists an object with a reason that holds the word.
func listed(ctx context.Context, h *pair.Hub, object, word string) error {
	o, err := h.Status(ctx)
	if err != nil {
		return err
	}
	text, _ := json.Marshal(o)
	for _, key := range []string{"blocked"} {
		for _, entry := range o.List(key) {
			line, _ := json.Marshal(entry)
			if strings.Contains(string(line), object) && strings.Contains(string(line), word) {
				return nil
			}
		}
	}
	return fmt.Errorf("the status does not list %s with %q: %.600s", object, word, text)
}
