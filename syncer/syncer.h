/*
 * The syncer: keeps a copy of the Active's objects on our own hub while this hub stands by. It
 * reads the peer with one credential and writes the own hub with another; it decides nothing about
 * leadership and writes only while the elector grants it (H9).
 *
 *	main.c     opens, locks, runs
 *	messages.c one handler per message
 *	engine, seen, judge, store, brake     pure: what is known, and what is to be done
 *	rewrite, marks, amend, archive, rules, kinds   pure: from objects to facts and bodies
 *	outside    pure: what stays out, and what is referred to and not mirrored
 *	feeds.c    the running watches; source.c and copies.c: what theirs say; spaces.c: namespaces
 *	texts.c    of a long list: the texts that found no room at first
 *	served.c   how the hubs serve a kind: as mirror.kinds says, and under which version
 *	writes.c   carries the engine's orders out; local.c: those that begin with a look here
 *	report.c   what elector, monitor and people hear: survey.c (pure) and show.c
 *	operate.c  what an operator asks for; diff.c with differ.c (pure): sync diff
 *	drain.c    the last words (H3)
 *
 * Errors of servers are typed and retried for ever; no function here fails for a reason that a
 * caller could do something about. All of it runs in one thread, all times are boot times.
 */
#ifndef SYNCER_SYNCER_H
#define SYNCER_SYNCER_H

#include "ipc/role.h"
#include "kube/client.h"
#include "kube/watch.h"
#include "syncer/engine.h"
#include "syncer/outside.h"
#include "syncer/survey.h"

enum side { SIDE_SOURCE, SIDE_COPIES, SIDE_COUNT };
/* A list is complete; the source still has to prove who it is before absence counts (G6). */
enum sweep { SWEEP_DONE, SWEEP_DUE, SWEEP_PROVING };

/* The highest version that a feed of the source has told, and when (H10). */
struct reached {
	uint64_t version; /* 0: none yet */
	int64_t at_ns;
};

/* One running list-and-watch: a kind on one side, in one namespace or in all. */
struct feed {
	struct syncer *syncer;
	enum side side;
	enum kind kind;
	struct space *space; /* NULL: all namespaces */
	struct kube_watch *watch;
	struct loop_timer timer; /* the next try after a missing kind or right */
	uint32_t pass;           /* number of its present list */
	uint32_t swept;          /* of the last one that was complete, of a proven source */
	uint64_t version;        /* of its last list (H10) */
	uint64_t proven;         /* of the last one of a proven source */
	struct reached reached;
	uint64_t newest; /* of its watches' events */
	int64_t started_ns;
	enum sweep sweep;
	bool synced;      /* one whole list since its start, or since the grant */
	bool parked;      /* the kind is missing there (M7) */
	bool counts;      /* its fault makes the mirror incomplete (C5) */
	bool misfit;      /* parked for a person: it is not what mirror.kinds says, or the hubs have
			     no version in common */
	bool fits;        /* it was seen to be what mirror.kinds says */
	uint64_t request; /* that asks for it, 0: none */
	bool doubted;     /* its watch was lost, and has told nothing since (I11, G6) */
	bool bad_object;  /* the present list shows one that cannot be mirrored */
	uint32_t unheld;  /* objects of the present list whose texts found no room (H3) */
	char fault[256];
};

#define FEEDS_EACH 2 /* kinds with one feed per mirrored namespace */

/* The last change that the source showed. A source that has it no more went back (H10). */
struct newest {
	enum kind kind;
	uint64_t version;
	bool gone; /* it was a deletion */
	char namespace[64], name[254];
};

/* Which version of a kind do both hubs serve? One kind after the other (served.c). */
struct versions {
	enum kind kind;
	uint64_t requests[SIDE_COUNT]; /* under way, 0: none */
	json_t *groups[SIDE_COUNT];    /* the versions of its group; NULL: not known */
	json_t *lists[SIDE_COUNT];     /* what is served under trial */
	unsigned tried;
	char trial[64]; /* "": the groups are asked for */
	struct loop_timer look;
	int64_t moved_ns[KIND_COUNT]; /* when it was given another version, 0: never */
};

/* Dry runs, one kind after the other (preflight.c). */
struct preflight {
	struct loop_timer timer;
	uint64_t request; /* under way, 0: none */
	enum kind kind;   /* of it */
	char
	    *faults[KIND_COUNT]; /* why no copy can be written; NULL: nothing is known against it */
};

/* A list that is read once more, page by page, for its texts (texts.c). */
struct texts {
	uint32_t feeds;    /* with texts that found no room */
	struct feed *feed; /* that is read, NULL: none */
	char *token;       /* of its next page, NULL: the first */
	uint32_t page;     /* objects that are asked for at once */
	uint64_t read;     /* objects that its pages had */
	uint64_t request;  /* under way, 0: none */
	unsigned failures; /* in a row */
	int64_t not_before_ns;
};

#define TEXTS_PAGE 200

struct syncer {
	struct role_process *process;
	struct loop *loop;
	const struct us_config *config;
	struct kube_client *client;
	struct engine engine;
	struct feed feeds[SIDE_COUNT][KIND_COUNT];
	uint32_t pass; /* numbers lists */

	/* The grant (H9). */
	char source_uid[37];
	uint64_t term;  /* as granted; copies bear the engine's: whose data it is */
	bool mirrors;   /* there is a kind to mirror */
	bool has_grant; /* one was given since the start; granted in the engine: not paused */

	uint64_t verify_id, newest_id; /* requests under way, 0: none */
	bool doubtful;   /* a connection to it was lost: is it still where it was? (H10) */
	bool lost_again; /* one was, since it was asked who it is (G6) */
	struct newest newest, asked; /* asked: is looked at under newest_id */
	bool asked_regressed;        /* it had gone back by the time that it was asked who it is */
	bool went_back;    /* the granted source did, no stranger in its place (H10, G6) */
	bool wrong_source; /* the peer is not the granted one; told once */
	struct loop_timer advance, wake, verify, report, barrier, last_call;

	uint32_t unsynced, failed_kinds; /* feeds that owe a list; kinds with a fault that counts */
	bool pass_done;                  /* C5 */
	bool was_complete, was_regressed, holds;
	int64_t reported_ns;
	uint64_t listed_rows[256]; /* what was sent of each row: a hash, 0: free */
	struct progress progress;
	struct diff *diff; /* under way, NULL: none */
	struct preflight preflight;
	struct versions versions;
	struct outside outside;
	struct texts texts;
	char pause_why[129];

	char handover[65];         /* a barrier is asked for, "": none (C13) */
	uint64_t drain_written;    /* writes before the drain began */
	int64_t drain_deadline_ns; /* 0: not draining */
	bool left;                 /* the last words are said */
};

/* feeds.c */
void feeds_open(struct syncer *syncer);
/* Starts and stops feeds as credentials, grant and namespaces demand; from the loop only, never
 * inside a watch's callback (syncer_advance_soon). */
void feeds_advance(struct syncer *syncer);
void syncer_advance_soon(struct syncer *syncer);
void feed_init(
    struct feed *feed, struct syncer *syncer, enum side side, enum kind kind, struct space *space);
void feed_start(struct feed *feed);
/* Appends what its lists and watches ask for. */
void feed_put_question(const struct feed *feed, struct buf *path, struct buf *query);
void feed_stop(struct feed *feed);
/* It cannot run, for that reason; asked again in a while, like a missing kind (M7). */
void feed_park(struct feed *feed, const char *why);
/* Its list is not to be relied on: lists again, in a while. */
void feed_list_later(struct feed *feed);
/* Every source feed lists again and owes a whole pass. */
void feeds_relist(struct syncer *syncer);
void feeds_stop_source(struct syncer *syncer);
/* Both sides list again, of one kind or (NULL) of all. */
void feeds_resync(struct syncer *syncer, const enum kind *only);
/* The same of the source, whose versions begin anew: it was restored, or is another one (H10). */
void feeds_begin_anew(struct syncer *syncer);
/* Looks at all objects here that could be mirrored, or at copies only (C12). */
void feeds_rejoin(struct syncer *syncer, bool rejoin);
/* Counts unsynced feeds and failed kinds after any of them changed. */
void feeds_tally(struct syncer *syncer);
/* Calls visit for each feed of the side, those of namespaces, too. */
typedef void feed_visit_fn(struct feed *feed, void *arg);
void feeds_visit(struct syncer *syncer, enum side side, feed_visit_fn *visit, void *arg);

/* The feed of that kind; space: of an EACH kind. */
struct feed *feed_of(struct syncer *syncer, enum side side, enum kind kind, struct space *space);

/* texts.c */
/* One of the present list found no room. */
void texts_unheld(struct feed *feed);
/* The list is whole. */
void texts_listed(struct feed *feed);
/* Another list begins, or none does. */
void texts_forget(struct feed *feed);
/* Asks for a page when there is room for what it brings. */
void texts_pump(struct syncer *syncer);

/* served.c */
/* Asks the feed's server how it serves a kind that a person listed, then starts the feed or parks
 * it. False: nothing needs to be asked. */
bool served_ask(struct feed *feed);
/* Its server does not know the kind: looks for a version that both servers know. */
void served_find_version(struct feed *feed);
void served_open(struct syncer *syncer);
void served_close(struct syncer *syncer);
/* A server that lists a version and does not serve it, or a hostile one, would have the kind moved
 * there and back, and listed anew on both hubs, without a pause: one that was moved just now stays,
 * parked, until it is tried the next time (M7). */
bool served_may_move(const struct versions *versions, enum kind kind, int64_t now_ns);
/* Does an APIResourceList serve the kind as its row says? Also when it does not serve it at all;
 * why: what is otherwise. */
bool served_fits(const struct kind_row *row, const json_t *list, char *why, size_t size);

/* source.c */
void source_open(struct syncer *syncer);
void source_object(struct feed *feed, enum kube_watch_event event, const json_t *object);
void source_listed(struct feed *feed, uint64_t version);
/* The feed's watch runs and has told a version. */
void source_reached(struct feed *feed);
/* Asks the source who it is; then the lists that are complete by now are swept. */
void source_verify(struct syncer *syncer);
/* The source did not answer, or not well: soon it is asked who it is, and whether it still has the
 * last change that was seen. */
void source_doubt(struct syncer *syncer);
/* What the mirror never takes, whatever its marks (B1, decision 3). */
bool source_excludes(const struct syncer *syncer, enum kind kind, const json_t *object,
    const struct rewrite_facts *facts);
/* Holds a copy's text at the item. 0, or -1 when it cannot be made or held. */
int source_hold(struct syncer *syncer, struct item *item, const json_t *object,
    const struct rewrite_facts *facts, bool always);

/* copies.c */
void copies_object(struct feed *feed, enum kube_watch_event event, const json_t *object);
void copies_listed(struct feed *feed);

/* spaces.c */
void spaces_advance(struct syncer *syncer);
/* NULL: the namespace has none. */
struct feed *spaces_feed(struct space *space, enum side side, enum kind kind);
void spaces_visit(struct syncer *syncer, enum side side, feed_visit_fn *visit, void *arg);
/* Our own binding in a namespace was seen or is gone. */
void spaces_binding(struct syncer *syncer, const char *namespace, bool present);
/* All bindings were listed: what was not seen among them is gone. */
void spaces_bindings_listed(struct syncer *syncer);
uint32_t spaces_unsynced(struct syncer *syncer);
/* A right in it is lacking: it is bound again, whatever is known of its binding. Where a watch
 * tells of bindings, an answer that came late may be of one that is gone. */
void spaces_bind_again(struct space *space);
void spaces_close(struct syncer *syncer);

/* writes.c */
#define SYNCER_REQUEST_MS 5000 /* of each request; the server is told so, too (H3) */
/* Nothing of ours lands later than that (H3). And no field is ours: the name is the one that the
 * server itself gives to fields that nobody has claimed yet (B21). */
#define SYNCER_WRITE_QUERY "timeout=5s&fieldManager=before-first-apply"
/* Starts whatever the engine orders; call it after anything that was reported to the engine. */
void writes_open(struct syncer *syncer);
void writes_pump(struct syncer *syncer);
/* The answer to an order's last request, into the engine; and an order that failed before it. */
void writes_answered(
    struct syncer *syncer, const struct engine_order *order, const struct kube_answer *answer);
void writes_failed(
    struct syncer *syncer, const struct engine_order *order, const struct engine_failure *failure);
/* Appends the request's body of a CREATE, UPDATE, STATUS or DELETE. */
void writes_put_body(const struct engine_order *order, struct buf *body);

/* local.c */
bool local_is_for(const struct engine_order *order);
void local_carry_out(struct syncer *syncer, const struct engine_order *order);

/* report.c */
void report_open(struct syncer *syncer);
/* Something may have changed. */
void report_touch(struct syncer *syncer);
/* A link is new: its peer knows nothing. */
void report_all(struct syncer *syncer);
void report_note(void *arg, enum engine_note note, struct item *item);
bool report_is_complete(struct syncer *syncer);
void report_barrier(struct syncer *syncer, struct str handover);

/* show.c */
void show_mirror(struct syncer *syncer, int64_t now_ns);

/* preflight.c */
void preflight_open(struct syncer *syncer);
/* A round of dry runs begins now, and others after it. */
void preflight_soon(struct syncer *syncer);
void preflight_close(struct syncer *syncer);

/* drain.c */
void drain_begin(struct syncer *syncer, int64_t deadline_ns);
void drain_check(struct syncer *syncer);

/* messages.c: handlers of the process (struct role_ops). */
extern const struct role_ops syncer_ops;

#endif
