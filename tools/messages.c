/*
 * Prints docs/messages.md from the message table, so that the page on who tells whom what is the
 * table that every link enforces. Run by tools/docs.sh; reads nothing, is no part of the product.
 */
#include <inttypes.h>
#include <stdio.h>

#include "ipc/messages.h"

static void print_roles(uint32_t roles)
{
	const char *comma = "";

	/* As docs/privileges.md calls them. */
	if (roles == ROLE_KUBE || roles == ROLE_DIALERS) {
		printf("%s | ", roles == ROLE_KUBE ? "API roles" : "dialers");
		return;
	}
	for (unsigned role = 0; role < ROLE_COUNT; role++)
		if (roles & ROLE_BIT(role)) {
			printf("%s%s", comma, role_name((enum role)role));
			comma = ", ";
		}
	printf(" | ");
}

static void print_number(uint64_t value)
{
	if (value == UINT64_MAX)
		printf("2^64 - 1");
	else if (value == INT64_MAX)
		printf("2^63 - 1");
	else if (value == UINT32_MAX)
		printf("2^32 - 1");
	else if (value == 1ULL << 53)
		printf("2^53");
	else
		printf("%" PRIu64, value);
}

static void print_field(const struct field_row *field)
{
	printf("`%s` ", field->name);
	switch (field->type) {
	case FIELD_BOOL: printf("yes or no"); return;
	case FIELD_TEXT: printf("text of %" PRIu64, field->most); return;
	case FIELD_BYTES: printf("bytes, %" PRIu64, field->most); return;
	case FIELD_I64: /* No signed field of the table has narrower bounds. */
		printf(field->least == (uint64_t)INT64_MIN && field->most == INT64_MAX
			   ? "signed"
			   : "signed, bounded");
		return;
	case FIELD_ENUM:
	case FIELD_U64: break;
	}
	print_number(field->least);
	printf(" to ");
	print_number(field->most);
}

static void print_message(const struct message_row *row)
{
	static const char *const descriptors[] = {
		[FD_NONE] = "", [FD_ONE] = "one", [FD_IF_OK] = "if ok"
	};
	static const char *const queues[] = { [QUEUE_CUT] = "link is cut",
		[QUEUE_OLDEST] = "oldest goes",
		[QUEUE_KEEP] = "last stays",
		[QUEUE_KEEP_EACH] = "last of each stays" };

	printf("| %s | ", row->name);
	print_roles(row->senders);
	print_roles(row->receivers);
	for (size_t i = 0; i < row->field_count; i++) {
		printf("%s", i ? "; " : "");
		print_field(&row->fields[i]);
	}
	printf(" | %zu | %s | %s |\n", row->limit, queues[row->queue], descriptors[row->fd]);
}

int main(void)
{
	printf(
	    "# Who tells whom what\n\n"
	    "Printed by `make docs` from `ipc/messages.def`, where each message says what it is "
	    "for; "
	    "every link reads the same rows. It also takes a link between the two roles "
	    "(docs/privileges.md). Whoever sends anything else loses the link.\n\n"
	    "Fields stand in this order on the wire, no more and no less. Texts are UTF-8 without "
	    "NUL, of at most so many bytes. \"When full\" is what happens when the receiver does "
	    "not "
	    "read: \"of each\" means for each value of the first field. \"fd\": whether a "
	    "descriptor comes with it.\n\n"
	    "| message | from | to | fields | bytes | when full | fd |\n"
	    "|---|---|---|---|---|---|---|\n");
	for (unsigned id = 0; id < MSG_COUNT; id++)
		print_message(message_row((enum message_id)id));
	return ferror(stdout) ? 1 : 0;
}
