/*
 * What the elector keeps on its own API server besides the Lease: the armed record (a second
 * Lease: the peer as last seen, H2, C5), and HubRole/self with the history of transitions (C1).
 * Also the reading of all records at start. JSON here is owned by the keeper.
 */
#ifndef ELECTOR_RECORD_H
#define ELECTOR_RECORD_H

#include <jansson.h>
#include <stdbool.h>

#include "base/log.h"
#include "elector/machine.h"
#include "ipc/messages.h"
#include "kube/watch.h"

#define RECORD_HISTORY 100

struct elector;

struct record_keeper {
	json_t *base;    /* the armed record as last read or answered; NULL: not there */
	bool base_stale; /* a conflict: read before the next write */
	json_t *history; /* array, oldest first */
	bool history_dirty, history_busy;
	struct kube_watch *role_watch;
	bool role_listed; /* the list under way has it */
	struct log_episode unwritten, role_unwritten, unloaded;
	/* The load under way. */
	unsigned waiting;
	bool failed;
	struct machine_event loaded;
};

/* Reads kube-system's uid, own Lease, HubRole and armed record; ends in one MACHINE_LOADED. */
void record_load(struct elector *elector);
/* Writes the armed record from what the machine knows; ends in MACHINE_RECORD_WRITTEN. */
void record_write(struct elector *elector);
/* Writes HubRole/self, making it when it is not there; ends in MACHINE_ROLE_WRITTEN. */
void record_write_role(struct elector *elector, enum hub_role role, uint64_t term);
/* Watches HubRole/self from the first credential on: each look is a MACHINE_ROLE_WATCHED (C2). */
void record_watch_role(struct elector *elector);
/* Appends to the history and writes it soon; the oldest fall out. */
void record_history(struct elector *elector, const struct msg_status_history *entry);
/* Writes the history again when HubRole/self, as just seen, has none: somebody deleted it. */
void record_keep_history(struct elector *elector, const json_t *object);
/* Hands the history to the monitor, oldest first. */
void record_show_history(struct elector *elector);
void record_close(struct elector *elector);

const char *record_role_name(enum hub_role role);
/* What a HubRole says; left as they are where it says nothing that can be. Pure. */
void record_parse_role(const json_t *object, enum hub_role *role, uint64_t *term);
/* Pure, for tests: the record as JSON annotations say it. */
void record_parse(
    const json_t *object, const char *pair_expected, int64_t wall_us, struct machine_record *out);

#endif
