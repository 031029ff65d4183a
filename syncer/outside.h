/*
 * What stays out of the mirror though it is there: objects that are never taken, and objects that
 * mirrored ones refer to and that are not mirrored, each with its reason (B6, B19). A reference is
 * found by its field's name, as KubeSlice and Kubernetes themselves name such fields; what is meant
 * by one, and whether the target exists, is not known beyond that. Bounded: 256 excluded objects,
 * 4096 references; the rest is counted. Pure: no I/O, no clock.
 */
#ifndef SYNCER_OUTSIDE_H
#define SYNCER_OUTSIDE_H

#include <jansson.h>

#include "ipc/messages.h"
#include "syncer/engine.h"

#define OUTSIDE_MAX_EXCLUDED   256
#define OUTSIDE_MAX_REFERENCES 4096

struct outside {
	struct map objects; /* of the source, that say something */
	unsigned excluded, references;
	uint64_t untold; /* references beyond the bound, since the start */
};

void outside_open(struct outside *outside);
void outside_close(struct outside *outside);
/* The source has it, and it is never mirrored. why: a literal. */
void outside_exclude(struct outside *outside, enum kind kind, const struct rewrite_facts *facts,
    uint32_t pass, const char *why);
/* The source has it as it is now: what it refers to replaces what it did. */
void outside_refer(struct outside *outside, enum kind kind, const json_t *object,
    const struct rewrite_facts *facts, uint32_t pass);
void outside_forget(
    struct outside *outside, enum kind kind, const char *namespace, const char *name);
/* List `pass` is complete: what it did not show is gone. space NULL: in all namespaces. */
void outside_listed(
    struct outside *outside, enum kind kind, const struct space *space, uint32_t pass);

/* Each object that is excluded, or referred to by a mirrored one and not in the mirror now. False
 * from visit ends it. Returns how many references were not met by the mirror. */
typedef bool outside_visit_fn(
    void *arg, enum sync_listing listing, const char *object, const char *why);
unsigned outside_visit(
    const struct outside *outside, const struct engine *engine, outside_visit_fn *visit, void *arg);

#endif
