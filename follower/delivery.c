/*
 * What a hub delivered into its Secret on this worker, beside what is in use (H12, B9, B10): a new
 * token, or a CA ahead of a change. Either is tried over a connection of its own and taken into use
 * when the hub served this worker over it, so that what works is never replaced by what does not,
 * and no look is lost meanwhile. A CA counts only while the hub is trusted without it: over a
 * channel that is not trusted nobody can vouch for anybody. It must not touch the address.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/check.h"
#include "base/log.h"
#include "follower/endpoint.h"
#include "follower/follower.h"
#include "kube/json.h"

#define TOKEN_MAX_BYTES 12288
#define CA_MAX_BYTES    65536

/* data[key] of a Secret; empty when it is not there or is none. */
static void take(const json_t *object, const char *key, struct buf *out)
{
	const json_t *data = kube_json_at(object, "data", NULL);

	if (!base64_get(out, str_of(kube_json_text(data, key)), BASE64_PADDED))
		buf_clear(out);
	else if (out->len && memchr(out->data, '\0', out->len))
		buf_clear(out);
	while (out->len && (out->data[out->len - 1] == '\n' || out->data[out->len - 1] == '\r'))
		out->data[--out->len] = '\0';
}

static void set_delivered(struct hub *hub, enum token_state state, const char *detail)
{
	if (hub->delivered_state == state && strcmp(hub->delivered_detail, detail) == 0)
		return;
	if (hub->delivered_state != state && state != TOKEN_ABSENT)
		log_warn("token for %s: what was delivered is not used: %s: %s", hub->name,
		    hubs_state_name(state), detail);
	hub->delivered_state = state;
	(void)snprintf(hub->delivered_detail, sizeof(hub->delivered_detail), "%s", detail);
	controller_changed(hub->follower);
}

static void end_trial(struct hub *hub)
{
	kube_client_cancel(hub->follower->client, hub->trial_id);
	kube_client_forget(hub->follower->client, hub_target(hub) | KUBE_TRIAL);
	hub->trial_id = 0;
	buf_free(&hub->trial_token);
	free(hub->trial_ca);
	hub->trial_ca = NULL;
}

/* The delivered CA first, and behind it what the configuration says, unless that is part of it. */
static char *join_ca(const struct hub *hub)
{
	struct buf text = buf_make((size_t)2 * CA_MAX_BYTES);
	char *joined;

	buf_puts(&text, hub->trial_ca);
	buf_puts(&text, "\n");
	if (!strstr(hub->trial_ca, hub->configured_ca))
		buf_puts(&text, hub->configured_ca);
	joined = text.failed ? NULL : strdup(text.data);
	buf_free(&text);
	return joined;
}

static void on_tried(void *arg, const struct kube_answer *answer)
{
	struct hub *hub = arg;
	char *ca = NULL;
	struct err err = { "" };

	hub->trial_id = 0;
	/* A hub that knows us and has no Cluster object of ours is no fault of the token (W12). */
	if (answer->class != KUBE_OK && answer->class != KUBE_NOT_FOUND) {
		set_delivered(hub, hubs_state_of(answer), answer->message);
	} else if (hub->trial_ca && !(ca = join_ca(hub))) {
		set_delivered(hub, TOKEN_BROKEN, "its CA is too long");
	} else if (!hubs_adopt(hub, ca ? ca : hub->ca, buf_str(&hub->trial_token), true, &err)) {
		set_delivered(hub, TOKEN_BROKEN, err.text);
	} else {
		log_info("token for %s: delivered%s, tried and in use", hub->name,
		    ca ? " with a new CA" : "");
		set_delivered(hub, TOKEN_ABSENT, "");
	}
	free(ca);
	end_trial(hub);
}

static void begin_trial(struct hub *hub, struct str token, const char *ca)
{
	struct follower *follower = hub->follower;
	struct msg_credential m = { .target = hub_target(hub) | KUBE_TRIAL,
		.generation = ++hub->trial_generation,
		.server = str_of(hub->endpoint),
		.ca = str_of(ca ? ca : hub->ca),
		.token = token };
	struct kube_ask ask = { .target = hub_target(hub) | KUBE_TRIAL,
		.verb = KUBE_GET,
		.deadline_ms = follower->config->follower.timeout_ms,
		.fresh = true };
	struct buf path = buf_make(1024);
	struct err err = { "" };

	if (kube_client_credential(follower->client, &m, &err)) {
		set_delivered(hub, TOKEN_BROKEN, err.text);
		return;
	}
	hub->trial_token = buf_make_secret(TOKEN_MAX_BYTES);
	buf_append(&hub->trial_token, token.p, token.n);
	hub->trial_ca = ca ? strdup(ca) : NULL;
	CHECK(!hub->trial_token.failed && (!ca || hub->trial_ca));
	hub_cluster_path(hub, &path, NULL);
	ask.path = path.data;
	hub->trial_id = kube_client_ask(follower->client, &ask, on_tried, hub);
	buf_free(&path);
}

/* The first token of a hub: nothing works yet that it could spoil. */
static void adopt_first(struct hub *hub, struct str token)
{
	struct err err = { "" };

	if (hubs_adopt(hub, hub->ca, token, false, &err))
		log_info("token for %s: delivered", hub->name);
	else
		set_delivered(hub, TOKEN_BROKEN, err.text);
}

static void judge(struct hub *hub, struct str token, const char *ca)
{
	/* A file of the configuration counts before the Secret, as long as it works. */
	bool in_use = str_equal(token, buf_str(&hub->token)) ||
		      (hub->from_file && hub->token_state != TOKEN_REFUSED);
	bool more_ca = ca && !strstr(hub->ca, ca), trusted = hub->token_state == TOKEN_PROVED;

	if (in_use && !more_ca)
		set_delivered(hub, TOKEN_ABSENT, "");
	else if (in_use && !trusted)
		set_delivered(hub, TOKEN_MISTRUSTED,
		    "a CA is taken only while the hub is trusted without it");
	else
		begin_trial(
		    hub, in_use ? buf_str(&hub->token) : token, more_ca && trusted ? ca : NULL);
}

void delivery_seen(struct hub *hub, const json_t *object)
{
	struct buf token = buf_make_secret(TOKEN_MAX_BYTES), endpoint = buf_make(1024);
	struct buf ca = buf_make(CA_MAX_BYTES);

	take(object, "token", &token);
	take(object, "endpoint", &endpoint);
	take(object, "ca.crt", &ca);
	if (hub->trial_id || token.len == 0) /* emptied for a moment: what works stays (D13) */
		goto out;
	if (!endpoint.len || !endpoint_equal(endpoint.data, hub->endpoint)) {
		static const char other[] =
		    "it is for another endpoint than that of the list of hubs";

		set_delivered(hub, TOKEN_BROKEN, other);
		if (!hub->has_client)
			hubs_set_state(hub, TOKEN_BROKEN, other);
	} else if (!hub->has_client) {
		adopt_first(hub, buf_str(&token));
	} else {
		judge(hub, buf_str(&token), ca.len ? ca.data : NULL);
	}
out:
	buf_free(&token);
	buf_free(&endpoint);
	buf_free(&ca);
}

void delivery_close(struct hub *hub)
{
	end_trial(hub);
}
