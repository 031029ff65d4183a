/*
 * Looks at the hubs, all at the same time and each with its own deadline, so that one that hangs
 * costs the other nothing (W11), and the decision after each complete look. It must not act on a
 * decision: follow.c does.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "follower/endpoint.h"
#include "follower/follower.h"
#include "kube/json.h"
#include "kube/url.h"

#define SOON_NS BASE_NS_PER_S

static void finish(struct follower *follower);

void hub_cluster_path(const struct hub *hub, struct buf *path, const char *subresource)
{
	const struct us_config *config = hub->follower->config;

	kube_url_path(path, "controller.kubeslice.io", "v1alpha1", "clusters",
	    config_text_at(config, config->follower.project_namespace),
	    config_text_at(config, config->self_name), subresource);
}

void hub_lease_path(const struct hub *hub, struct buf *path, const char *name)
{
	const struct us_config *config = hub->follower->config;

	kube_url_path(path, "coordination.k8s.io", "v1", "leases",
	    config_text_at(config, config->namespace), name, NULL);
}

/* --- What a look brings ----------------------------------------------------------------------- */

static int hub_of_endpoint(const struct follower *follower, const char *endpoint)
{
	for (unsigned i = 0; i < follower->hub_count; i++)
		if (endpoint_equal(follower->hubs[i].endpoint, endpoint))
			return (int)i;
	return RULE_NOWHERE;
}

/* Untyped, so that it needs no release of anybody's API (W28). */
static void read_claim(struct hub *hub, const json_t *object, struct rule_claim *claim)
{
	const json_t *active = kube_json_at(object, "status", "activeController", NULL);
	const char *endpoint = kube_json_text(active, "endpoint");
	const char *identity = kube_json_text(active, "activeIdentity");

	*claim = (struct rule_claim){ .hub = RULE_NOWHERE };
	claim->absent = !endpoint[0] || !identity[0] ||
			!str_copy(claim->identity, sizeof(claim->identity), str_of(identity));
	claim->hub = hub_of_endpoint(hub->follower, endpoint);
	if (kube_time_parse(kube_json_text(active, "lastUpdated"), &claim->updated_us) != 0)
		claim->updated_us = 0;
}

static void keep_object(struct hub *hub, const json_t *object)
{
	json_decref(hub->conditions);
	hub->conditions = json_incref(kube_json_at(object, "status", "conditions", NULL));
	if (!hub->conditions)
		hub->conditions = json_array();
	(void)str_copy(hub->version, sizeof(hub->version),
	    str_of(kube_json_text(kube_json_at(object, "metadata", NULL), "resourceVersion")));
}

/* W12: no transport is no hub; an error of its API is a hub, which says nothing. */
static enum rule_reach reach_of(enum kube_class class)
{
	if (class == KUBE_OK)
		return RULE_READ;
	return class == KUBE_SILENT || class == KUBE_BLIND ? RULE_UNREACHABLE : RULE_UNREADABLE;
}

static void on_cluster(void *arg, const struct kube_answer *answer)
{
	struct hub *hub = arg;
	json_t *object = answer->class == KUBE_OK ? kube_json_parse(answer->body, NULL) : NULL;

	hub->cluster_id = 0;
	hub->cluster_class = answer->class;
	hub->cluster_why = answer->why;
	hub->next.reach = reach_of(answer->class);
	if (object) {
		read_claim(hub, object, &hub->next.claim);
		keep_object(hub, object);
	} else {
		if (answer->class == KUBE_OK)
			hub->next.reach = RULE_UNREADABLE;
		role_metric(hub->follower->process, METRIC_HUB_PROBE_ERRORS,
		    hub->index == 0 ? "primary" : "secondary", NULL, 1000000);
		if (hub->look.reach != hub->next.reach)
			log_info("%s cannot be read: %s %s", hub->name,
			    kube_class_name(answer->class), answer->message);
	}
	json_decref(object);
	hubs_seen(hub, answer);
	finish(hub->follower);
}

static void on_lease(void *arg, const struct kube_answer *answer)
{
	struct hub *hub = arg;
	json_t *object = answer->class == KUBE_OK ? kube_json_parse(answer->body, NULL) : NULL;
	struct kube_lease lease;
	struct err err = { "" };

	hub->lease_id = 0;
	if (object && kube_lease_parse(object, &lease, &err) == 0) {
		hub->next.lease_term = renewal_term(hub, &lease);
		if (!hub->watching) /* a watch knows better */
			attest_see(&hub->attest, lease.renew_us, false, base_clock_boot_ns());
	} else if (err.text[0]) {
		log_warn("Lease of %s: %s", hub->name, err.text);
	}
	json_decref(object);
	finish(hub->follower);
}

/* --- The decision ----------------------------------------------------------------------------- */

static void tell_notes(struct follower *follower, unsigned notes)
{
	static const struct {
		unsigned note;
		enum log_level level;
		const char *text;
	} lines[] = {
		{ RULE_NOTE_FOREIGN, LOG_INFO,
		    "a claim names an endpoint that is not in the list of hubs: ignored" },
		{ RULE_NOTE_DISAGREE, LOG_INFO,
		    "the hubs name different controllers: the claim made last counts" },
		{ RULE_NOTE_SUPERSEDED, LOG_WARN,
		    "a claim has a lower term than one that was followed: ignored" },
		{ RULE_NOTE_TWICE, LOG_ERROR,
		    "two hubs claim the same term: this worker stays where it is" },
		{ RULE_NOTE_IMPLAUSIBLE, LOG_ERROR,
		    "a claim has a term that cannot be true: ignored" },
	};

	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (notes & ~follower->noted & lines[i].note)
			log_write(lines[i].level, "%s", lines[i].text);
	follower->noted = notes;
}

static void poll_later(struct follower *follower, const struct rule_decision *decision)
{
	int64_t delay_ns = follower->config->follower.interval_ms * BASE_NS_PER_MS;
	bool soon = follower->rule.current.hub == RULE_NOWHERE ||
		    (decision->verdict == RULE_CONFIRM && decision->choice.term > 0);

	if (soon && delay_ns > SOON_NS)
		delay_ns = SOON_NS;
	/* Spread, so that hundreds of workers do not look in one moment. */
	delay_ns += (int64_t)(base_random_u64() % (uint64_t)(delay_ns / 8));
	loop_timer_set(
	    role_loop(follower->process), &follower->poll_timer, base_clock_boot_ns() + delay_ns);
}

/* B11: a hub that still claims to lead with a term that is over may be what its name stood for
 * once: it is looked at over a new connection. */
static void redial_superseded(struct follower *follower)
{
	for (unsigned i = 0; i < follower->hub_count; i++) {
		struct hub *hub = &follower->hubs[i];

		if (!rule_is_superseded(&follower->rule, &hub->look)) {
			hub->superseded = false;
			continue;
		}
		if (!hub->superseded)
			log_info("%s claims term %llu, %llu is the highest: its connection is "
				 "dropped",
			    hub->name, (unsigned long long)hub->look.lease_term,
			    (unsigned long long)follower->rule.max_term);
		hub->superseded = true;
		kube_client_redial(follower->client, hub_target(hub));
	}
}

static void decide(struct follower *follower)
{
	struct rule_input input = { .push = follower->push };
	struct rule_decision decision;
	struct hub *hub;

	for (unsigned i = 0; i < follower->hub_count; i++)
		input.looks[i] = follower->hubs[i].look;
	decision = rule_decide(&follower->rule, &input);
	tell_notes(follower, decision.notes);
	redial_superseded(follower);
	if (decision.verdict == RULE_KEEP && follower->rule.current.hub == RULE_NOWHERE) {
		log_info("no hub claims to lead: %s, the first of the list, is used",
		    follower->hubs[0].name);
		rule_fall_back(&follower->rule);
	}
	follow_decided(follower, &decision);
	controller_changed(follower);
	hub = follower_current(follower);
	if (hub && hub->look.reach == RULE_READ) {
		role_metric(follower->process, METRIC_LAST_SYNC, NULL, NULL, base_clock_wall_us());
		report_followed(hub);
	}
	poll_later(follower, &decision);
}

static void finish(struct follower *follower)
{
	for (unsigned i = 0; i < follower->hub_count; i++)
		if (follower->hubs[i].cluster_id || follower->hubs[i].lease_id)
			return;
	for (unsigned i = 0; i < follower->hub_count; i++)
		follower->hubs[i].look = follower->hubs[i].next;
	follower->polling = false;
	decide(follower);
	if (follower->poll_again)
		poll_now(follower);
}

/* --- Asking ----------------------------------------------------------------------------------- */

static void look(struct hub *hub)
{
	struct follower *follower = hub->follower;
	uint32_t timeout_ms = follower->config->follower.timeout_ms;
	struct buf path = buf_make(1024);

	hub->next = (struct rule_look){ .reach = RULE_UNREACHABLE };
	if (!hub->has_client)
		return;
	hub_cluster_path(hub, &path, NULL);
	hub->cluster_id =
	    hub_ask(hub, KUBE_GET, path.data, STR_LIT(""), timeout_ms, false, on_cluster);
	if (follower->hub_count == 2) {
		buf_clear(&path);
		hub_lease_path(hub, &path, KUBE_LEASE_NAME);
		hub->lease_id =
		    hub_ask(hub, KUBE_GET, path.data, STR_LIT(""), timeout_ms, false, on_lease);
	}
	buf_free(&path);
}

void poll_now(struct follower *follower)
{
	bool any = false;

	if (follower->polling) {
		follower->poll_again = true;
		return;
	}
	for (unsigned i = 0; i < follower->hub_count; i++)
		any = any || follower->hubs[i].has_client;
	if (!any)
		return;
	follower->poll_again = false;
	follower->polling = true;
	loop_timer_cancel(role_loop(follower->process), &follower->poll_timer);
	for (unsigned i = 0; i < follower->hub_count; i++)
		look(&follower->hubs[i]);
}

void poll_timer(void *arg, int64_t now_ns)
{
	(void)now_ns;
	poll_now(arg);
}
