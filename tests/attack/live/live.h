/*
 * Roles that turn hostile on a running pair, with their real credentials, links and descriptors:
 * all of a role as it is linked, its main under another name, and in front of it a main that reads
 * orders. Without orders it is the honest role. `bed hostile` puts these programs beside
 * understudyd, writes orders, and looks at what changed.
 */
#ifndef LIVE_H
#define LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/role.h"

/* main of the honest role (the linker renames it). */
int honest_main(int argc, char **argv);

/* One line of words, from the file orders/NAME beside the program; before the lock, and before the
 * role stops being its own to look at. False: there is none. number: the one behind the word, or 0;
 * seed: the one behind that. */
struct orders {
	char word[32];
	uint64_t number, seed;
};
bool orders_read(const char *name, struct orders *orders);

/* Sends a message past all checks of ours, on a real link. */
bool live_send(struct link *link, enum message_id id);
/* A number below `below`. */
uint32_t live_random(uint64_t *seed, uint32_t below);

#endif
