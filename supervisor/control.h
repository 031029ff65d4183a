/*
 * The supervisor's end of one control link: packets of struct us_ctl in, the same with `more`
 * bytes and a descriptor out. This and credentials_check_loaded are all of a child's bytes that
 * root looks at (F28, sandbox-rules 4). Owns its descriptor and what waits to be sent.
 */
#ifndef SUPERVISOR_CONTROL_H
#define SUPERVISOR_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "policy/control.h"

/* More than a dialer gets at its start (one TARGET per worker); who lets so many wait is stuck. */
#define CONTROL_MAX_QUEUED 512

struct control {
	int fd; /* -1: closed */
	uint64_t sent, received;
	struct control_packet *first, *last;
	unsigned queued;
};

enum control_got { CONTROL_NOTHING, CONTROL_PACKET, CONTROL_CLOSED, CONTROL_BAD };

/* Makes the pair; *role_end is the caller's to hand over and close. 0, or -1 with errno. */
int control_open(struct control *control, int *role_end);
void control_close(struct control *control);

/* Sends or queues. magic and seq are filled in. The descriptor (-1: none) is duplicated, the text
 * copied. False when the role takes nothing any more: kill it. */
bool control_send(
    struct control *control, const struct us_ctl *ctl, const void *more, size_t more_bytes, int fd);
/* Sends what waits; true when something still does. */
bool control_flush(struct control *control);

/* One packet of the role: exactly sizeof(struct us_ctl), right magic, ascending seq, terminated
 * blob, no descriptor. CONTROL_BAD fills err: kill the role. */
enum control_got control_receive(struct control *control, struct us_ctl *ctl, struct err *err);
/* The one packet of another size: what follows CONTROL_LOADED, exactly `size` bytes. */
enum control_got control_receive_raw(
    struct control *control, void *bytes, size_t size, struct err *err);

#endif
