/*
 * What a rejoin replaces is kept as Secrets in the controller's namespace (C12): compressed, in
 * parts that the API server takes, without the bytes of tokens. Pure: JSON in, names and bodies
 * out. The name holds the version of the object, so that writing it twice is writing it once.
 * Admission admits the syncer's CREATE of just this type there, and nothing else.
 */
#ifndef SYNCER_ARCHIVE_H
#define SYNCER_ARCHIVE_H

#include "syncer/rewrite.h"

#define ARCHIVE_TYPE       "ha.kubeslice.io/archived-object"
#define ARCHIVE_PART_BYTES ((size_t)900 * 1024)
#define ARCHIVE_NAME_BYTES 96

/* An object on its way into the archive. */
struct archive {
	enum kind kind;
	uint64_t term;     /* led-term of the source that replaces it */
	const char *why;   /* "extra": the source has none; "changed": it differs */
	struct buf packed; /* gzip */
	unsigned parts;    /* of them, at least 1 */
	char name[ARCHIVE_NAME_BYTES - 16];
	char object[400]; /* namespace/name */
	char uid[37];
	uint64_t version;
};

/* 0, or -1 when there is no memory. archive_free is due in both cases. */
int archive_pack(struct archive *archive, enum kind kind, const json_t *object,
    const struct rewrite_facts *facts, const char *why, uint64_t term);
void archive_free(struct archive *archive);
/* Appends the Secret that holds part `part`, counted from 0. */
void archive_put(
    const struct archive *archive, unsigned part, const char *namespace, struct buf *out);

#endif
