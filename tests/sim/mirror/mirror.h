/*
 * The mirror in virtual time: the syncer's own object files, main() to exit, and around them a
 * small model of what answers: two API servers (JSON objects, resource versions, owners and the
 * collector, finalizers, namespaces that terminate, immutable fields, paged lists, watches), the
 * connections to them, the elector's grants, and people. One seed decides everything; the same
 * seed and knobs are the same steps.
 *
 *   server.c      what an API server does with a request
 *   paths.c       of what a request's path speaks; discovery
 *   watch.c       its lists, watches and history
 *   cluster.c     the controllers of a cluster: namespaces, collector, tokens
 *   wire.c        kube/client.h: requests on their way, and what happens to them there
 *   process.c     clock, timers, role_*: one life of the syncer, and the elector beside it
 *   people.c      what people and controllers do on both hubs
 *   kinds.c       kinds that a server loses, calls otherwise or serves under another version
 *   invariants.c  what must hold of each request and write
 *   equal.c       liveness: is the copy what docs/mirror.md says it is
 *   chaos.c       a schedule from a seed: safety, then liveness
 *   main.c        seeds, replay, the smallest set of knobs that still breaks it
 *
 * Times are virtual ns. Nothing here knows how the syncer works but by its requests.
 */
#ifndef TESTS_SIM_MIRROR_H
#define TESTS_SIM_MIRROR_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ipc/role.h"
#include "kube/client.h"
#include "syncer/kinds.h"

#define MS(n) ((n)*1000000LL)
#define S(n)  ((n)*1000000000LL)
#define NEVER INT64_MAX

#define HUB_NS   "kubeslice-controller"
#define COPY     "ha.kubeslice.io/synced-from"
#define MARK     "ha.kubeslice.io/"
#define ARCHIVED "ha.kubeslice.io/archived-object"

/* What may go wrong in a schedule; a seed draws some of them. */
enum knob {
	KNOB_LOSE_REQUEST,
	KNOB_LOSE_REPLY,
	KNOB_ERRORS,  /* 409, 429, 500, 503, 401 by chance */
	KNOB_GONE,    /* 410: compaction, and tokens of pages that expire */
	KNOB_CUT,     /* connections break */
	KNOB_OUTAGE,  /* a server does not answer for a while */
	KNOB_SLOW,    /* late replies and events, up to seconds */
	KNOB_REPEAT,  /* events come twice */
	KNOB_RESTART, /* the syncer is killed */
	KNOB_RESTORE, /* the source's backup is restored */
	KNOB_OWN_RESTORE,
	KNOB_EDITS,    /* people change and delete copies */
	KNOB_FOREIGN,  /* objects of others in the way */
	KNOB_MARKS,    /* mirror: "false", hold, label of the owner removed */
	KNOB_SPACES,   /* Namespaces are deleted and made again */
	KNOB_NO_CRD,   /* a kind is missing and comes back */
	KNOB_BURST,    /* many deletions at once */
	KNOB_BAD,      /* objects that this hub refuses, or prunes */
	KNOB_FINALIZE, /* objects that wait for finalizers */
	KNOB_PAUSE,    /* the elector pauses and grants again */
	KNOB_PROMOTE,  /* drain, leadership here, rejoin */
	KNOB_NO_WATCHLIST,
	KNOB_OTHER,  /* the peer becomes another cluster */
	KNOB_AHEAD,  /* a restore raises the versions (KNOB_RESTORE, KNOB_OWN_RESTORE) */
	KNOB_LISTED, /* kinds, Namespaces and what is left out are the configuration's (M8, M10) */
	KNOB_VERSIONS, /* a kind that is lost is there under another version (M7, KNOB_NO_CRD) */
	KNOB_TIGHT,    /* room for a few texts only (H3) */
	KNOB_COUNT
};
extern const char *const knob_names[KNOB_COUNT];

enum { SOURCE, OWN, SERVERS };

struct object {
	enum kind kind;
	char space[64], name[64];
	json_t *value;    /* as the server shows it */
	json_t *mirrored; /* own hub: what it was after the syncer's last write, NULL: never */
	json_t *mirrored_status;
	int64_t changed;    /* when it became what it is */
	int64_t collect_at; /* a controller of the cluster takes care of it then; 0: no need */
};

/* One change, for watches. before NULL: created; after NULL: deleted. */
struct change {
	uint64_t version;
	enum kind kind;
	json_t *before, *after;
};

#define MAX_OBJECTS 1024

#define SERVER_NEWER "v9" /* the version of a hub that is upgraded */

struct server {
	unsigned id;
	char uid[37];
	uint64_t version, oldest; /* oldest: what is below is compacted */
	struct object *objects[MAX_OBJECTS];
	unsigned count;
	struct change *changes;
	size_t change_count, change_room;
	bool down, hung, watch_lists, prunes;
	int64_t restored_until; /* a backup is restored, which takes its time: down at least until
				   then */
	uint32_t missing; /* bits of kinds that this server does not know under their version */
	uint32_t newer;   /* of those that it knows under SERVER_NEWER */
	bool misnames;    /* it calls the last listed kind otherwise */
	/* A backup. */
	uint64_t saved_version;
	int epoch;     /* counts restores */
	json_t *saved; /* NULL: none */
};

/* What the source once said of a key: to tell whether a copy was ever true, and when it went. */
struct truth {
	enum kind kind;
	uint64_t version;
	int64_t at;
	json_t *body, *status; /* normal forms; body NULL: it was gone */
	char space[64], name[64], cluster[37];
	bool chosen;    /* bore the label of its kind */
	bool by_backup; /* gone, because a backup does not know it */
};

struct request {
	struct request *next;
	uint64_t id;
	unsigned target, life;
	enum kube_verb verb;
	char *path, *query;
	struct str body;
	int64_t deadline, sent_ns;
	kube_done_fn *done; /* NULL: nobody listens any more */
	kube_chunk_fn *chunk;
	void *arg;
	bool answered;
	bool stranger; /* it was sent while a stranger answered for the source */
	int64_t idle_ns;
	/* A watch that runs. */
	bool streaming, pumping;
	struct server *server;
	struct filter {
		enum kind kind;
		char space[64], label[80], value[80];
		bool proves_nothing; /* of what it does not show */
	} filter;
	uint64_t position;
	int64_t ends, heard;
	char cluster[37]; /* which took it up */
	json_t *answer;   /* on its way back */
	int status;
	char warning[128];
	int retry_after_s;
};

enum event_kind {
	EVENT_ARRIVE,
	EVENT_REPLY,
	EVENT_DEADLINE,
	EVENT_PUMP,
	EVENT_CLUSTER,
	EVENT_PEOPLE,
	EVENT_FAULT,
	EVENT_TELL,
	EVENT_START,
	EVENT_PROMOTED,
	EVENT_RETURN,
	EVENT_REGRANT,
	EVENT_UP,
	EVENT_SETTLE
};

struct event {
	int64_t at;
	uint64_t order;
	enum event_kind kind;
	uint64_t id;
};

enum phase { PHASE_CHAOS, PHASE_HEALED, PHASE_QUIET, PHASE_AGAIN, PHASE_DONE };
enum hub_now { AS_STANDBY, AS_REJOINING, AS_LEADING };

struct mirror {
	uint64_t seed, rng;
	uint32_t knobs;
	int64_t now, chaos_ns;
	enum phase phase;
	int64_t phase_began;
	unsigned rounds; /* restarts of an equal mirror, at the end */
	struct server server[SERVERS];
	struct server aside; /* the granted source, while another cluster answers in its place */
	struct request *requests;
	uint64_t ids, order;
	struct event *events;
	size_t event_count, event_room;

	/* The process. */
	unsigned life;
	bool alive, leaving, credentials;
	int exit_code;
	struct role_ops ops;
	void *context;
	struct loop_timer *timers[256];
	unsigned timer_count;

	/* The elector. */
	enum hub_now role;
	bool granted, told_granted, rejoin, draining, complete, frozen, ever_led, ever_stranger,
	    accepted;
	char pinned[37]; /* uid of the source that is granted */
	uint64_t term, led_term;
	uint64_t held, operation, lost;
	bool operation_open, regressed;
	int64_t drain_deadline;
	bool start_due;

	/* What the invariants know. */
	struct truth *truths;
	size_t truth_count, truth_room;
	json_t *archive;        /* "uid/version": the object, as the archive has it */
	json_t *listed;         /* "kind/space": newest version that a list showed in this life */
	int64_t restored_at;    /* when the source's last restore was */
	int64_t other_since;    /* another cluster answers, and the elector has to notice it */
	int64_t stranger_left;  /* it does no more, or was accepted */
	json_t *pinned_objects; /* while another cluster answers: what the granted one has */
	unsigned backup_deletes[KIND_COUNT];
	int64_t frozen_since; /* when the mirror knew that the source went back */
	bool confirmed;       /* a person let held deletions go */
	bool frozen_proven;   /* the granted one said who it is since */
	bool exposed;         /* the last one that said who it is was a stranger */
	bool misled;          /* a stranger's list came through, and it was not exposed since */
	bool ever_believed;   /* a stranger was: something was written, or nobody exposed it */
	uint64_t writes, steps, archives, deletes;
	int64_t last_write;
	const char *broken;
	char detail[800];
	FILE *trace;
};

extern struct mirror *the; /* the world of this run: the process's calls name none */

/* --- chaos.c --------------------------------------------------------------------------------- */

bool chaos_run(struct mirror *m, uint64_t seed, uint32_t knobs, int64_t chaos_ns, FILE *trace);
uint32_t chaos_knobs(uint64_t seed);
uint64_t chaos_random(uint64_t below);
bool chaos_on(enum knob knob);
/* True in percent% of all cases, when the knob is on and chaos reigns. */
bool chaos_chance(enum knob knob, unsigned per_mille);
struct event *event_post(enum event_kind kind, int64_t at, uint64_t id);
/* The next event or timer; false: none before `until`. */
bool chaos_step(int64_t until);
void chaos_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void broken(const char *sentence, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- server.c -------------------------------------------------------------------------------- */

struct reply {
	int status; /* 0: none yet */
	json_t *body;
	char warning[128];
	int retry_after_s;
};

struct place {
	bool known;
	char version[16];
	enum kind kind;
	char space[64], name[64];
	bool status;
};

void server_open(struct server *server, unsigned id);
void server_close(struct server *server);
struct object *server_find(
    const struct server *server, enum kind kind, const char *space, const char *name);
/* Takes the value over; the caller is a person or a controller: no rights are asked. */
struct object *server_put(struct server *server, enum kind kind, json_t *value);
/* Deletes as DELETE does: finalizers and Namespaces take their time. */
void server_delete(struct server *server, struct object *object);
/* Puts a changed value in its place; drops the object when its last finalizer went. */
void server_replace(struct server *server, struct object *object, json_t *value);
void server_drop(struct server *server, struct object *object);
/* A syncer's request that changes or reads one object. */
void server_serve(struct server *server, enum kube_verb verb, const struct place *place,
    json_t *body, struct reply *reply);
void server_refuse(struct reply *reply, int status, const char *reason, const char *message,
    const char *name, const char *field);
void server_save(struct server *server);
/* ahead: no version falls, all jump (etcd's --bump-revision). */
void server_restore(struct server *server, bool ahead);
bool namespace_is_mirrored(const struct server *server, const char *space);
const char *meta(const json_t *value, const char *key);
const char *label_of(const json_t *value, const char *key);
const char *note_of(const json_t *value, const char *key);
uint64_t version_of(const json_t *value);

/* --- paths.c --------------------------------------------------------------------------------- */

/* False: of no kind that the configuration knows. */
bool place_of(const char *path, struct place *place);
/* Under that version. */
bool server_knows(const struct server *server, enum kind kind, const char *version);
/* What it says of the kinds of a group. False: the path is no such question. */
bool server_discover(const struct server *server, const char *path, struct reply *reply);

/* --- watch.c --------------------------------------------------------------------------------- */

void watch_changed(struct server *server, enum kind kind, json_t *before, json_t *after);
/* A list, or the head of a watch. */
void watch_serve(struct server *server, struct request *request, struct reply *reply);
void watch_pump(struct request *request);
void watch_forget(struct server *server);
void watch_compact(struct server *server);
void watch_close(void); /* lists that were not read to their end */

/* --- cluster.c ------------------------------------------------------------------------------- */

void cluster_run(struct server *server);

/* --- wire.c ---------------------------------------------------------------------------------- */

void wire_arrive(uint64_t id);
void wire_reply(uint64_t id);
void wire_deadline(uint64_t id);
void wire_pump(uint64_t id);
/* Something changed there: running watches hear of it. */
void wire_wake(struct server *server);
/* The watches of that server break; all: whatever is on its way, too. */
void wire_cut(unsigned target, bool all);
void wire_process_ended(void);
void wire_close(void);
/* Gives bytes or the end of a stream to the process. */
bool wire_chunk(struct request *request, const json_t *event);
void wire_end(struct request *request, int status, const json_t *body);

/* --- process.c ------------------------------------------------------------------------------- */

void process_configure(bool listed);
void process_live(void); /* one life: returns when it ended */
void process_tell(void); /* the elector says what it wants */
bool process_fire_timer(int64_t until);
int64_t process_next_timer(void);
void process_promote(void);
void process_kill(void);
void process_operate(void);

const char *process_explain(enum kind kind, const char *space, const char *name);
const char *process_not_complete(void);
void process_elector_again(void); /* a new elector: its link ends and comes */

/* --- people.c -------------------------------------------------------------------------------- */

void people_begin(void);
void people_act(void);
void people_calm(void); /* chaos ends: what would wait for people for ever is done */

/* --- invariants.c ---------------------------------------------------------------------------- */

bool same(const json_t *a, const json_t *b);
/* The object without what belongs to its server, to marks and to status; a new reference. */
json_t *normal_body(enum kind kind, const json_t *value);
bool is_shell_secret(enum kind kind, const json_t *value);
void truth_add(enum kind kind, const json_t *value);
void truth_gone(enum kind kind, const char *space, const char *name, bool by_backup);
const struct truth *truth_last(enum kind kind, const char *space, const char *name);
/* Its last word was that it, or its Namespace, is out of the mirror's scope. */
bool truth_has_left(enum kind kind, const char *space, const char *name);
bool truth_was(enum kind kind, const char *space, const char *name, const json_t *body);
bool truth_status_was(enum kind kind, const char *space, const char *name, const json_t *status);
/* The process sends it. */
void invariants_on_request(const struct request *request);
/* It is about to be done on the own hub. */
void invariants_on_write(enum kube_verb verb, const struct place *place,
    const struct object *before, const json_t *body);
/* The source said who it is; it was asked then. */
void invariants_on_identity(const char *cluster, int64_t asked_ns);
/* A list of that cluster came through whole. */
void invariants_on_list(const struct filter *filter, const char *cluster, uint64_t version);
void invariants_life(void); /* a new life remembers nothing */
/* Has it the label by which objects of its kind are mirrored? */
bool is_labelled(enum kind kind, const json_t *value);
/* mirror.skip names it. */
bool is_skipped(enum kind kind, const char *space, const char *name);

/* --- kinds.c --------------------------------------------------------------------------------- */

void kinds_fault(void);
/* All of a server's are again what they were. */
void kinds_back(unsigned id);

/* --- equal.c --------------------------------------------------------------------------------- */

/* NULL: the own hub is what it should be; else what is not. */
const char *equal_check(void);

#endif
