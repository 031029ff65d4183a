/*
 * When the workload runs: a pure machine over the fence page, the supervisor's word and what the
 * kernel says of the uid. Times are boot time in ns. Rules: F5 (by uid), H18 (ended before the
 * validity is, also when nobody tells us; a stop that began finishes).
 */
#ifndef RUNNER_WORKLOAD_H
#define RUNNER_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

/* Between the last SIGKILL and the end of validity. */
#define WORKLOAD_MARGIN_NS 1000000000LL
/* Between two rounds of SIGKILL. */
#define WORKLOAD_ROUND_NS 10000000LL
/* A command that ends by itself while we lead is started again after so long, doubled. */
#define WORKLOAD_FIRST_NS   1000000000LL
#define WORKLOAD_LONGEST_NS 30000000000LL
#define WORKLOAD_HEALTHY_NS 60000000000LL

enum workload_state { WORKLOAD_IDLE, WORKLOAD_RUNNING, WORKLOAD_ENDING };

/* Zero-initialised = idle. */
struct workload {
	enum workload_state state;
	int64_t grace_ns; /* workload.stop-grace */
	uint64_t term;    /* of the command that runs */
	int64_t started_ns;
	int64_t held_until_ns; /* the latest validity that the page showed for it */
	int64_t kill_ns;       /* ending: when SIGTERM was long enough ago */
	int64_t again_ns, delay_ns;
};

struct workload_facts {
	bool wanted; /* START came, and no STOP since */
	uint64_t wanted_term;
	bool gone;    /* the supervisor hung up */
	bool leading; /* the page is ours, says leading, and is valid now */
	uint64_t page_term;
	int64_t page_until_ns;
	bool alive; /* the command that was started */
	bool empty; /* no process of the uid is left */
};

enum workload_action {
	WORKLOAD_WAIT,
	WORKLOAD_START,     /* start the command with workload.term */
	WORKLOAD_TERMINATE, /* SIGTERM to the uid */
	WORKLOAD_KILL,      /* SIGKILL to the uid, once more */
	WORKLOAD_LEAVE      /* everything is ended and the supervisor is gone */
};

/* One step; call again at *wake_ns (INT64_MAX: when a fact changes), and after each action. */
enum workload_action workload_step(struct workload *workload, const struct workload_facts *facts,
    int64_t now_ns, int64_t *wake_ns);

#endif
