package rights

import (
	"context"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

// hubRights asks what does not depend on the role of the hub: what each process needs, and what
// it would try when it was hostile.
func (s *suite) hubRights(ctx context.Context) error {
	s.table(ctx, "elector", electorRows())
	s.table(ctx, "publisher", publisherRows())
	s.table(ctx, "syncer", syncerReads())
	s.table(ctx, "peer's identities", peerRows())
	return nil
}

func hubRole(term int) kube.Object {
	return kube.Object{"spec": map[string]any{"role": "Standby", "term": term}}
}

func accountToken(namespace, name string) request {
	return post(kube.ServiceAccounts.Path(namespace, name, "token"), tokenRequest())
}

func electorRows() []row {
	self := pair.HubRoles.Path("", "self")
	const as = "elector"
	return []row{
		{as, "reads its Lease", accepted, get(lease(pairLease))},
		{as, "lists its Lease by name", accepted, get(only(kube.Leases, home, pairLease))},
		{as, "watches its Lease by name", accepted, watch(only(kube.Leases, home, pairLease))},
		{as, "renews its Lease", accepted, put(lease(pairLease), touch)},
		{as, "reads the armed record", accepted, get(lease(recordLease))},
		{as, "writes the armed record", accepted, put(lease(recordLease), touch)},
		{as, "reads HubRole/self", accepted, get(self)},
		{as, "watches HubRole/self", accepted, watch(only(pair.HubRoles, "", "self"))},
		{as, "writes HubRole/self", accepted, merge(self, hubRole(2))},
		{as, "writes its history", accepted, merge(self+"/status", kube.Object{"status": map[string]any{"history": []any{}}})},
		{as, "reads the identity of the cluster", accepted, get(kube.Namespaces.Path("", "kube-system"))},
		{as, "writes an Event", accepted, post(kube.Events.Path("default", ""), event2())},
		{as, "counts an Event up", accepted, merge(kube.Events.Path(home, "elector-1"), kube.Object{"count": 2})},

		{as, "lists all Leases", noRight, get(lease(""))},
		{as, "reads another Lease", noRight, get(lease("somebody-else"))},
		{as, "writes another Lease", noRight, put(lease("somebody-else"), touch)},
		{as, "patches its Lease", noRight, merge(lease(pairLease), kube.Object{"spec": map[string]any{"holderIdentity": "x"}})},
		{as, "deletes its Lease", noRight, remove(lease(pairLease))},
		{as, "makes a Lease of the cluster", noRight, post(kube.Leases.Path("kube-system", ""), leaseObject("x"))},
		{as, "reads another HubRole", noRight, get(pair.HubRoles.Path("", "other"))},
		{as, "writes another HubRole", noRight, merge(pair.HubRoles.Path("", "other"), hubRole(2))},
		{as, "deletes HubRole/self", noRight, remove(self)},
		{as, "reads a worker's token", noRight, get(kube.Secrets.Path(mirrored, workerToken))},
		{as, "reads Secrets at home", noRight, get(kube.Secrets.Path(home, ""))},
		{as, "mints the publisher's token", noRight, accountToken(home, "understudy-publisher")},
		{as, "reads Clusters", noRight, get(kube.Clusters.Path(mirrored, ""))},
		{as, "reads other Namespaces", noRight, get(kube.Namespaces.Path("", plain))},
		{as, "deletes an Event", noRight, remove(kube.Events.Path(home, "elector-1"))},
		{as, "binds itself to cluster-admin", noRight, post(clusterBindings.Path("", ""), clusterAdmin("understudy-elector"))},
		{as, "takes a policy away", noRight, remove(policies.Path("", "understudy-role"))},
		{as, "takes a binding of a policy away", noRight, remove(policyBindings.Path("", "understudy-syncer"))},
	}
}

func event2() kube.Object {
	o := event("elector-2")
	o["involvedObject"] = map[string]any{"apiVersion": "ha.kubeslice.io/v1alpha1", "kind": "HubRole", "name": "self"}
	return o
}

func clusterAdmin(account string) kube.Object {
	o := binding("hostile", "ClusterRole", "cluster-admin", home, account)
	o["kind"] = "ClusterRoleBinding"
	return o
}

// peerBinding is the one that the publisher makes on a source, for the peer's syncer.
func peerBinding() kube.Object {
	return binding("understudy-mirror-secrets-read", "ClusterRole", "understudy-mirror-secrets-read", home, "understudy-peer-syncer")
}

func publisherRows() []row {
	const as = "publisher"
	worker := kube.Clusters.Path(mirrored, "worker-1")
	spec := kube.Object{"spec": map[string]any{"networkInterface": "eth1"}}
	return []row{
		{as, "reads a Cluster", accepted, get(worker)},
		{as, "lists Clusters", accepted, get(kube.Clusters.Path("", ""))},
		{as, "watches Clusters", accepted, watch(kube.Clusters.Path("", ""))},
		{as, "lists Namespaces", accepted, get(kube.Namespaces.Path("", ""))},
		{as, "watches Namespaces", accepted, watch(kube.Namespaces.Path("", ""))},
		{as, "reads a worker's token, for delivery", accepted, get(kube.Secrets.Path(mirrored, workerToken))},

		{as, "makes the probe's Lease by a POST, which no name bounds", noRight, post(kube.Leases.Path(mirrored, ""), leaseObject(probeLease))},
		{as, "applies another Lease", noRight, apply(kube.Leases.Path(mirrored, "another"), leaseObject("another"))},
		{as, "applies the Lease of leadership", noRight, apply(lease(pairLease), leaseObject(pairLease))},
		{as, "writes the spec of a Cluster", noRight, merge(worker, spec)},
		{as, "replaces the status of a Cluster", noRight, put(worker+"/status", touch)},
		{as, "deletes a Cluster", noRight, remove(worker)},
		{as, "makes a Cluster", noRight, post(kube.Clusters.Path(mirrored, ""), workerCluster("worker-9"))},
		{as, "writes the status of another kind", noRight, merge(qualities.Path(mirrored, "copy"), kube.Object{"spec": map[string]any{"priority": 2}})},
		{as, "lists Secrets in a mirrored Namespace", noRight, get(kube.Secrets.Path(mirrored, ""))},
		{as, "reads another Secret", noRight, get(kube.Secrets.Path(home, "private"))},
		{as, "mints the elector's token", noRight, accountToken(home, "understudy-elector")},
		{as, "reads the Lease", noRight, get(lease(pairLease))},
		{as, "writes HubRole/self", noRight, merge(pair.HubRoles.Path("", "self"), hubRole(2))},
		{as, "binds the peer's syncer to a wider ClusterRole", noGrant, post(roleBindings.Path(plain, ""),
			binding("x", "ClusterRole", "understudy-mirror-secrets", home, "understudy-peer-syncer"))},
		{as, "binds itself to cluster-admin", noGrant, post(roleBindings.Path(plain, ""),
			binding("x", "ClusterRole", "cluster-admin", home, "understudy-publisher"))},
		{as, "binds all of the cluster", noRight, post(clusterBindings.Path("", ""), clusterAdmin("understudy-publisher"))},
		{as, "takes a RoleBinding away", noRight, remove(roleBindings.Path(mirrored, "understudy-mirror-secrets"))},
		{as, "opens the Secrets of the controller's namespace to the peer", notBound, post(roleBindings.Path(home, ""), peerBinding())},
		{as, "opens the Secrets of kube-system to the peer", notBound, post(roleBindings.Path("kube-system", ""), peerBinding())},
		{as, "opens the Secrets of kube-system to itself", notBound, post(roleBindings.Path("kube-system", ""),
			binding("x", "ClusterRole", "understudy-mirror-secrets-read", home, "understudy-publisher"))},
	}
}

// syncerReads: reading does not depend on the hub's role.
func syncerReads() []row {
	const as = "syncer"
	rows := []row{
		{as, "lists Secrets where it is bound", accepted, get(kube.Secrets.Path(mirrored, ""))},
		{as, "watches Secrets where it is bound", accepted, watch(kube.Secrets.Path(mirrored, ""))},
		{as, "watches ServiceAccounts where it is bound", accepted, watch(kube.ServiceAccounts.Path(mirrored, ""))},

		{as, "lists all Secrets", noRight, get(kube.Secrets.Path("", ""))},
		{as, "lists all ServiceAccounts", noRight, get(kube.ServiceAccounts.Path("", ""))},
		{as, "reads a Secret of the controller's namespace", noRight, get(kube.Secrets.Path(home, "private"))},
		{as, "lists Secrets of the controller's namespace", noRight, get(kube.Secrets.Path(home, ""))},
		{as, "reads an archive", noRight, get(kube.Secrets.Path(home, "archive-2-0000000000000000"))},
		{as, "reads a Secret elsewhere", noRight, get(kube.Secrets.Path(plain, "private"))},
		{as, "mints the elector's token", noRight, accountToken(home, "understudy-elector")},
		{as, "mints its own token", noRight, accountToken(home, "understudy-syncer")},
		{as, "mints a worker's token", noRight, accountToken(mirrored, workerToken)},
		{as, "reads the Lease", noRight, get(lease(pairLease))},
		{as, "writes the Lease", noRight, put(lease(pairLease), touch)},
		{as, "reads HubRole/self", noRight, get(pair.HubRoles.Path("", "self"))},
		{as, "writes HubRole/self", noRight, merge(pair.HubRoles.Path("", "self"), hubRole(2))},
		{as, "writes an Event", noRight, post(kube.Events.Path(mirrored, ""), inNamespace(event("x"), mirrored))},
		{as, "takes a policy away", noRight, remove(policies.Path("", "understudy-syncer"))},
		{as, "reads policies", noRight, get(policies.Path("", ""))},
		{as, "takes a definition away", noRight, remove(definitions.Path("", "hubroles.ha.kubeslice.io"))},
		{as, "binds itself to cluster-admin", noRight, post(clusterBindings.Path("", ""), copied(clusterAdmin("understudy-syncer")))},
		{as, "deletes all copies at once", noRight, remove(qualities.Path(mirrored, ""))},
	}
	for _, r := range []kube.Resource{kube.Namespaces, kube.Projects, kube.Clusters, kube.SliceConfigs, qualities, gateways, roles, roleBindings} {
		rows = append(rows, row{as, "lists " + r.Name, accepted, get(r.Path("", ""))}, row{as, "watches " + r.Name, accepted, watch(r.Path("", ""))})
	}
	return rows
}

func inNamespace(o kube.Object, namespace string) kube.Object {
	o["involvedObject"].(map[string]any)["namespace"] = namespace
	return o
}

func peerRows() []row {
	const observer, syncer = "peer-observer", "peer-syncer"
	rows := []row{
		{observer, "reads the Lease", accepted, get(lease(pairLease))},
		{observer, "lists the Lease by name", accepted, get(only(kube.Leases, home, pairLease))},
		{observer, "watches the Lease by name", accepted, watch(only(kube.Leases, home, pairLease))},
		{observer, "reads the identity of the cluster", accepted, get(kube.Namespaces.Path("", "kube-system"))},
		{observer, "asks whether it could write", accepted, post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", kube.Object{
			"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": map[string]any{"resourceAttributes": map[string]any{
				"verb": "update", "group": "coordination.k8s.io", "resource": "leases", "namespace": home, "name": pairLease}}})},

		{observer, "lists all Leases", noRight, get(lease(""))},
		{observer, "reads the armed record", noRight, get(lease(recordLease))},
		{observer, "writes the Lease", noRight, put(lease(pairLease), touch)},
		{observer, "deletes the Lease", noRight, remove(lease(pairLease))},
		{observer, "reads Secrets", noRight, get(kube.Secrets.Path(home, ""))},
		{observer, "reads a worker's token", noRight, get(kube.Secrets.Path(mirrored, workerToken))},
		{observer, "reads other Namespaces", noRight, get(kube.Namespaces.Path("", mirrored))},
		{observer, "reads HubRole/self", noRight, get(pair.HubRoles.Path("", "self"))},
		{observer, "reads Clusters", noRight, get(kube.Clusters.Path("", ""))},
		{observer, "mints the elector's token", noRight, accountToken(home, "understudy-elector")},

		{syncer, "reads Secrets where the publisher has not bound it", noRight, get(kube.Secrets.Path(mirrored, ""))},
		{syncer, "reads Secrets of the controller's namespace", noRight, get(kube.Secrets.Path(home, ""))},
		{syncer, "reads all Secrets", noRight, get(kube.Secrets.Path("", ""))},
		{syncer, "reads the Lease", noRight, get(lease(pairLease))},
		{syncer, "writes a copy", noRight, put(qualities.Path(mirrored, "copy"), touch)},
		{syncer, "deletes a copy", noRight, remove(qualities.Path(mirrored, "copy"))},
		{syncer, "makes a Namespace", noRight, post(kube.Namespaces.Path("", ""), mirroredNamespace("x"))},
		{syncer, "binds itself to Secrets", noRight, post(roleBindings.Path(mirrored, ""), peerBinding())},
		{syncer, "mints a worker's token", noRight, accountToken(mirrored, workerToken)},
	}
	for _, r := range []kube.Resource{kube.Namespaces, kube.Projects, kube.Clusters, kube.SliceConfigs, qualities, gateways, roles, roleBindings} {
		rows = append(rows, row{syncer, "lists " + r.Name, accepted, get(r.Path("", ""))}, row{syncer, "watches " + r.Name, accepted, watch(r.Path("", ""))})
	}
	return rows
}
