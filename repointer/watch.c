/*
 * What stands in ClusterController/active of each worker, and what its API server says of itself,
 * told to the elector (C9: a higher term there is a hint) and shown by the monitor. It must not
 * judge terms: implausible ones are told as they are (C7).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "kube/json.h"
#include "kube/url.h"
#include "repointer/repointer.h"

#define MAX_IDENTITY 253
#define SLOT_OTHER   2

static uint64_t slot_of(const struct member *member)
{
	const struct us_config *config = role_config(member->repointer->process);

	for (unsigned slot = 0; member->seen_identity && slot < config->hub_count; slot++)
		if (strcmp(config_text_at(config, config->hubs[slot].name),
			member->seen_identity) == 0)
			return slot;
	return SLOT_OTHER;
}

void watch_tell_elector(const struct member *member)
{
	/* What stands there was read all the same. */
	enum worker_state state =
	    member->machine.state == WORKER_NO_FENCE ? WORKER_OK : member->machine.state;
	struct msg_worker_seen seen = { .worker = member->index,
		.state = state,
		.term = member->view.exists ? member->view.term : 0,
		.slot = slot_of(member),
		.seen_ns = (uint64_t)member->seen_ns };

	if (member->seen_ns)
		(void)role_send(
		    member->repointer->process, ROLE_ELECTOR, 0, MSG_WORKER_SEEN, &seen);
}

void watch_tell_monitor(const struct member *member)
{
	struct msg_status_worker status = { .worker = member->index,
		.state = member->machine.state,
		.term = member->view.exists ? member->view.term : 0,
		.identity = str_of(member->view.exists ? member->seen_identity : NULL),
		.since_us = member->since_us,
		.detail = str_of(member->detail) };

	if (status.identity.n > MAX_IDENTITY)
		status.identity = str_of("");
	(void)role_send(member->repointer->process, ROLE_MONITOR, 0, MSG_STATUS_WORKER, &status);
}

void watch_event(const struct member *member, enum event_reason reason, const char *note)
{
	const struct us_config *config = role_config(member->repointer->process);
	const struct config_worker *worker = &config->workers[member->index];
	struct msg_event_asked event = { .reason = reason,
		.kind = STR_LIT("Cluster"),
		.namespace = str_of(config_text_at(config, worker->project_namespace)),
		.object = str_of(config_text_at(config, worker->name)),
		.note = str_of(note) };

	(void)role_send(member->repointer->process, ROLE_ELECTOR, 0, MSG_EVENT_ASKED, &event);
}

void watch_see_state(struct member *member, enum worker_state state, const char *detail)
{
	bool changed = worker_state_seen(&member->machine, state);

	member->seen_ns = base_clock_boot_ns();
	(void)snprintf(member->detail, sizeof(member->detail), "%s",
	    str_is_utf8(str_of(detail)) ? detail : "");
	if (changed || member->since_us == 0) {
		member->since_us = base_clock_wall_us();
		log_write(state == WORKER_OK ? LOG_INFO : LOG_WARN, "worker %s: %s%s%s",
		    member_name(member), worker_state_name(state), detail[0] ? ": " : "", detail);
		if (state == WORKER_UNREACHABLE)
			watch_event(member, EVENT_WORKER_UNREACHABLE, member->detail);
	}
	watch_tell_elector(member);
	watch_tell_monitor(member);
}

static void keep(char **text, const char *value)
{
	if (*text && strcmp(*text, value) == 0)
		return;
	free(*text);
	*text = strdup(value);
	CHECK(*text);
}

void watch_see(struct member *member, const json_t *object)
{
	const json_t *spec = object ? kube_json_at(object, "spec", NULL) : NULL;
	int64_t term = kube_json_integer(spec, "term", 0);

	member->view = (struct worker_view){
		.known = true, .exists = object != NULL, .term = term > 0 ? (uint64_t)term : 0
	};
	keep(&member->seen_identity, kube_json_text(spec, "identity"));
	keep(&member->seen_endpoint, kube_json_text(spec, "endpoint"));
	keep(&member->seen_bundle, kube_json_text(spec, "caBundle"));
	if (object && member->unfenced)
		watch_see_state(member, WORKER_NO_FENCE, member->rehearsal.missing);
	else
		watch_see_state(member, object ? WORKER_OK : WORKER_NO_OBJECT, "");
}

/* --- The watch -------------------------------------------------------------------------------- */

static void on_begin(void *arg)
{
	struct member *member = arg;

	member->listed = false;
}

static void on_object(void *arg, enum kube_watch_event event, const json_t *object)
{
	struct member *member = arg;

	member->listed = true;
	watch_see(member, event == KUBE_WATCH_DELETED ? NULL : object);
	push_step(member);
}

static void on_synced(void *arg, const char *resource_version)
{
	struct member *member = arg;

	(void)resource_version;
	if (member->listed)
		return;
	watch_see(member, NULL);
	push_step(member);
}

static void on_error(void *arg, const struct kube_answer *answer)
{
	struct member *member = arg;
	enum worker_state state;

	/* The list, not the object, was asked for: a 404 of any kind is a missing kind (H20). */
	if (answer->class == KUBE_NOT_FOUND)
		watch_see_state(member, WORKER_NO_CRD, answer->message);
	else if (answer->class != KUBE_OK && worker_state_of(answer->class, &state))
		watch_see_state(member, state, answer->message);
}

static const struct kube_watch_ops watch_ops = {
	.on_begin = on_begin,
	.on_object = on_object,
	.on_synced = on_synced,
	.on_error = on_error,
};

void watch_start(struct member *member)
{
	struct buf query = buf_make(128);
	struct kube_watch_options options = { .target = member_target(member),
		.path = "/apis/ha.kubeslice.io/v1alpha1/clustercontrollers",
		.deadline_ms = OTHER_REQUEST_MS };

	if (member->watch)
		return;
	kube_url_query(&query, "fieldSelector", "metadata.name=active");
	options.query = query.data;
	member->watch = kube_watch_start(member->repointer->client,
	    role_loop(member->repointer->process), &options, &watch_ops, member);
	buf_free(&query);
}
