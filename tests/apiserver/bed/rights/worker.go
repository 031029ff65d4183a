package rights

import (
	"context"

	"understudy.test/bed/kube"
	"understudy.test/bed/pair"
)

const (
	wrongTerm     = "422 UNDERSTUDY_TERM"
	wrongIdentity = "403 UNDERSTUDY_IDENTITY"
	noDelete      = "403 UNDERSTUDY_DELETE"
	system        = "kubeslice-system"
)

var (
	probes = kube.Resource{Group: "ha.kubeslice.io", Version: "v1alpha1", Name: "hubprobes"}
	active = pair.Controllers.Path("", "active")
)

func claim(name, identity string, term any) kube.Object {
	return object("ha.kubeslice.io/v1alpha1", "ClusterController", name, kube.Object{"spec": map[string]any{
		"endpoint": "https://" + identity + ".example.com:6443", "identity": identity, "term": term}})
}

// push is what a repointer does.
func push(identity string, term int) request { return apply(active, claim("active", identity, term)) }

func question(hub string) kube.Object {
	return object("ha.kubeslice.io/v1alpha1", "HubProbe", hub, kube.Object{"spec": map[string]any{"nonce": "1", "target": "hub-a"}})
}

func hubSecret(hub string) string { return kube.Secrets.Path(system, "understudy-hub-"+hub) }

// worker is a worker cluster against its hubs, in the order of a failover (C11): hub-a claims, is
// followed by hub-b, and must not come back by any door.
func (s *suite) worker(ctx context.Context) error {
	s.inOrder(ctx, "worker-1", []row{
		{"hub-a", "claims it with term 2", accepted, push("hub-a", 2)},
		{"hub-a", "asks as hub-a", accepted, apply(probes.Path("", "hub-a"), question("hub-a"))},
		{"hub-b", "asks as hub-b", accepted, apply(probes.Path("", "hub-b"), question("hub-b"))},
		{"worker's break-glass", "makes a Secret there", accepted, post(kube.Secrets.Path(system, ""), secret("private", "Opaque"))},
	})
	s.table(ctx, "worker-1 of hub-a", workerRows())
	s.table(ctx, "worker-1 of hub-a", claimRows())
	s.table(ctx, "worker-1's follower", followerRows())
	s.inOrder(ctx, "worker-1", []row{{"hub-b", "takes it over with term 3", accepted, push("hub-b", 3)}})
	s.table(ctx, "worker-1 of hub-b", []row{
		{"hub-a", "pushes its old term", wrongTerm, push("hub-a", 2)},
		{"hub-a", "pushes the same term", wrongTerm, push("hub-a", 3)},
		{"hub-a", "pushes the same term in hub-b's name", wrongIdentity, push("hub-b", 3)},
		{"hub-a", "pushes a higher term in hub-b's name", wrongIdentity, push("hub-b", 5)},
		{"hub-a", "deletes the claim", noRight, remove(active)},
		{"hub-a", "deletes all claims", noRight, remove(pair.Controllers.Path("", ""))},
		{"worker's admin", "deletes the claim", noDelete, remove(active)},
		{"worker's admin", "deletes all claims", noDelete, remove(pair.Controllers.Path("", ""))},
		{"worker's admin", "claims in hub-a's name", wrongIdentity, push("hub-a", 4)},
		{"hub-a", "claims with a higher term", accepted, push("hub-a", 4)},
	})
	// The door that the server cannot close: whoever may break the glass resets the term. The
	// follower remembers the highest one (C11).
	s.inOrder(ctx, "worker-1", []row{
		{"worker's break-glass", "deletes the claim", accepted, remove(active)},
		{"hub-a", "claims what was deleted with a lower term", accepted, push("hub-a", 2)},
	})
	return nil
}

// workerRows is what the account of hub-a may do there, whatever is claimed.
func workerRows() []row {
	const as = "hub-a"
	rows := []row{
		{as, "reads the claim", accepted, get(active)},
		{as, "lists claims", accepted, get(pair.Controllers.Path("", ""))},
		{as, "watches the claim", accepted, watch(only(pair.Controllers, "", "active"))},
		{as, "reads its question", accepted, get(probes.Path("", as))},
		{as, "watches its question", accepted, watch(only(probes, "", as))},
		{as, "asks again", accepted, apply(probes.Path("", as), question(as))},
		{as, "reads its Secret", accepted, get(hubSecret(as))},
		{as, "delivers its token", accepted, put(hubSecret(as), touch)},

		{as, "replaces the claim", noRight, put(active, touch)},
		{as, "writes the status of the claim", noRight, merge(active+"/status", kube.Object{"status": map[string]any{"observedTerm": 9}})},
		{as, "reads hub-b's question", noRight, get(probes.Path("", "hub-b"))},
		{as, "asks in hub-b's name", noRight, apply(probes.Path("", "hub-b"), question("hub-b"))},
		{as, "makes a question in another's name", wrongIdentity, post(probes.Path("", ""), question("hub-c"))},
		{as, "lists questions", noRight, get(probes.Path("", ""))},
		{as, "answers its own question", noRight, merge(probes.Path("", as)+"/status", kube.Object{"status": map[string]any{"result": "unreachable"}})},
		{as, "deletes its question", noRight, remove(probes.Path("", as))},
		{as, "reads hub-b's Secret", noRight, get(hubSecret("hub-b"))},
		{as, "writes hub-b's Secret", noRight, put(hubSecret("hub-b"), touch)},
		{as, "lists Secrets", noRight, get(kube.Secrets.Path(system, ""))},
		{as, "reads another Secret", noRight, get(kube.Secrets.Path(system, "private"))},
		{as, "makes a Secret", noRight, post(kube.Secrets.Path(system, ""), secret("new", "Opaque"))},
		{as, "patches its Secret", noRight, merge(hubSecret(as), kube.Object{"stringData": map[string]any{"token": "x"}})},
		{as, "deletes its Secret", noRight, remove(hubSecret(as))},
		{as, "mints hub-b's token", noRight, accountToken(system, "understudy-hub-b")},
		{as, "mints its own token", noRight, accountToken(system, "understudy-hub-a")},
		{as, "reads Namespaces", noRight, get(kube.Namespaces.Path("", ""))},
		{as, "starts a Pod", noRight, post(pods.Path(system, ""), object("v1", "Pod", "x", kube.Object{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "a", "image": "a"}}}}))},
		{as, "takes the policy away", noRight, remove(policies.Path("", "understudy-worker"))},
		{as, "takes the definition away", noRight, remove(definitions.Path("", "clustercontrollers.ha.kubeslice.io"))},
	}
	return rows
}

// claimRows: hub-a leads with term 2; each door that could lower the term or change the name.
func claimRows() []row {
	const as = "hub-a"
	spec := func(fields map[string]any) request { return merge(active, kube.Object{"spec": fields}) }
	return []row{
		{as, "pushes its claim again", accepted, push(as, 2)},
		{as, "changes its endpoint at the same term", accepted, spec(map[string]any{"endpoint": "https://192.0.2.1:6443"})},
		{as, "raises its term", accepted, spec(map[string]any{"term": 4})},
		{"hub-b", "raises the term in its name", accepted, push("hub-b", 3)},

		{as, "lowers its term", wrongTerm, spec(map[string]any{"term": 1})},
		{"hub-b", "claims the same term", wrongTerm, push("hub-b", 2)},
		{"hub-b", "claims a lower term", wrongTerm, push("hub-b", 1)},
		{as, "claims in hub-b's name", wrongIdentity, push("hub-b", 5)},
		{"hub-b", "renames hub-a's claim", wrongTerm, spec(map[string]any{"identity": "hub-b"})},
		{as, "claims in nobody's name", "422 identity", spec(map[string]any{"identity": ""})},
		{as, "removes spec", "422 spec", jsonPatch(active, `[{"op":"remove","path":"/spec"}]`)},
		{as, "empties spec", "422 spec", jsonPatch(active, `[{"op":"replace","path":"/spec","value":{}}]`)},
		{as, "removes the term", "422 term", jsonPatch(active, `[{"op":"remove","path":"/spec/term"}]`)},
		{as, "removes the identity", "422 identity", jsonPatch(active, `[{"op":"remove","path":"/spec/identity"}]`)},
		{as, "removes the endpoint", "422 endpoint", jsonPatch(active, `[{"op":"remove","path":"/spec/endpoint"}]`)},
		{as, "claims with a term beyond 2^53-1", "422 term", spec(map[string]any{"term": int64(1) << 53})},
		{as, "claims with the term 0", "422 term", spec(map[string]any{"term": 0})},
		{as, "claims with a negative term", "422 term", spec(map[string]any{"term": -2})},
		{as, "claims with a text as term", "422 term", spec(map[string]any{"term": "9"})},
		{as, "names an endpoint without https", "422 endpoint", spec(map[string]any{"endpoint": "http://192.0.2.1"})},
		{as, "makes a second claim of another name", "422 UNDERSTUDY_NAME", post(pair.Controllers.Path("", ""), claim("passive", as, 9))},
		{as, "deletes its claim", noRight, remove(active)},
	}
}
