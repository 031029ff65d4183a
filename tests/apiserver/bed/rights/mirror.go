package rights

import "understudy.test/bed/kube"

// mirrorRows is the work of a syncer, on a hub whose role lets it.
func mirrorRows() []row {
	const as = "syncer"
	status := func(r kube.Resource, namespace, name string) row {
		return row{as, "mirrors the status of " + name + " (" + r.Name + ")", accepted, put(r.Path(namespace, name, "status"), touch)}
	}
	return []row{
		{as, "mirrors a Namespace", accepted, post(kube.Namespaces.Path("", ""), mirroredNamespace("new"))},
		{as, "mirrors a Namespace whose Pods may do least", accepted, post(kube.Namespaces.Path("", ""), labelled(mirroredNamespace("new"), podSecurity, "restricted"))},
		{as, "changes a mirrored Namespace", accepted, put(kube.Namespaces.Path("", mirrored), touch)},
		{as, "mirrors a slice's quality", accepted, post(qualities.Path(mirrored, ""), copied(quality("new")))},
		{as, "changes a copy", accepted, put(qualities.Path(mirrored, "copy"), touch)},
		{as, "deletes a copy", accepted, remove(qualities.Path(mirrored, "copy"))},
		{as, "mirrors a ServiceAccount", accepted, post(kube.ServiceAccounts.Path(mirrored, ""), copied(serviceAccount("new")))},
		{as, "mirrors a token Secret", accepted, post(kube.Secrets.Path(mirrored, ""), copied(shell(workerToken+"-2")))},
		{as, "changes a mirrored Secret", accepted, put(kube.Secrets.Path(mirrored, workerToken), touch)},
		{as, "deletes a mirrored Secret", accepted, remove(kube.Secrets.Path(mirrored, workerToken))},
		{as, "mirrors a Role", accepted, post(roles.Path(mirrored, ""), copied(readers("new")))},
		{as, "changes a Role", accepted, put(roles.Path(mirrored, "readers"), touch)},
		{as, "mirrors a RoleBinding", accepted, post(roleBindings.Path(mirrored, ""), copied(binding("new", "Role", "readers", mirrored, "default")))},
		{as, "mirrors a Project", accepted, post(kube.Projects.Path(home, ""), copied(project("new")))},
		{as, "changes a Project", accepted, put(kube.Projects.Path(home, "blue"), touch)},
		{as, "deletes a Project", accepted, remove(kube.Projects.Path(home, "blue"))},
		status(kube.Projects, home, "blue"),
		status(kube.Clusters, mirrored, "worker-1"),
		status(gateways, mirrored, "copy"),
		{as, "archives", accepted, post(kube.Secrets.Path(home, ""), secret("archive-2-1", "ha.kubeslice.io/archived-object"))},
		{as, "deletes a mirrored Namespace", accepted, remove(kube.Namespaces.Path("", mirrored))},
	}
}

// boundaryRows is what a hostile syncer would try on a Standby, where its rights are widest.
func boundaryRows() []row {
	const as = "syncer"
	all := binding("hostile", "Role", "readers", home, "understudy-syncer")
	return []row{
		{as, "makes an object that is no copy", notAllowed, post(qualities.Path(mirrored, ""), quality("new"))},
		{as, "takes a copy's label off", notAllowed, put(qualities.Path(mirrored, "copy"), relabel(syncedFrom, ""))},
		{as, "adopts a foreign object", noAdoption, put(qualities.Path(mirrored, "foreign"), relabel(syncedFrom, "active"))},
		{as, "deletes a foreign object", notAllowed, remove(qualities.Path(mirrored, "foreign"))},
		{as, "makes a Project that is no copy", notAllowed, post(kube.Projects.Path(home, ""), project("new"))},
		{as, "makes a copy in the controller's namespace", notAllowed, post(qualities.Path(home, ""), copied(quality("new")))},
		{as, "makes a copy elsewhere", notAllowed, post(qualities.Path(plain, ""), copied(quality("new")))},
		{as, "deletes a slice's quality of the controller's namespace", notAllowed, remove(qualities.Path(home, "stray"))},
		{as, "makes another Secret in the controller's namespace", notAllowed, post(kube.Secrets.Path(home, ""), copied(secret("new", "Opaque")))},
		{as, "makes a token Secret of the elector there", notAllowed, post(kube.Secrets.Path(home, ""), copied(shell("understudy-elector")))},

		{as, "binds cluster-admin in the mirror", noGrant, post(roleBindings.Path(mirrored, ""), copied(binding("x", "ClusterRole", "cluster-admin", home, "understudy-syncer")))},
		{as, "binds mirror-secrets in the controller's namespace", notAllowed, post(roleBindings.Path(home, ""), copied(binding("x", "ClusterRole", "understudy-mirror-secrets", home, "understudy-syncer")))},
		{as, "binds the elector's Role to itself", notAllowed, post(roleBindings.Path(home, ""), copied(binding("x", "Role", "understudy-elector", home, "understudy-syncer")))},
		{as, "makes a Role in the controller's namespace", notAllowed, post(roles.Path(home, ""), copied(readers("hostile")))},
		{as, "makes a Role in kube-system", notAllowed, post(roles.Path("kube-system", ""), copied(readers("hostile")))},
		{as, "widens its own Role", notAllowed, put(roles.Path(home, "understudy-archive"), relabel(syncedFrom, "active"))},
		{as, "deletes the elector's binding", notAllowed, remove(roleBindings.Path(home, "understudy-elector"))},
		{as, "binds itself elsewhere", notAllowed, post(roleBindings.Path(plain, ""), copied(all))},

		{as, "relabels the controller's namespace", notAllowed, put(kube.Namespaces.Path("", home), both(relabel(ownerLabel, owner), relabel(syncedFrom, "active")))},
		{as, "relabels kube-system", notAllowed, put(kube.Namespaces.Path("", "kube-system"), both(relabel(ownerLabel, owner), relabel(syncedFrom, "active")))},
		{as, "relabels a Namespace elsewhere", notAllowed, put(kube.Namespaces.Path("", plain), both(relabel(ownerLabel, owner), relabel(syncedFrom, "active")))},
		{as, "takes the copy's label off a mirrored Namespace", notAllowed, put(kube.Namespaces.Path("", mirrored), relabel(syncedFrom, ""))},
		{as, "takes the owner's label off a mirrored Namespace", notAllowed, put(kube.Namespaces.Path("", mirrored), relabel(ownerLabel, ""))},
		{as, "gives that label another value", notAllowed, put(kube.Namespaces.Path("", mirrored), relabel(ownerLabel, "nobody"))},
		{as, "makes a Namespace whose Pods may do anything", notAllowed, post(kube.Namespaces.Path("", ""), labelled(mirroredNamespace("new"), podSecurity, "privileged"))},
		{as, "lets the Pods of a mirrored Namespace do anything", notAllowed, put(kube.Namespaces.Path("", mirrored), relabel(podSecurity, "privileged"))},
		{as, "makes a Namespace without the owner's label", notAllowed, post(kube.Namespaces.Path("", ""), copied(namespace("new")))},
		{as, "makes a Namespace with another owner", notAllowed, post(kube.Namespaces.Path("", ""), copied(labelled(namespace("new"), ownerLabel, "nobody")))},
		{as, "deletes a Namespace elsewhere", notAllowed, remove(kube.Namespaces.Path("", plain))},
		{as, "deletes the controller's namespace", notAllowed, remove(kube.Namespaces.Path("", home))},
	}
}

// contentRows is what a hostile source would feed to the mirror (B1, B25): the syncer refuses it by
// its own list, and this is the API server's no to a syncer that does not.
func contentRows() []row {
	const as = "syncer"
	role := func(group, resource string, verbs ...any) request {
		return post(roles.Path(mirrored, ""), copied(granting("new", group, resource, verbs...)))
	}
	bind := func(kind, name, namespace, account string) request {
		return post(roleBindings.Path(mirrored, ""), copied(binding("new", kind, name, namespace, account)))
	}
	urls := copied(granting("new", "", "secrets", "get"))
	urls["rules"] = append(urls["rules"].([]any), map[string]any{"nonResourceURLs": []any{"/metrics"}, "verbs": []any{"get"}})
	elector := binding("new", "Role", "readers", mirrored, "default")
	elector["subjects"] = []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User",
		"name": "system:serviceaccount:" + home + ":understudy-elector"}}
	nobody := binding("new", "Role", "readers", mirrored, "default")
	delete(nobody, "subjects")
	token := func(kind string) kube.Object { return copied(secret("new", kind)) }
	release := copied(granting("new", "", "secrets", "get"))
	return []row{
		{as, "mirrors a Role on KubeSlice's own kinds", accepted, role("worker.kubeslice.io", "*", "*")},
		{as, "mirrors a Role that reads Pods", accepted, role("", "pods", "get", "list", "watch")},
		{as, "mirrors a Role that writes ConfigMaps", accepted, role("", "configmaps", "get", "create", "update", "patch", "delete")},
		{as, "mirrors a Role that grants everything", notAllowed, post(roles.Path(mirrored, ""), copied(everything("new")))},
		{as, "mirrors a Role that starts Pods", notAllowed, role("", "pods", "get", "create")},
		{as, "mirrors a Role that reads everything of a group", notAllowed, role("apps", "*", "get")},
		{as, "mirrors a Role of all groups", notAllowed, role("*", "secrets", "get")},
		{as, "mirrors a Role that mints tokens", notAllowed, role("", "serviceaccounts/token", "create")},
		{as, "mirrors a Role that impersonates", notAllowed, role("", "users", "impersonate")},
		{as, "mirrors a Role that escalates", notAllowed, role("rbac.authorization.k8s.io", "roles", "escalate", "bind")},
		{as, "mirrors a Role that deletes all Secrets at once", notAllowed, role("", "secrets", "deletecollection")},
		{as, "mirrors a Role on URLs", "422 cannot apply to non-resource URLs", post(roles.Path(mirrored, ""), urls)},
		{as, "mirrors a Role without rules", accepted, post(roles.Path(mirrored, ""), copied(object("rbac.authorization.k8s.io/v1", "Role", "new", kube.Object{"rules": nil})))},
		{as, "mirrors a RoleBinding without subjects", accepted, post(roleBindings.Path(mirrored, ""), copied(nobody))},
		{as, "widens a mirrored Role", notAllowed, put(roles.Path(mirrored, "readers"), func(o kube.Object) {
			o["rules"] = everything("x")["rules"]
		})},
		{as, "binds a ClusterRole in the mirror", notAllowed, bind("ClusterRole", "view", mirrored, "default")},
		{as, "binds the mirror's own ClusterRole to another", notAllowed, bind("ClusterRole", "understudy-mirror-secrets", mirrored, "default")},
		{as, "binds a mirrored Role to itself", notAllowed, bind("Role", "readers", home, "understudy-syncer")},
		{as, "binds a mirrored Role to the elector, as a user", notAllowed, post(roleBindings.Path(mirrored, ""), copied(elector))},
		{as, "mirrors a bootstrap token", notAllowed, post(kube.Secrets.Path(mirrored, ""), token("bootstrap.kubernetes.io/token"))},
		{as, "mirrors a Helm release", notAllowed, post(kube.Secrets.Path(mirrored, ""), token("helm.sh/release.v1"))},
		{as, "makes a copy in kube-mine, which bears the owner's label", notAllowed, post(roles.Path("kube-mine", ""), release)},
		{as, "changes that Namespace", notAllowed, put(kube.Namespaces.Path("", "kube-mine"), touch)},
		{as, "makes a Namespace kube-new", notAllowed, post(kube.Namespaces.Path("", ""), mirroredNamespace("kube-new"))},
	}
}

// syncerClosedRows: on a hub that leads, or is about to stop leading, the mirror writes nothing.
func syncerClosedRows() []row {
	const as = "syncer"
	return []row{
		{as, "mirrors a slice's quality", notAllowed, post(qualities.Path(mirrored, ""), copied(quality("new")))},
		{as, "changes a copy", notAllowed, put(qualities.Path(mirrored, "copy"), touch)},
		{as, "changes a status", notAllowed, put(kube.Clusters.Path(mirrored, "worker-1", "status"), touch)},
		{as, "deletes a copy", notAllowed, remove(qualities.Path(mirrored, "copy"))},
		{as, "changes a mirrored Secret", notAllowed, put(kube.Secrets.Path(mirrored, workerToken), touch)},
		{as, "mirrors a Project", notAllowed, post(kube.Projects.Path(home, ""), copied(project("new")))},
		{as, "mirrors a Namespace", notAllowed, post(kube.Namespaces.Path("", ""), mirroredNamespace("new"))},
		{as, "deletes a mirrored Namespace", notAllowed, remove(kube.Namespaces.Path("", mirrored))},
		{as, "adopts a foreign object", notAllowed, put(qualities.Path(mirrored, "foreign"), relabel(syncedFrom, "active"))},
		{as, "makes an object that is no copy", notAllowed, post(qualities.Path(mirrored, ""), quality("new"))},
	}
}

func rejoiningRows() []row {
	const as = "syncer"
	return []row{
		{as, "adopts a foreign object", accepted, put(qualities.Path(mirrored, "foreign"), relabel(syncedFrom, "active"))},
		{as, "writes a foreign object without adopting it", notAllowed, put(qualities.Path(mirrored, "foreign"), touch)},
		{as, "deletes a foreign object", notAllowed, remove(qualities.Path(mirrored, "foreign"))},
		{as, "adopts an object of the controller's namespace", notAllowed, put(qualities.Path(home, "stray"), relabel(syncedFrom, "active"))},
		{as, "relabels the controller's namespace", notAllowed, put(kube.Namespaces.Path("", home), both(relabel(ownerLabel, owner), relabel(syncedFrom, "active")))},
	}
}
