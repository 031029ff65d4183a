/*
 * ClusterController/active on the own cluster: what a hub pushed, and as its status what this
 * worker made of it. The status is for people and for rehearsals; nobody's decision hangs on it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/expiry.h"
#include "base/log.h"
#include "follower/endpoint.h"
#include "follower/follower.h"
#include "kube/json.h"
#include "kube/url.h"

#define OBJECT         FOLLOWER_GROUP "clustercontrollers/active"
#define BODY_MAX_BYTES 65536
#define GATHER_NS      (100 * BASE_NS_PER_MS) /* what changes together is written together */
#define AGAIN_NS       (5 * BASE_NS_PER_S)

/* --- What was pushed -------------------------------------------------------------------------- */

/* H19: endpoint and identity must be those of one hub of the list. */
static struct rule_push read_push(const struct follower *follower, const json_t *object)
{
	const json_t *spec = kube_json_at(object, "spec", NULL);
	int64_t term = kube_json_integer(spec, "term", 0);
	struct rule_push push = { .term = term > 0 ? (uint64_t)term : 0, .hub = RULE_NOWHERE };

	for (unsigned i = 0; i < follower->hub_count; i++)
		if (strcmp(follower->hubs[i].name, kube_json_text(spec, "identity")) == 0 &&
		    endpoint_equal(follower->hubs[i].endpoint, kube_json_text(spec, "endpoint")))
			push.hub = (int)i;
	return push;
}

static void see(struct follower *follower, const json_t *object)
{
	struct rule_push before = follower->push;

	follower->push =
	    object ? read_push(follower, object) : (struct rule_push){ .hub = RULE_NOWHERE };
	/* One that was made anew has no status of ours. */
	if (!object || !follower->has_object) {
		free(follower->status);
		follower->status = NULL;
	}
	follower->has_object = object != NULL;
	json_decref(follower->conditions);
	follower->conditions = json_incref(kube_json_at(object, "status", "conditions", NULL));
	controller_changed(follower);
	if (before.term == follower->push.term && before.hub == follower->push.hub)
		return;
	if (follower->push.term)
		log_info("pushed: %s, term %" PRIu64,
		    follower->push.hub == RULE_NOWHERE ? "no hub of the list"
						       : follower->hubs[follower->push.hub].name,
		    follower->push.term);
	poll_now(follower);
}

static void on_begin(void *arg)
{
	struct follower *follower = arg;

	follower->listed = false;
}

static void on_object(void *arg, enum kube_watch_event event, const json_t *object)
{
	struct follower *follower = arg;

	follower->listed = true;
	see(follower, event == KUBE_WATCH_DELETED ? NULL : object);
}

static void on_synced(void *arg, const char *resource_version)
{
	struct follower *follower = arg;

	(void)resource_version;
	if (!follower->listed)
		see(follower, NULL);
}

static void on_error(void *arg, const struct kube_answer *answer)
{
	(void)arg;
	log_info("ClusterController cannot be watched: %s %s", kube_class_name(answer->class),
	    answer->message);
}

static const struct kube_watch_ops ops = {
	.on_begin = on_begin,
	.on_object = on_object,
	.on_synced = on_synced,
	.on_error = on_error,
};

void controller_start(struct follower *follower)
{
	struct kube_watch_options options = { .target = CREDENTIAL_FOLLOWER,
		.path = FOLLOWER_GROUP "clustercontrollers",
		.query = "fieldSelector=metadata.name%3Dactive",
		.deadline_ms = OTHER_REQUEST_MS };

	if (follower->controller)
		kube_watch_restart(follower->controller);
	else
		follower->controller = kube_watch_start(
		    follower->client, role_loop(follower->process), &options, &ops, follower);
}

/* --- Conditions ------------------------------------------------------------------------------- */

static void judge_connection(struct follower *follower, int64_t now_us)
{
	struct condition *connected = &follower->connected;
	const struct hub *hub = follower_current(follower);

	if (follower->hub_count < 2)
		condition_set(connected, CONDITION_UNKNOWN, "EndpointNotConfigured",
		    "this worker knows one hub and follows nobody", now_us);
	else if (!hub)
		condition_set(
		    connected, CONDITION_UNKNOWN, "Reconnecting", "no hub is followed yet", now_us);
	else if (hub->look.reach == RULE_READ && follower->reconnected)
		condition_set(connected, CONDITION_TRUE, "ReconnectedAfterFailover",
		    "this worker moved to the hub that leads now", now_us);
	else if (hub->look.reach == RULE_READ)
		condition_set(
		    connected, CONDITION_TRUE, "Connected", "this hub serves this worker", now_us);
	else if (hub->cluster_class == KUBE_BLIND && hub->cluster_why == PEER_WHY_X509)
		condition_set(connected, CONDITION_FALSE, "CertVerificationFailed",
		    "the hub's certificate is not signed by the configured CA", now_us);
	else if (hub->look.reach == RULE_UNREADABLE)
		condition_set(connected, CONDITION_FALSE, "Refused",
		    "the hub answers and does not let this worker read its Cluster object", now_us);
	else
		condition_set(
		    connected, CONDITION_FALSE, "DialFailed", "the hub does not answer", now_us);
}

static void judge_endpoint(struct follower *follower, int64_t now_us)
{
	struct condition *synced = &follower->synced;
	const struct rule *rule = &follower->rule;

	if (follower->hub_count < 2)
		condition_set(synced, CONDITION_UNKNOWN, "EndpointNotConfigured",
		    "this worker knows one hub and follows nobody", now_us);
	else if (rule->current.hub == RULE_NOWHERE || !rule->established)
		condition_set(synced, CONDITION_UNKNOWN, "Unresolved",
		    "no claim of a hub was seen since the start", now_us);
	else if (rule->pending.hub != RULE_NOWHERE || follower->wanted.hub != RULE_NOWHERE ||
		 follower->handed != rule->current.hub)
		condition_set(synced, CONDITION_FALSE, "EndpointPending",
		    "another hub claims to lead; this worker is about to move", now_us);
	else
		condition_set(synced, CONDITION_TRUE, "EndpointUpToDate",
		    "this worker follows the hub that leads", now_us);
}

static void judge_token(struct follower *follower, unsigned i, int64_t now_us)
{
	static const char *const reasons[TOKEN_STATES] = { "NoToken", "Unproven", "Proved",
		"Unauthorized", "Forbidden", "Unreachable", "CertVerificationFailed", "Unusable" };
	/* One works; what was delivered since is not used. */
	static const char *const delivered[TOKEN_STATES] = { "Proved", "Proved", "Proved",
		"DeliveredUnauthorized", "DeliveredForbidden", "DeliveredUnreachable",
		"DeliveredCertVerificationFailed", "DeliveredUnusable" };
	const struct hub *hub = &follower->hubs[i];
	const char *reason = reasons[hub->token_state];
	const char *message = hub->subject[0] ? hub->subject : hub->token_detail;
	enum condition_status status = CONDITION_FALSE;
	struct kube_identity identity = { .expires_us = 0 };

	(void)kube_client_identity(follower->client, hub_target(hub), &identity);
	if (hub->token_state == TOKEN_UNPROVEN || hub->token_state == TOKEN_UNREACHABLE) {
		status = CONDITION_UNKNOWN;
	} else if (hub->token_state == TOKEN_PROVED) {
		status = CONDITION_TRUE;
		if (expiry_is_soon(identity.issued_us, identity.expires_us, now_us))
			reason = "ExpiresSoon";
		if (hub->delivered_state != TOKEN_ABSENT) {
			reason = delivered[hub->delivered_state];
			message = hub->delivered_detail;
		}
	}
	condition_set(&follower->ready[i], status, reason, message, now_us);
}

/* --- Status ----------------------------------------------------------------------------------- */

static void add(json_t **list, const struct condition *condition, const char *type)
{
	bool changed;
	json_t *more = condition_merge(*list, condition, type, &changed);

	json_decref(*list);
	*list = more;
}

static json_t *conditions_of(struct follower *follower)
{
	json_t *list = json_incref(follower->conditions);
	char type[300];

	add(&list, &follower->connected, "ControllerConnected");
	add(&list, &follower->synced, "ControllerEndpointSynced");
	for (unsigned i = 0; i < follower->hub_count; i++) {
		(void)snprintf(type, sizeof(type), "CredentialReady-%s", follower->hubs[i].name);
		add(&list, &follower->ready[i], type);
	}
	return list;
}

static void put_time(struct buf *body, const char *key, int64_t us)
{
	char text[40];

	if (us == 0)
		return;
	kube_time_put(text, us - us % 1000000);
	buf_printf(body, ",\"%s\":\"%s\"", key, text);
}

static void put_token(struct buf *body, const struct hub *hub)
{
	struct kube_identity identity = { .expires_us = 0 };

	(void)kube_client_identity(hub->follower->client, hub_target(hub), &identity);
	buf_puts(body, "{\"identity\":");
	buf_json_string(body, str_of(hub->name));
	buf_puts(body, ",\"state\":");
	buf_json_string(body, str_of(hubs_state_name(hub->token_state)));
	buf_puts(body, ",\"subject\":");
	buf_json_string(body, str_of(hub->subject));
	put_time(body, "expires", identity.expires_us);
	put_time(body, "proved", hub->proved_us);
	buf_puts(body, "}");
}

static void put_status(struct follower *follower, struct buf *body)
{
	const char *endpoint =
	    follower->handed == RULE_NOWHERE ? "" : follower->hubs[follower->handed].endpoint;
	json_t *conditions = conditions_of(follower);

	buf_printf(body, "{\"status\":{\"observedTerm\":%" PRIu64 ",\"connectedEndpoint\":",
	    follower->rule.max_term);
	buf_json_string(body, str_of(endpoint));
	buf_puts(body, ",\"conditions\":");
	kube_json_put(body, conditions);
	buf_puts(body, ",\"credentials\":[");
	for (unsigned i = 0; i < follower->hub_count; i++) {
		if (i > 0)
			buf_puts(body, ",");
		put_token(body, &follower->hubs[i]);
	}
	buf_puts(body, "]}}");
	json_decref(conditions);
}

static void write_later(struct follower *follower, int64_t delay_ns)
{
	if (follower->status_timer.slot == 0)
		loop_timer_set(role_loop(follower->process), &follower->status_timer,
		    base_clock_boot_ns() + delay_ns);
}

static void on_written(void *arg, const struct kube_answer *answer)
{
	struct follower *follower = arg;

	follower->status_id = 0;
	if (answer->class == KUBE_OK)
		return;
	log_info("the status of ClusterController is not written: %s %s",
	    kube_class_name(answer->class), answer->message);
	free(follower->status);
	follower->status = NULL;
	write_later(follower, AGAIN_NS);
}

void controller_timer(void *arg, int64_t now_ns)
{
	struct follower *follower = arg;
	struct buf body = buf_make(BODY_MAX_BYTES);
	struct kube_ask ask = { .target = CREDENTIAL_FOLLOWER,
		.verb = KUBE_PATCH_MERGE,
		.path = OBJECT "/status",
		.deadline_ms = OTHER_REQUEST_MS };

	(void)now_ns;
	if (!follower->has_object)
		return;
	if (follower->status_id) {
		write_later(follower, GATHER_NS);
		return;
	}
	put_status(follower, &body);
	if (!body.failed && (!follower->status || strcmp(follower->status, body.data) != 0)) {
		free(follower->status);
		follower->status = strdup(body.data);
		CHECK(follower->status);
		ask.body = buf_str(&body);
		follower->status_id = kube_client_ask(follower->client, &ask, on_written, follower);
	}
	buf_free(&body);
}

void controller_changed(struct follower *follower)
{
	int64_t now_us = base_clock_wall_us();

	judge_connection(follower, now_us);
	judge_endpoint(follower, now_us);
	for (unsigned i = 0; i < follower->hub_count; i++)
		judge_token(follower, i, now_us);
	if (follower->has_object)
		write_later(follower, GATHER_NS);
	show_follower(follower);
}
