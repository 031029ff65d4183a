/*
 * `audit`: what this hub should be, what the kernel says it is, what was tried, and what differs.
 * The supervisor's rows come from audit.sock, or with those of canaries from canary.sock; what
 * roles tried at their API servers from status.sock, by their own word. Rows: policy/audit.h; as
 * JSON: docs/audit.schema.json.
 */
#ifndef CTL_AUDIT_H
#define CTL_AUDIT_H

#include <jansson.h>

#include "ctl/commands.h"
#include "policy/audit.h"

/* Owns its rows. */
struct audit_list {
	struct audit_row *rows;
	size_t count, room;
	unsigned verdicts[AUDIT_VERDICT_COUNT];
};

command_run_fn audit_command;

void audit_list_add(struct audit_list *list, const struct audit_row *row);
void audit_list_free(struct audit_list *list);
/* Takes the rows of audit.sock. -1 when they are no rows, or cut. */
int audit_list_take(struct audit_list *list, struct str text);
/* Adds a row for each thing that a role should have tried by now, as the status document (NULL:
 * there is none) says; who should, is in the rows about credentials. Pure. */
void audit_list_add_tried(struct audit_list *list, const json_t *status);

/* audit_show.c. Pure. */
struct audit_report {
	const struct audit_list *list;
	const char *identity, *mode, *time; /* "": not known */
	bool offline, deep;
};
void audit_put_text(const struct audit_report *report, struct buf *out);
void audit_put_json(const struct audit_report *report, struct buf *out);
/* "clean", "findings", "unverified". */
const char *audit_result_word(const struct audit_list *list);

#endif
