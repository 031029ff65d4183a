/*
 * Keeps what roles said last (see the header). The link layer has checked right, form and bounds;
 * here it is checked that a shard speaks of its own workers and a role of its own credentials. No
 * I/O, no clock. Called by messages.c.
 */
#include "monitor/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/check.h"

struct status *status_new(const struct us_config *config)
{
	struct status *status = calloc(1, sizeof(*status));

	CHECK(status);
	status->config = config;
	status->lag.highest_ms = -1;
	return status;
}

void status_free(struct status *status)
{
	free(status);
}

static void forget_rights(struct status *status, unsigned credential)
{
	for (unsigned check = 0; check < RIGHTS_CHECKS; check++)
		status->rights[credential][check].known = false;
}

void status_reconfigure(
    struct status *status, const struct us_config *before, const struct us_config *config)
{
	status->config = config;
	for (unsigned i = 0; i < CONFIG_MAX_WORKERS; i++) {
		if (i < before->worker_count && i < config->worker_count &&
		    strcmp(config_text_at(before, before->workers[i].name),
			config_text_at(config, config->workers[i].name)) == 0)
			continue;
		status->workers[i] = (struct status_worker){ 0 };
		status->credentials[CREDENTIAL_WORKER + i] = (struct status_credential){ 0 };
		forget_rights(status, CREDENTIAL_WORKER + i);
	}
}

void status_take_reload(struct status *status, uint64_t count, bool done, struct str text)
{
	status->reload = (struct status_reload){ .count = count, .done = done };
	if (text.n > 0)
		(void)str_copy(status->reload.text, sizeof(status->reload.text),
		    (struct str){ text.p, text.n - 1 });
}

/* Texts are bounded by the message table; one with a NUL in it becomes "". */
#define KEEP_TEXT(dst, src) (void)str_copy(dst, sizeof(dst), src)

void status_take_leadership(
    struct status *status, const struct msg_status_leadership *m, int64_t now_ns)
{
	struct status_leadership *l = &status->leadership;

	l->known = true;
	l->heard_ns = now_ns;
	KEEP_TEXT(l->state, m->state);
	KEEP_TEXT(l->reason, m->reason);
	KEEP_TEXT(l->holds, m->holds);
	KEEP_TEXT(l->operation, m->operation);
	KEEP_TEXT(l->nonce, m->nonce);
	KEEP_TEXT(l->leader, m->leader);
	l->leader_seen_ns = (int64_t)m->leader_seen_ns;
	l->role = m->role;
	l->term = m->term;
	l->led_term = m->led_term;
	l->since_us = m->since_us;
	l->renewed_ns = (int64_t)m->renewed_ns;
	l->valid_until_ns = (int64_t)m->valid_until_ns;
	l->armed = m->armed;
	l->complete = m->complete;
}

/* What a Standby knows of itself, or has told its peer. */
static int64_t lag_of(const struct status *status)
{
	return status->mirror.known   ? (int64_t)status->mirror.lag_ms
	       : status->peer.standby ? (int64_t)status->peer.lag_ms
				      : -1;
}

static void see_lag(struct status *status)
{
	int64_t ms = lag_of(status);

	if (ms > status->lag.highest_ms)
		status->lag.highest_ms = ms;
}

void status_sample_lag(struct status *status)
{
	struct status_lag *lag = &status->lag;

	lag->ms[lag->count++ % STATUS_LAG_SAMPLES] = lag->highest_ms;
	lag->highest_ms = lag_of(status);
}

void status_lag_samples(const struct status *status, int64_t ms[STATUS_LAG_SAMPLES])
{
	const struct status_lag *lag = &status->lag;

	for (unsigned i = 0; i < STATUS_LAG_SAMPLES; i++) {
		unsigned back = STATUS_LAG_SAMPLES - 1 - i; /* the last is the one under way */

		ms[i] = back == 0            ? lag->highest_ms
			: back <= lag->count ? lag->ms[(lag->count - back) % STATUS_LAG_SAMPLES]
					     : -1;
	}
}

void status_take_peer(struct status *status, const struct msg_status_peer *m)
{
	status->peer = (struct status_peer){ .known = true,
		.class = m->class,
		.why = m->why,
		.holder = m->holder,
		.phase = m->phase,
		.term = m->term,
		.led_term = m->led_term,
		.changed_ns = (int64_t)m->changed_ns,
		.threshold_ms = (uint32_t)m->threshold_ms,
		.lease_ms = (uint32_t)m->lease_ms,
		.since_us = m->since_us,
		.standby = m->standby,
		.armed = m->armed,
		.complete = m->complete,
		.lag_ms = (uint32_t)m->lag_ms };
	see_lag(status);
}

void status_take_mirror(struct status *status, const struct msg_status_mirror *m)
{
	status->mirror = (struct status_mirror){ .known = true,
		.complete = m->complete,
		.objects = (uint32_t)m->objects,
		.pending = (uint32_t)m->pending,
		.blocked = (uint32_t)m->blocked,
		.held_deletes = (uint32_t)m->held_deletes,
		.lag_ms = m->lag_ms,
		.written = m->written,
		.failed = m->failed,
		.state = m->state,
		.excluded = (uint32_t)m->excluded,
		.referenced = (uint32_t)m->referenced,
		.held_list = m->held_list,
		.rejoin = m->rejoin,
		.archived = m->archived,
		.passing = m->passing,
		.done = (uint32_t)m->done,
		.total = (uint32_t)m->total,
		.rate_milli = m->rate_milli,
		.remaining_ms = m->remaining_ms };
	KEEP_TEXT(status->mirror.why, m->why);
	see_lag(status);
}

void status_take_kind(struct status *status, const struct msg_status_kind *m)
{
	struct status_kind *kind = &status->kinds[m->row];

	kind->known = true;
	KEEP_TEXT(kind->kind, m->kind);
	KEEP_TEXT(kind->fault, m->fault);
	kind->source = (uint32_t)m->source;
	kind->copies = (uint32_t)m->copies;
	kind->pending = (uint32_t)m->pending;
	kind->state = m->state;
	kind->blocked = (uint32_t)m->blocked;
	kind->held = (uint32_t)m->held;
	kind->excluded = (uint32_t)m->excluded;
	kind->version = m->version;
	kind->oldest_ms = m->oldest_ms;
}

void status_take_blocked(struct status *status, const struct msg_status_blocked *m)
{
	struct status_blocked *blocked = &status->blocked[m->row];

	blocked->listing = m->listing;
	KEEP_TEXT(blocked->object, m->object);
	KEEP_TEXT(blocked->why, m->why);
}

bool status_take_follower(struct status *status, const struct msg_status_follower *m)
{
	struct status_follower *follower = &status->follower;
	unsigned hubs = status->config->hub_count;

	if (m->follows > hubs || m->handed > hubs || m->pending > hubs)
		return false;
	follower->known = true;
	follower->follows = (unsigned)m->follows;
	follower->handed = (unsigned)m->handed;
	follower->pending = (unsigned)m->pending;
	follower->seen = (uint32_t)m->seen;
	follower->needed = (uint32_t)m->needed;
	follower->term = m->term;
	follower->max_term = m->max_term;
	KEEP_TEXT(follower->connected, m->connected);
	KEEP_TEXT(follower->synced, m->synced);
	KEEP_TEXT(follower->looks[0], m->look_a);
	KEEP_TEXT(follower->looks[1], m->look_b);
	KEEP_TEXT(follower->operator, m->operator);
	return true;
}

/* An elector with a new link tells its history again. */
static bool is_known_event(const struct status *status, const struct msg_status_history *m)
{
	unsigned kept =
	    status->history_count < STATUS_MAX_HISTORY ? status->history_count : STATUS_MAX_HISTORY;

	for (unsigned i = 0; i < kept; i++) {
		const struct status_event *event = &status->history[i];

		if (event->time_us == m->time_us && event->term == m->term &&
		    str_equal(str_of(event->to), m->to) &&
		    str_equal(str_of(event->reason), m->reason))
			return true;
	}
	return false;
}

void status_take_history(struct status *status, const struct msg_status_history *m)
{
	struct status_event *event;

	if (is_known_event(status, m))
		return;
	event = &status->history[status->history_count++ % STATUS_MAX_HISTORY];
	event->time_us = m->time_us;
	event->term = m->term;
	KEEP_TEXT(event->from, m->from);
	KEEP_TEXT(event->to, m->to);
	KEEP_TEXT(event->reason, m->reason);
	KEEP_TEXT(event->text, m->text);
}

static bool holds(const struct status *status, struct role_id from, uint64_t credential)
{
	struct role_id holder;

	if (!config_credential_of(status->config, (unsigned)credential))
		return false;
	holder = role_holding((unsigned)credential, status->config->shard_size);
	return holder.role == from.role && holder.shard == from.shard;
}

bool status_take_worker(
    struct status *status, struct role_id from, const struct msg_status_worker *m)
{
	struct status_worker *worker;

	if (!holds(status, from, CREDENTIAL_WORKER + m->worker))
		return false;
	worker = &status->workers[m->worker];
	worker->known = true;
	worker->state = m->state;
	worker->term = m->term;
	KEEP_TEXT(worker->identity, m->identity);
	KEEP_TEXT(worker->detail, m->detail);
	worker->since_us = m->since_us;
	return true;
}

bool status_take_credential(
    struct status *status, struct role_id from, const struct msg_status_credential *m)
{
	struct status_credential *credential;

	if (!holds(status, from, m->credential))
		return false;
	credential = &status->credentials[m->credential];
	credential->known = true;
	credential->usable = m->usable;
	credential->generation = (uint32_t)m->generation;
	KEEP_TEXT(credential->subject, m->subject);
	credential->expires_us = m->expires_us;
	return true;
}

/* A worker's doors are its shard's to try, the fence is the elector's. */
static bool tries(unsigned credential, unsigned check)
{
	if (check == RIGHTS_CHECK_FENCE)
		return credential == CREDENTIAL_ELECTOR;
	return check <= RIGHTS_CHECK_ELSEWHERE || credential >= CREDENTIAL_WORKER;
}

bool status_take_rights(
    struct status *status, struct role_id from, const struct msg_status_rights *m)
{
	unsigned credential = (unsigned)(m->row / RIGHTS_CHECKS);
	unsigned check = (unsigned)(m->row % RIGHTS_CHECKS);
	struct status_rights *rights;

	if (!holds(status, from, credential) || !tries(credential, check))
		return false;
	rights = &status->rights[credential][check];
	rights->known = true;
	rights->verdict = m->verdict;
	KEEP_TEXT(rights->declared, m->declared);
	KEEP_TEXT(rights->found, m->found);
	rights->seen_ns = (int64_t)m->seen_ns;
	return true;
}

void status_linked(struct status *status, struct role_id peer)
{
	status->linked[peer.role][peer.shard] = true;
}

void status_unlinked(struct status *status, struct role_id peer)
{
	status->linked[peer.role][peer.shard] = false;
	if (peer.role == ROLE_ELECTOR) {
		status->leadership = (struct status_leadership){ 0 };
		status->peer = (struct status_peer){ 0 };
	}
	if (peer.role == ROLE_FOLLOWER)
		status->follower = (struct status_follower){ 0 };
	if (peer.role == ROLE_SYNCER) {
		status->mirror = (struct status_mirror){ 0 };
		memset(status->kinds, 0, sizeof(status->kinds));
		memset(status->blocked, 0, sizeof(status->blocked));
	}
	for (unsigned n = 0; n < CREDENTIAL_LIMIT; n++)
		if (holds(status, peer, n)) {
			status->credentials[n] = (struct status_credential){ 0 };
			forget_rights(status, n);
			if (n >= CREDENTIAL_WORKER)
				status->workers[n - CREDENTIAL_WORKER] =
				    (struct status_worker){ 0 };
		}
}

bool status_expects(const struct status *status, struct role_id peer)
{
	uint32_t roles = config_roles(status->config) & role_row(ROLE_MONITOR)->links;
	unsigned shards = peer.role == ROLE_REPOINTER ? config_shard_count(status->config) : 1;

	return (roles & ROLE_BIT(peer.role)) && peer.shard < shards;
}

bool status_is_ready(const struct status *status, int64_t now_ns, char why[128])
{
	struct role_id elector = { ROLE_ELECTOR, 0 };
	int64_t age_ns = now_ns - status->leadership.heard_ns;

	why[0] = '\0';
	if (!status_expects(status, elector))
		return true;
	if (!status->linked[ROLE_ELECTOR][0])
		(void)snprintf(why, 128, "the elector is not connected");
	else if (!status->leadership.known)
		(void)snprintf(why, 128, "the elector has not said anything yet");
	else if (age_ns > STATUS_STALE_NS)
		(void)snprintf(why, 128,
		    "the elector's last word is %lld s old, expected at most %lld s",
		    (long long)(age_ns / 1000000000), (long long)(STATUS_STALE_NS / 1000000000));
	return !why[0];
}

int64_t status_peer_age_ns(const struct status *status, int64_t now_ns)
{
	const struct status_peer *peer = &status->peer;

	if (!peer->known || peer->changed_ns == 0 || !status->leadership.known ||
	    status->leadership.role != FENCE_STANDBY)
		return -1;
	return now_ns > peer->changed_ns ? now_ns - peer->changed_ns : 0;
}

/* --- Words ---------------------------------------------------------------------------------- */

#define WORD(words, number)                                                                        \
	((number) < sizeof(words) / sizeof((words)[0]) ? (words)[number] : "unknown")

const char *status_role_word(uint32_t role)
{
	static const char *const words[] = { "none", "standby", "leading", "draining" };

	return WORD(words, role);
}

const char *status_class_word(uint32_t class)
{
	static const char *const words[] = { "ok", "not-found", "silent", "blind" };

	return WORD(words, class);
}

const char *status_why_word(uint32_t why)
{
	static const char *const words[] = { "", "refused", "timeout", "reset", "server-error",
		"throttled", "x509", "unauthorized", "forbidden", "wrong-uid", "unparsable",
		"no-name", "no-credential", "dialer" };

	_Static_assert(sizeof(words) / sizeof(words[0]) == PEER_WHY_LAST + 1, "a word for each");
	return WORD(words, why);
}

const char *status_holder_word(uint32_t holder)
{
	static const char *const words[] = { "none", "self", "peer", "other" };

	return WORD(words, holder);
}

const char *status_phase_word(uint32_t phase)
{
	static const char *const words[] = { "none", "acquiring", "leading", "draining",
		"released" };

	return WORD(words, phase);
}

const char *status_worker_word(const struct status_worker *worker)
{
	static const char *const words[] = { "ok", "no-crd", "no-object", "no-fence", "denied",
		"unreachable" };

	return worker->known ? WORD(words, worker->state) : "unknown";
}

const char *status_mode_word(uint32_t mode)
{
	static const char *const words[] = { "standalone", "active", "standby", "replicas",
		"follower" };

	return WORD(words, mode);
}

/* As people know them from other tools (B4, B5). */
const char *status_sync_word(uint32_t state)
{
	static const char *const words[] = { "Unknown", "Synced", "Progressing", "Degraded",
		"Blocked", "Skipped" };

	_Static_assert(
	    sizeof(words) / sizeof(words[0]) == SYNC_STATE_SKIPPED + 1, "a word for each");
	return WORD(words, state);
}

const char *status_listing_word(uint32_t listing)
{
	static const char *const words[] = { "blocked", "held", "excluded", "referenced" };

	_Static_assert(
	    sizeof(words) / sizeof(words[0]) == LISTED_REFERENCED + 1, "a word for each");
	return WORD(words, listing);
}

const char *status_check_word(uint32_t check)
{
	static const char *const words[] = { "rights-home", "rights-elsewhere", "door-spec",
		"door-delete", "door-identity", "door-term", "fence" };

	_Static_assert(sizeof(words) / sizeof(words[0]) == RIGHTS_CHECKS, "a word for each");
	return WORD(words, check);
}

void status_time_word(int64_t us, char text[40])
{
	time_t seconds = (time_t)(us / 1000000);
	struct tm tm;
	size_t n;

	text[0] = '\0';
	if (us <= 0 || !gmtime_r(&seconds, &tm))
		return;
	n = strftime(text, 40, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(text + n, 40 - n, ".%03dZ", (int)(us / 1000 % 1000));
}
