/*
 * The elector's decisions (leadership-rules 5): machine_step(machine, event, now) tells what to do,
 * why, and when to look again. Pure: no clock, no I/O, no allocation; randomness and wall time
 * come with the event. Nothing else writes the state. All times are CLOCK_BOOTTIME ns unless the
 * name ends in _us (wall) or _ms (a span as the wire has it).
 *
 *   machine.c         the table, and the step that walks it
 *   machine_facts.c   what an event means: it becomes knowledge and one fact
 *   machine_guards.c  the yes/no questions of the table
 *   machine_watch.c   those about the peer's silence and the workers' word
 *   machine_acts.c    what the rows' actions do to the state and ask of the outside
 *   machine_handover.c  switchover (C13), and what an operator asks for
 *   machine_checks.c  why an operator's command is refused, each check with value and limit
 *
 * The caller carries out out->todo in order, reports each result as an event, and calls again with
 * MACHINE_TIME at out->wake_at_ns, after everything readable was handed in (H2).
 */
#ifndef ELECTOR_MACHINE_H
#define ELECTOR_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/messages.h"

enum machine_state {
	STATE_INIT,
	STATE_STANDBY,
	STATE_SUSPECT,  /* threshold passed: the guards, then the final read */
	STATE_STOPPING, /* the syncer must be gone first (I6) */
	STATE_ACQ,      /* W1: the claim is being written */
	STATE_CONFIRM,  /* R: the peer is read once more */
	STATE_OPENING,  /* W2, HubRole, probe */
	STATE_ACTIVE,   /* the only state with an open page */
	STATE_DRAIN,    /* switchover: page closed, still renewing, the peer catches up (C13) */
	STATE_RELEASE, /* switchover: the claim is being given to the peer; no way back (C13 (4)) */
	STATE_RECOVER, /* own claim stands, validity is over: may the same term go on? */
	STATE_HELD,    /* it may not, for now (C6) */
	STATE_YIELD,   /* the claim is being withdrawn */
	STATE_FATAL,   /* leaving with the exit code said */
	STATE_COUNT
};

/* How this hub came to claim: takers take a new term, a recoverer keeps its own. */
enum machine_kind {
	KIND_NONE,
	KIND_SUSPECT,
	KIND_MINE,
	KIND_INITIAL,
	KIND_RECOVERER,
	KIND_HANDED,
	KIND_FORCED
};

enum hub_role { HUB_UNKNOWN, HUB_STANDBY, HUB_LEADING, HUB_REJOINING, HUB_DRAINING };

/* Why a row was taken; trace.c has the words, event type and metric label of each. */
enum machine_reason {
	REASON_NONE,
	REASON_STARTED_STANDBY,
	REASON_BOTH_ACTIVE,
	REASON_STARTED_GHOST,
	REASON_STARTED_BEHIND,
	REASON_RESUMES,
	REASON_STARTS_LEADING,
	REASON_PEER_SILENT,
	REASON_OWN_IS_NEWEST,
	REASON_GUARDS_PASSED,
	REASON_SYNCER_GONE,
	REASON_CLAIMED,
	REASON_CONFIRMED,
	REASON_PROMOTED,
	REASON_LEADS,
	REASON_VALIDITY_OVER,
	REASON_TIME_JUMPED,
	REASON_VALIDITY_LOST,
	REASON_PEER_HIGHER,
	REASON_PEER_TOOK_OVER,
	REASON_WORKER_HIGHER,
	REASON_BACKED_OUT,
	REASON_CONFIRM_UNREAD,
	REASON_RECOVERY_LATE,
	REASON_RECOVERY_HELD,
	REASON_YIELDED,
	/* Switchover, seen from the Active and from the Standby (C13). */
	REASON_DRAINS,
	REASON_PEER_SYNCED,
	REASON_RELEASED,
	REASON_SWITCHOVER_DECLINED,
	REASON_SWITCHOVER_LATE,
	REASON_SWITCHOVER_CALLED_OFF,
	REASON_BARRIER,
	REASON_HANDED,
	/* An operator's word. */
	REASON_COMMANDED,
	REASON_FORCED,
	REASON_PAUSE_STARTED,
	REASON_PAUSE_ENDED,
	REASON_ACKNOWLEDGED,
	REASON_PEER_ACCEPTED,
	REASON_RECLAIMS,
	/* Promotions refused or given up: the label of promotions_aborted_total. */
	REASON_SELF_UNHEALTHY,
	REASON_MIRROR_INCOMPLETE,
	REASON_ISOLATED,
	REASON_WITNESS_VETO,
	REASON_LEASE_LIVE,
	REASON_PEER_UNREADABLE,
	REASON_MIRROR_NOT_STOPPED,
	REASON_LEASE_ACQUIRE_FAILED,
	REASON_PAUSED,
	REASON_MANUAL,
	REASON_BLOCKED,
	/* Conditions, said once while they last. */
	REASON_PEER_BLIND,
	REASON_PEER_UNWATCHED,
	REASON_PEER_REPLACED,
	REASON_PEER_CLASH_SEEN,
	REASON_TIMING_UNSAFE,
	REASON_IMPLAUSIBLE_TERM,
	REASON_WORKER_ROGUE,
	REASON_VETO_HOLDS,
	REASON_FENCE_NOT_ENFORCED,
	REASON_LEASE_LONG,
	REASON_OWN_UNWRITABLE,
	/* Ends. */
	REASON_FOREIGN_INSTANCE,
	REASON_PEER_CLASH,
	REASON_COUNT
};

struct machine_options {
	uint64_t instance; /* random, of this process (C15) */
	unsigned slot;     /* C7 */
	unsigned workers;  /* W, at most CREDENTIAL_MAX_WORKERS */
	bool active;       /* mode active: decides only while both led-terms are 0 (C6) */
	bool automatic, resume, witness, workload;
	int64_t duration_ns, renew_deadline_ns, retry_ns, padding_ns; /* LD RD RP PAD */
	int64_t request_ns;                                           /* RT */
	int64_t max_lag_ns, armed_max_age_ns, stop_grace_ns;
	int64_t block_ns; /* B16: after a takeover from this hub that nobody planned; 0: none */
};

/* What the one that is to take over says of the mirror at a barrier. */
enum machine_ack { ACK_NONE, ACK_SYNCED, ACK_DECLINED };

/* What a Standby says of itself in its own Lease. */
struct machine_standby {
	bool known, armed, complete;
	int64_t lag_ms;
};

/* B16: a takeover from this hub that nobody planned; term 0: there was none. */
struct machine_block {
	uint64_t term;
	int64_t until_us; /* wall time */
	bool acknowledged;
};

/* The own Lease as some answer or watch event showed it. HOLDER_PEER does not occur. */
struct machine_lease {
	bool exists;
	enum lease_holder holder; /* NONE, SELF, OTHER */
	enum lease_phase phase;
	uint64_t term, led_term, instance;
	int64_t renew_us;
	uint64_t handover, ack_id; /* ids of switchovers; 0: none */
	enum machine_ack ack;
	int64_t paused_us; /* wall time; 0: not paused */
	struct machine_block block;
};

/* One look at the peer (PEER_SEEN), judged as far as texts go. */
struct machine_look {
	uint64_t nonce;
	int64_t started_ns, finished_ns;
	enum peer_class class;
	enum peer_why why;
	char uid[40];
	bool own_uid, pair_differs; /* H14 */
	enum lease_holder holder;
	enum lease_phase phase;
	uint64_t holder_hash, term, led_term, instance;
	int64_t acquire_us, renew_us;
	int64_t duration_ms, renew_deadline_ms; /* 0: not said */
	uint64_t handover, ack_id;
	bool to_me; /* the handover's addressee */
	enum machine_ack ack;
	struct machine_standby standby;
};

/* The armed record as it was found at start. */
struct machine_record {
	bool exists, other_pair;
	char uid[40], mirror_uid[40];
	uint64_t term, led_term, mirror_term;
	bool complete;
	int64_t age_ns;                         /* by the own wall clock (H2) */
	int64_t duration_ms, renew_deadline_ms; /* of the peer (H17); 0: not said */
};

enum machine_input {
	MACHINE_START,
	MACHINE_TIME,
	MACHINE_LOADED,         /* own Lease, HubRole, record read; or not */
	MACHINE_LEASE_ANSWERED, /* to TODO_LEASE_READ or TODO_LEASE_WRITE */
	MACHINE_LEASE_WATCHED,  /* may run behind */
	MACHINE_PEER_SEEN,
	MACHINE_WORKER_SEEN,
	MACHINE_WORKERS_READ,
	MACHINE_WITNESS_SEEN,
	MACHINE_MIRROR_SEEN,
	MACHINE_MIRROR_LOST, /* the syncer's link ended */
	MACHINE_SYNCER_GONE,
	MACHINE_ROLE_WRITTEN,   /* HubRole, to TODO_ROLE */
	MACHINE_ROLE_WATCHED,   /* may run behind */
	MACHINE_RECORD_WRITTEN, /* to TODO_RECORD */
	MACHINE_PROBE_SEEN,
	MACHINE_WORKLOAD_SEEN,
	MACHINE_PREDECESSOR_DEAD,
	MACHINE_BARRIER_DONE,
	MACHINE_COMMAND
};

enum machine_command_verb {
	COMMAND_SWITCHOVER,
	COMMAND_CALL_OFF,
	COMMAND_PROMOTE,
	COMMAND_FORCE,
	COMMAND_PAUSE,
	COMMAND_RESUME,
	COMMAND_ACKNOWLEDGE,
	COMMAND_ACCEPT_PEER,
	COMMAND_COUNT
};

/* What an operator asks for. Whether it was taken says machine.taken. */
struct machine_command {
	enum machine_command_verb verb;
	uint64_t operation; /* not 0; a switchover's is its handover id */
	bool accept_incomplete;
	int64_t for_ms; /* pause */
};

/* DONE: read, or applied. REFUSED: the server said no, it is not applied. UNSURE: anything else,
 * a conflict too (H1). */
enum machine_outcome { OUTCOME_DONE, OUTCOME_REFUSED, OUTCOME_UNSURE };

struct machine_event {
	enum machine_input input;
	int64_t wall_us; /* becomes renewTime */
	uint64_t random; /* jitter */
	union {
		struct {
			bool ok;
			struct machine_lease lease;
			enum hub_role role;
			uint64_t role_term;
			struct machine_record record;
			int64_t date_us; /* of the own API server */
		} loaded;
		struct {
			bool write;
			enum machine_outcome outcome;
			bool conflict;              /* UNSURE because of a 409: read at once */
			bool never_sent;            /* UNSURE, but surely not applied */
			struct machine_lease lease; /* when DONE */
			int64_t date_us, finished_ns;
		} answer;
		struct machine_lease watched;
		struct machine_look look;
		struct {
			unsigned worker, slot; /* slot 2: an identity outside `hubs` */
			enum worker_state state;
			uint64_t term;
		} worker;
		struct {
			uint64_t nonce;
			unsigned answered, of;
		} workers;
		struct {
			uint64_t nonce;
			unsigned worker;
			enum witness_answer answer;
			enum lease_holder holder;
			int64_t age_ms;
		} witness;
		struct {
			char uid[40];
			uint64_t led_term;
			bool complete, pristine, regressed;
			unsigned pending, failed_kinds, held_deletes;
			int64_t lag_ms;
		} mirror;
		bool clean; /* SYNCER_GONE */
		bool ok;    /* ROLE_WRITTEN, RECORD_WRITTEN */
		struct {
			enum hub_role role; /* HUB_UNKNOWN: there is none, or it is no role */
			uint64_t term;
		} hub_role;
		struct {
			uint64_t nonce;
			enum probe_verdict verdict;
		} probe;
		struct {
			bool running, empty;
		} workload;
		uint64_t instance; /* PREDECESSOR_DEAD */
		struct {
			uint64_t id;
			bool synced;
		} barrier;
		struct machine_command command;
	};
};

enum machine_verb {
	TODO_LOAD,
	TODO_LEASE_READ,
	TODO_LEASE_WRITE,
	TODO_ROLE,
	TODO_RECORD,
	TODO_PEER_READ,
	TODO_WORKERS_READ,
	TODO_WITNESS,
	TODO_DRAIN,       /* ask the syncer to write what it has, until deadline_ns */
	TODO_SYNCER_STOP, /* supervisor: kill at deadline_ns */
	TODO_SYNCER_START,
	TODO_GRANT,
	TODO_PAUSE,
	TODO_BARRIER, /* nonce: the handover's id */
	TODO_PERMIT,  /* valid_until_ns 0 revokes */
	TODO_PROBE,
	TODO_PAGE,
	TODO_RUN,
	TODO_STOP_RUN,
	TODO_EXIT
};

struct machine_todo {
	enum machine_verb verb;
	union {
		struct {
			bool claim;   /* holder is this hub */
			bool acquire; /* acquireTime := renewTime, one more transition */
			enum lease_phase phase;
			uint64_t term, led_term;
			int64_t renew_us;
			uint64_t handover, ack_id;
			enum machine_ack ack;
			int64_t paused_us;
			struct machine_block block;
			struct machine_standby standby;
		} lease;
		struct {
			enum hub_role role;
			uint64_t term;
		} role;
		struct {
			uint64_t term;
			int64_t valid_until_ns;
			bool open; /* TODO_PAGE: role leading */
		} permit;
		uint64_t nonce;
		int64_t deadline_ns;
		struct {
			char uid[40];
			uint64_t term, led_term;
			bool rejoin;
		} grant;
		int code;
	};
};

/* What trace.c puts into words: the state as it was when the row was taken. */
struct machine_numbers {
	uint64_t term, led_term, peer_term, peer_led_term, worker_term, rogue_term;
	int64_t age_ms, threshold_ms, duration_ms, lag_ms, own_write_ms, gap_ms;
	unsigned fresh, stale, mute, cut, workers, answered;
	enum peer_class class;
	enum peer_why why;
	enum machine_kind kind;
	bool complete, timing_safe;
	int64_t left_ms; /* of a pause or a block */
};

struct machine_said {
	enum machine_reason reason;
	enum machine_state from, to;
	bool first, condition; /* worth an Event and history (G5, M2); lasts while it is told */
	struct machine_numbers numbers;
};

#define MACHINE_MAX_TODO 48
#define MACHINE_MAX_SAID 16
#define MACHINE_MAX_ACTS 4
#define MACHINE_MAX_ROWS 20

struct machine_out {
	struct machine_todo todo[MACHINE_MAX_TODO];
	unsigned todo_count;
	struct machine_said said[MACHINE_MAX_SAID];
	unsigned said_count;
	uint16_t rows[MACHINE_MAX_ROWS]; /* of the table, in the order taken */
	unsigned row_count;
	int64_t wake_at_ns; /* INT64_MAX: nothing to wait for */
};

/* The peer as last seen. Terms never fall (H10); the claim is that of the last look. */
struct machine_peer {
	bool read, claim, replaced; /* read: at least once by this process */
	char uid[40];               /* pinned */
	uint64_t term, led_term;
	uint64_t claim_term;
	enum lease_holder holder;
	enum lease_phase phase;
	uint64_t tuple; /* hash of holder, times, term, instance, phase (H2) */
	int64_t seen_ns, changed_ns;
	int64_t renew_us, word_ns; /* word_ns: when its renewTime last changed */
	int64_t duration_ms, renew_deadline_ms;
	uint64_t handover, ack_id;
	bool to_me;
	enum machine_ack ack;
	struct machine_standby standby;
};

enum witness_class { WITNESS_CLASS_NONE, WITNESS_FRESH, WITNESS_STALE, WITNESS_MUTE, WITNESS_CUT };

struct machine_witness {
	uint8_t class;
	int64_t received_ns, age_ns;
};

struct machine_sent {
	int64_t renew_us, sent_ns;
	unsigned epoch;
	bool claim, applied;
	enum lease_phase phase;
};

enum syncer_state { SYNCER_UNKNOWN, SYNCER_OFF, SYNCER_ON, SYNCER_LEAVING };

#define MACHINE_SENT 16

struct machine {
	struct machine_options options;
	enum machine_state state;
	enum machine_kind kind;
	int64_t now_ns, since_ns; /* since_ns: entry of the state */
	uint64_t term, led_term;

	/* Own Lease. `unsure`: a write's outcome is open until a read decides (H1). */
	struct machine_lease own;
	uint64_t predecessor, dead; /* instances: of the Lease at start; proven dead */
	int64_t predecessor_us;     /* its renewTime at the start */
	bool loaded, lease_busy, unsure, refused, leading_applied;
	bool restamp;                  /* the pair is known since the Lease was written */
	unsigned epoch, open_unknowns; /* one epoch per claim */
	struct machine_sent sent[MACHINE_SENT];
	unsigned sent_next;
	int64_t last_renew_us, renew_at_ns, lease_at_ns;
	int64_t valid_until_ns; /* of the claim of this epoch; 0: none */
	int64_t open_by_ns;     /* the page opens then, whatever the probe says (H4) */
	int64_t led_renewed_ns; /* last renewal while leading, also a predecessor's (C6) */
	int64_t own_changed_ns, load_at_ns;
	int64_t date_us, date_ns; /* last Date of the own API server, and when */
	bool page_open;

	/* HubRole and record: levels, written until acknowledged. */
	enum hub_role role, role_asked;
	uint64_t role_term, role_asked_term;
	bool role_busy, role_strange, record_busy, record_dirty; /* strange: somebody wrote it */
	int64_t role_at_ns, role_wait_ns, role_written_ns;
	int64_t record_at_ns, record_retry_ns, own_write_ns;
	bool workload_empty;
	int64_t workload_wait_ns;

	/* Peer. */
	struct machine_peer peer;
	uint64_t nonce; /* counter */
	uint64_t peer_nonce;
	int64_t peer_asked_ns, peer_deadline_ns, peer_at_ns, look_since_ns;
	bool answered; /* the read that was asked for is done, with this class */
	enum peer_class answer;
	enum peer_why last_why;
	enum peer_class last_class;
	int64_t look_ns, watch_ns,
	    blind_ns; /* last look; start of the watched silence; last blind */
	unsigned reads;
	uint64_t guard_tuple; /* the peer as the decision to take over saw it (C8) */
	bool hint;            /* a worker showed a higher term: the read under way decides (C9) */
	/* A worker's term that the peer does not claim (decision 14). */
	uint64_t rogue_term;
	int64_t rogue_ns;
	unsigned rogue_reads, rogue_worker, higher_worker;

	/* Switchover: as the one that drains; as the one that takes over (C13). */
	uint64_t handover;
	int64_t drain_until_ns, released_ns;
	bool drain_shown;
	uint64_t barrier, ack_id;
	enum machine_ack ack;
	int64_t barrier_until_ns;       /* 0: no barrier is waited for */
	struct machine_standby standby; /* as last written */
	int64_t standby_ns;

	/* An operator's word. */
	uint64_t taken;                     /* the operation of this step's command */
	int64_t paused_us, paused_until_ns; /* the same time, wall and boot */
	struct machine_block block;
	int64_t block_until_ns; /* block.until_us as boot time */
	uint64_t judged_term;   /* of the peer's claim that was last asked about (B16) */
	bool accept_incomplete;

	/* Workers. */
	uint64_t worker_term;   /* highest plausible one of the peer */
	int64_t worker_term_ns; /* when it was first shown */
	uint64_t workers_max;   /* of either hub (C7 (3)) */
	uint64_t workers_nonce;
	unsigned workers_answered, workers_of;
	bool workers_done;
	int64_t workers_deadline_ns;
	struct machine_witness witness[CREDENTIAL_MAX_WORKERS];
	uint64_t witness_nonce;
	int64_t witness_asked_ns, veto_since_ns;

	/* Mirror. */
	enum syncer_state syncer;
	bool granted, grant_rejoin, syncer_hold, complete, pristine;
	uint64_t granted_term, granted_led;
	char complete_uid[40];
	uint64_t complete_term;
	int64_t mirror_seen_ns, mirror_lag_ns, mirror_lost_ns;
	unsigned pending, failed_kinds, held_deletes;
	int64_t syncer_at_ns, syncer_clear_ns;

	/* Probe. */
	uint64_t probe_nonce;
	int64_t probe_at_ns;
	enum probe_verdict probe_verdict;
	bool probe_known;
	int64_t try_at_ns, back_off_ns;
	int64_t duel_ns;         /* added to the threshold after both hubs claimed at once */
	bool told[REASON_COUNT]; /* conditions that were said and still last */
};

struct machine_step;
typedef bool machine_guard_fn(const struct machine *m, const struct machine_step *step);
typedef void machine_act_fn(struct machine *m, struct machine_step *step);

/* One row. Rows are tried in order; the first whose state, fact and guard match is taken. */
struct machine_row {
	uint32_t states, facts;  /* bits */
	machine_guard_fn *guard; /* NULL: always */
	enum machine_reason reason;
	machine_act_fn *acts[MACHINE_MAX_ACTS]; /* in order */
	enum machine_state next;                /* STATE_COUNT: stay */
	const char *source;
};

/* One check of a command: what is, and what must be. */
struct machine_check {
	const char *name;
	char value[64], limit[64];
	bool ok;
};
#define MACHINE_MAX_CHECKS 10

void machine_init(struct machine *m, const struct machine_options *options);
/* One event. Never fails; *out is filled anew. `now_ns` only grows: a smaller one counts as the
 * last one. */
void machine_step(
    struct machine *m, const struct machine_event *event, int64_t now_ns, struct machine_out *out);

/* TH: the peer's lease duration (own one when it says none) plus the own padding. */
int64_t machine_threshold_ns(const struct machine *m);
/* The term of a claim made now, 0: none is left (C7); what a follower's answer attests (C3). */
uint64_t machine_next_term(const struct machine *m);
enum witness_class machine_witness_class(enum witness_answer answer, enum lease_holder holder);
/* Is an automatic promotion possible (H2, C4, H17)? */
bool machine_armed(const struct machine *m);
/* Did an operator pause automatic promotion (H21)? */
bool machine_is_paused(const struct machine *m);
/* Does the mirror hold everything of the newest led-term seen (C5, I7)? */
bool machine_complete(const struct machine *m);
/* TH below 1.5 x the peer's renew deadline: its page may outlive our patience (H17). */
bool machine_timing_unsafe(const struct machine *m);
/* The peer's Lease lasts more than 5 minutes: so long nobody takes over when it dies (H17). */
bool machine_lease_long(const struct machine *m);
/* The checks of a command as things are now, in the order of reading; a command is taken exactly
 * when all are ok (B15). Pure. */
unsigned machine_checks(const struct machine *m, const struct machine_command *command,
    struct machine_check checks[MACHINE_MAX_CHECKS]);
/* Why no automatic promotion would follow now, for a person; false: nothing holds it back. */
bool machine_holds(const struct machine *m, char text[128]);
const struct machine_row *machine_table(unsigned *count);
unsigned machine_fact_count(void);
const char *machine_state_name(enum machine_state state);

#endif
