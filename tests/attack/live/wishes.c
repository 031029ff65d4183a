/*
 * The wishes (see wishes.h). N, the namespace of the controller, is the test bed's. Nothing here
 * decides what is right: that is seen on the API servers afterwards.
 * Pitfall: P101.
 */
#include "tests/attack/live/wishes.h"

#include <stdio.h>
#include <string.h>

#include "tests/attack/live/live.h"

#define HERE  CREDENTIAL_SYNCER
#define THERE CREDENTIAL_PEER_SYNCER
#define N     "kubeslice-controller"
#define P     "kubeslice-cisco"

#define CORE   "/api/v1"
#define OURS   "/apis/ha.kubeslice.io/v1alpha1"
#define SLICE  "/apis/controller.kubeslice.io/v1alpha1"
#define RBAC   "/apis/rbac.authorization.k8s.io/v1"
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/" N "/leases"
#define POLICY "/apis/admissionregistration.k8s.io/v1"

#define COPY "\"labels\":{\"ha.kubeslice.io/synced-from\":\"active\"}"
#define SECRET(labels)                                                                             \
	"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"evil\"" labels "}}"
#define BINDING(role)                                                                              \
	"{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"ClusterRoleBinding\","        \
	"\"metadata\":{\"name\":\"evil\"},\"roleRef\":{\"apiGroup\":"                              \
	"\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"" role                  \
	"\"},\"subjects\":[{\"kind\":\"ServiceAccount\",\"name\":\"understudy-syncer\","           \
	"\"namespace\":\"" N "\"}]}"
#define TOKEN "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenRequest\",\"spec\":{}}"

/* The same of both hubs: a syncer holds an identity on each. */
#define BOTH(verb, path, body)                                                                     \
	{ HERE, verb, path, body },                                                                \
	{                                                                                          \
		THERE, verb, path, body                                                            \
	}

static const struct wish syncer_wishes[] = {
	/* To lead. */
	BOTH(KUBE_PATCH_MERGE, LEASES "/kubeslice-controller-ha",
	    "{\"spec\":{\"holderIdentity\":\"hub-b\"}}"),
	BOTH(KUBE_PATCH_MERGE, LEASES "/kubeslice-controller-ha-peer",
	    "{\"metadata\":{\"annotations\":{\"ha.kubeslice.io/peer-term\":\"9\"}}}"),
	BOTH(KUBE_DELETE, LEASES "/kubeslice-controller-ha", NULL),
	BOTH(KUBE_PATCH_MERGE, OURS "/hubroles/self",
	    "{\"spec\":{\"role\":\"Leading\",\"term\":99}}"),
	BOTH(KUBE_PATCH_MERGE, OURS "/hubroles/self/status", "{\"status\":{\"history\":[]}}"),
	BOTH(KUBE_DELETE, OURS "/hubroles/self", NULL),
	/* To have more rights. */
	BOTH(KUBE_POST, RBAC "/clusterrolebindings", BINDING("cluster-admin")),
	BOTH(KUBE_PATCH_MERGE, RBAC "/clusterroles/understudy-mirror-secrets",
	    "{\"rules\":[{\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]}]}"),
	BOTH(KUBE_POST, RBAC "/namespaces/" N "/rolebindings",
	    "{\"apiVersion\":\"rbac.authorization.k8s.io/"
	    "v1\",\"kind\":\"RoleBinding\",\"metadata\":"
	    "{\"name\":\"evil\"," COPY "},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\","
	    "\"kind\":\"ClusterRole\",\"name\":\"understudy-mirror-secrets\"},\"subjects\":[{"
	    "\"kind\":"
	    "\"ServiceAccount\",\"name\":\"understudy-syncer\",\"namespace\":\"" N "\"}]}"),
	BOTH(KUBE_POST, RBAC "/namespaces/" P "/rolebindings",
	    "{\"apiVersion\":\"rbac.authorization.k8s.io/"
	    "v1\",\"kind\":\"RoleBinding\",\"metadata\":"
	    "{\"name\":\"evil\"," COPY "},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\","
	    "\"kind\":\"ClusterRole\",\"name\":\"cluster-admin\"},\"subjects\":[{\"kind\":"
	    "\"ServiceAccount\",\"name\":\"understudy-syncer\",\"namespace\":\"" N "\"}]}"),
	BOTH(KUBE_POST, RBAC "/namespaces/" P "/roles",
	    "{\"apiVersion\":\"rbac.authorization.k8s.io/"
	    "v1\",\"kind\":\"Role\",\"metadata\":{\"name\":"
	    "\"evil\"," COPY "},\"rules\":[{\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"verbs\":["
	    "\"*\"]}]}"),
	BOTH(KUBE_POST, CORE "/namespaces/" N "/serviceaccounts/understudy-elector/token", TOKEN),
	BOTH(KUBE_POST, CORE "/namespaces/" N "/serviceaccounts/understudy-syncer/token", TOKEN),
	BOTH(KUBE_POST, CORE "/namespaces/kube-system/serviceaccounts/default/token", TOKEN),
	/* To know more. */
	BOTH(KUBE_GET, CORE "/secrets", NULL),
	BOTH(KUBE_GET, CORE "/namespaces/" N "/secrets", NULL),
	BOTH(KUBE_GET, CORE "/namespaces/kube-system/secrets", NULL),
	BOTH(KUBE_GET, "/logs/", NULL),
	BOTH(KUBE_GET, "/metrics", NULL),
	/* To be rid of what holds it. */
	BOTH(KUBE_DELETE, POLICY "/validatingadmissionpolicies/understudy-syncer", NULL),
	BOTH(KUBE_DELETE, POLICY "/validatingadmissionpolicybindings/understudy-syncer", NULL),
	BOTH(KUBE_PATCH_MERGE,
	    POLICY "/validatingadmissionpolicybindings/understudy-role-in-namespaces",
	    "{\"spec\":{\"validationActions\":[\"Audit\"]}}"),
	BOTH(KUBE_DELETE,
	    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/hubroles.ha.kubeslice.io",
	    NULL),
	BOTH(KUBE_DELETE, RBAC "/clusterroles/understudy-syncer", NULL),
	/* To write outside of the mirror. */
	BOTH(KUBE_POST, CORE "/namespaces/" N "/secrets", SECRET("")),
	BOTH(KUBE_POST, CORE "/namespaces/" N "/secrets", SECRET("," COPY)),
	BOTH(KUBE_POST, CORE "/namespaces/kube-system/secrets", SECRET("," COPY)),
	BOTH(KUBE_POST, CORE "/namespaces/default/configmaps",
	    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"evil\"," COPY
	    "}}"),
	BOTH(KUBE_POST, CORE "/namespaces/" N "/serviceaccounts",
	    "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":"
	    "\"evil\"," COPY "}}"),
	BOTH(KUBE_POST, CORE "/namespaces",
	    "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"evil\"}}"),
	BOTH(KUBE_PATCH_MERGE, CORE "/namespaces/" N,
	    "{\"metadata\":{\"labels\":{\"kubeslice-resource-owner\":\"kubeslice-controller\","
	    "\"ha.kubeslice.io/synced-from\":\"active\"}}}"),
	BOTH(KUBE_PATCH_MERGE, CORE "/namespaces/kube-system",
	    "{\"metadata\":{\"labels\":{\"kubeslice-resource-owner\":\"kubeslice-controller\","
	    "\"ha.kubeslice.io/synced-from\":\"active\"}}}"),
	BOTH(KUBE_DELETE, CORE "/namespaces/" N, NULL),
	BOTH(KUBE_DELETE, CORE "/namespaces/default", NULL),
	BOTH(KUBE_POST, CORE "/namespaces/default/pods",
	    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"evil\"},\"spec\":{"
	    "\"containers\":[{\"name\":\"x\",\"image\":\"x\"}]}}"),
	BOTH(KUBE_POST, CORE "/namespaces/" N "/events",
	    "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"evil\"},"
	    "\"involvedObject\":{\"namespace\":\"" N "\"}}"),
	BOTH(KUBE_POST, "/apis/certificates.k8s.io/v1/certificatesigningrequests",
	    "{\"apiVersion\":\"certificates.k8s.io/v1\",\"kind\":\"CertificateSigningRequest\","
	    "\"metadata\":{\"name\":\"evil\"},\"spec\":{\"request\":\"eA==\",\"signerName\":"
	    "\"kubernetes.io/kube-apiserver-client\",\"usages\":[\"client auth\"]}}"),
	BOTH(KUBE_GET, CORE "/namespaces/default/services/kubernetes/proxy/", NULL),
	BOTH(KUBE_GET, CORE "/nodes/x/proxy/", NULL),
	/* To change the source, where it may only read. */
	{ THERE, KUBE_DELETE, SLICE "/namespaces/" N "/projects/cisco", NULL },
	{ THERE, KUBE_DELETE, CORE "/namespaces/" P, NULL },
	{ THERE, KUBE_DELETE, SLICE "/namespaces/" P "/sliceconfigs/green", NULL },
	{ THERE, KUBE_PATCH_MERGE, SLICE "/namespaces/" P "/clusters/worker-1",
	    "{\"spec\":{\"nodeIPs\":[\"203.0.113.66\"]}}" },
	{ THERE, KUBE_PATCH_MERGE, SLICE "/namespaces/" P "/clusters/worker-1/status",
	    "{\"status\":{\"activeController\":{\"endpoint\":\"https://evil\"}}}" },
	{ THERE, KUBE_POST, CORE "/namespaces/" P "/secrets", SECRET("") },
	{ THERE, KUBE_POST,
	    CORE "/namespaces/" P "/serviceaccounts/kubeslice-rbac-worker-worker-1/token", TOKEN },
	{ THERE, KUBE_PATCH_MERGE, RBAC "/namespaces/" P "/rolebindings/understudy-mirror-read",
	    "{\"subjects\":[]}" },
};

#define WORKER CREDENTIAL_WORKER
#define SYSTEM "/api/v1/namespaces/kubeslice-system"

static const struct wish repointer_wishes[] = {
	{ WORKER, KUBE_PATCH_MERGE, OURS "/clustercontrollers/active",
	    "{\"spec\":{\"identity\":\"hub-a\",\"endpoint\":\"https://evil\",\"term\":1000}}" },
	{ WORKER, KUBE_DELETE, OURS "/clustercontrollers/active", NULL },
	{ WORKER, KUBE_PATCH_MERGE, OURS "/clustercontrollers/active/status",
	    "{\"status\":{\"observedTerm\":1000}}" },
	{ WORKER, KUBE_PATCH_MERGE, OURS "/hubprobes/hub-a", "{\"spec\":{\"target\":\"hub-b\"}}" },
	{ WORKER, KUBE_PATCH_MERGE, OURS "/hubprobes/hub-b/status",
	    "{\"status\":{\"result\":\"denied\"}}" },
	{ WORKER, KUBE_GET, SYSTEM "/secrets", NULL },
	{ WORKER, KUBE_GET, SYSTEM "/secrets/understudy-hub-hub-a", NULL },
	{ WORKER, KUBE_DELETE, SYSTEM "/secrets/understudy-hub-hub-b", NULL },
	{ WORKER, KUBE_POST, SYSTEM "/serviceaccounts/understudy-follower/token", TOKEN },
	{ WORKER, KUBE_POST, RBAC "/clusterrolebindings", BINDING("cluster-admin") },
	{ WORKER, KUBE_DELETE, POLICY "/validatingadmissionpolicies/understudy-worker", NULL },
	{ WORKER, KUBE_DELETE, CORE "/namespaces/kubeslice-system", NULL },
	{ WORKER, KUBE_POST, CORE "/namespaces/default/configmaps",
	    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"evil\"}}" },
	/* It holds nothing for these: its client cannot even ask. */
	{ WORKER + 1, KUBE_GET, OURS "/clustercontrollers/active", NULL },
	{ HERE, KUBE_GET, CORE "/secrets", NULL },
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

const struct wish *wish_of_syncer(unsigned number)
{
	return number < COUNT(syncer_wishes) ? &syncer_wishes[number] : NULL;
}

const struct wish *wish_of_repointer(unsigned number)
{
	return number < COUNT(repointer_wishes) ? &repointer_wishes[number] : NULL;
}

/* --- Random ---------------------------------------------------------------------------------- */

static const struct kind {
	const char *prefix, *version, *plural, *kind;
} kinds[] = {
	{ CORE, "v1", "secrets", "Secret" },
	{ CORE, "v1", "configmaps", "ConfigMap" },
	{ CORE, "v1", "serviceaccounts", "ServiceAccount" },
	{ CORE, "v1", "pods", "Pod" },
	{ CORE, "v1", "services", "Service" },
	{ CORE, "v1", "events", "Event" },
	{ CORE, "v1", "nodes", "Node" },
	{ CORE, "v1", "persistentvolumes", "PersistentVolume" },
	{ "/apis/apps/v1", "apps/v1", "deployments", "Deployment" },
	{ "/apis/coordination.k8s.io/v1", "coordination.k8s.io/v1", "leases", "Lease" },
	{ RBAC, "rbac.authorization.k8s.io/v1", "roles", "Role" },
	{ RBAC, "rbac.authorization.k8s.io/v1", "rolebindings", "RoleBinding" },
	{ RBAC, "rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole" },
	{ RBAC, "rbac.authorization.k8s.io/v1", "clusterrolebindings", "ClusterRoleBinding" },
	{ OURS, "ha.kubeslice.io/v1alpha1", "hubroles", "HubRole" },
	{ OURS, "ha.kubeslice.io/v1alpha1", "clustercontrollers", "ClusterController" },
	{ OURS, "ha.kubeslice.io/v1alpha1", "hubprobes", "HubProbe" },
	{ SLICE, "controller.kubeslice.io/v1alpha1", "projects", "Project" },
	{ SLICE, "controller.kubeslice.io/v1alpha1", "clusters", "Cluster" },
	{ SLICE, "controller.kubeslice.io/v1alpha1", "sliceconfigs", "SliceConfig" },
	{ POLICY, "admissionregistration.k8s.io/v1", "validatingadmissionpolicies",
	    "ValidatingAdmissionPolicy" },
	{ POLICY, "admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings",
	    "ValidatingAdmissionPolicyBinding" },
	{ POLICY, "admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations",
	    "MutatingWebhookConfiguration" },
	{ "/apis/apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1", "customresourcedefinitions",
	    "CustomResourceDefinition" },
};

static const char *const places[] = { "", "", N, N, "kube-system", "default", P, "evil" };
static const char *const names[] = { "evil", "self", "active", "hub-a", "hub-b",
	"kubeslice-controller-ha", "kubeslice-controller-ha-peer", "understudy-elector",
	"understudy-syncer", "understudy-mirror-secrets", "cluster-admin", "default", "cisco",
	"worker-1", "green", "kube-root-ca.crt", "%2e%2e", "a%2f..%2fb" };
static const char *const subresources[] = { "", "", "", "", "/status", "/token", "/scale",
	"/finalize", "/proxy", "/exec", "/approval", ("/../../" N "/secrets") };
static const char *const labels[] = { "", "," COPY,
	(",\"labels\":{\"kubeslice-resource-owner\":\"kubeslice-controller\","
	 "\"ha.kubeslice.io/synced-from\":\"active\"}"),
	",\"annotations\":{\"ha.kubeslice.io/hold\":\"true\"}" };
static const char *const contents[] = { "", ",\"spec\":{\"role\":\"Leading\",\"term\":1000}",
	",\"spec\":{\"holderIdentity\":\"hub-b\"}", ",\"data\":{\"token\":\"ZXZpbA==\"}",
	",\"status\":{\"activeController\":{\"endpoint\":\"https://evil\"}}",
	",\"rules\":[{\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]}]",
	",\"spec\":{\"identity\":\"hub-b\",\"endpoint\":\"https://evil\",\"term\":1000}",
	(",\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\","
	 "\"name\":\"cluster-admin\"},\"subjects\":[{\"kind\":\"User\",\"name\":\"evil\"}]") };

#define ANY_OF(table) table[live_random(seed, COUNT(table))]

struct wish wish_random(uint64_t *seed, const unsigned *targets, unsigned target_count)
{
	static const enum kube_verb verbs[] = { KUBE_POST, KUBE_PUT, KUBE_PATCH_MERGE,
		KUBE_PATCH_APPLY, KUBE_PATCH_JSON, KUBE_DELETE, KUBE_DELETE };
	static char path[512], body[2048];
	const struct kind *kind = &ANY_OF(kinds);
	const char *place = ANY_OF(places), *name = ANY_OF(names);
	enum kube_verb verb = ANY_OF(verbs);
	struct wish wish = { targets[live_random(seed, target_count)], verb, path, body };
	bool collection = verb == KUBE_POST || live_random(seed, 20) == 0;

	(void)snprintf(path, sizeof(path), "%s%s%s/%s%s%s%s", kind->prefix,
	    *place ? "/namespaces/" : "", place, kind->plural, collection ? "" : "/",
	    collection ? "" : name, collection ? "" : ANY_OF(subresources));
	if (verb == KUBE_PATCH_JSON)
		(void)snprintf(body, sizeof(body),
		    "[{\"op\":\"%s\",\"path\":\"/metadata/labels\",\"value\":{\"evil\":\"x\"}}]",
		    live_random(seed, 2) ? "add" : "replace");
	else
		(void)snprintf(body, sizeof(body),
		    "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\"%s}%s}",
		    kind->version, kind->kind, name, ANY_OF(labels), ANY_OF(contents));
	if (verb == KUBE_DELETE)
		wish.body = NULL;
	return wish;
}
