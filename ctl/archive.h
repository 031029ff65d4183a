/*
 * `understudyctl archive`: what a rejoin kept before it replaced it (C12), listed, shown, restored
 * onto the hub that leads, and pruned. All of it by the administrator with his own kubeconfig
 * (decision 4): no process of understudy has the right to read the archive.
 */
#ifndef CTL_ARCHIVE_H
#define CTL_ARCHIVE_H

#include <jansson.h>

#include "ctl/archived.h"
#include "ctl/commands.h"

command_run_fn archive_command;

/* What stands behind `archive VERB`. */
struct archive_words {
	struct kubectl from, to;
	const char *namespace, *name, *yes;
	bool as_json, dry_run, force, secrets;
	long long since_ms, older_ms, keep; /* -1: not given */
	unsigned long long term;            /* 0: any */
};
/* options: those of the verb, each between spaces; named: it takes the name of an object, too. */
enum ctl_exit archive_parse(int argc, char **argv, const char *options, bool named,
    struct archive_words *words, struct err *err);
/* restore.c */
enum ctl_exit archive_restore(int argc, char **argv, struct buf *out, struct err *err);

/* Pure, for tests. "30d", "12h": ms; false: it is none. */
bool archive_span(const char *text, long long *ms);
/* What is created on another cluster: without what the old one had put in, and without the
 * mirror's marks; tracking marks that were parked are given back. The object is changed. */
void archive_make_restorable(json_t *object);
/* Values of a Secret become their sizes; also where kubectl keeps a second copy. */
void archive_redact(json_t *object);
/* Do they differ in anything that is restored? */
bool archive_differs(const json_t *restorable, const json_t *present);

#endif
