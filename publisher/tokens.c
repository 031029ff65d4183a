/*
 * Each configured worker's own token on this hub, for delivery to that worker (H12, decision 8):
 * read by name, handed to the shard that holds the worker, kept nowhere. Also on a Standby. The
 * right to watch Secrets is not ours, so it looks again every now and then; a Secret that did not
 * change is sent again only every ten minutes, which repairs what somebody did to the delivered
 * one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "kube/json.h"
#include "kube/url.h"
#include "publisher/publisher.h"

#define FALLBACK_PREFIX "kubeslice-rbac-worker-"
#define AGAIN_NS        (30 * BASE_NS_PER_S)
#define RESEND_NS       (600 * BASE_NS_PER_S)
#define TOKEN_MAX_BYTES 12288
#define CA_MAX_BYTES    65536

static const struct config_worker *worker_of(const struct token *token)
{
	return &role_config(token->publisher->process)->workers[token->worker];
}

static const char *text_of(const struct token *token, config_text text)
{
	return config_text_at(role_config(token->publisher->process), text);
}

static bool send_token(struct token *token, struct str ca, struct str bearer)
{
	struct publisher *publisher = token->publisher;
	const struct us_config *config = role_config(publisher->process);
	struct msg_hub_token m = { .worker = token->worker,
		.endpoint = str_of(publisher->endpoint),
		.namespace = str_of(text_of(token, worker_of(token)->project_namespace)),
		.ca = ca,
		.token = bearer };

	return role_send(publisher->process, ROLE_REPOINTER, token->worker / config->shard_size,
	    MSG_HUB_TOKEN, &m);
}

/* Decodes data[key]; the buffer stays empty when it is not there or is none. */
static void take(const json_t *object, const char *key, struct buf *out)
{
	const json_t *data = kube_json_at(object, "data", NULL);

	if (!base64_get(out, str_of(kube_json_text(data, key)), BASE64_PADDED))
		buf_clear(out);
}

static void send_secret(struct token *token, const json_t *object)
{
	struct publisher *publisher = token->publisher;
	struct buf bearer = buf_make_secret(TOKEN_MAX_BYTES), ca = buf_make(CA_MAX_BYTES);
	const char *version =
	    kube_json_text(kube_json_at(object, "metadata", NULL), "resourceVersion");
	int64_t now_ns = base_clock_boot_ns();

	if (strcmp(version, token->version) == 0 && now_ns - token->sent_ns < RESEND_NS)
		goto out;
	take(object, "token", &bearer);
	take(object, "ca.crt", &ca);
	if (bearer.len == 0) /* a shell that the token controller has not filled yet */
		goto out;
	/* What the configuration says of our endpoint's CA counts before the cluster's own. */
	if (send_token(token, publisher->ca.len ? buf_str(&publisher->ca) : buf_str(&ca),
		buf_str(&bearer))) {
		(void)snprintf(token->version, sizeof(token->version), "%s", version);
		token->sent_ns = now_ns;
		token->failures = 0;
	}
out:
	buf_free(&bearer);
	buf_free(&ca);
}

static void look_later(struct token *token)
{
	int64_t delay_ns = BASE_NS_PER_S;

	if (token->version[0])
		delay_ns = AGAIN_NS;
	for (unsigned i = 1; i < token->failures && delay_ns < AGAIN_NS; i++)
		delay_ns *= 2;
	if (delay_ns > AGAIN_NS)
		delay_ns = AGAIN_NS;
	/* Spread, so that hundreds of workers are not looked at in one moment. */
	delay_ns += (int64_t)(base_random_u64() % (uint64_t)(delay_ns / 4));
	loop_timer_set(
	    role_loop(token->publisher->process), &token->timer, base_clock_boot_ns() + delay_ns);
}

static void on_secret(void *arg, const struct kube_answer *answer)
{
	struct token *token = arg;
	json_t *object = answer->class == KUBE_OK ? kube_json_parse(answer->body, NULL) : NULL;

	token->id = 0;
	if (object)
		send_secret(token, object);
	else if (token->failures == 0)
		log_warn("token of worker %s: %s %s", text_of(token, worker_of(token)->name),
		    kube_class_name(answer->class), answer->message);
	json_decref(object);
	if (!token->version[0] || !object)
		token->failures++;
	look_later(token);
}

static void look(struct token *token)
{
	struct publisher *publisher = token->publisher;
	const char *namespace = text_of(token, worker_of(token)->project_namespace);
	const char *name = text_of(token, worker_of(token)->name);
	const struct cluster *cluster = publish_find(publisher, namespace, name);
	struct kube_ask ask = {
		.target = CREDENTIAL_PUBLISHER, .verb = KUBE_GET, .deadline_ms = OTHER_REQUEST_MS
	};
	struct buf path = buf_make(2048);
	char secret[300];

	if (token->id || !kube_client_has(publisher->client, CREDENTIAL_PUBLISHER))
		return;
	if (cluster && cluster->secret[0])
		(void)snprintf(secret, sizeof(secret), "%s", cluster->secret);
	else
		(void)snprintf(secret, sizeof(secret), FALLBACK_PREFIX "%s", name);
	kube_url_path(&path, "", "v1", "secrets", namespace, secret, NULL);
	ask.path = path.data;
	loop_timer_cancel(role_loop(publisher->process), &token->timer);
	token->id = kube_client_ask(publisher->client, &ask, on_secret, token);
	buf_free(&path);
}

static void on_timer(void *arg, int64_t now_ns)
{
	(void)now_ns;
	look(arg);
}

void tokens_look(struct publisher *publisher, const char *namespace, const char *name)
{
	for (unsigned i = 0; i < role_config(publisher->process)->worker_count; i++) {
		struct token *token = &publisher->tokens[i];

		if (strcmp(text_of(token, worker_of(token)->name), name) == 0 &&
		    strcmp(text_of(token, worker_of(token)->project_namespace), namespace) == 0)
			look(token);
	}
}

void tokens_look_all(struct publisher *publisher)
{
	for (unsigned i = 0; i < role_config(publisher->process)->worker_count; i++)
		look(&publisher->tokens[i]);
}

static void send_without_token(struct token *token)
{
	token->version[0] = '\0';
	token->failures = 0;
	(void)send_token(token, buf_str(&token->publisher->ca), str_of(""));
	look(token);
}

void tokens_shard_linked(struct publisher *publisher, unsigned shard)
{
	const struct us_config *config = role_config(publisher->process);

	for (unsigned i = 0; i < config->worker_count; i++)
		if (i / config->shard_size == shard)
			send_without_token(&publisher->tokens[i]);
}

void tokens_ca_changed(struct publisher *publisher)
{
	for (unsigned i = 0; i < role_config(publisher->process)->worker_count; i++)
		send_without_token(&publisher->tokens[i]);
}

void tokens_open(struct publisher *publisher)
{
	unsigned count = role_config(publisher->process)->worker_count;

	publisher->tokens = calloc(count ? count : 1, sizeof(*publisher->tokens));
	CHECK(publisher->tokens);
	for (unsigned i = 0; i < count; i++) {
		struct token *token = &publisher->tokens[i];

		token->publisher = publisher;
		token->worker = i;
		token->timer = (struct loop_timer){ .fire = on_timer, .arg = token };
	}
}

void tokens_close(struct publisher *publisher)
{
	for (unsigned i = 0; i < role_config(publisher->process)->worker_count; i++) {
		kube_client_cancel(publisher->client, publisher->tokens[i].id);
		loop_timer_cancel(role_loop(publisher->process), &publisher->tokens[i].timer);
	}
	free(publisher->tokens);
}
