/*
 * What the mirror left over on a hub that leads now (decision 4): copies whose deletion was held,
 * and marks of deployment tools that are parked. The syncer is gone by then and its identity
 * refused; it is done by the administrator with his own kubeconfig, through kubectl. Only metadata
 * is read.
 */
#ifndef CTL_LEFTOVERS_H
#define CTL_LEFTOVERS_H

#include <jansson.h>

#include "ctl/commands.h"
#include "ctl/kubectl.h"

/* `sync confirm-deletes|discard|unpark` with --kubeconfig or --context. */
command_run_fn leftovers_command;
/* Is it one of them, rather than one that the mirror of a Standby carries out? */
bool leftovers_are_meant(int argc, char **argv);

/* A kind that the API server has. group "": the core group. */
struct leftover_kind {
	const char *group, *version, *plural, *kind;
};

/* One object that bears a mark of the mirror. */
struct leftover {
	struct leftover_kind of;
	const char *namespace, *name, *uid, *resource_version;
	bool held;
	json_t *metadata; /* what the texts are of, but the kind's */
};

/* Begins as zeros; the owner gives it back by leftovers_free(), whatever became of it. */
struct leftovers {
	struct leftover_kind *kinds;
	size_t kind_count;
	char *names;            /* what the kinds' texts are of */
	struct leftover *items; /* Namespaces last: what is in them first */
	size_t count, capacity;
	json_t *unseen; /* kinds that were not looked at: {kind, text: why}; NULL: none */
};

/* Asks the hub for its kinds, for the kinds that it should have and for the copies of all of them.
 * A kind that could not be asked for is unseen, and the rest goes on; refused, with err: the hub
 * does not answer, or not in a form that can be read. */
enum ctl_exit leftovers_read(
    const struct kubectl *hub, bool held, struct leftovers *list, struct err *err);
void leftovers_free(struct leftovers *list);

/* Pure, for tests. Takes the lines of `kubectl api-resources --no-headers`. False: one of them
 * names no kind, or memory is out. */
bool leftovers_take_kinds(struct leftovers *list, struct str table);
/* Adds to the unseen what the syncer's ClusterRole lets it write and the hub does not serve. */
void leftovers_expect(struct leftovers *list, const json_t *role);
/* Adds from lines "APIVERSION KIND METADATA", METADATA as JSON: those of none of the kinds, that
 * are no copy, or bear no such mark, are left out. False: out of memory. */
bool leftovers_parse(struct leftovers *list, const char *lines, bool held);
/* Names exactly this list: kinds, names and uids. */
void leftovers_id(const struct leftovers *list, char id[17]);
/* The bodies of the requests; each holds for the version that was seen alone. */
void leftovers_put_delete(const struct leftover *item, struct buf *body);
void leftovers_put_discard(const struct leftover *item, struct buf *body);
/* Tracking marks go back to where they were, unless a tool has put its own there since (B22). */
void leftovers_put_unpark(const struct leftover *item, struct buf *body);

#endif
