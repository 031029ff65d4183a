/*
 * What the files behind admin.sock share: admin.c takes requests, relay.c hands some of them on to
 * the mirror. For these two files only.
 */
#ifndef ELECTOR_ADMIN_INNER_H
#define ELECTOR_ADMIN_INNER_H

#include <jansson.h>

#include "elector/elector.h"

struct request;

struct verb_row {
	const char *name;
	enum machine_command_verb verb; /* COMMAND_COUNT: none of the machine's */
	bool takes_time, consents;
	const char *keys; /* that the request may have, each between spaces */
	/* NULL: the machine's */
	void (*carry_out)(struct request *request);
	enum sync_verb sync; /* relay.c's */
};

/* A request under way. */
struct request {
	struct elector *elector;
	struct admin_client *client; /* NULL: nobody could wait */
	const json_t *body;
	const struct verb_row *row;
	struct machine_command command;
	struct buf *out;
	enum admin_outcome outcome;
	bool later; /* the answer comes later, by admin_finish */
};

void admin_begin(struct request *request, enum admin_outcome outcome, uint64_t operation);
void admin_end(struct request *request, const char *text);
void admin_refuse(struct request *request, const char *text);
void admin_put_checks(struct request *request, const struct machine_check *checks, unsigned count);
/* Does the operator mean this hub, as it is now? Else it is refused. */
bool admin_consented(struct request *request);
/* At most `per_minute` in a minute, over a ring of as many. */
bool admin_within_rate(
    int64_t *taken_ns, unsigned *taken_count, unsigned per_minute, int64_t now_ns);
/* The client waits for that long; admin_finish answers and closes. */
void admin_wait(struct admin_client *client, int64_t ns);
void admin_finish(struct admin_client *client, struct str answer);
const char *admin_outcome_name(enum admin_outcome outcome);

#endif
