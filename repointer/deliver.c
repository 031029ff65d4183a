/*
 * This hub's token into Secret understudy-hub-<self> of a worker (H12), so that its follower can
 * prove it before it needs it. The Secret was made empty by bootstrap and is only ever updated, by
 * name. Compares first; the token is wiped as soon as it lies there. Also on a Standby: no permit.
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
#include "repointer/repointer.h"

#define SECRET_MAX_BYTES 262144
#define TOKEN_MAX_BYTES  12288

static void read_secret(struct member *member);

static void secret_path(const struct member *member, struct buf *path)
{
	char name[300];

	(void)snprintf(name, sizeof(name), "understudy-hub-%s", member->repointer->self);
	kube_url_path(path, "", "v1", "secrets", REPOINTER_NAMESPACE, name, NULL);
}

static void try_later(struct member *member, const struct kube_answer *answer)
{
	struct delivery *delivery = &member->delivery;

	delivery->failures++;
	if (delivery->failures == 1)
		log_warn("worker %s: the hub's token is not delivered: %s %s%s",
		    member_name(member), kube_class_name(answer->class), answer->message,
		    answer->class == KUBE_NOT_FOUND ? " (bootstrap makes the Secret)" : "");
	loop_timer_set(role_loop(member->repointer->process), &delivery->timer,
	    base_clock_boot_ns() + worker_backoff_ns(delivery->failures, base_random_u64()));
}

static void done(struct member *member, const char *how)
{
	log_info("worker %s: the hub's token is %s", member_name(member), how);
	member->delivery.failures = 0;
	buf_free(&member->delivery.token);
}

static void on_written(void *arg, const struct kube_answer *answer)
{
	struct member *member = arg;

	member->delivery.id = 0;
	if (answer->class == KUBE_OK)
		done(member, "delivered");
	else
		try_later(member, answer);
}

/* Sets one key of the Secret's data. Returns whether that changed it. */
static bool set_key(json_t *data, const char *key, struct str value)
{
	struct buf text = buf_make_secret(SECRET_MAX_BYTES);
	bool changed;

	base64_put(&text, value);
	changed = text.data ? strcmp(kube_json_text(data, key), text.data) != 0
			    : kube_json_text(data, key)[0] != '\0';
	if (changed)
		CHECK(json_object_set_new(data, key, json_string(text.data ? text.data : "")) == 0);
	buf_free(&text);
	return changed;
}

static bool fill_secret(const struct delivery *delivery, json_t *object)
{
	json_t *data = json_object_get(object, "data");
	bool changed = false;

	if (!json_is_object(data)) {
		data = json_object();
		CHECK(json_object_set_new(object, "data", data) == 0);
	}
	changed |= set_key(data, "endpoint", str_of(delivery->endpoint));
	changed |= set_key(data, "namespace", str_of(delivery->namespace));
	changed |= set_key(data, "ca.crt", buf_str(&delivery->ca));
	changed |= set_key(data, "token", buf_str(&delivery->token));
	return changed;
}

static void write_secret(struct member *member, const json_t *object)
{
	struct buf body = buf_make_secret(SECRET_MAX_BYTES), path = buf_make(1024);

	kube_json_put(&body, object);
	secret_path(member, &path);
	member->delivery.id = member_ask(
	    member, KUBE_PUT, path.data, NULL, buf_str(&body), OTHER_REQUEST_MS, on_written);
	buf_free(&body);
	buf_free(&path);
}

static void on_read(void *arg, const struct kube_answer *answer)
{
	struct member *member = arg;
	json_t *object = answer->class == KUBE_OK ? kube_json_parse(answer->body, NULL) : NULL;

	member->delivery.id = 0;
	if (!json_is_object(object))
		try_later(member, answer);
	else if (fill_secret(&member->delivery, object))
		write_secret(member, object);
	else
		done(member, "there already");
	json_decref(object);
}

static void read_secret(struct member *member)
{
	struct buf path = buf_make(1024);

	secret_path(member, &path);
	member->delivery.id =
	    member_ask(member, KUBE_GET, path.data, NULL, STR_LIT(""), OTHER_REQUEST_MS, on_read);
	buf_free(&path);
}

static void on_timer(void *arg, int64_t now_ns)
{
	(void)now_ns;
	read_secret(arg);
}

void deliver_soon(struct member *member)
{
	struct delivery *delivery = &member->delivery;

	if (delivery->failures == 0 || delivery->id)
		return;
	delivery->failures = 0;
	loop_timer_set(
	    role_loop(member->repointer->process), &delivery->timer, base_clock_boot_ns());
}

void deliver_forget(struct member *member)
{
	struct delivery *delivery = &member->delivery;

	loop_timer_cancel(role_loop(member->repointer->process), &delivery->timer);
	kube_client_cancel(member->repointer->client, delivery->id);
	buf_free(&delivery->token);
	buf_free(&delivery->ca);
	free(delivery->endpoint);
	free(delivery->namespace);
	*delivery = (struct delivery){ .timer = { .fire = on_timer, .arg = member } };
}

static char *copy(struct str text)
{
	char *copied = text.n ? strndup(text.p, text.n) : strdup("");

	CHECK(copied);
	return copied;
}

void deliver_begin(struct member *member, const struct msg_hub_token *m)
{
	struct delivery *delivery = &member->delivery;

	deliver_forget(member);
	/* No token yet: what lies there is better than nothing. */
	if (m->token.n == 0)
		return;
	delivery->endpoint = copy(m->endpoint);
	delivery->namespace = copy(m->namespace);
	delivery->ca = buf_make(m->ca.n);
	delivery->token = buf_make_secret(TOKEN_MAX_BYTES);
	buf_append(&delivery->ca, m->ca.p, m->ca.n);
	buf_append(&delivery->token, m->token.p, m->token.n);
	CHECK(!delivery->ca.failed && !delivery->token.failed);
	read_secret(member);
}
