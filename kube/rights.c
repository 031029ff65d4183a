/*
 * Asks an API server what our own identity may do there, and tells the monitor what differs from
 * the least that its role needs, for the audit. It must not decide anything, and nobody waits for
 * it: the table is policy/rights.c, the verdict goes to people. Called by identity.c, and by the
 * follower, which takes its identities itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "kube/internal.h"
#include "kube/json.h"
#include "policy/rights.h"

#define PATH        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
#define FIRST_NS    (2 * BASE_NS_PER_S)
#define AGAIN_NS    (300 * BASE_NS_PER_S)
#define DEADLINE_MS 5000
#define MOST_BYTES  (1024UL * 1024)
#define FOUND_BYTES 1000

struct told {
	bool known;
	enum rights_verdict verdict;
	char declared[200], found[FOUND_BYTES + 1];
	int64_t seen_ns;
};

/* Of one target. */
struct kube_rights {
	struct kube_rights *next;
	struct kube_client *client;
	unsigned target;
	struct loop_timer timer;
	uint64_t id; /* of the request that runs */
	enum rights_place place;
	struct told told[2]; /* by place */
};

static const struct us_config *config_of(const struct kube_rights *rights)
{
	return role_config(rights->client->process);
}

static void tell(const struct kube_rights *rights, enum rights_place place)
{
	const struct told *told = &rights->told[place];
	struct msg_status_rights message = {
		.row = rights->target * RIGHTS_CHECKS +
		       (place == RIGHTS_AT_HOME ? RIGHTS_CHECK_HOME : RIGHTS_CHECK_ELSEWHERE),
		.verdict = told->verdict,
		.declared = str_of(told->declared),
		.found = str_of(told->found),
		.seen_ns = (uint64_t)told->seen_ns
	};

	if (told->known)
		(void)role_send(
		    rights->client->process, ROLE_MONITOR, 0, MSG_STATUS_RIGHTS, &message);
}

/* Verbs x names of one resource; of the core group when `group` is "". */
static void add_resource(
    struct rights *held, const json_t *rule, const char *group, const char *resource)
{
	const json_t *verbs = json_object_get(rule, "verbs");
	const json_t *names = json_object_get(rule, "resourceNames");
	struct buf full = buf_make(1024);

	buf_printf(&full, "%s%s%s", resource, *group ? "." : "", group);
	for (size_t v = 0; v < json_array_size(verbs); v++) {
		const char *verb = json_string_value(json_array_get(verbs, v));

		if (verb && json_array_size(names) == 0)
			rights_add(held, str_of(verb), buf_str(&full), STR_LIT("*"));
		for (size_t n = 0; verb && n < json_array_size(names); n++)
			rights_add(held, str_of(verb), buf_str(&full),
			    str_of(json_string_value(json_array_get(names, n))));
	}
	held->failed = held->failed || full.failed;
	buf_free(&full);
}

static void add_rule(struct rights *held, const json_t *rule)
{
	const json_t *groups = json_object_get(rule, "apiGroups");
	const json_t *resources = json_object_get(rule, "resources");

	for (size_t g = 0; g < json_array_size(groups); g++)
		for (size_t r = 0; r < json_array_size(resources); r++) {
			const char *group = json_string_value(json_array_get(groups, g));
			const char *resource = json_string_value(json_array_get(resources, r));

			/* What every user may ask about itself counts on neither side. */
			if (group && resource && strncmp(resource, "selfsubject", 11) != 0)
				add_resource(held, rule, group, resource);
		}
}

/* What the server says, against the table. */
static void judge(struct kube_rights *rights, const json_t *review, struct told *told)
{
	const json_t *status = kube_json_at(review, "status", NULL);
	const json_t *rules = kube_json_at(status, "resourceRules", NULL);
	struct rights held = { 0 }, least = { 0 };
	struct buf found = buf_make(FOUND_BYTES);
	bool is_ours = rights_least(config_of(rights), rights->target, rights->place, &least);

	for (size_t i = 0; i < json_array_size(rules); i++)
		add_rule(&held, json_array_get(rules, i));
	(void)snprintf(told->declared, sizeof(told->declared),
	    "%s the %zu rights of its role in %s", is_ours ? "exactly" : "at least", least.count,
	    rights_namespace(config_of(rights), rights->target, rights->place));
	if (held.failed || least.failed || !status ||
	    json_is_true(kube_json_at(status, "incomplete", NULL))) {
		told->verdict = RIGHTS_UNKNOWN;
		(void)snprintf(told->found, sizeof(told->found),
		    "the server does not know all rules: %.400s",
		    kube_json_text(status, "evaluationError"));
	} else if (rights_compare(&held, &least, !is_ours, FOUND_BYTES, &found)) {
		told->verdict = RIGHTS_AS_WANTED;
		(void)snprintf(told->found, sizeof(told->found), "%s", is_ours ? "these" : "they");
	} else {
		told->verdict = RIGHTS_DIFFER;
		(void)snprintf(
		    told->found, sizeof(told->found), "%s", found.data ? found.data : "");
	}
	rights_free(&held);
	rights_free(&least);
	buf_free(&found);
}

static void ask(struct kube_rights *rights);

static void next(struct kube_rights *rights)
{
	if (rights->place == RIGHTS_AT_HOME &&
	    rights_namespace(config_of(rights), rights->target, RIGHTS_EVERYWHERE)) {
		rights->place = RIGHTS_EVERYWHERE;
		ask(rights);
		return;
	}
	rights->place = RIGHTS_AT_HOME;
	loop_timer_set(rights->client->loop, &rights->timer, base_clock_boot_ns() + AGAIN_NS);
}

static void on_answer(void *arg, const struct kube_answer *answer)
{
	struct kube_rights *rights = arg;
	struct told *told = &rights->told[rights->place];
	json_t *review = answer->class == KUBE_OK ? kube_json_parse(answer->body, NULL) : NULL;

	rights->id = 0;
	told->known = true;
	told->seen_ns = base_clock_boot_ns();
	if (review) {
		judge(rights, review, told);
	} else {
		told->verdict = RIGHTS_UNKNOWN;
		(void)snprintf(told->declared, sizeof(told->declared), "the rights of its role");
		(void)snprintf(told->found, sizeof(told->found), "could not be asked: %s %.500s",
		    kube_class_name(answer->class), answer->message);
	}
	json_decref(review);
	tell(rights, rights->place);
	next(rights);
}

static void ask(struct kube_rights *rights)
{
	struct kube_ask request = { .target = rights->target,
		.verb = KUBE_POST,
		.path = PATH,
		.deadline_ms = DEADLINE_MS,
		.most_bytes = MOST_BYTES };
	struct buf body = buf_make(1024);

	buf_puts(&body, "{\"apiVersion\":\"authorization.k8s.io/v1\","
			"\"kind\":\"SelfSubjectRulesReview\",\"spec\":{\"namespace\":");
	buf_json_string(
	    &body, str_of(rights_namespace(config_of(rights), rights->target, rights->place)));
	buf_puts(&body, "}}");
	CHECK(!body.failed);
	request.body = buf_str(&body);
	rights->id = kube_client_ask(rights->client, &request, on_answer, rights);
	buf_free(&body);
}

static void on_timer(void *arg, int64_t now_ns)
{
	struct kube_rights *rights = arg;

	(void)now_ns;
	if (rights->id == 0 && kube_client_has(rights->client, rights->target))
		ask(rights);
}

static struct kube_rights *find(struct kube_client *client, unsigned target)
{
	struct kube_rights *rights = client->rights;

	while (rights && rights->target != target)
		rights = rights->next;
	return rights;
}

void kube_rights_watch(struct kube_client *client, unsigned target)
{
	struct kube_rights *rights = find(client, target);

	if (!rights) {
		rights = calloc(1, sizeof(*rights));
		CHECK(rights);
		*rights = (struct kube_rights){ .next = client->rights,
			.client = client,
			.target = target,
			.timer = { .fire = on_timer, .arg = rights } };
		client->rights = rights;
	}
	/* An answer to the identity before would stand for five minutes. */
	kube_client_cancel(client, rights->id);
	rights->id = 0;
	rights->place = RIGHTS_AT_HOME;
	loop_timer_set(client->loop, &rights->timer, base_clock_boot_ns() + FIRST_NS);
}

void kube_rights_show(struct kube_client *client, unsigned target)
{
	const struct kube_rights *rights = find(client, target);

	if (!rights)
		return;
	tell(rights, RIGHTS_AT_HOME);
	tell(rights, RIGHTS_EVERYWHERE);
}

void kube_rights_free(struct kube_client *client)
{
	struct kube_rights *rights;

	while ((rights = client->rights)) {
		client->rights = rights->next;
		loop_timer_cancel(client->loop, &rights->timer);
		free(rights);
	}
}
