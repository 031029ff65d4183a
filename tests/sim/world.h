/*
 * A pair of hubs in virtual time: the machine's own object files, around them a small model of
 * everything that answers it: API servers (one object store each, linearizable), observer, syncer,
 * publisher, repointer, runner and supervisor by their message contracts, followers on the workers.
 * One seed decides everything; the same seed and faults give the same steps.
 *
 *   world.c       clocks, queue of events, machine in and out
 *   api.c         requests on their way, and what API servers do with them
 *   roles.c       the processes beside the elector
 *   faults.c      what can be done to a world, by name; words.c: as text
 *   invariants.c  what must hold after each step
 *   chaos.c       a schedule from a seed: safety, then liveness
 *   sweep.c       each word of an operator in each state, by number
 *   shrink.c      the fewest faults that still break it
 *   story.c       schedules as text, with the expected transcript
 *
 * Times without a unit's name are true time in ns; a node's own clock is world_boot_ns().
 */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "elector/machine.h"

#define HUBS    2
#define NODES   3 /* hub-a, hub-b, and one more process with hub-a's identity (C15) */
#define TWIN    2
#define WORKERS 3
#define APIS    (HUBS + WORKERS)
#define HOSTS   (NODES + WORKERS) /* who connects: the nodes, then the followers */
#define NOBODY  9

#define MS(n) ((n)*1000000LL)
#define S(n)  ((n)*1000000000LL)
#define NEVER INT64_MAX

enum follower { FOLLOWER_NONE, FOLLOWER_ALIVE, FOLLOWER_LIES, FOLLOWER_DENIED };

/* --- API servers ----------------------------------------------------------------------------- */

struct lease {
	bool exists;
	uint8_t holder; /* slot, 2: somebody else, NOBODY */
	uint64_t version;
	enum lease_phase phase;
	uint64_t term, led_term, instance;
	int64_t renew_us, acquire_us, duration_ms, renew_deadline_ms;
	uint64_t handover, ack_id;
	enum machine_ack ack;
	int64_t paused_us;
	struct machine_block block;
	struct machine_standby standby;
	int64_t written; /* true time */
};

struct record {
	bool exists, complete;
	char uid[40], mirror_uid[40];
	uint64_t term, led_term, mirror_term;
	int64_t seen_us, duration_ms, renew_deadline_ms;
};

/* What a backup of a hub's etcd holds. */
struct store {
	uint64_t version;
	struct lease lease;
	struct record record;
	uint64_t record_version;
	bool role_exists;
	enum hub_role role;
	uint64_t role_term;
	/* Whose writes the content is: the led-term of the last one; 0: nothing. */
	uint64_t data_led, data_seq; /* data_seq: writes of controllers so far */
	bool data_mixed;             /* partly of another one */
};

struct api {
	bool down, hung, refusing, unfenced, clash;
	char uid[40];
	int64_t skew_us;
	struct store store, saved;
	/* Workers: ClusterController/active. */
	uint8_t slot;
	uint64_t term;
	enum follower follower;
	bool no_crd;
};

struct link {
	bool cut, mute, blind;
	int64_t slow;
};

/* --- Nodes ----------------------------------------------------------------------------------- */

struct page {
	bool open;
	uint64_t term;
	int64_t valid_until_ns, written_at_ns;
};

enum syncer { GONE, STARTING, RUNNING, LEAVING };

struct syncer_model {
	enum syncer state;
	bool wanted, asked, hangs, fails, sticks, paused, clean;
	uint32_t life;
	int64_t ended; /* unclean end, for what it still had under way */
	bool granted, rejoin;
	char uid[40];
	uint64_t term, led_term;
	unsigned passes;
};

struct observer_model {
	bool alive, verified, failing, dead_connection, watch_broken, looking;
	uint32_t life, timer;          /* timer: order of the event that counts */
	int64_t started, event, until; /* until: paused */
	int64_t last_watch;
};

struct node {
	bool exists, up, alive; /* understudyd runs; its elector runs */
	unsigned slot;
	uint32_t life; /* of the elector */
	uint32_t boot; /* of the host */
	struct machine_options options;
	struct machine machine;
	int64_t wake, restart_delay, born;
	int exit_code; /* with which its elector leaves */

	int64_t clock_base, clock_boot_ns, rate_ppm, wall_us;
	int64_t until; /* paused */
	int64_t elector_until;

	/* What the elector's other files keep. */
	bool base_exists, record_stale, own_watch_broken;
	uint64_t base_version;
	int64_t last_own_watch;

	struct page page;
	uint64_t page_instance; /* last writer on this boot */
	struct observer_model observer;
	struct syncer_model syncer;
	bool running, workload_hangs;

	/* What the invariants remember. */
	uint64_t superseded, opened_term;
	enum machine_state last_state;     /* after the last step, with its validity */
	int64_t gave_up_ns;                /* a promotion; 0: none, or its end counts no more */
	uint64_t last_tuple;               /* of the peer */
	int64_t last_valid_ns, guarded_ns; /* guarded: the guards of a promotion passed */
	struct {
		uint64_t term;
		int64_t sent_ns;
		bool leading;
	} applied; /* last claim of this instance that its API server took */
};

/* --- Events ---------------------------------------------------------------------------------- */

enum event_kind {
	EVENT_ARRIVE,
	EVENT_COMPLETE,
	EVENT_MESSAGE, /* to the elector */
	EVENT_OWN_WATCH,
	EVENT_PEER_WATCH,
	EVENT_LOOK,
	EVENT_OBSERVER_START,
	EVENT_SYNCER,
	EVENT_SYNCER_DEADLINE,
	EVENT_ELECTOR_START,
	EVENT_ELECTOR_BEAT,
	EVENT_ELECTOR_EXIT,
	EVENT_FAULT,
	EVENT_WAKE
};

enum ask {
	ASK_LOAD,
	ASK_LEASE_READ,
	ASK_LEASE_WRITE,
	ASK_ROLE,
	ASK_RECORD,
	ASK_PROBE,
	ASK_LOOK,
	ASK_WORKER,
	ASK_WITNESS,
	ASK_PUSH,
	ASK_MIRROR
};

struct request {
	enum ask ask;
	uint8_t node, api, refs;
	bool ok, late, fresh, sent;
	enum { GOOD, ABSENT, CONFLICT, REFUSED, BLIND, NO_CRD } answer;
	uint32_t life;
	uint64_t nonce, base_version, instance;
	bool base_exists;
	int64_t started_ns, deadline;
	struct machine_todo todo;
	struct record record;
	struct machine_event result;
	uint64_t version; /* of the Lease in the answer */
	bool complete;    /* MIRROR: the pass ends with this one */
	uint64_t led_term, seq;
	uint8_t source;
};

struct event {
	int64_t at;
	uint32_t order;
	uint8_t kind, node;
	uint32_t life;
	union {
		uint16_t request;
		struct lease lease;
		struct machine_event message;
		unsigned fault;
	};
};

#define POOL_EVENTS   1024
#define POOL_REQUESTS 512

/* --- Faults ---------------------------------------------------------------------------------- */

enum verb {
	VERB_NONE,
	VERB_RUN,
	VERB_START,
	VERB_STOP,
	VERB_REBOOT,
	VERB_KILL,
	VERB_KILL_OBSERVER,
	VERB_KILL_SYNCER,
	VERB_PAUSE,
	VERB_FREEZE,
	VERB_PAUSE_ELECTOR,
	VERB_PAUSE_OBSERVER,
	VERB_CUT,
	VERB_MUTE,
	VERB_SLOW,
	VERB_BLIND,
	VERB_JOIN,
	VERB_DEADEN,
	VERB_DOWN,
	VERB_HANG,
	VERB_UP,
	VERB_REFUSE,
	VERB_DELETE,
	VERB_STRIP,
	VERB_UNROLE,
	VERB_SAVE,
	VERB_RESTORE,
	VERB_SKEW,
	VERB_WALL,
	VERB_REPLACE,
	VERB_CLASH,
	VERB_UNFENCE,
	VERB_FOLLOWER,
	VERB_ROGUE,
	VERB_NO_CRD,
	VERB_SYNCER,
	VERB_WORKLOAD,
	VERB_SWITCHOVER,
	VERB_CALL_OFF,
	VERB_PROMOTE,
	VERB_FORCE,
	VERB_HOLD,
	VERB_LET,
	VERB_ACKNOWLEDGE,
	VERB_ACCEPT,
	VERB_HEAL,
	VERB_COUNT
};

enum when { WHEN_NOW, WHEN_STATE, WHEN_APPLIED };

struct fault {
	int64_t at; /* since the start; with a trigger: armed from then on */
	enum when when;
	uint8_t when_node, when_what; /* state, or phase of a claim that was applied */
	int64_t delay;
	enum verb verb;
	uint8_t a, b;
	int64_t number;
};

#define MAX_FAULTS 64

/* How a world begins. */
struct setup {
	uint64_t seed;
	unsigned workers;
	bool calm; /* same latency everywhere, no jitter: stories */
	bool twin, workload, no_witness;
	bool active[HUBS], resume[HUBS], manual;
	int64_t block_ns;
	uint8_t timing[HUBS]; /* index into world_timings */
	int64_t rate_ppm[NODES];
	uint64_t first_term; /* already led by hub-a; 0: a new pair */
	enum follower follower[WORKERS];
	bool unfenced;
};

struct timing {
	const char *name;
	int64_t duration_ns, renew_deadline_ns, retry_ns, padding_ns;
};
extern const struct timing world_timings[];
extern const unsigned world_timing_count;

/* What the invariants assume, and whether it still holds (leadership-rules 4). */
struct assumed {
	bool P[HUBS], N, L, F, whole; /* whole: nobody meddled with the pair itself */
};

#define MAX_ROWS 512

/* What the runs so far came across. */
struct hits {
	uint64_t rows[MAX_ROWS];                    /* of the machine's table */
	uint64_t words[COMMAND_COUNT][STATE_COUNT]; /* commands, by the state that they met */
};

struct world {
	struct setup setup;
	uint64_t rng;
	int64_t now;
	struct api apis[APIS];
	struct link links[HOSTS][APIS];
	struct node nodes[NODES];
	struct fault faults[MAX_FAULTS];
	unsigned fault_count, armed; /* armed: of those with a trigger */
	uint64_t fired;
	struct assumed assumed;

	struct event events[POOL_EVENTS];
	uint16_t heap[POOL_EVENTS], free_events[POOL_EVENTS];
	unsigned heap_count, free_event_count;
	struct request requests[POOL_REQUESTS];
	uint16_t free_requests[POOL_REQUESTS];
	unsigned free_request_count;
	uint32_t order;

	uint64_t steps, instances, operations;
	struct hits *hits;  /* may be NULL */
	FILE *trace;        /* may be NULL */
	const char *broken; /* the sentence that does not hold */
	char detail[200];

	/* What the invariants remember of the pair. */
	uint64_t opened[HUBS], worker_max[WORKERS], claimed[HUBS];
	uint64_t newest_led;
};

/* --- world.c --------------------------------------------------------------------------------- */

void world_make(struct world *w, const struct setup *setup);
/* Runs until `end`; stops early when something is broken. */
void world_run(struct world *w, int64_t end);
void world_feed(struct world *w, struct node *n, struct machine_event *event);
/* A message to the elector that arrives now; it waits while the process stands still. */
void world_tell(struct world *w, struct node *n, const struct machine_event *event, int64_t delay);
struct event *world_post(
    struct world *w, enum event_kind kind, unsigned node, uint32_t life, int64_t at);
void world_elector_end(struct world *w, struct node *n, int64_t restart_in);
void world_reclock(struct world *w, struct node *n, int64_t boot_ns);
int64_t world_boot_ns(const struct world *w, const struct node *n);
int64_t world_at(const struct node *n, int64_t boot_ns);
int64_t world_wall_us(const struct world *w, const struct node *n);
bool world_page_open(const struct world *w, const struct node *n);
uint64_t world_random(struct world *w, uint64_t below);
/* A short time: what a message takes. */
int64_t world_latency(struct world *w, unsigned host, unsigned api);
unsigned world_index(const struct world *w, const struct node *n);
void world_say(struct world *w, unsigned node, const char *text);
void world_trigger(struct world *w, unsigned node, enum when when, unsigned what);

/* --- api.c ----------------------------------------------------------------------------------- */

void api_ask(struct world *w, struct node *n, enum ask ask, unsigned api,
    const struct machine_todo *todo, bool fresh);
void api_arrive(struct world *w, struct request *r);
void api_complete(struct world *w, struct request *r);
/* As the elector of that slot judges it (elector/lease.c). */
struct machine_lease api_lease_of(const struct lease *lease, unsigned slot);
void api_changed(struct world *w, unsigned hub);
void api_role_changed(struct world *w, unsigned hub);
struct request *api_request(struct world *w, struct node *n, enum ask ask, unsigned api);
void api_send(struct world *w, struct request *r, int64_t limit);

/* --- roles.c --------------------------------------------------------------------------------- */

void roles_start_observer(struct world *w, struct node *n);
void roles_look(struct world *w, struct node *n, uint64_t nonce, bool fresh);
void roles_looked(struct world *w, struct node *n, struct request *r);
void roles_on_peer_watch(struct world *w, struct node *n, const struct lease *lease);
void roles_look_of(const struct world *w, const struct node *n, const struct lease *lease,
    struct machine_look *out);
void roles_pace(struct world *w, struct node *n);
void roles_syncer(struct world *w, struct node *n);
void roles_syncer_deadline(struct world *w, struct node *n);
void roles_syncer_end(struct world *w, struct node *n, bool clean);
void roles_elector_ended(struct world *w, struct node *n);
bool roles_goes_back(const struct machine *m, enum machine_state state);
void roles_mirrored(struct world *w, struct node *n, const struct request *r);
/* What the elector asks of other processes. */
void roles_do(struct world *w, struct node *n, const struct machine_todo *todo);

/* --- faults.c -------------------------------------------------------------------------------- */

typedef void fault_fn(struct world *w, const struct fault *fault);

struct fault_row {
	const char *name;
	fault_fn *act;
	const char *arguments; /* N node, H host>api, P API server, T time, U number, C a choice */
	const char *const *choices;
};
extern const struct fault_row fault_rows[VERB_COUNT];

void faults_apply(struct world *w, const struct fault *fault);
/* One line, as a story has it; and back: 0, or -1 with the reason in `why`. */
void faults_print(const struct fault *fault, char *text, size_t size);
int faults_parse(const char *text, struct fault *fault, char *why, size_t size);
const char *faults_node_name(unsigned node);

/* --- invariants.c ---------------------------------------------------------------------------- */

void invariants_after_step(struct world *w, struct node *n, const struct machine_event *event,
    const struct machine_out *out);
/* Before the step of a command: do all its checks pass? */
bool invariants_expect(
    const struct world *w, const struct node *n, const struct machine_event *event);
void invariants_on_command(struct world *w, const struct node *n, const struct machine_event *event,
    const struct machine_out *out, bool expected);
void invariants_on_page(struct world *w, struct node *n);
/* An open page, and an API server that takes what controllers write. */
void invariants_on_write(struct world *w, struct node *n);
void invariants_on_lease(
    struct world *w, unsigned hub, const struct lease *was, const struct node *by);
void invariants_on_mirror(struct world *w, struct node *n, const struct request *r);
void invariants_on_push(struct world *w, unsigned worker, uint64_t was, uint64_t term);
void invariants_on_permit(struct world *w, struct node *n, const struct machine_todo *todo);
void invariants_broken(struct world *w, const char *sentence, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Liveness: NULL, or what is not as it should be. */
const char *invariants_settled(const struct world *w);

/* --- sweep.c, chaos.c, shrink.c, story.c
 * --------------------------------------------------------------- */

struct schedule {
	struct setup setup;
	struct fault faults[MAX_FAULTS];
	unsigned fault_count;
	int64_t chaos_ends;
};

/* Seeds from here on are the numbered schedules of the sweep. */
#define SWEEP (1ULL << 62)
uint64_t sweep_count(void);
void sweep_make(struct schedule *schedule, uint64_t number);
void chaos_make(struct schedule *schedule, uint64_t seed);
void chaos_print(const struct schedule *schedule, FILE *out);
/* True when nothing was broken. */
bool chaos_run(struct world *w, const struct schedule *schedule, FILE *trace, struct hits *hits);
/* Runs a schedule and survives a CHECK. */
bool chaos_run_guarded(
    struct world *w, const struct schedule *schedule, FILE *trace, struct hits *hits);
void shrink(struct world *w, struct schedule *schedule);
int story_write(const struct schedule *schedule, const char *path, const char *sentence);
/* 0: as expected. `rewrite`: the file gets the transcript that came out. */
int story_run(struct world *w, const char *path, bool rewrite, struct hits *hits);

#endif
