package rights

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"understudy.test/bed/kube"
)

const (
	kubesliceKinds = "projects.controller.kubeslice.io,clusters.controller.kubeslice.io,sliceconfigs.controller.kubeslice.io," +
		"serviceexportconfigs.controller.kubeslice.io,sliceqosconfigs.controller.kubeslice.io,vpnkeyrotations.controller.kubeslice.io," +
		"workersliceconfigs.worker.kubeslice.io,workerslicegateways.worker.kubeslice.io,workerserviceimports.worker.kubeslice.io"
	kubesliceStatuses = "projects/status.controller.kubeslice.io,clusters/status.controller.kubeslice.io," +
		"sliceconfigs/status.controller.kubeslice.io,serviceexportconfigs/status.controller.kubeslice.io," +
		"sliceqosconfigs/status.controller.kubeslice.io,vpnkeyrotations/status.controller.kubeslice.io," +
		"workersliceconfigs/status.worker.kubeslice.io,workerslicegateways/status.worker.kubeslice.io," +
		"workerserviceimports/status.worker.kubeslice.io"
	rolesAndBindings = "roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io"
	changes          = "get,list,watch,create,update,delete"
)

// holdings is what an account holds in a namespace: a line is "verbs resources [names]".
type holdings struct {
	as, namespace string
	lines         []string
}

var (
	electorEverywhere = []string{
		"create hubroles.ha.kubeslice.io", "get,list,watch,patch hubroles.ha.kubeslice.io self",
		"patch hubroles/status.ha.kubeslice.io self", "get namespaces kube-system", "create,patch events,events.events.k8s.io",
	}
	publisherEverywhere = []string{
		"get,list,watch clusters.controller.kubeslice.io", "patch clusters/status.controller.kubeslice.io",
		"list,watch namespaces", "get secrets " + workerToken, "create,patch leases.coordination.k8s.io " + probeLease, "create rolebindings.rbac.authorization.k8s.io",
		"bind clusterroles.rbac.authorization.k8s.io understudy-mirror-secrets-read",
	}
	syncerEverywhere = []string{
		changes + " namespaces," + kubesliceKinds + "," + rolesAndBindings, "get,update " + kubesliceStatuses,
		"escalate,bind roles.rbac.authorization.k8s.io", "bind clusterroles.rbac.authorization.k8s.io understudy-mirror-secrets",
	}
	peerSyncerEverywhere   = []string{"get,list,watch namespaces," + kubesliceKinds + "," + rolesAndBindings}
	peerObserverEverywhere = []string{"get namespaces kube-system"}
	followerEverywhere     = []string{
		"get,list,watch clustercontrollers.ha.kubeslice.io,hubprobes.ha.kubeslice.io",
		"patch clustercontrollers/status.ha.kubeslice.io,hubprobes/status.ha.kubeslice.io",
	}
	hubOnWorker = []string{"get,list,watch,create,patch clustercontrollers.ha.kubeslice.io", "create hubprobes.ha.kubeslice.io"}
)

func (s *suite) allHoldings() []holdings {
	plus := func(lines []string, more ...string) []string { return append(slices.Clone(lines), more...) }
	onWorker := func(hub string) []string {
		return plus(hubOnWorker, "get,watch,patch hubprobes.ha.kubeslice.io "+hub)
	}
	all := []holdings{
		{"elector", home, plus(electorEverywhere, "create leases.coordination.k8s.io",
			"get,list,watch,update leases.coordination.k8s.io "+pairLease+","+recordLease)},
		{"elector", mirrored, electorEverywhere},
		{"publisher", home, publisherEverywhere},
		{"publisher", mirrored, publisherEverywhere},
		{"syncer", home, plus(syncerEverywhere, "create secrets")},
		{"syncer", mirrored, plus(syncerEverywhere, changes+" secrets,serviceaccounts")},
		{"peer-observer", home, plus(peerObserverEverywhere, "get,list,watch leases.coordination.k8s.io "+pairLease)},
		{"peer-observer", mirrored, peerObserverEverywhere},
		{"peer-syncer", home, peerSyncerEverywhere},
		{"peer-syncer", mirrored, peerSyncerEverywhere},
	}
	for _, elsewhere := range []string{"kube-system", plain} {
		for as, lines := range map[string][]string{"elector": electorEverywhere, "publisher": publisherEverywhere, "syncer": syncerEverywhere,
			"peer-observer": peerObserverEverywhere, "peer-syncer": peerSyncerEverywhere} {
			all = append(all, holdings{as, elsewhere, lines})
		}
	}
	for _, hub := range []string{"hub-a", "hub-b"} {
		all = append(all, holdings{hub, "kubeslice-system", plus(onWorker(hub), "get,update secrets understudy-hub-"+hub)},
			holdings{hub, "kube-system", onWorker(hub)})
	}
	all = append(all, holdings{"follower", "kube-system", followerEverywhere},
		holdings{"follower", "kubeslice-system", plus(followerEverywhere, "get secrets understudy-hub-hub-a,understudy-hub-hub-b")})
	slices.SortStableFunc(all, func(a, b holdings) int { return strings.Compare(a.as, b.as) })
	return all
}

// exactRights asks the server itself for all rules of each account, in each kind of namespace:
// none is missing and none is there that no row of the design gives.
func (s *suite) exactRights(ctx context.Context) error {
	for _, h := range s.allHoldings() {
		wrong := ""
		held, err := s.rules(ctx, h.as, h.namespace)
		if err != nil {
			wrong = err.Error()
		} else if missing, extra := difference(held, expand(h.lines)); len(missing)+len(extra) > 0 {
			wrong = fmt.Sprintf("missing %v, too much %v", missing, extra)
		}
		s.report(fmt.Sprintf("%s holds exactly the rights of its row in %s", h.as, h.namespace), wrong)
	}
	return nil
}

// rules are all rights of an account in a namespace, as "verb resource.group name"; what every
// authenticated user may ask about itself is left out.
func (s *suite) rules(ctx context.Context, as, namespace string) ([]string, error) {
	review, err := s.accounts[as].client.Create(ctx, "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", kube.Object{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": map[string]any{"namespace": namespace}})
	if err != nil {
		return nil, err
	}
	if incomplete, _ := review.Get("status", "incomplete").(bool); incomplete {
		return nil, fmt.Errorf("the server does not know all rules: %s", review.Text("status", "evaluationError"))
	}
	var held []string
	for _, r := range review.List("status", "resourceRules") {
		rule := kube.Object(r.(map[string]any))
		for _, group := range texts(rule.List("apiGroups")) {
			for _, resource := range texts(rule.List("resources")) {
				if strings.HasPrefix(resource, "selfsubject") {
					continue
				}
				held = append(held, combine(texts(rule.List("verbs")), resource, group, texts(rule.List("resourceNames")))...)
			}
		}
	}
	return held, nil
}

func texts(list []any) []string {
	var all []string
	for _, item := range list {
		all = append(all, item.(string))
	}
	return all
}

func combine(verbs []string, resource, group string, names []string) []string {
	if group != "" {
		resource += "." + group
	}
	if len(names) == 0 {
		names = []string{"*"}
	}
	var all []string
	for _, verb := range verbs {
		for _, name := range names {
			all = append(all, verb+" "+resource+" "+name)
		}
	}
	return all
}

func expand(lines []string) []string {
	var all []string
	for _, line := range lines {
		words := append(strings.Fields(line), "")
		var names []string
		if words[2] != "" {
			names = strings.Split(words[2], ",")
		}
		for _, resource := range strings.Split(words[1], ",") {
			all = append(all, combine(strings.Split(words[0], ","), resource, "", names)...)
		}
	}
	return all
}

func difference(held, wanted []string) (missing, extra []string) {
	for _, w := range wanted {
		if !slices.Contains(held, w) {
			missing = append(missing, w)
		}
	}
	for _, h := range held {
		if !slices.Contains(wanted, h) {
			extra = append(extra, h)
		}
	}
	return missing, extra
}
