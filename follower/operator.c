/*
 * For the operator that workers run today, which knows of no follower (compatibility): the Secret
 * that its Deployment mounts and takes HUB_HOST_ENDPOINT from (endpoint, namespace, token, ca.crt)
 * is kept equal to what is handed over, and when the endpoint became another one the Deployment's
 * pods are replaced once, because an environment does not change under a process. That a restart is
 * owed stands in the Secret itself, so that none is lost or done twice (level-based). Both objects
 * are named by the configuration; without, nothing here runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "follower/follower.h"
#include "kube/json.h"
#include "kube/url.h"

#define AGAIN_NS       (30 * BASE_NS_PER_S)
#define FAILED_NS      (5 * BASE_NS_PER_S)
#define BODY_MAX_BYTES 131072
#define OWED           "ha.kubeslice.io/restart-owed" /* the hub that its pods do not know yet */
#define HUB            "ha.kubeslice.io/hub"          /* of the pod template */

static const char done[] = "written", missing[] = "the Secret does not exist",
		  refused[] = "the Secret or the Deployment is refused, see the log",
		  unread[] = "not read yet";

static const char *text(const struct follower *follower, config_text at)
{
	return config_text_at(follower->config, at);
}

const char *operator_state(const struct follower *follower)
{
	if (!follower->config->follower.operator_secret)
		return "";
	return follower->operator_said ? follower->operator_said : unread;
}

static void say(struct follower *follower, const char *state)
{
	if (follower->operator_said == state)
		return;
	follower->operator_said = state;
	show_follower(follower);
}

static void again(struct follower *follower, int64_t delay_ns)
{
	follower->operator_id = 0;
	if (follower->operator_again)
		delay_ns = 0;
	follower->operator_again = false;
	delay_ns += (int64_t)(base_random_u64() % (uint64_t)(delay_ns / 8 + 1));
	loop_timer_set(role_loop(follower->process), &follower->operator_timer,
	    base_clock_boot_ns() + delay_ns);
}

static void ask(struct follower *follower, enum kube_verb verb, const char *path, struct str body,
    kube_done_fn *then)
{
	struct kube_ask request = { .target = CREDENTIAL_FOLLOWER,
		.verb = verb,
		.path = path,
		.body = body,
		.deadline_ms = OTHER_REQUEST_MS };

	follower->operator_id = kube_client_ask(follower->client, &request, then, follower);
}

static void secret_path(const struct follower *follower, struct buf *path)
{
	kube_url_path(path, "", "v1", "secrets",
	    text(follower, follower->config->follower.worker_namespace),
	    text(follower, follower->config->follower.operator_secret), NULL);
}

static void failed(struct follower *follower, const char *what, const struct kube_answer *answer)
{
	const char *state = answer->class == KUBE_NOT_FOUND ? missing : refused;

	if (follower->operator_said != state)
		log_warn("the operator's %s: %s %s", what, kube_class_name(answer->class),
		    answer->message);
	say(follower, state);
	again(follower, FAILED_NS);
}

/* --- The Deployment --------------------------------------------------------------------------- */

static void on_cleared(void *arg, const struct kube_answer *answer)
{
	struct follower *follower = arg;

	if (answer->class != KUBE_OK) {
		failed(follower, "Secret", answer);
		return;
	}
	say(follower, done);
	again(follower, AGAIN_NS);
}

static void on_restarted(void *arg, const struct kube_answer *answer)
{
	static const char body[] = "{\"metadata\":{\"annotations\":{\"" OWED "\":null}}}";
	struct follower *follower = arg;
	struct buf path = buf_make(1024);

	if (answer->class != KUBE_OK) {
		failed(follower, "Deployment", answer);
		return;
	}
	log_info("the operator's pods are replaced");
	secret_path(follower, &path);
	ask(follower, KUBE_PATCH_MERGE, path.data, STR_LIT(body), on_cleared);
	buf_free(&path);
}

/* The same hub again changes nothing there, so that an answer that was lost costs no restart. */
static void restart(struct follower *follower, const char *hub)
{
	struct buf body = buf_make(BODY_MAX_BYTES), path = buf_make(1024);

	buf_puts(&body, "{\"spec\":{\"template\":{\"metadata\":{\"annotations\":{\"" HUB "\":");
	buf_json_string(&body, str_of(hub));
	buf_puts(&body, "}}}}}");
	kube_url_path(&path, "apps", "v1", "deployments",
	    text(follower, follower->config->follower.worker_namespace),
	    text(follower, follower->config->follower.operator_deployment), NULL);
	ask(follower, KUBE_PATCH_MERGE, path.data, buf_str(&body), on_restarted);
	buf_free(&body);
	buf_free(&path);
}

/* --- The Secret ------------------------------------------------------------------------------- */

/* What stands under a key differs from this value. */
static bool differs(const json_t *object, const char *key, struct str value)
{
	const json_t *data = kube_json_at(object, "data", NULL);
	struct buf there = buf_make_secret(BODY_MAX_BYTES);
	bool other = !base64_get(&there, str_of(kube_json_text(data, key)), BASE64_PADDED) ||
		     !str_equal(buf_str(&there), value);

	buf_free(&there);
	return other;
}

static void put(struct buf *body, const char *key, struct str value)
{
	struct buf coded = buf_make_secret(BODY_MAX_BYTES);

	base64_put(&coded, value);
	buf_printf(body, "%s\"%s\":", body->data[body->len - 1] == '{' ? "" : ",", key);
	buf_json_string(body, buf_str(&coded));
	body->failed |= coded.failed;
	buf_free(&coded);
}

static void on_written(void *arg, const struct kube_answer *answer);

static void write_secret(
    struct follower *follower, const struct hub *hub, struct str namespace, bool other_hub)
{
	struct buf body = buf_make_secret(BODY_MAX_BYTES), path = buf_make(1024);

	buf_puts(&body, "{\"data\":{");
	put(&body, "endpoint", str_of(hub->endpoint));
	put(&body, "namespace", namespace);
	put(&body, "token", buf_str(&hub->token));
	put(&body, "ca.crt", str_of(hub->ca));
	buf_puts(&body, "}");
	if (other_hub) {
		buf_puts(&body, ",\"metadata\":{\"annotations\":{\"" OWED "\":");
		buf_json_string(&body, str_of(hub->name));
		buf_puts(&body, "}}");
	}
	buf_puts(&body, "}");
	secret_path(follower, &path);
	if (body.failed)
		again(follower, AGAIN_NS);
	else
		ask(follower, KUBE_PATCH_MERGE, path.data, buf_str(&body), on_written);
	buf_free(&body);
	buf_free(&path);
}

static void take(struct follower *follower, const json_t *object)
{
	const struct us_config *config = follower->config;
	const struct hub *hub =
	    follower->handed == RULE_NOWHERE ? NULL : &follower->hubs[follower->handed];
	struct str namespace = str_of(text(follower, config->follower.project_namespace));
	const char *owed =
	    kube_json_text(kube_json_at(object, "metadata", "annotations", NULL), OWED);
	bool other_hub, other;

	if (!hub || !hub->has_client) {
		again(follower, AGAIN_NS);
		return;
	}
	other_hub = differs(object, "endpoint", str_of(hub->endpoint));
	other = differs(object, "namespace", namespace) ||
		differs(object, "token", buf_str(&hub->token)) ||
		differs(object, "ca.crt", str_of(hub->ca));
	if (other_hub || other) {
		write_secret(
		    follower, hub, namespace, other_hub && config->follower.operator_deployment);
	} else if (owed[0] && config->follower.operator_deployment) {
		restart(follower, owed);
	} else {
		say(follower, done);
		again(follower, AGAIN_NS);
	}
}

static void on_object(struct follower *follower, const struct kube_answer *answer)
{
	json_t *object = answer->class == KUBE_OK ? kube_json_parse(answer->body, NULL) : NULL;

	if (json_is_object(object))
		take(follower, object);
	else
		failed(follower, "Secret", answer);
	json_decref(object);
}

static void on_written(void *arg, const struct kube_answer *answer)
{
	struct follower *follower = arg;

	if (answer->class == KUBE_OK)
		log_info("the operator's Secret names %s", follower->hubs[follower->handed].name);
	on_object(follower, answer);
}

static void on_read(void *arg, const struct kube_answer *answer)
{
	on_object(arg, answer);
}

void operator_timer(void *arg, int64_t now_ns)
{
	struct follower *follower = arg;
	struct buf path = buf_make(1024);

	(void)now_ns;
	if (kube_client_has(follower->client, CREDENTIAL_FOLLOWER)) {
		secret_path(follower, &path);
		ask(follower, KUBE_GET, path.data, STR_LIT(""), on_read);
	}
	buf_free(&path);
}

void operator_step(struct follower *follower)
{
	if (!follower->config->follower.operator_secret)
		return;
	if (follower->operator_id)
		follower->operator_again = true;
	else
		loop_timer_set(
		    role_loop(follower->process), &follower->operator_timer, base_clock_boot_ns());
}
