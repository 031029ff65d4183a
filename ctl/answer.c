/*
 * Answers of commands as JSON (see the header). Called by what goes to API servers by kubectl, by
 * check_config.c and by reload.c.
 */
#include "ctl/answer.h"

#include <stdlib.h>
#include <string.h>

bool answer_format(const char *value, bool *as_json)
{
	*as_json = value && strcmp(value, "json") == 0;
	return *as_json || (value && strcmp(value, "text") == 0);
}

void answer_document(struct buf *out, const json_t *document)
{
	char *text = json_dumps(document, JSON_INDENT(2) | JSON_PRESERVE_ORDER);

	buf_puts(out, text ? text : "null");
	buf_puts(out, "\n");
	free(text);
}

json_t *answer_text(const char *text)
{
	json_t *value = json_string(text);
	char *plain = value ? NULL : strdup(text);

	for (char *at = plain; at && *at; at++)
		if ((unsigned char)*at >= 0x80)
			*at = '?';
	if (plain)
		value = json_string(plain);
	free(plain);
	return value ? value : json_null();
}

enum ctl_exit answer_put(struct buf *out, enum ctl_exit code, const char *text, json_t *more)
{
	json_t *all = json_pack("{s:s, s:o}", "outcome",
	    code == CTL_DONE      ? "done"
	    : code == CTL_REFUSED ? "refused"
				  : "unknown",
	    "text", answer_text(text));

	if (more)
		json_object_update(all, more);
	if (code != CTL_USAGE)
		answer_document(out, all);
	json_decref(all);
	json_decref(more);
	return code;
}

enum ctl_exit answer_put_last(
    struct buf *out, enum ctl_exit code, struct buf *said, const struct err *err, json_t *more)
{
	char *line;

	if (said->len && said->data[said->len - 1] == '\n')
		said->data[said->len - 1] = '\0';
	line = said->len ? strrchr(said->data, '\n') : NULL;
	if (code != CTL_DONE)
		return answer_put(out, code, err->text, more);
	return answer_put(out, code, line ? line + 1 : said->len ? said->data : "", more);
}
