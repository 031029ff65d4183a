package rights

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"understudy.test/bed/kube"
)

// controllerPatience is for the cluster's controllers, which work in rounds.
const controllerPatience = 2 * time.Minute

// controllers: the cluster's own controllers work in the mirror of a Standby (C2): a fence that
// stops them leaves token Secrets empty and Namespaces Terminating for ever.
func (s *suite) controllers(ctx context.Context) error {
	if err := s.become(ctx, "Standby"); err != nil {
		return err
	}
	root := s.accounts["break-glass"].root
	seen := func(what string, try func() error) {
		wrong := ""
		if err := s.awaitFor(ctx, controllerPatience, what, try); err != nil {
			wrong = err.Error()
		}
		s.report("HubRole Standby: "+what, wrong)
	}
	seen("the token controller fills a mirrored token Secret", func() error {
		o, err := root.Get(ctx, kube.Secrets.Path(mirrored, workerToken))
		if err == nil && o.Text("data", "token") == "" {
			err = errors.New("it is empty")
		}
		return err
	})
	seen("the account controller makes `default` in a mirrored Namespace", func() error {
		_, err := root.Get(ctx, kube.ServiceAccounts.Path(mirrored, "default"))
		return err
	})
	// Kinds of the cluster itself: the collector finds new definitions only now and then.
	owner, err := root.Get(ctx, kube.ServiceAccounts.Path(mirrored, workerToken))
	if err != nil {
		return err
	}
	dependent := copied(secret("dependent", "Opaque"))
	dependent["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{
		"apiVersion": "v1", "kind": "ServiceAccount", "name": workerToken, "uid": owner.UID()}}
	s.inOrder(ctx, "HubRole Standby", []row{
		{"syncer", "makes a copy with an owner", accepted, post(kube.Secrets.Path(mirrored, ""), dependent)},
		{"syncer", "deletes that owner", accepted, remove(kube.ServiceAccounts.Path(mirrored, workerToken))},
	})
	seen("the garbage collector deletes what it owned", s.gone(ctx, kube.Secrets.Path(mirrored, "dependent")))
	s.inOrder(ctx, "HubRole Standby", []row{{"syncer", "deletes a mirrored Namespace for good", accepted, remove(kube.Namespaces.Path("", mirrored))}})
	seen("the namespace controller empties and removes it", s.gone(ctx, kube.Namespaces.Path("", mirrored)))
	s.inOrder(ctx, "HubRole Standby", []row{
		{"syncer", "mirrors it anew", accepted, post(kube.Namespaces.Path("", ""), mirroredNamespace(mirrored))},
		{"syncer", "mirrors a Cluster anew", accepted, post(kube.Clusters.Path(mirrored, ""), copied(workerCluster("worker-1")))},
		{"syncer", "mirrors a slice's quality anew", accepted, post(qualities.Path(mirrored, ""), copied(quality("copy")))},
		{"break-glass", "makes a foreign one", accepted, post(qualities.Path(mirrored, ""), quality("foreign"))},
	})
	return nil
}

func (s *suite) gone(ctx context.Context, path string) func() error {
	return func() error {
		_, err := s.accounts["break-glass"].root.Get(ctx, path)
		if kube.IsCode(err, http.StatusNotFound) {
			return nil
		}
		return fmt.Errorf("it is still there (%v)", err)
	}
}

// forgotten is how long the API server is left without a binding: it forgets the parameter's
// informer meanwhile, and must find a new one.
const forgotten = 2500 * time.Millisecond

// bindings: all bindings are deleted and made anew, as an upgrade does. The verdict must follow
// HubRole again; with a Lease as parameter it would stay what it was (C1).
func (s *suite) bindings(ctx context.Context) error {
	admin := s.accounts["admin"].client
	list, err := admin.Get(ctx, policyBindings.Path("", ""))
	if err != nil {
		return err
	}
	for _, b := range list.Items() {
		if err := admin.Delete(ctx, policyBindings.Path("", b.Name())); err != nil {
			return err
		}
	}
	open := row{"admin", "changes a copy on a Standby", accepted, put(qualities.Path(mirrored, "copy"), touch)}
	err = s.await(ctx, "the hub without bindings", func() error {
		return open.send(ctx, admin, s.accounts["break-glass"].root)
	})
	s.report("without bindings nothing is fenced", text(err))
	kube.Pause(ctx, forgotten)
	for _, b := range list.Items() {
		metadata := b["metadata"].(map[string]any)
		delete(metadata, "uid")
		delete(metadata, "resourceVersion")
		b["apiVersion"], b["kind"] = "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"
		if _, err := admin.Create(ctx, policyBindings.Path("", ""), b); err != nil {
			return err
		}
	}
	for _, role := range []string{"Standby", "Leading", "Standby", "Rejoining", "Standby"} {
		if err := s.become(ctx, role); err != nil {
			s.report("bindings made anew: the verdict follows HubRole "+role, err.Error())
			return nil
		}
	}
	s.report("bindings made anew: the verdict follows HubRole", "")
	return nil
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// selfMade: admission lets no syncer give itself every right in a mirrored namespace. If it had
// them all the same, it would still be held to copies of mirrored kinds.
func (s *suite) selfMade(ctx context.Context) error {
	s.inOrder(ctx, "self-made rights", []row{
		{"break-glass", "makes a Role with all rights", accepted, post(roles.Path(mirrored, ""), copied(everything("everything")))},
		{"syncer", "adopts that Role as it is", accepted, put(roles.Path(mirrored, "everything"), touch)},
		// Its control, the same request by root, does make it.
		{"syncer", "binds a Role with all rights to itself", notAllowed, post(roleBindings.Path(mirrored, ""),
			copied(binding("hostile", "Role", "everything", home, "understudy-syncer")))},
	})
	syncer := s.accounts["syncer"].client
	if err := s.await(ctx, "its right on ConfigMaps", func() error {
		_, err := syncer.Get(ctx, configMaps.Path(mirrored, ""))
		return err
	}); err != nil {
		return err
	}
	token := accountToken(mirrored, workerToken)
	labelledToken := tokenRequest()
	labelledToken["metadata"] = map[string]any{}
	pod := object("v1", "Pod", "hostile", kube.Object{"spec": map[string]any{
		"hostPID": true, "containers": []any{map[string]any{"name": "a", "image": "a"}}}})
	s.table(ctx, "self-made rights", []row{
		{"syncer", "mints a worker's token", notAllowed, token},
		{"syncer", "mints a worker's token with a copy's label", notAllowed, post(token.path, copied(labelledToken))},
		{"syncer", "starts a Pod among the processes of the node", notAllowed, post(pods.Path(mirrored, ""), copied(pod))},
		{"syncer", "makes a ConfigMap", notAllowed, post(configMaps.Path(mirrored, ""), copied(config("new")))},
		{"syncer", "makes a Lease", notAllowed, post(kube.Leases.Path(mirrored, ""), copied(object("coordination.k8s.io/v1", "Lease", "x", nil)))},
		{"syncer", "deletes all copies at once", notAllowed, remove(qualities.Path(mirrored, ""))},
		{"syncer", "binds cluster-admin elsewhere", noGrant, post(roleBindings.Path(plain, ""), copied(binding("x", "ClusterRole", "cluster-admin", home, "understudy-syncer")))},
		{"syncer", "reads Secrets elsewhere", noRight, get(kube.Secrets.Path(plain, ""))},
	})
	s.inOrder(ctx, "self-made rights", []row{{"break-glass", "takes that binding away", accepted, remove(roleBindings.Path(mirrored, "hostile"))}})
	return s.await(ctx, "the syncer without it", func() error {
		_, err := syncer.Get(ctx, configMaps.Path(mirrored, ""))
		if kube.IsCode(err, http.StatusForbidden) {
			return nil
		}
		return fmt.Errorf("it still reads ConfigMaps (%v)", err)
	})
}
