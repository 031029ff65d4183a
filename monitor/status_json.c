/*
 * The status as one JSON document: what `understudyctl status` reads. Keys are stable; what is not
 * known is null, so that "no" and "nobody said" differ. No I/O, no clock. Called by main.c for
 * each reader of status.sock.
 */
#include <string.h>

#include "monitor/status.h"

/* A key; the comma is put where something stands before it. */
static void key(struct buf *out, const char *name)
{
	char last = out->len ? out->data[out->len - 1] : '{';

	buf_printf(out, "%s\"%s\":", last == '{' || last == '[' ? "" : ",", name);
}

/* The start of a list's next member. */
static void member(struct buf *out)
{
	buf_puts(out, out->len && out->data[out->len - 1] == '[' ? "{" : ",{");
}

static void text(struct buf *out, const char *name, const char *value)
{
	key(out, name);
	buf_json_string(out, str_of(value));
}

static void number(struct buf *out, const char *name, uint64_t value)
{
	key(out, name);
	buf_printf(out, "%llu", (unsigned long long)value);
}

static void truth(struct buf *out, const char *name, bool value)
{
	key(out, name);
	buf_puts(out, value ? "true" : "false");
}

static void null(struct buf *out, const char *name)
{
	key(out, name);
	buf_puts(out, "null");
}

/* Wall time, null when it was never. */
static void time_of(struct buf *out, const char *name, int64_t us)
{
	char word[40];

	status_time_word(us, word);
	if (word[0])
		text(out, name, word);
	else
		null(out, name);
}

/* Milliseconds from a past time to now; null when it was never. */
static void age_of(struct buf *out, const char *name, int64_t then_ns, int64_t now_ns)
{
	if (then_ns <= 0)
		null(out, name);
	else
		number(out, name, now_ns > then_ns ? (uint64_t)(now_ns - then_ns) / 1000000 : 0);
}

static const char *at(const struct status *status, config_text offset)
{
	return config_text_at(status->config, offset);
}

static void put_hubs(const struct status *status, struct buf *out)
{
	const struct us_config *config = status->config;

	key(out, "hubs");
	buf_puts(out, "[");
	for (unsigned i = 0; i < config->hub_count; i++) {
		member(out);
		text(out, "name", at(status, config->hubs[i].name));
		text(out, "endpoint", at(status, config->hubs[i].endpoint));
		truth(out, "self", config->mode != CONFIG_FOLLOWER && i == config->self);
		buf_puts(out, "}");
	}
	buf_puts(out, "]");
}

static void put_leadership(const struct status *status, int64_t now_ns, struct buf *out)
{
	const struct status_leadership *l = &status->leadership;

	if (!l->known) {
		null(out, "leadership");
		return;
	}
	key(out, "leadership");
	buf_puts(out, "{");
	text(out, "state", l->state);
	text(out, "role", status_role_word(l->role));
	number(out, "term", l->term);
	number(out, "ledTerm", l->led_term);
	time_of(out, "since", l->since_us);
	age_of(out, "renewedAgoMs", l->renewed_ns, now_ns);
	number(out, "validForMs",
	    l->valid_until_ns > now_ns ? (uint64_t)(l->valid_until_ns - now_ns) / 1000000 : 0);
	truth(out, "armed", l->armed);
	truth(out, "complete", l->complete);
	text(out, "reason", l->reason);
	text(out, "holdsPromotion", l->holds);
	text(out, "operation", l->operation);
	text(out, "nonce", l->nonce);
	text(out, "leader", l->leader);
	age_of(out, "leaderSeenAgoMs", l->leader[0] ? l->leader_seen_ns : 0, now_ns);
	age_of(out, "heardAgoMs", l->heard_ns, now_ns);
	buf_puts(out, "}");
}

static void put_fence(const struct fence_view *view, int64_t now_ns, struct buf *out)
{
	int64_t left_ns;

	if (!view) {
		null(out, "fence");
		return;
	}
	left_ns = fence_view_left_ns(view, now_ns);
	key(out, "fence");
	buf_puts(out, "{");
	truth(out, "leading", left_ns > 0);
	number(out, "term", view->term);
	number(out, "remainingMs", (uint64_t)left_ns / 1000000);
	buf_puts(out, "}");
}

static void put_peer(const struct status *status, int64_t now_ns, struct buf *out)
{
	const struct us_config *config = status->config;
	const struct status_peer *peer = &status->peer;

	if (!peer->known) {
		null(out, "peer");
		return;
	}
	key(out, "peer");
	buf_puts(out, "{");
	text(out, "identity",
	    config->hub_count == 2 ? at(status, config->hubs[1 - config->self].name) : "");
	text(out, "class", status_class_word(peer->class));
	text(out, "why", status_why_word(peer->why));
	text(out, "holder", status_holder_word(peer->holder));
	text(out, "phase", status_phase_word(peer->phase));
	number(out, "term", peer->term);
	number(out, "ledTerm", peer->led_term);
	age_of(out, "ageMs", peer->changed_ns, now_ns);
	number(out, "thresholdMs", peer->threshold_ms);
	number(out, "leaseMs", peer->lease_ms);
	time_of(out, "since", peer->since_us);
	if (!peer->standby) {
		null(out, "standby");
		buf_puts(out, "}");
		return;
	}
	key(out, "standby");
	buf_puts(out, "{");
	truth(out, "armed", peer->armed);
	truth(out, "complete", peer->complete);
	number(out, "lagMs", peer->lag_ms);
	buf_puts(out, "}}");
}

/* Of a whole pass; null when none is under way. */
static void put_progress(const struct status_mirror *mirror, struct buf *out)
{
	if (!mirror->passing) {
		null(out, "progress");
		return;
	}
	key(out, "progress");
	buf_puts(out, "{");
	number(out, "done", mirror->done);
	number(out, "total", mirror->total);
	key(out, "perSecond");
	buf_printf(out, "%llu.%03llu", (unsigned long long)mirror->rate_milli / 1000,
	    (unsigned long long)mirror->rate_milli % 1000);
	if (mirror->remaining_ms)
		number(out, "remainingMs", mirror->remaining_ms);
	else
		null(out, "remainingMs");
	buf_puts(out, "}");
}

static void put_mirror(const struct status *status, struct buf *out)
{
	const struct status_mirror *mirror = &status->mirror;

	if (!mirror->known) {
		null(out, "mirror");
		return;
	}
	key(out, "mirror");
	buf_puts(out, "{");
	text(out, "state", status_sync_word(mirror->state));
	text(out, "why", mirror->why);
	truth(out, "complete", mirror->complete);
	number(out, "objects", mirror->objects);
	number(out, "pending", mirror->pending);
	number(out, "blocked", mirror->blocked);
	number(out, "heldDeletes", mirror->held_deletes);
	number(out, "lagMs", mirror->lag_ms);
	number(out, "written", mirror->written);
	number(out, "failed", mirror->failed);
	number(out, "excluded", mirror->excluded);
	number(out, "referenced", mirror->referenced);
	key(out, "heldList");
	buf_printf(out, "\"%016llx\"", (unsigned long long)mirror->held_list);
	truth(out, "rejoin", mirror->rejoin);
	number(out, "archived", mirror->archived);
	put_progress(mirror, out);
	buf_puts(out, "}");
}

static void put_kinds(const struct status *status, struct buf *out)
{
	key(out, "kinds");
	buf_puts(out, "[");
	for (unsigned i = 0; i < STATUS_MAX_ROWS; i++) {
		const struct status_kind *kind = &status->kinds[i];

		if (!kind->known)
			continue;
		member(out);
		text(out, "kind", kind->kind);
		text(out, "state", status_sync_word(kind->state));
		number(out, "source", kind->source);
		number(out, "copies", kind->copies);
		number(out, "pending", kind->pending);
		number(out, "blocked", kind->blocked);
		number(out, "held", kind->held);
		number(out, "excluded", kind->excluded);
		if (kind->version)
			number(out, "completeAt", kind->version);
		else
			null(out, "completeAt");
		number(out, "oldestUnappliedMs", kind->oldest_ms);
		text(out, "fault", kind->fault);
		buf_puts(out, "}");
	}
	buf_puts(out, "]");
}

static void put_workers(const struct status *status, struct buf *out)
{
	key(out, "workers");
	buf_puts(out, "[");
	for (unsigned i = 0; i < status->config->worker_count; i++) {
		const struct config_worker *configured = &status->config->workers[i];
		const struct status_worker *worker = &status->workers[i];

		member(out);
		text(out, "name", at(status, configured->name));
		text(out, "projectNamespace", at(status, configured->project_namespace));
		text(out, "state", status_worker_word(worker));
		number(out, "term", worker->term);
		text(out, "identity", worker->identity);
		time_of(out, "since", worker->since_us);
		text(out, "detail", worker->detail);
		buf_puts(out, "}");
	}
	buf_puts(out, "]");
}

static void put_credentials(const struct status *status, struct buf *out)
{
	key(out, "credentials");
	buf_puts(out, "[");
	for (unsigned n = 0; n < CREDENTIAL_LIMIT; n++) {
		const struct status_credential *credential = &status->credentials[n];

		if (!config_credential_of(status->config, n))
			continue;
		member(out);
		text(out, "name", credential_name(n));
		text(out, "worker",
		    n < CREDENTIAL_WORKER
			? ""
			: at(status, status->config->workers[n - CREDENTIAL_WORKER].name));
		if (credential->known)
			truth(out, "usable", credential->usable);
		else
			null(out, "usable");
		number(out, "generation", credential->generation);
		text(out, "subject", credential->subject);
		time_of(out, "expires", credential->expires_us);
		buf_puts(out, "}");
	}
	buf_puts(out, "]");
}

static void put_right(const struct status *status, unsigned credential, unsigned check,
    int64_t now_ns, struct buf *out)
{
	static const char *const verdicts[] = { "ok", "finding", "unverified" };
	const struct status_rights *rights = &status->rights[credential][check];

	member(out);
	text(out, "name", credential_name(credential));
	text(out, "worker",
	    credential < CREDENTIAL_WORKER
		? ""
		: at(status, status->config->workers[credential - CREDENTIAL_WORKER].name));
	text(out, "check", status_check_word(check));
	text(out, "declared", rights->declared);
	text(out, "found", rights->found);
	text(out, "verdict",
	    verdicts[rights->verdict <= RIGHTS_UNKNOWN ? rights->verdict : RIGHTS_UNKNOWN]);
	age_of(out, "ageMs", rights->seen_ns, now_ns);
	buf_puts(out, "}");
}

/* What roles tried at API servers, for the audit. */
static void put_rights(const struct status *status, int64_t now_ns, struct buf *out)
{
	key(out, "rights");
	buf_puts(out, "[");
	for (unsigned n = 0; n < CREDENTIAL_LIMIT; n++)
		for (unsigned check = 0;
		     config_credential_of(status->config, n) && check < RIGHTS_CHECKS; check++)
			if (status->rights[n][check].known)
				put_right(status, n, check, now_ns, out);
	buf_puts(out, "]");
}

static void put_blocked(const struct status *status, struct buf *out)
{
	key(out, "blocked");
	buf_puts(out, "[");
	for (unsigned i = 0; i < STATUS_MAX_ROWS; i++) {
		if (!status->blocked[i].object[0])
			continue;
		member(out);
		text(out, "state", status_listing_word(status->blocked[i].listing));
		text(out, "object", status->blocked[i].object);
		text(out, "why", status->blocked[i].why);
		buf_puts(out, "}");
	}
	buf_puts(out, "]");
}

/* Newest first. */
static void put_history(const struct status *status, struct buf *out)
{
	key(out, "history");
	buf_puts(out, "[");
	for (unsigned i = 0; i < status->history_count && i < STATUS_MAX_HISTORY; i++) {
		const struct status_event *event =
		    &status->history[(status->history_count - 1 - i) % STATUS_MAX_HISTORY];

		member(out);
		time_of(out, "time", event->time_us);
		text(out, "from", event->from);
		text(out, "to", event->to);
		number(out, "term", event->term);
		text(out, "reason", event->reason);
		text(out, "text", event->text);
		buf_puts(out, "}");
	}
	buf_puts(out, "]");
}

static void put_hub(const struct status *status, const char *name, unsigned hub, struct buf *out)
{
	if (hub == 0)
		null(out, name);
	else
		text(out, name, at(status, status->config->hubs[hub - 1].name));
}

/* null: this is no worker, or its follower has not said anything. */
static void put_follower(const struct status *status, struct buf *out)
{
	const struct status_follower *follower = &status->follower;

	if (!follower->known) {
		null(out, "follower");
		return;
	}
	key(out, "follower");
	buf_puts(out, "{");
	put_hub(status, "follows", follower->follows, out);
	number(out, "term", follower->term);
	number(out, "maxTerm", follower->max_term);
	put_hub(status, "handedOver", follower->handed, out);
	put_hub(status, "pending", follower->pending, out);
	number(out, "confirmations", follower->seen);
	number(out, "confirmationsNeeded", follower->needed);
	text(out, "controllerConnected", follower->connected);
	text(out, "controllerEndpointSynced", follower->synced);
	text(out, "operator", follower->operator);
	key(out, "looks");
	buf_puts(out, "[");
	for (unsigned i = 0; i < status->config->hub_count; i++) {
		member(out);
		text(out, "hub", at(status, status->config->hubs[i].name));
		text(out, "look", follower->looks[i]);
		buf_puts(out, "}");
	}
	buf_puts(out, "]}");
}

/* null: the configuration is that of the start. */
static void put_reload(const struct status *status, struct buf *out)
{
	const struct status_reload *reload = &status->reload;

	if (reload->count == 0) {
		null(out, "reload");
		return;
	}
	key(out, "reload");
	buf_puts(out, "{");
	number(out, "count", reload->count);
	truth(out, "done", reload->done);
	text(out, "text", reload->text);
	buf_puts(out, "}");
}

static void put_processes(const struct status *status, struct buf *out)
{
	key(out, "processes");
	buf_puts(out, "[");
	for (unsigned role = 0; role < ROLE_COUNT; role++)
		for (unsigned shard = 0; shard < ROLE_MAX_SHARDS; shard++) {
			struct role_id id = { (uint8_t)role, (uint8_t)shard };

			if (!status_expects(status, id))
				continue;
			member(out);
			text(out, "name", role_name((enum role)role));
			number(out, "shard", shard);
			truth(out, "connected", status->linked[role][shard]);
			buf_puts(out, "}");
		}
	buf_puts(out, "]");
}

void status_put_json(const struct status *status, const struct fence_view *view, int64_t now_ns,
    int64_t now_us, struct buf *out)
{
	const struct us_config *config = status->config;
	char why[128];

	buf_puts(out, "{");
	number(out, "version", 1);
	time_of(out, "time", now_us);
	text(out, "identity", at(status, config->self_name));
	text(out, "mode", status_mode_word(config->mode));
	text(out, "namespace", at(status, config->namespace));
	number(out, "slot", config_slot(config));
	truth(out, "ready", status_is_ready(status, now_ns, why));
	text(out, "notReady", why);
	put_hubs(status, out);
	put_leadership(status, now_ns, out);
	put_fence(view, now_ns, out);
	put_peer(status, now_ns, out);
	put_mirror(status, out);
	put_kinds(status, out);
	put_workers(status, out);
	put_credentials(status, out);
	put_rights(status, now_ns, out);
	put_blocked(status, out);
	put_history(status, out);
	put_processes(status, out);
	put_follower(status, out);
	put_reload(status, out);
	buf_puts(out, "}\n");
}
