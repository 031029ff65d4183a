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

/* `sync confirm-deletes|discard|unpark` with --kubeconfig or --context. */
command_run_fn leftovers_command;
/* Is it one of them, rather than one that the mirror of a Standby carries out? */
bool leftovers_are_meant(int argc, char **argv);

/* One object that bears a mark of the mirror. */
struct leftover {
	const char *group, *version, *plural; /* of its kind */
	const char *kind, *namespace, *name, *uid, *resource_version;
	bool held;
	json_t *metadata; /* what the texts are of */
};

struct leftovers {
	struct leftover *items; /* Namespaces last: what is in them first */
	size_t count;
};

/* Pure, for tests. From lines "APIVERSION KIND METADATA", METADATA as JSON: those that are no copy
 * of a mirrored kind, or bear no such mark, are left out. The list is the caller's: leftovers_free.
 */
void leftovers_parse(const char *lines, bool held, struct leftovers *list);
void leftovers_free(struct leftovers *list);
/* Names exactly this list: kinds, names and uids. */
void leftovers_id(const struct leftovers *list, char id[17]);
/* The bodies of the requests; each holds for the version that was seen alone. */
void leftovers_put_delete(const struct leftover *item, struct buf *body);
void leftovers_put_discard(const struct leftover *item, struct buf *body);
/* Tracking marks go back to where they were, unless a tool has put its own there since (B22). */
void leftovers_put_unpark(const struct leftover *item, struct buf *body);

#endif
