/*
 * The fence probe (C1): an empty merge patch of some Cluster's status, as a dry run. This identity
 * is one that the role policy governs, so the answer says whether the API server enforces what
 * HubRole says now. It changes nothing, whatever the answer, and needs no permit.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/log.h"
#include "publisher/publisher.h"

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

void probe_start(struct publisher *publisher, uint64_t nonce)
{
	struct buf path = buf_make(2048);
	struct kube_ask ask = { .target = CREDENTIAL_PUBLISHER,
		.verb = KUBE_PATCH_MERGE,
		.query = "dryRun=All",
		.body = STR_LIT("{}"),
		.deadline_ms = config_request_deadline_ms(role_config(publisher->process)) };
	const struct cluster *cluster = governed(publisher);
	struct probe *probe;

	if (!cluster) {
		tell(publisher, nonce,
		    publisher->synced && publisher->namespaces_synced ? PROBE_NO_OBJECT
								      : PROBE_FAILED);
		return;
	}
	probe = calloc(1, sizeof(*probe));
	CHECK(probe);
	*probe = (struct probe){ publisher, nonce };
	publish_cluster_path(&path, cluster, "status");
	ask.path = path.data;
	(void)kube_client_ask(publisher->client, &ask, on_answer, probe);
	buf_free(&path);
}
