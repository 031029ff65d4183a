/*
 * The fence probe (C1): a write in a mirrored namespace, as a dry run. This identity is one that
 * the role policy governs, so the answer says whether the API server enforces what HubRole says
 * now. It changes nothing, whatever the answer, and needs no permit.
 *
 * Where there is a Cluster, its status is patched with nothing. Else a Lease is applied that nobody
 * has: the policy matches it by that one name, in namespaces that the same binding chooses by the
 * same label as all that is mirrored there, and this identity may write no other.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/log.h"
#include "kube/url.h"
#include "publisher/publisher.h"

/* As in policy/admission/hub.yaml and policy/rbac/hub.yaml. */
#define PROBE_LEASE "understudy-probe"

struct probe {
	struct publisher *publisher;
	uint64_t nonce;
};

static void tell(struct publisher *publisher, uint64_t nonce, enum probe_verdict verdict)
{
	struct msg_probe_seen seen = { .nonce = nonce, .verdict = verdict };

	(void)role_send(publisher->process, ROLE_ELECTOR, 0, MSG_PROBE_SEEN, &seen);
}

static void on_answer(void *arg, const struct kube_answer *answer)
{
	struct probe *probe = arg;
	enum probe_verdict verdict = PROBE_FAILED;

	if (answer->class == KUBE_OK)
		verdict = PROBE_ACCEPTED;
	else if (answer->class == KUBE_FORBIDDEN && strstr(answer->message, "UNDERSTUDY_FENCE"))
		verdict = PROBE_FENCED;
	else
		log_debug("fence probe: %s %s", kube_class_name(answer->class), answer->message);
	tell(probe->publisher, probe->nonce, verdict);
	free(probe);
}

/* The policy governs mirrored namespaces: anything else would be accepted on any hub. */
static const struct cluster *governed(const struct publisher *publisher)
{
	for (unsigned i = 0; i < publisher->cluster_count; i++)
		if (bindings_is_mirrored(publisher, publisher->clusters[i]->namespace))
			return publisher->clusters[i];
	return NULL;
}

/* False: there is nothing to try it on. */
static bool choose(const struct publisher *publisher, struct kube_ask *ask, struct buf *path)
{
	const struct cluster *cluster = governed(publisher);

	if (cluster) {
		publish_cluster_path(path, cluster, "status");
		ask->verb = KUBE_PATCH_MERGE;
		ask->query = "dryRun=All";
		ask->body = STR_LIT("{}");
	} else if (publisher->namespace_count > 0) {
		kube_url_path(path, "coordination.k8s.io", "v1", "leases",
		    publisher->namespaces[0]->name, PROBE_LEASE, NULL);
		ask->verb = KUBE_PATCH_APPLY; /* a POST could not be allowed for one name alone */
		ask->query = "dryRun=All&force=true&fieldManager=understudy";
		ask->body = STR_LIT("{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
				    "\"metadata\":{\"name\":\"" PROBE_LEASE "\"}}");
	}
	ask->path = path->data;
	return path->len > 0;
}

void probe_again(struct publisher *publisher)
{
	if (publisher->probe_early)
		probe_start(publisher, publisher->probe_early);
}

void probe_start(struct publisher *publisher, uint64_t nonce)
{
	struct buf path = buf_make(2048);
	struct kube_ask ask = { .target = CREDENTIAL_PUBLISHER,
		.deadline_ms = config_request_deadline_ms(role_config(publisher->process)) };
	struct probe *probe;

	if (!choose(publisher, &ask, &path)) {
		tell(publisher, nonce,
		    publisher->namespaces_synced ? PROBE_NO_OBJECT : PROBE_FAILED);
		publisher->probe_early = nonce;
		buf_free(&path);
		return;
	}
	publisher->probe_early = 0;
	probe = calloc(1, sizeof(*probe));
	CHECK(probe);
	*probe = (struct probe){ publisher, nonce };
	(void)kube_client_ask(publisher->client, &ask, on_answer, probe);
	buf_free(&path);
}
