/*
 * Tokens for the hubs: one from a file of the configuration, the others from the Secret into which
 * the hub itself delivers it (H12). The address is always the configuration's, so that nobody who
 * may write a Secret can send the worker elsewhere (H19). A client is made once per identity and
 * lives through failed looks (W13). Each token is proven before it is needed.
 * What is delivered later is delivery.c's business.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "follower/endpoint.h"
#include "follower/follower.h"
#include "kube/json.h"
#include "kube/url.h"

#define TOKEN_MAX_BYTES 12288
#define PROVE_AGAIN_US  600000000LL
#define REVIEW_PATH     "/apis/authentication.k8s.io/v1/selfsubjectreviews"
#define REVIEW_BODY     "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"SelfSubjectReview\"}"

const char *hubs_state_name(enum token_state state)
{
	static const char *const names[TOKEN_STATES] = { "absent", "unproven", "proved", "refused",
		"without-rights", "unreachable", "wrong-ca", "broken" };

	return names[state];
}

const char *follower_text(const struct follower *follower, config_text text)
{
	return config_text_at(follower->config, text);
}

struct hub *follower_current(struct follower *follower)
{
	int hub = follower->rule.current.hub;

	return hub == RULE_NOWHERE ? NULL : &follower->hubs[hub];
}

unsigned hub_target(const struct hub *hub)
{
	return CREDENTIAL_HUB_A + hub->index;
}

uint64_t hub_ask(struct hub *hub, enum kube_verb verb, const char *path, struct str body,
    uint32_t deadline_ms, bool fresh, kube_done_fn *done)
{
	struct kube_ask ask = { .target = hub_target(hub),
		.verb = verb,
		.path = path,
		.body = body,
		.deadline_ms = deadline_ms,
		.fresh = fresh };

	return kube_client_ask(hub->follower->client, &ask, done, hub);
}

void hubs_tell_monitor(const struct hub *hub)
{
	struct msg_status_credential status = { .credential = hub_target(hub) };
	struct kube_identity identity = { .generation = 0 };

	(void)kube_client_identity(hub->follower->client, hub_target(hub), &identity);
	status.generation = identity.generation;
	status.usable = hub->token_state == TOKEN_PROVED;
	status.subject = str_of(hub->subject[0] ? hub->subject : identity.subject);
	status.expires_us = identity.expires_us;
	(void)role_send(hub->follower->process, ROLE_MONITOR, 0, MSG_STATUS_CREDENTIAL, &status);
}

/* W27: the hub itself cannot be told, the other one can. */
static void tell_mistrust(struct hub *hub)
{
	struct follower *follower = hub->follower;

	for (unsigned i = 0; i < follower->hub_count; i++)
		if (&follower->hubs[i] != hub)
			events_post(&follower->hubs[i], "CertVerificationFailed", true,
			    "the other hub's certificate is not signed by the configured CA");
}

void hubs_set_state(struct hub *hub, enum token_state state, const char *detail)
{
	bool changed = hub->token_state != state;

	if (!changed && strcmp(hub->token_detail, detail) == 0)
		return;
	hub->token_state = state;
	(void)snprintf(hub->token_detail, sizeof(hub->token_detail), "%s", detail);
	if (changed)
		log_write(state <= TOKEN_PROVED ? LOG_INFO : LOG_WARN, "token for %s: %s%s%s",
		    hub->name, hubs_state_name(state), detail[0] ? ": " : "", detail);
	if (changed && state == TOKEN_MISTRUSTED)
		tell_mistrust(hub);
	hubs_tell_monitor(hub);
	controller_changed(hub->follower);
}

/* --- Proof ------------------------------------------------------------------------------------ */

enum token_state hubs_state_of(const struct kube_answer *answer)
{
	switch (answer->class) {
	case KUBE_UNAUTHORIZED: return TOKEN_REFUSED;
	case KUBE_FORBIDDEN: return TOKEN_POWERLESS;
	case KUBE_BLIND: return answer->why == PEER_WHY_X509 ? TOKEN_MISTRUSTED : TOKEN_UNREACHABLE;
	default: return TOKEN_UNREACHABLE;
	}
}

static void on_review(void *arg, const struct kube_answer *answer)
{
	struct hub *hub = arg;
	json_t *object = answer->class == KUBE_OK ? kube_json_parse(answer->body, NULL) : NULL;
	const char *name =
	    kube_json_text(kube_json_at(object, "status", "userInfo", NULL), "username");

	hub->review_id = 0;
	if (name[0] && str_copy(hub->subject, sizeof(hub->subject), str_of(name))) {
		hub->proved_us = base_clock_wall_us();
		/* Known by name; the look at the Cluster object says whether that is enough. */
		if (hub->token_state != TOKEN_POWERLESS)
			hubs_set_state(hub, TOKEN_PROVED, "");
		hubs_tell_monitor(hub);
		controller_changed(hub->follower);
	} else if (answer->class != KUBE_OK) {
		hubs_set_state(hub, hubs_state_of(answer), answer->message);
	}
	json_decref(object);
}

static void prove(struct hub *hub)
{
	if (hub->review_id == 0)
		hub->review_id = hub_ask(hub, KUBE_POST, REVIEW_PATH, STR_LIT(REVIEW_BODY),
		    hub->follower->config->follower.timeout_ms, false, on_review);
}

void hubs_seen(struct hub *hub, const struct kube_answer *answer)
{
	bool is_old = base_clock_wall_us() - hub->proved_us > PROVE_AGAIN_US;
	bool was_refused = hub->token_state == TOKEN_REFUSED;

	if (answer->class != KUBE_OK && answer->class != KUBE_NOT_FOUND) {
		hubs_set_state(hub, hubs_state_of(answer), answer->message);
		/* It was withdrawn: its successor may lie there already. */
		if (hub->token_state == TOKEN_REFUSED && !was_refused)
			hubs_look(hub->follower, 0);
	} else if (hub->token_state == TOKEN_POWERLESS) {
		hubs_set_state(hub, TOKEN_PROVED, "");
	} else if (hub->token_state != TOKEN_PROVED || is_old) {
		prove(hub);
	}
}

/* --- Arrival ---------------------------------------------------------------------------------- */

bool hubs_adopt(struct hub *hub, const char *ca, struct str token, bool proven, struct err *err)
{
	struct msg_credential m = { .target = hub_target(hub),
		.generation = hub->generation + 1,
		.server = str_of(hub->endpoint),
		.ca = str_of(ca),
		.token = token };

	if (kube_client_credential(hub->follower->client, &m, err)) {
		if (!hub->has_client)
			hubs_set_state(hub, TOKEN_BROKEN, err->text);
		return false;
	}
	hub->generation++;
	hub->has_client = true;
	if (ca != hub->ca) {
		char *copy = strdup(ca);

		CHECK(copy);
		free(hub->ca);
		hub->ca = copy;
	}
	buf_clear(&hub->token);
	buf_append(&hub->token, token.p, token.n);
	CHECK(!hub->token.failed);
	hub->subject[0] = '\0';
	hubs_set_state(hub, proven ? TOKEN_PROVED : TOKEN_UNPROVEN, "");
	hubs_tell_monitor(hub);
	kube_rights_watch(hub->follower->client, hub_target(hub));
	prove(hub);
	renewal_start(hub);
	follow_hand_over(hub->follower);
	poll_now(hub->follower);
	return true;
}

const char *hubs_loaded(struct hub *hub, const struct msg_credential *m)
{
	static const char broken[] = "the CA or the token of the file cannot be used";
	struct buf token = buf_make_secret(TOKEN_MAX_BYTES);
	bool from_file = m->token.n > 0, first = !hub->ca, usable = true;
	char *ca = strndup(m->ca.p, m->ca.n);
	struct err err = { "" };

	CHECK(ca);
	if (hub->generation < m->generation)
		hub->generation = m->generation;
	/* A CA alone: what proves the hub to us changed, not what proves us (B9). */
	if (from_file || hub->has_client)
		buf_append(&token, from_file ? m->token.p : hub->token.data,
		    from_file ? m->token.n : hub->token.len);
	if (token.failed || token.len)
		usable = !token.failed && hubs_adopt(hub, ca, buf_str(&token), false, &err);
	buf_free(&token);
	if (usable)
		hub->from_file = from_file;
	else
		log_error("token for %s: %s", hub->name, err.text);
	if (usable || first) {
		free(hub->configured_ca);
		hub->configured_ca = ca;
		if (!hub->has_client) {
			free(hub->ca);
			hub->ca = strdup(ca);
			CHECK(hub->ca);
		}
	} else { /* what worked goes on */
		free(ca);
	}
	hubs_look(hub->follower, 0);
	return usable ? NULL : broken;
}

/* --- Looking for what was delivered (H12)
 * --------------------------------------------------------- */

static void on_secret(void *arg, const struct kube_answer *answer)
{
	struct hub *hub = arg;
	json_t *object = answer->class == KUBE_OK ? kube_json_parse(answer->body, NULL) : NULL;
	char detail[160];

	hub->secret_id = 0;
	if (object) {
		delivery_seen(hub, object);
	} else if (!hub->has_client) {
		(void)snprintf(detail, sizeof(detail), "Secret understudy-hub-%.60s: %s", hub->name,
		    kube_class_name(answer->class));
		hubs_set_state(hub, TOKEN_ABSENT, detail);
	}
	json_decref(object);
}

static void look(struct hub *hub)
{
	struct follower *follower = hub->follower;
	struct buf path = buf_make(1024);
	struct kube_ask ask = {
		.target = CREDENTIAL_FOLLOWER, .verb = KUBE_GET, .deadline_ms = OTHER_REQUEST_MS
	};
	char name[300];

	(void)snprintf(name, sizeof(name), "understudy-hub-%s", hub->name);
	kube_url_path(&path, "", "v1", "secrets",
	    follower_text(follower, follower->config->follower.worker_namespace), name, NULL);
	ask.path = path.data;
	hub->secret_id = kube_client_ask(follower->client, &ask, on_secret, hub);
	buf_free(&path);
}

void hubs_look(void *arg, int64_t now_ns)
{
	struct follower *follower = arg;
	int64_t delay_ns = follower->config->follower.interval_ms * BASE_NS_PER_MS;
	bool needed = false;

	(void)now_ns;
	if (!kube_client_has(follower->client, CREDENTIAL_FOLLOWER))
		return;
	for (unsigned i = 0; i < follower->hub_count; i++) {
		struct hub *hub = &follower->hubs[i];

		/* W1: one hub alone is never asked for by anybody but the file. */
		if (!hub->ca || (hub->from_file && follower->hub_count < 2))
			continue;
		needed = true;
		if (hub->secret_id == 0)
			look(hub);
		if (!hub->has_client && delay_ns > BASE_NS_PER_S)
			delay_ns = BASE_NS_PER_S;
	}
	if (!needed)
		return;
	delay_ns += (int64_t)(base_random_u64() % (uint64_t)(delay_ns / 8));
	loop_timer_set(
	    role_loop(follower->process), &follower->secret_timer, base_clock_boot_ns() + delay_ns);
}

void hubs_close(struct hub *hub)
{
	if (hub->watch)
		kube_watch_stop(hub->watch);
	delivery_close(hub);
	json_decref(hub->conditions);
	buf_free(&hub->token);
	free(hub->configured_ca);
	free(hub->ca);
}
