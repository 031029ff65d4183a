package rights

import (
	"context"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

// witness is what a worker's understudyd may do on a hub, as KubeSlice's account of the worker, beyond
// what KubeSlice gives it (C3).
func (s *suite) witness(ctx context.Context) error {
	if err := s.pair.Hubs[0].InstallWitness(ctx, mirrored); err != nil {
		return err
	}
	const as = "worker operator"
	if err := s.await(ctx, "the right on the Lease", func() error {
		return get(lease(pairLease)).send(ctx, s.accounts[as].client, nil)
	}); err != nil {
		return err
	}
	s.table(ctx, "a worker on a hub", []row{
		{as, "sees the hub renew its Lease", accepted, get(lease(pairLease))},
		{as, "watches the Lease", accepted, watch(only(kube.Leases, home, pairLease))},
		{as, "lists Leases", noRight, get(only(kube.Leases, home, pairLease))},
		{as, "reads the armed record", noRight, get(lease(recordLease))},
		{as, "reads another Lease", noRight, get(lease("somebody-else"))},
		{as, "renews the Lease", noRight, put(lease(pairLease), touch)},
		{as, "deletes the Lease", noRight, remove(lease(pairLease))},
		{as, "reads HubRole/self", noRight, get(pair.HubRoles.Path("", "self"))},
		{as, "reads Secrets of the controller", noRight, get(kube.Secrets.Path(home, ""))},
	})
	return nil
}

// followerRows is what it may do on its own cluster, where claims and questions of the hubs stand (H12).
func followerRows() []row {
	const as = "follower"
	status := func(fields map[string]any) kube.Object { return kube.Object{"status": fields} }
	return []row{
		{as, "reads the claim", accepted, get(active)},
		{as, "lists claims", accepted, get(pair.Controllers.Path("", ""))},
		{as, "watches the claim", accepted, watch(only(pair.Controllers, "", "active"))},
		{as, "says what it follows", accepted, merge(active+"/status", status(map[string]any{"observedTerm": 2}))},
		{as, "watches questions", accepted, watch(probes.Path("", ""))},
		{as, "answers hub-a", accepted, merge(probes.Path("", "hub-a")+"/status", status(map[string]any{"nonce": "1", "result": "read"}))},
		{as, "answers hub-b", accepted, merge(probes.Path("", "hub-b")+"/status", status(map[string]any{"nonce": "1", "result": "unreachable"}))},
		{as, "reads hub-a's token", accepted, get(hubSecret("hub-a"))},
		{as, "reads hub-b's token", accepted, get(hubSecret("hub-b"))},

		{as, "claims in a hub's name", noRight, merge(active, kube.Object{"spec": map[string]any{"term": 4}})},
		{as, "makes a claim", noRight, apply(active, claim("active", "hub-a", 9))},
		{as, "replaces the status as a whole", noRight, put(active+"/status", touch)},
		{as, "deletes the claim", noRight, remove(active)},
		{as, "asks in hub-a's name", noRight, merge(probes.Path("", "hub-a"), kube.Object{"spec": map[string]any{"nonce": "2"}})},
		{as, "makes a question", noRight, post(probes.Path("", ""), question("hub-c"))},
		{as, "deletes a question", noRight, remove(probes.Path("", "hub-a"))},
		{as, "writes hub-a's token", noRight, put(hubSecret("hub-a"), touch)},
		{as, "lists Secrets", noRight, get(kube.Secrets.Path(system, ""))},
		{as, "reads another Secret", noRight, get(kube.Secrets.Path(system, "private"))},
		{as, "mints hub-a's token", noRight, accountToken(system, "understudy-hub-a")},
		{as, "reads Namespaces", noRight, get(kube.Namespaces.Path("", ""))},
	}
}
