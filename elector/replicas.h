/*
 * mode replicas (decision 17): which of several understudyds in front of one API server runs its
 * workload. All contend for ONE Lease by the rules of client-go's leader election, so that one of
 * those programs may be among them (R1-R17). replicas_step(replicas, event, now) tells what to do,
 * why, and when to look again. Pure: no clock, no I/O, no allocation; randomness and wall time come
 * with the event. All times are CLOCK_BOOTTIME ns unless the name ends in _us (wall) or _ms.
 *
 *   replicas.c        the table and the step that walks it; guards and actions of its rows
 *   replicas_facts.c  what an event means; when the Lease may be taken
 *   replicas_words.c  the reasons in words
 *   contend.c         carries decisions out; the caller
 *
 * What keeps two from running at once: a term of leadership is valid until renew-deadline after the
 * *sending* of the last renewal that was applied; another one takes the Lease only when its record
 * did not change for the record's whole duration, which is longer, counted from when it was seen;
 * and each write is bound to the version that was read.
 */
#ifndef ELECTOR_REPLICAS_H
#define ELECTOR_REPLICAS_H

#include <stdbool.h>
#include <stdint.h>

#include "elector/machine.h"

enum replicas_state {
	REPLICAS_STARTING, /* no credential yet */
	REPLICAS_PASSIVE,  /* contends, runs nothing */
	REPLICAS_LEADING,  /* the only state with an open page */
	REPLICAS_ENDING,   /* page closed; the workload ends, then the Lease is given back (R8) */
	REPLICAS_LEAVING,  /* TODO_EXIT was said */
	REPLICAS_STATE_COUNT
};

enum replicas_reason {
	REPLICAS_REASON_NONE,
	REPLICAS_STARTED,
	REPLICAS_LEADER_SEEN,
	REPLICAS_TAKEN,
	REPLICAS_RESUMED,
	REPLICAS_LAPSED,
	REPLICAS_LOST,
	REPLICAS_WORKLOAD_FAILS,
	REPLICAS_PREFERS_OTHER,
	REPLICAS_STOPPED,
	REPLICAS_GIVEN_BACK,
	REPLICAS_KEPT,
	REPLICAS_UNREACHABLE,
	REPLICAS_NO_TERM_LEFT,
	REPLICAS_CLONED,
	REPLICAS_REASON_COUNT
};

enum replicas_holder { REPLICAS_NOBODY, REPLICAS_SELF, REPLICAS_OTHER };

/* The Lease as a read, the answer to a write, or a watch event showed it. */
struct replicas_record {
	bool exists;
	enum replicas_holder holder;
	uint64_t holder_hash; /* of the identity */
	uint64_t instance;    /* of a holder with this replica's name; 0: another name */
	uint64_t term, transitions;
	int64_t acquire_us, renew_us, duration_ms; /* duration 0: not said */
	bool prefers_other; /* spec.preferredHolder names somebody else (R13) */
};

struct replicas_options {
	uint64_t instance; /* random, of this process: part of its identity (R11) */
	bool workload;
	int64_t duration_ns, renew_deadline_ns, retry_ns, request_ns, stop_grace_ns;
};

enum replicas_input {
	REPLICAS_ON_START, /* there is a credential */
	REPLICAS_ON_TIME,
	REPLICAS_ON_ANSWER, /* to REPLICAS_READ or REPLICAS_WRITE */
	REPLICAS_ON_WATCH,  /* may run behind */
	REPLICAS_ON_WORKLOAD,
	REPLICAS_ON_DEATH, /* of an earlier process of this understudyd: proven by the kernel */
	REPLICAS_ON_STOP   /* leave until deadline_ns */
};

struct replicas_event {
	enum replicas_input input;
	int64_t wall_us;
	uint64_t random;
	union {
		struct {
			bool write;
			enum machine_outcome outcome;
			bool conflict, never_sent;
			struct replicas_record record; /* when DONE */
		} answer;
		struct replicas_record watched;
		struct {
			bool running, empty;
		} workload;
		uint64_t instance;
		int64_t deadline_ns;
	};
};

enum replicas_verb {
	REPLICAS_READ,
	REPLICAS_WRITE,
	REPLICAS_PAGE,
	REPLICAS_RUN,
	REPLICAS_STOP_RUN,
	REPLICAS_EXIT
};

struct replicas_todo {
	enum replicas_verb verb;
	bool claim, acquire;    /* WRITE: hold it; as a new holder. Else it is given back */
	bool open;              /* PAGE */
	uint64_t term;          /* WRITE, PAGE, RUN */
	int64_t renew_us;       /* WRITE */
	int64_t valid_until_ns; /* PAGE, RUN */
	int code;               /* EXIT */
};

struct replicas_said {
	enum replicas_reason reason;
	enum replicas_state from, to;
	uint64_t term;
	int64_t quiet_ms;  /* since the record was last seen to change */
	int64_t unread_ms; /* since the Lease was last seen at all */
};

#define REPLICAS_MAX_TODO 12
#define REPLICAS_MAX_SAID 4
#define REPLICAS_MAX_ROWS 12
#define REPLICAS_SENT     8
#define REPLICAS_EXITS    5

struct replicas_out {
	struct replicas_todo todo[REPLICAS_MAX_TODO];
	unsigned todo_count;
	struct replicas_said said[REPLICAS_MAX_SAID];
	unsigned said_count;
	uint16_t rows[REPLICAS_MAX_ROWS]; /* of the table, in the order taken */
	unsigned row_count;
	int64_t wake_at_ns;
};

struct replicas_sent {
	int64_t renew_us, sent_ns;
	int64_t closed_ns; /* R14: once it is applied, nothing opens for so long */
	bool claim, applied;
};

struct replicas {
	struct replicas_options options;
	enum replicas_state state;
	int64_t now_ns;

	/* What is known of the Lease. */
	struct replicas_record record;
	bool known;          /* a record was seen */
	int64_t observed_ns; /* when it was last seen to change (R2) */
	int64_t seen_ns;     /* when it was last seen */
	int64_t held_ms;     /* duration of the last record with a holder of another name */
	uint64_t highest_term, told_holder, dead; /* dead: instance of a proven dead predecessor */

	/* Own writes. One request at a time; `unsure`: what became of one only a read tells (H1).
	 */
	bool busy, unsure;
	struct replicas_sent sent[REPLICAS_SENT];
	unsigned sent_next;
	int64_t last_renew_us, asked_ns, read_at_ns, write_at_ns;

	/* Leading. */
	uint64_t term;
	int64_t valid_until_ns;  /* 0: nothing is valid */
	int64_t closed_until_ns; /* R14: the claim is neither used nor given back before that */
	bool new_term;           /* the claim under way is one */

	/* The workload (R8, R16). */
	bool empty, running;
	int64_t down_ns; /* leading: since when none runs; 0: one does */
	int64_t exits_ns[REPLICAS_EXITS];
	unsigned exit_count;

	/* Giving back. */
	bool leave;
	int64_t end_by_ns, hold_until_ns; /* not taken again before that */

	uint32_t told; /* bits of conditions that were said and last */
};

void replicas_init(struct replicas *r, const struct replicas_options *options);
/* One event. Never fails; *out is filled anew. `now_ns` only grows. */
void replicas_step(struct replicas *r, const struct replicas_event *event, int64_t now_ns,
    struct replicas_out *out);

/* Is the record's holder, as far as can be seen from here, still valid? */
bool replicas_holder_is_live(const struct replicas *r);
/* Said once while it lasts; false for one that is over. */
bool replicas_is_condition(enum replicas_reason reason);
bool replicas_still(const struct replicas *r, enum replicas_reason reason);

struct replicas_step;
/* One row. Rows are tried in order; the first whose state, fact and guard match is taken. */
struct replicas_row {
	uint32_t states, facts;                                                 /* bits */
	bool (*guard)(const struct replicas *r, const struct replicas_step *s); /* NULL: always */
	enum replicas_reason reason;
	void (*acts[3])(struct replicas *r, struct replicas_step *s);
	enum replicas_state next; /* REPLICAS_STATE_COUNT: stay */
	const char *source;
};
const struct replicas_row *replicas_table(unsigned *count);
unsigned replicas_fact_count(void);

/* --- replicas_words.c --- */

const char *replicas_state_name(enum replicas_state state);
struct replicas_words {
	const char *name;  /* snake_case: history, tests */
	const char *event; /* reason of the Kubernetes Event, NULL: none */
	bool warning;
};
/* Never NULL. */
const struct replicas_words *replicas_words(enum replicas_reason reason);
/* The sentence, always terminated. holder: whom the record names, "" for nobody. */
void replicas_text(char *text, size_t size, const struct replicas_said *said, const char *holder);

#endif
