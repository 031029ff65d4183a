package rights

import (
	"context"
	"fmt"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

// verdict is what three writes get in one role of the hub: they tell the roles apart.
type verdict struct{ others, copies, adoption string }

const noAdoption = notAllowed + " this object is somebody else's"

var verdicts = map[string]verdict{
	"Standby":   {fenced, accepted, noAdoption},
	"Rejoining": {fenced, accepted, accepted},
	"Draining":  {fenced, notAllowed, notAllowed},
	"Leading":   {accepted, notAllowed, notAllowed},
	"":          {unknownRole, unknownRole, unknownRole},
}

// probeLease is what the fence is tried on where there is no Cluster: nobody has it.
const probeLease = "understudy-probe"

func leaseObject(name string) kube.Object {
	return object("coordination.k8s.io/v1", "Lease", name, nil)
}

// probe is the elector's own proof of the fence: an empty patch, dry, by an identity that the
// policies govern.
func probe() request {
	return merge(kube.Clusters.Path(mirrored, "worker-1")+"/status", kube.Object{})
}

// obeyed asks the three writes once.
func (s *suite) obeyed(ctx context.Context, role string) error {
	v := verdicts[role]
	for _, r := range []row{
		{"publisher", "", v.others, probe()},
		{"syncer", "", v.copies, put(qualities.Path(mirrored, "copy"), touch)},
		{"syncer", "", v.adoption, put(qualities.Path(mirrored, "foreign"), relabel(syncedFrom, "active"))},
	} {
		a := s.accounts[r.as]
		if wrong := differs(r.send(ctx, a.client, a.root), r.want); wrong != "" {
			return fmt.Errorf("%s on %s, which shall be %q", wrong, r.path, r.want)
		}
	}
	return nil
}

// become changes HubRole/self as the elector does, and waits until the API server obeys.
func (s *suite) become(ctx context.Context, role string) error {
	self := pair.HubRoles.Path("", "self")
	r := really(merge(self, kube.Object{"spec": map[string]any{"role": role, "term": 2}}))
	err := r.send(ctx, s.accounts["elector"].client, nil)
	if err == nil {
		err = s.await(ctx, "the verdict", func() error { return s.obeyed(ctx, role) })
	}
	if err != nil {
		return fmt.Errorf("HubRole %s: %w", role, err)
	}
	s.report(fmt.Sprintf("hub-a obeys HubRole %s within %s", role, patience), "")
	return nil
}

// hubRoles goes through every role and asks what each writer may do then (C2).
func (s *suite) hubRoles(ctx context.Context) error {
	for _, state := range []struct {
		role string
		rows []row
		more func(*suite, context.Context) error
	}{
		{"Standby", append(fencedRows(), append(mirrorRows(), append(boundaryRows(), contentRows()...)...)...), (*suite).selfMade},
		{"Leading", leadingRows(), (*suite).peerIsBound},
		{"Draining", append(fencedRows(), syncerClosedRows()...), nil},
		{"Rejoining", append(fencedRows(), append(mirrorRows(), rejoiningRows()...)...), nil},
	} {
		if err := s.become(ctx, state.role); err != nil {
			return err
		}
		s.table(ctx, "HubRole "+state.role, state.rows)
		if state.more != nil {
			if err := state.more(s, ctx); err != nil {
				return err
			}
		}
	}
	return s.withoutRole(ctx)
}

// others are writes into the mirror by everybody but the mirror.
func others(want string) []row {
	const admin = "admin"
	mirroredPath := kube.Namespaces.Path("", mirrored)
	return []row{
		{"publisher", "publishes, as a dry run", want, probe()},
		{"publisher", "tries the fence where there is no Cluster", want, apply(kube.Leases.Path(mirrored, probeLease), leaseObject(probeLease))},
		{"worker operator", "writes the status of its Cluster", want, probe()},
		{"worker operator", "makes a gateway", want, post(gateways.Path(mirrored, ""), gateway("new"))},
		{admin, "creates a slice's quality", want, post(qualities.Path(mirrored, ""), quality("new"))},
		{admin, "applies a slice's quality", want, apply(qualities.Path(mirrored, "new"), quality("new"))},
		{admin, "changes a slice's quality", want, merge(qualities.Path(mirrored, "copy"), kube.Object{"spec": map[string]any{"priority": 3}})},
		{admin, "changes the status of a Cluster", want, merge(kube.Clusters.Path(mirrored, "worker-1")+"/status", kube.Object{"status": map[string]any{"nodeIPs": []any{"198.51.100.1"}}})},
		{admin, "deletes a slice's quality", want, remove(qualities.Path(mirrored, "copy"))},
		{admin, "deletes all of them at once", want, remove(qualities.Path(mirrored, ""))},
		{admin, "creates a Secret in the mirror", want, post(kube.Secrets.Path(mirrored, ""), secret("new", "Opaque"))},
		{admin, "creates a ServiceAccount in the mirror", want, post(kube.ServiceAccounts.Path(mirrored, ""), serviceAccount("new"))},
		{admin, "creates a Role in the mirror", want, post(roles.Path(mirrored, ""), everything("new"))},
		{admin, "creates a RoleBinding in the mirror", want, post(roleBindings.Path(mirrored, ""), binding("new", "Role", "readers", mirrored, "default"))},
		{admin, "creates a Project", want, post(kube.Projects.Path(home, ""), project("new"))},
		{admin, "changes the status of a Project", want, put(kube.Projects.Path(home, "blue"), touch)},
		{admin, "deletes a Project", want, remove(kube.Projects.Path(home, "blue"))},
		{admin, "creates a mirrored Namespace", want, post(kube.Namespaces.Path("", ""), labelled(namespace("new"), ownerLabel, owner))},
		{admin, "takes the owner's label off a mirrored Namespace", want, put(mirroredPath, relabel(ownerLabel, ""))},
		{admin, "gives that label another value", want, put(mirroredPath, relabel(ownerLabel, "nobody"))},
		{admin, "puts that label on another Namespace", want, put(kube.Namespaces.Path("", plain), relabel(ownerLabel, owner))},
		{admin, "deletes a mirrored Namespace", want, remove(mirroredPath)},
	}
}

// elsewhere is what no role of the hub may ever stop (C2).
func elsewhere() []row {
	const admin = "admin"
	return []row{
		{admin, "creates a ConfigMap elsewhere", accepted, post(configMaps.Path(plain, ""), config("new"))},
		{admin, "creates a Secret elsewhere", accepted, post(kube.Secrets.Path(plain, ""), secret("new", "Opaque"))},
		{admin, "creates a Namespace elsewhere", accepted, post(kube.Namespaces.Path("", ""), namespace("new"))},
		{admin, "creates a Secret in the controller's namespace", accepted, post(kube.Secrets.Path(home, ""), secret("new", "Opaque"))},
		{admin, "creates a RoleBinding elsewhere", accepted, post(roleBindings.Path(plain, ""), binding("new", "ClusterRole", "view", plain, "default"))},
		{admin, "creates a ConfigMap in the mirror", accepted, post(configMaps.Path(mirrored, ""), config("new"))},
		{"elector", "renews its Lease", accepted, put(lease(pairLease), touch)},
	}
}

// fencedRows: a hub that does not lead.
func fencedRows() []row {
	breakGlass := row{"break-glass", "changes a copy", accepted, put(qualities.Path(mirrored, "copy"), touch)}
	return append(append(others(fenced), elsewhere()...), breakGlass)
}

func leadingRows() []row {
	rows := append(append(others(accepted), elsewhere()...), syncerClosedRows()...)
	return append(rows, row{"publisher", "binds the peer's syncer to the Secrets of a mirrored Namespace", accepted,
		post(roleBindings.Path(mirrored, ""), peerBinding())},
		row{"publisher", "binds it in kube-mine, which bears the owner's label", notBound, post(roleBindings.Path("kube-mine", ""), peerBinding())},
		row{"publisher", "binds itself to them", notBound, post(roleBindings.Path(mirrored, ""),
			binding("x", "ClusterRole", "understudy-mirror-secrets-read", home, "understudy-publisher"))},
		row{"publisher", "binds them to everybody", notBound, post(roleBindings.Path(mirrored, ""), everybody())})
}

// everybody is the peer's binding with one subject more.
func everybody() kube.Object {
	o := peerBinding()
	o["subjects"] = append(o["subjects"].([]any), map[string]any{
		"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"})
	return o
}

// peerIsBound is the way of the source's Secrets to the peer: closed, bound by the publisher, open.
func (s *suite) peerIsBound(ctx context.Context) error {
	s.inOrder(ctx, "HubRole Leading", []row{{"publisher", "binds the peer's syncer", accepted, post(roleBindings.Path(mirrored, ""), peerBinding())}})
	err := s.await(ctx, "the peer's right on Secrets", func() error {
		return get(kube.Secrets.Path(mirrored, "")).send(ctx, s.accounts["peer-syncer"].client, nil)
	})
	if err != nil {
		return err
	}
	s.table(ctx, "bound by the publisher", []row{
		{"peer-syncer", "watches Secrets there", accepted, watch(kube.Secrets.Path(mirrored, ""))},
		{"peer-syncer", "lists ServiceAccounts there", accepted, get(kube.ServiceAccounts.Path(mirrored, ""))},
		{"peer-syncer", "reads Secrets of the controller's namespace", noRight, get(kube.Secrets.Path(home, ""))},
		{"peer-syncer", "writes a Secret there", noRight, put(kube.Secrets.Path(mirrored, workerToken), touch)},
		{"peer-syncer", "mints a worker's token", noRight, accountToken(mirrored, workerToken)},
	})
	return nil
}

// withoutRole: somebody deletes HubRole/self. The mirror is closed to all, the rest is not; the
// elector makes it again.
func (s *suite) withoutRole(ctx context.Context) error {
	self := pair.HubRoles.Path("", "self")
	if err := s.accounts["admin"].client.Delete(ctx, self); err != nil {
		return err
	}
	if err := s.await(ctx, "the verdict without HubRole", func() error { return s.obeyed(ctx, "") }); err != nil {
		return err
	}
	s.table(ctx, "HubRole missing", append(append(others(unknownRole), elsewhere()...),
		row{"syncer", "changes a copy", unknownRole, put(qualities.Path(mirrored, "copy"), touch)},
		row{"syncer", "deletes a copy", unknownRole, remove(qualities.Path(mirrored, "copy"))},
		row{"syncer", "makes a Namespace", unknownRole, post(kube.Namespaces.Path("", ""), mirroredNamespace("new"))},
		row{"syncer", "archives", accepted, post(kube.Secrets.Path(home, ""), secret("archive-2-1", "ha.kubeslice.io/archived-object"))},
	))
	s.inOrder(ctx, "HubRole missing", []row{{"elector", "makes HubRole/self again", accepted, post(pair.HubRoles.Path("", ""),
		object("ha.kubeslice.io/v1alpha1", "HubRole", "self", kube.Object{"spec": map[string]any{"role": "Standby", "term": 2}}))}})
	return s.become(ctx, "Standby")
}
