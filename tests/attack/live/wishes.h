/* What a hostile role asks API servers for (see live.h): a written list, and random requests. */
#ifndef WISHES_H
#define WISHES_H

#include "kube/client.h"

struct wish {
	unsigned target; /* credential number */
	enum kube_verb verb;
	const char *path;
	const char *body; /* NULL: none */
};

/* The list of a role whose identities are these; NULL behind the last. */
const struct wish *wish_of_syncer(unsigned number);
const struct wish *wish_of_repointer(unsigned number);
/* A random one for one of the targets; texts are good until the next call. */
struct wish wish_random(uint64_t *seed, const unsigned *targets, unsigned target_count);

#endif
