package rights

import (
	"context"
	"fmt"
	"time"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

// Where the checks happen: a mirrored namespace, one that understudy has nothing to do with, and
// the controller's own.
const (
	mirrored = "kubeslice-blue"
	plain    = "plain"
	home     = pair.Namespace

	pairLease   = "kubeslice-controller-ha"
	recordLease = "kubeslice-controller-ha-peer"
	workerToken = "kubeslice-rbac-worker-worker-1"
)

var (
	qualities       = kube.Resource{Group: "controller.kubeslice.io", Version: "v1alpha1", Name: "sliceqosconfigs"}
	gateways        = kube.Resource{Group: "worker.kubeslice.io", Version: "v1alpha1", Name: "workerslicegateways"}
	roles           = kube.Resource{Group: "rbac.authorization.k8s.io", Version: "v1", Name: "roles"}
	roleBindings    = kube.Resource{Group: "rbac.authorization.k8s.io", Version: "v1", Name: "rolebindings"}
	clusterBindings = kube.Resource{Group: "rbac.authorization.k8s.io", Version: "v1", Name: "clusterrolebindings"}
	configMaps      = kube.Resource{Version: "v1", Name: "configmaps"}
	pods            = kube.Resource{Version: "v1", Name: "pods"}
	policies        = kube.Resource{Group: "admissionregistration.k8s.io", Version: "v1", Name: "validatingadmissionpolicies"}
	policyBindings  = kube.Resource{Group: "admissionregistration.k8s.io", Version: "v1", Name: "validatingadmissionpolicybindings"}
	definitions     = kube.Resource{Group: "apiextensions.k8s.io", Version: "v1", Name: "customresourcedefinitions"}
)

const (
	syncedFrom  = "ha.kubeslice.io/synced-from"
	ownerLabel  = "kubeslice-resource-owner"
	podSecurity = "pod-security.kubernetes.io/enforce"
	owner       = "kubeslice-controller"
)

func lease(name string) string { return kube.Leases.Path(home, name) }
func only(r kube.Resource, ns, n string) string {
	return r.Path(ns, "") + "?fieldSelector=metadata.name%3D" + n
}

// object is a minimal valid object; more are its fields beside the metadata.
func object(apiVersion, kind, name string, more kube.Object) kube.Object {
	o := kube.Object{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}}
	for key, value := range more {
		o[key] = value
	}
	return o
}

// labelled sets a label and returns the object.
func labelled(o kube.Object, key, value string) kube.Object {
	metadata := o["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	if labels == nil {
		labels = map[string]any{}
		metadata["labels"] = labels
	}
	labels[key] = value
	return o
}

func copied(o kube.Object) kube.Object { return labelled(o, syncedFrom, "active") }

func namespace(name string) kube.Object { return object("v1", "Namespace", name, nil) }

// mirroredNamespace is one as the mirror makes it.
func mirroredNamespace(name string) kube.Object {
	return copied(labelled(namespace(name), ownerLabel, owner))
}

func quality(name string) kube.Object {
	return object("controller.kubeslice.io/v1alpha1", "SliceQoSConfig", name, kube.Object{"spec": map[string]any{
		"queueType": "HTB", "priority": 1, "tcType": "BANDWIDTH_CONTROL", "bandwidthCeilingKbps": 5120,
		"bandwidthGuaranteedKbps": 2560, "dscpClass": "AF11"}})
}

func gateway(name string) kube.Object {
	return object("worker.kubeslice.io/v1alpha1", "WorkerSliceGateway", name, kube.Object{"spec": map[string]any{"sliceName": "green"}})
}

func workerCluster(name string) kube.Object {
	return object("controller.kubeslice.io/v1alpha1", "Cluster", name,
		kube.Object{"spec": map[string]any{"networkInterface": "eth0"}})
}

func project(name string) kube.Object {
	return object("controller.kubeslice.io/v1alpha1", "Project", name, kube.Object{"spec": map[string]any{}})
}

func serviceAccount(name string) kube.Object { return object("v1", "ServiceAccount", name, nil) }

func secret(name, kind string) kube.Object {
	return object("v1", "Secret", name, kube.Object{"type": kind})
}

// shell is a Secret that the cluster fills with a token of an account.
func shell(name string) kube.Object {
	o := secret(name, "kubernetes.io/service-account-token")
	o["metadata"].(map[string]any)["annotations"] = map[string]any{"kubernetes.io/service-account.name": name}
	return o
}

func config(name string) kube.Object { return object("v1", "ConfigMap", name, nil) }

// everything lets its holders do everything in its namespace: the worst that a mirror could be told.
func everything(name string) kube.Object {
	return object("rbac.authorization.k8s.io/v1", "Role", name, kube.Object{"rules": []any{map[string]any{
		"apiGroups": []any{"*"}, "resources": []any{"*"}, "verbs": []any{"*"}}}})
}

// readers is a Role as KubeSlice makes them for workers.
func readers(name string) kube.Object {
	o := granting(name, "", "secrets", "get", "list", "create")
	o["rules"] = append(o["rules"].([]any), map[string]any{"apiGroups": []any{"controller.kubeslice.io", "worker.kubeslice.io"},
		"resources": []any{"*"}, "verbs": []any{"*"}})
	return o
}

// granting is a Role with one rule.
func granting(name, group, resource string, verbs ...any) kube.Object {
	return object("rbac.authorization.k8s.io/v1", "Role", name, kube.Object{"rules": []any{map[string]any{
		"apiGroups": []any{group}, "resources": []any{resource}, "verbs": verbs}}})
}

// binding gives a role (kind Role or ClusterRole) to an account of a namespace.
func binding(name, kind, roleName, accountNamespace, account string) kube.Object {
	return object("rbac.authorization.k8s.io/v1", "RoleBinding", name, kube.Object{
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": roleName},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": account, "namespace": accountNamespace}},
	})
}

func tokenRequest() kube.Object {
	return kube.Object{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": map[string]any{"expirationSeconds": 600}}
}

// relabel is an edit that sets a label; "" takes it off.
func relabel(key, value string) func(kube.Object) {
	return func(o kube.Object) {
		if value != "" {
			labelled(o, key, value)
			return
		}
		if labels, ok := o.Get("metadata", "labels").(map[string]any); ok {
			delete(labels, key)
		}
	}
}

// touch is an edit that changes an annotation, and so the object, but nothing of meaning.
func touch(o kube.Object) {
	metadata := o["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	annotations["rights-test"] = "touched"
}

// both is one edit after the other.
func both(edits ...func(kube.Object)) func(kube.Object) {
	return func(o kube.Object) {
		for _, edit := range edits {
			edit(o)
		}
	}
}

// populate makes what the rows are about: the syncer its copies, as on a Standby, with its own
// rights (so this is their test as well); the administrator what is none of the mirror's.
func (s *suite) populate(ctx context.Context) error {
	s.inOrder(ctx, "a Standby's copies", []row{
		{"syncer", "creates a mirrored Namespace", accepted, post(kube.Namespaces.Path("", ""), mirroredNamespace(mirrored))},
		{"syncer", "lists Secrets there before it is bound", noRight, get(kube.Secrets.Path(mirrored, ""))},
		{"syncer", "binds itself to understudy-mirror-secrets there", accepted, post(roleBindings.Path(mirrored, ""),
			copied(binding("understudy-mirror-secrets", "ClusterRole", "understudy-mirror-secrets", home, "understudy-syncer")))},
	})
	if err := s.await(ctx, "the right on Secrets", func() error {
		return get(kube.Secrets.Path(mirrored, "")).send(ctx, s.accounts["syncer"].client, nil)
	}); err != nil {
		return err
	}
	s.inOrder(ctx, "a Standby's copies", []row{
		{"syncer", "creates a ServiceAccount", accepted, post(kube.ServiceAccounts.Path(mirrored, ""), copied(serviceAccount(workerToken)))},
		{"syncer", "creates a token Secret without a token", accepted, post(kube.Secrets.Path(mirrored, ""), copied(shell(workerToken)))},
		{"syncer", "creates a Role", accepted, post(roles.Path(mirrored, ""), copied(readers("readers")))},
		{"syncer", "creates a RoleBinding", accepted, post(roleBindings.Path(mirrored, ""),
			copied(binding("worker-1", "Role", "readers", mirrored, workerToken)))},
		{"syncer", "creates a SliceQoSConfig", accepted, post(qualities.Path(mirrored, ""), copied(quality("copy")))},
		{"syncer", "creates a Cluster", accepted, post(kube.Clusters.Path(mirrored, ""), copied(workerCluster("worker-1")))},
		{"syncer", "creates a WorkerSliceGateway", accepted, post(gateways.Path(mirrored, ""), copied(gateway("copy")))},
		{"syncer", "creates a Project in the controller's namespace", accepted, post(kube.Projects.Path(home, ""), copied(project("blue")))},
		{"syncer", "archives an object as a Secret there", accepted, post(kube.Secrets.Path(home, ""), secret("archive-2-0000000000000000", "ha.kubeslice.io/archived-object"))},
		{"elector", "makes its Lease", accepted, post(lease(""), object("coordination.k8s.io/v1", "Lease", pairLease, nil))},
		{"elector", "makes the armed record", accepted, post(lease(""), object("coordination.k8s.io/v1", "Lease", recordLease, nil))},
		{"elector", "writes an Event", accepted, post(kube.Events.Path(home, ""), event("elector-1"))},
		{"break-glass", "makes a Namespace kube-mine with the owner's label", accepted, post(kube.Namespaces.Path("", ""), mirroredNamespace("kube-mine"))},
		{"break-glass", "makes an object that is no copy in the mirrored Namespace", accepted, post(qualities.Path(mirrored, ""), quality("foreign"))},
		{"break-glass", "makes a Namespace elsewhere", accepted, post(kube.Namespaces.Path("", ""), namespace(plain))},
		{"break-glass", "makes a Secret elsewhere", accepted, post(kube.Secrets.Path(plain, ""), secret("private", "Opaque"))},
		{"break-glass", "makes a Secret in the controller's namespace", accepted, post(kube.Secrets.Path(home, ""), secret("private", "Opaque"))},
		{"break-glass", "makes another Lease there", accepted, post(lease(""), object("coordination.k8s.io/v1", "Lease", "somebody-else", nil))},
		{"break-glass", "makes a slice there that nobody mirrors", accepted, post(qualities.Path(home, ""), quality("stray"))},
		{"break-glass", "makes another HubRole", accepted, post(pair.HubRoles.Path("", ""), object("ha.kubeslice.io/v1alpha1", "HubRole", "other",
			kube.Object{"spec": map[string]any{"role": "Standby", "term": 0}}))},
	})
	// The account of a worker, as KubeSlice has it: its token goes on writing Cluster status.
	token, err := s.accounts["break-glass"].root.Token(ctx, mirrored, workerToken, time.Hour)
	if err != nil {
		return err
	}
	root := s.accounts["break-glass"].root
	client, err := kube.New(root.Server, root.CA, kube.User{Token: token})
	s.accounts["worker operator"] = account{client, root}
	return err
}

func event(name string) kube.Object {
	return object("v1", "Event", name, kube.Object{
		"involvedObject": map[string]any{"apiVersion": "ha.kubeslice.io/v1alpha1", "kind": "HubRole", "name": "self", "namespace": home},
		"reason":         "Test", "type": "Normal", "message": "none", "source": map[string]any{"component": "understudy"}})
}

// patience is how long the API server may take to follow: its informers need less than a second, more
// on a busy machine, and less than the half a minute after which it looks for everything anew.
const patience = 20 * time.Second

// await returns when try has no error any more, or with its last one.
func (s *suite) await(ctx context.Context, what string, try func() error) error {
	return s.awaitFor(ctx, patience, what, try)
}

func (s *suite) awaitFor(ctx context.Context, most time.Duration, what string, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return nil
		}
		if !kube.Pause(ctx, 20*time.Millisecond) {
			return fmt.Errorf("%s is not as wanted after %s: %w", what, most, err)
		}
	}
}
