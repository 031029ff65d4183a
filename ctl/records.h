/*
 * What a hub's own API server knows of it, for a hub whose understudyd does not run: HubRole/self
 * with its history, the Lease, and what it last knew of its peer. By the caller's kubectl; it only
 * reads.
 */
#ifndef CTL_RECORDS_H
#define CTL_RECORDS_H

#include <jansson.h>

#include "ctl/commands.h"

/* Does one of the words name a cluster? */
bool records_are_meant(int argc, char **argv);
/* `status` and `history` with --context or --kubeconfig. */
command_run_fn records_command;
/* Pure, for tests: of {"hubRole", "lease", "peer"}, each an object or null; now_us: since 1970. */
void records_show(const json_t *records, long long now_us, struct buf *out);

#endif
