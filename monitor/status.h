/*
 * What is known about this hub, as the roles said it over links that still live: what a role said
 * is forgotten when its link ends, and said again by the role when it has a new one. Only the
 * history stays. Names of hubs and workers come from the configuration, never from a message.
 * Times end in _ns (boot time) or _us (wall time); ages are made when somebody looks.
 */
#ifndef MONITOR_STATUS_H
#define MONITOR_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "fence/fence.h"
#include "ipc/messages.h"
#include "policy/config.h"

#define STATUS_MAX_ROWS    256 /* kinds, blocked objects: the bound of the messages */
#define STATUS_MAX_HISTORY 100
/* An elector that has said nothing for so long is no longer known to do anything. */
#define STATUS_STALE_NS (15 * 1000000000LL)

struct status_leadership {
	bool known;
	int64_t heard_ns;
	char state[33], reason[513], holds[129], operation[65], nonce[17], leader[254];
	uint32_t role; /* enum fence_role */
	uint64_t term, led_term;
	int64_t since_us, renewed_ns, valid_until_ns, leader_seen_ns;
	bool armed, complete;
};

struct status_peer {
	bool known;
	uint32_t class, why, holder, phase;
	uint64_t term, led_term;
	int64_t changed_ns; /* 0: never seen */
	uint32_t threshold_ms, lease_ms, lag_ms;
	int64_t since_us;              /* it claims to lead; 0: it does not */
	bool standby, armed, complete; /* it says so of itself, with lag_ms, as a Standby */
};

struct status_mirror {
	bool known, complete, rejoin, passing;
	uint32_t objects, pending, blocked, held_deletes, excluded, referenced;
	uint32_t state, done, total; /* state: enum sync_state */
	uint64_t lag_ms, written, failed, held_list, archived, rate_milli, remaining_ms;
	char why[257];
};

struct status_kind {
	bool known;
	char kind[64], fault[257];
	uint32_t source, copies, pending, state, blocked, held, excluded;
	uint64_t version, oldest_ms;
};

struct status_worker {
	bool known;
	uint32_t state;
	uint64_t term;
	char identity[254], detail[257];
	int64_t since_us;
};

struct status_credential {
	bool known, usable;
	uint32_t generation;
	char subject[254];
	int64_t expires_us;
};

/* What a role tried for the audit. */
struct status_rights {
	bool known;
	uint32_t verdict; /* enum rights_verdict */
	char declared[257], found[1025];
	int64_t seen_ns;
};

struct status_blocked {
	uint32_t listing;
	char object[513], why[513]; /* object "" = free row */
};

struct status_event {
	int64_t time_us;
	char from[33], to[33], reason[65], text[513];
	uint64_t term;
};

struct status_follower {
	bool known;
	unsigned follows, handed, pending; /* hubs from 1; 0: none */
	uint32_t seen, needed;
	uint64_t term, max_term;
	char connected[65], synced[65], looks[CONFIG_MAX_HUBS][129], operator[129];
};

/* The supervisor's word about the last reload of the configuration. */
struct status_reload {
	uint64_t count; /* 0: there was none */
	bool done;
	char text[513];
};

/* Of the lag, the highest of each half minute of an hour. */
#define STATUS_LAG_SAMPLES  120
#define STATUS_LAG_PERIOD_S 30

struct status_lag {
	int64_t ms[STATUS_LAG_SAMPLES]; /* a ring; negative: not known */
	unsigned count;                 /* ever */
	int64_t highest_ms;             /* since the last sample; negative: not known */
};

struct status {
	const struct us_config *config;
	struct status_reload reload;
	struct status_follower follower;
	bool linked[ROLE_COUNT][ROLE_MAX_SHARDS];
	struct status_leadership leadership;
	struct status_peer peer;
	struct status_mirror mirror;
	struct status_kind kinds[STATUS_MAX_ROWS];
	struct status_blocked blocked[STATUS_MAX_ROWS];
	struct status_worker workers[CONFIG_MAX_WORKERS];
	struct status_credential credentials[CREDENTIAL_LIMIT];
	struct status_rights rights[CREDENTIAL_LIMIT][RIGHTS_CHECKS];
	struct status_event history[STATUS_MAX_HISTORY]; /* a ring */
	struct status_lag lag;
	unsigned history_count; /* ever; the newest is at (count - 1) % STATUS_MAX_HISTORY */
};

/* About 5 MiB, of which only what is used is touched. The configuration must outlive it. */
struct status *status_new(const struct us_config *config);
void status_free(struct status *status);

/* Another configuration is in force: what was said of numbers that are others' now is forgotten.
 * `before` is not used afterwards. */
void status_reconfigure(
    struct status *status, const struct us_config *before, const struct us_config *config);
/* text: terminated. */
void status_take_reload(struct status *status, uint64_t count, bool done, struct str text);

void status_linked(struct status *status, struct role_id peer);
void status_unlinked(struct status *status, struct role_id peer);

void status_take_leadership(
    struct status *status, const struct msg_status_leadership *m, int64_t now_ns);
void status_take_peer(struct status *status, const struct msg_status_peer *m);
void status_take_mirror(struct status *status, const struct msg_status_mirror *m);
void status_take_kind(struct status *status, const struct msg_status_kind *m);
void status_take_blocked(struct status *status, const struct msg_status_blocked *m);
void status_take_history(struct status *status, const struct msg_status_history *m);
/* False when it names a hub that the configuration does not have. */
bool status_take_follower(struct status *status, const struct msg_status_follower *m);
/* False when the sender does not hold that worker or credential (F4). */
bool status_take_worker(
    struct status *status, struct role_id from, const struct msg_status_worker *m);
bool status_take_credential(
    struct status *status, struct role_id from, const struct msg_status_credential *m);
/* False also for a check that this credential's role does not make. */
bool status_take_rights(
    struct status *status, struct role_id from, const struct msg_status_rights *m);

/* To be called every STATUS_LAG_PERIOD_S. */
void status_sample_lag(struct status *status);
/* The last hour, the oldest first, the last one still under way; negative where nothing was known.
 */
void status_lag_samples(const struct status *status, int64_t ms[STATUS_LAG_SAMPLES]);

/* Is the elector known to be at work? Else why not, for a person. */
bool status_is_ready(const struct status *status, int64_t now_ns, char why[128]);
/* Since when the peer's Lease has not changed, in ns; -1 where that says nothing: this hub is no
 * Standby, or has never seen it. */
int64_t status_peer_age_ns(const struct status *status, int64_t now_ns);
/* Should this process of the configuration have a link with us? */
bool status_expects(const struct status *status, struct role_id peer);

/* The whole document, JSON (status_json.c). view NULL: there is no fence page. */
void status_put_json(const struct status *status, const struct fence_view *view, int64_t now_ns,
    int64_t now_us, struct buf *out);
/* A page for a browser (status_page.c). */
void status_put_page(const struct status *status, const struct fence_view *view, int64_t now_ns,
    int64_t now_us, struct buf *out);

/* Words for the numbers of messages. */
const char *status_role_word(uint32_t role);
const char *status_class_word(uint32_t class);
const char *status_why_word(uint32_t why);
const char *status_holder_word(uint32_t holder);
const char *status_phase_word(uint32_t phase);
const char *status_worker_word(const struct status_worker *worker);
const char *status_mode_word(uint32_t mode);
const char *status_sync_word(uint32_t state);
const char *status_listing_word(uint32_t listing);
const char *status_check_word(uint32_t check);
/* RFC 3339 with milliseconds; "" for 0. */
void status_time_word(int64_t us, char text[40]);

#endif
