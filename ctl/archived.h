/*
 * What a rejoin archived (C12), as Secrets of the controller's namespace: which there are, and the
 * object that one of them holds. Whatever stands in them is believed to be text, not to be right.
 */
#ifndef CTL_ARCHIVED_H
#define CTL_ARCHIVED_H

#include <jansson.h>

#include "ctl/kubectl.h"

#define ARCHIVED_TYPE "ha.kubeslice.io/archived-object"

/* One archived object; texts are its own. */
struct archived {
	char name[96];    /* of its first Secret */
	char created[32]; /* RFC 3339 */
	long long created_s;
	unsigned long long term; /* led-term of the hub that replaced it */
	char because[16];        /* changed, extra */
	char version[96], kind[64];
	char object[330]; /* namespace/name */
	unsigned parts;
};

struct archived_list {
	struct archived *items; /* the newest first */
	size_t count;
};

/* Is it the name of an archive's first Secret: archive-TERM-16 hexadecimal digits? */
bool archived_is_name(const char *name);
/* All of them. The list is the caller's: archived_free. */
enum kubectl_outcome archived_read(const struct kubectl *kubectl, const char *namespace,
    struct archived_list *list, struct err *err);
/* From lines of JSON, one a Secret's metadata: those that are no archive are left out. Pure. */
void archived_parse(const char *lines, struct archived_list *list);
void archived_free(struct archived_list *list);
/* The object, all parts together: the caller's, NULL with why not. */
json_t *archived_load(const struct kubectl *kubectl, const char *namespace, const char *name,
    struct archived *record, enum kubectl_outcome *outcome, struct err *err);
/* Part `part` of it, counted from 0. */
void archived_part_name(const struct archived *record, unsigned part, char out[112]);
/* Bounded: at most 4 MiB come out of it. False: it is no gzip, cut, or larger. Pure. */
bool archived_unpack(struct str packed, struct buf *out);

#endif
