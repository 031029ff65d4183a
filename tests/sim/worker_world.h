/*
 * Two hubs' repointers and the followers of a few workers in virtual time: the very object files of
 * repointer/ and follower/ run here, only what lies below them is played: the loop, the API client,
 * the API servers behind it, the disk of the hand-over. Who leads is a schedule, with rivals: the
 * leadership machine has a simulator of its own (world.h). One seed decides everything.
 *
 *   worker_world.c     time, chance, timers, the queue of events
 *   worker_client.c    requests and watches on their way (kube/client.h, kube/watch.h)
 *   worker_api.c       what the API servers of workers and hubs do with them
 *   worker_hub.c       a hub: its repointer, and its leadership by schedule
 *   worker_follower.c  a worker's follower, and its disk
 *   worker_chaos.c     a schedule from a seed: safety, then liveness
 *   worker_main.c      runs them
 */
#ifndef TESTS_SIM_WORKER_WORLD_H
#define TESTS_SIM_WORKER_WORLD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ipc/loop.h"
#include "kube/client.h"
#include "policy/config.h"

#define HUBS        2
#define MAX_WORKERS 5
#define ACTORS      (HUBS + MAX_WORKERS) /* repointers, then followers */
#define APIS        (HUBS + MAX_WORKERS) /* of the hubs, then of the workers */
#define MAX_TIMERS  128

#define MS(n) ((n)*1000000LL)
#define S(n)  ((n)*1000000000LL)

enum link_state {
	LINK_OK,
	LINK_REFUSED, /* at once */
	LINK_BLACK,   /* nothing arrives, nobody says so */
	LINK_MUTE,    /* it arrives and is done, the reply is lost */
	LINK_STATES
};

/* What the real code knows as its process, its loop and its client. */
struct loop {
	struct actor *actor;
};
struct role_process {
	struct actor *actor;
};
struct kube_client {
	struct actor *actor;
	/* The second half: those on trial. */
	bool has[2 * CREDENTIAL_LIMIT];
	char tokens[2 * CREDENTIAL_LIMIT][64];
	uint64_t generation[2 * CREDENTIAL_LIMIT];
	unsigned asking; /* the identity of the request that arrives */
};

struct actor {
	struct world *w;
	unsigned index;
	bool alive;
	uint32_t life;
	struct loop loop;
	struct role_process process;
	struct kube_client client;
	struct us_config *config;
	struct loop_timer *timers[MAX_TIMERS];
	unsigned timer_count;
	struct kube_watch *watches;
};

struct api {
	bool down;
	/* Of a worker. */
	bool no_crd, unfenced, denies[HUBS];
	json_t *active;                 /* ClusterController, NULL: it is not there */
	json_t *probes[HUBS];           /* HubProbe of that hub */
	json_t *secrets[HUBS];          /* understudy-hub-HUB */
	json_t *operator, * deployment; /* of an operator that knows of no follower */
	unsigned readdressed, restarts; /* the Secret named another hub; pods were replaced */
	uint64_t highest;               /* term that it ever took, while fenced */
	uint64_t deleted;               /* highest term of an object that is not there any more */
	/* Of a hub. */
	json_t *lease;
	json_t *clusters[MAX_WORKERS];
	unsigned token[MAX_WORKERS]; /* number of the token in force */
	unsigned changed;            /* Events about a move */
	uint64_t version;
};

/* Leadership by schedule. */
struct lead {
	bool leads, renews;
	uint64_t term;
	int64_t valid_until;
	int64_t since;
};

/* What a worker's machine keeps over restarts of its follower. */
struct disk {
	bool broken; /* writes fail */
	uint64_t max_term, term, generation;
	int hub; /* whose files lie there; -1: none */
	char endpoint[64], token[64], ca[32];
	int run; /* hub that the command was told, -1: none yet */
	unsigned runs, swaps;
	bool counted; /* a move, before it is handed over */
	const char *way;
};

struct event {
	struct event *next;
	int64_t at;
	void (*act)(struct world *w, void *arg, uint64_t number);
	void *arg;
	uint64_t number;
};

struct world {
	uint64_t seed, rng;
	int64_t now, chaos_ends, healed; /* healed: 0 while anything may happen */
	bool edited;                     /* worker-0, after that */
	unsigned workers;
	struct actor actors[ACTORS];
	struct api apis[APIS];
	enum link_state links[ACTORS][APIS];
	struct lead leads[HUBS];
	struct disk disks[MAX_WORKERS];
	struct actor *current; /* whose code runs */
	struct event *events;
	struct request *requests;
	uint64_t last_id, steps, pushes, rehearsals, moves, lost, told;
	/* B26: writes of a claim by a hub to a worker, the last few. */
	int64_t sent[HUBS][MAX_WORKERS][8];
	int64_t calm_since[HUBS][MAX_WORKERS]; /* since when nothing changed for them */
	bool trace, calm;
	const char *broken;
	char detail[300];
};

/* The one that runs; the code under test asks for the time without saying whose. */
extern struct world *world;

extern const char *const hub_names[HUBS], *const hub_endpoints[HUBS], *const hub_cas[HUBS];

/* --- worker_world.c --------------------------------------------------------------------------- */

void world_make(struct world *w, uint64_t seed);
void world_free(struct world *w);
void world_run(struct world *w, int64_t end);
void world_post(struct world *w, int64_t at, void (*act)(struct world *, void *, uint64_t),
    void *arg, uint64_t number);
uint64_t world_random(struct world *w, uint64_t below);
void world_say(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The sentence that does not hold; the first one counts. */
void world_broken(struct world *w, const char *sentence, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
struct us_config *world_config(struct world *w, bool follower, unsigned self);

/* --- worker_client.c -------------------------------------------------------------------------- */

/* Ends everything that an actor has under way, as its process does when it dies. */
void client_die(struct actor *actor);
void client_free_requests(struct world *w);
/* An object of an API server changed: whoever watches it hears of it. NULL: it is gone. */
void client_changed(
    struct world *w, unsigned api, const char *collection, const char *name, const json_t *object);
unsigned client_under_way(const struct actor *actor);

/* --- worker_api.c ----------------------------------------------------------------------------- */

void api_make(struct world *w);
void api_free(struct world *w);
/* Carries a request out. New reference in *body, NULL: none. */
enum kube_class api_do(struct world *w, unsigned api, const struct actor *by, enum kube_verb verb,
    const char *path, const char *query, const char *body_text, json_t **body, char message[128]);
/* The objects of a collection: new reference, a list of [name, object]. NULL: no such kind. */
json_t *api_list(struct world *w, unsigned api, const char *path);
/* A hub's Lease as its elector writes it. */
void api_write_lease(struct world *w, unsigned hub, const char *phase);
/* status.activeController of all Clusters of a hub, as its publisher writes it. */
void api_publish(struct world *w, unsigned hub);
/* By hand. */
void api_edit_active(struct world *w, unsigned worker, uint64_t term, const char *endpoint);
void api_delete_active(struct world *w, unsigned worker);
uint64_t api_term(const struct api *api);
const char *api_identity(const struct api *api);

/* --- worker_hub.c ----------------------------------------------------------------------------- */

void hub_start(struct world *w, unsigned hub);
void hub_die(struct world *w, unsigned hub);
void hub_take_over(struct world *w, unsigned hub);
void hub_step_down(struct world *w, unsigned hub);
void hub_deliver(struct world *w, unsigned hub, unsigned worker);
/* What a read of all workers, and a question to all followers, cost and bring. */
void hub_question(struct world *w, unsigned hub);

/* --- worker_follower.c ------------------------------------------------------------------------ */

void follower_start(struct world *w, unsigned worker);
void follower_die(struct world *w, unsigned worker);
/* NULL, or what is not as it should be with hub and term. */
const char *follower_settled(const struct world *w, unsigned worker, unsigned hub);
void follower_rotate(struct world *w, unsigned worker);

/* --- worker_chaos.c --------------------------------------------------------------------------- */

/* True when nothing was broken. */
bool chaos_run(struct world *w, uint64_t seed, bool trace);

#endif
