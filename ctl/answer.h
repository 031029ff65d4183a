/*
 * What a command that asks no daemon did, for a program: the members `outcome` and `text` that the
 * answers of admin.sock have, and the command's own behind them. Their shapes are
 * docs/answers.schema.json.
 */
#ifndef CTL_ANSWER_H
#define CTL_ANSWER_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "ctl/client.h"

/* What follows -o; false: another word than json or text, or none (NULL). */
bool answer_format(const char *value, bool *as_json);
/* The words of others as a JSON string. Each byte beyond ASCII becomes '?' when they are no UTF-8:
 * a line of kubectl may be cut inside a character, the name of a file may be anything. */
json_t *answer_text(const char *text);
/* Appends a document. */
void answer_document(struct buf *out, const json_t *document);
/* Appends {"outcome", "text", ...}. more: the command's own members, which it takes over. Words
 * that were misused are no outcome: then nothing is appended. Returns the code. */
enum ctl_exit answer_put(struct buf *out, enum ctl_exit code, const char *text, json_t *more);
/* The same of a command that has said, as text, how it ended: its last line, or err. */
enum ctl_exit answer_put_last(
    struct buf *out, enum ctl_exit code, struct buf *said, const struct err *err, json_t *more);

#endif
