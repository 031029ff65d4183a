/*
 * metav1.Condition values: lastTransitionTime moves with the status and with nothing else, so that
 * a person can read from it since when a worker is where it is (6.6). Pure but for json values.
 */
#ifndef FOLLOWER_CONDITIONS_H
#define FOLLOWER_CONDITIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum condition_status { CONDITION_UNKNOWN, CONDITION_TRUE, CONDITION_FALSE };

struct condition {
	enum condition_status status;
	const char *reason; /* a literal, CamelCase */
	char message[256];
	int64_t since_us; /* 0: never set */
};

/* Returns whether anything but the message changed. */
bool condition_set(struct condition *condition, enum condition_status status, const char *reason,
    const char *message, int64_t wall_us);
/* A new value of that type. */
json_t *condition_value(const struct condition *condition, const char *type);
/*
 * A new list: a copy of `list` (NULL or no list: empty) with that type's member set, and the others
 * as they are; *changed when status, reason or message differ from what stood there. The time of
 * what stands there is kept while its status is the same, whoever wrote it.
 */
json_t *condition_merge(
    const json_t *list, const struct condition *condition, const char *type, bool *changed);

#endif
