/*
 * What every role process does, once: hello, sandbox, READY, links, credentials, beat, stop.
 * A role's main is
 *
 *	int main(int argc, char **argv)
 *	{
 *		struct role_process *process = role_begin(ROLE_OBSERVER, argc, argv);
 *		struct observer *observer = observer_open(process); // curl, role_attach: before the
 *lock int code;
 *
 *		role_lock(process, NULL, 0); // from here on it can open nothing
 *		code = role_run(process);
 *		observer_close(observer);
 *		return code;
 *	}
 *
 * Order and reasons: sandbox-rules 3. A role leaves on CONTROL_STOP and on hang-up of its control
 * link, never on a signal (F25, F39).
 */
#ifndef IPC_ROLE_H
#define IPC_ROLE_H

#include "ipc/link.h"
#include "ipc/loop.h"
#include "ipc/messages.h"
#include "policy/config.h"
#include "policy/control.h"
#include "policy/roles.h"

struct role_process;

/* Each may be NULL. */
struct role_ops {
	/* From <prefix>_dispatch of ipc/dispatch.h. */
	enum verdict (*on_message)(
	    void *ctx, const struct link *from, const struct message *, int fd);
	void (*on_link)(void *ctx, struct link *link); /* granted; also a new generation */
	void (*on_link_end)(void *ctx, struct role_id peer);
	/* One identity arrived (one-shot link). Answer with role_credential_answer. The texts are
	 * wiped when this returns. */
	void (*on_credential)(void *ctx, const struct msg_credential *credential);
	/* Control messages that the role itself understands (TARGET, LISTENER, SYNCER_GONE, ...);
	 * fd (-1: none) belongs to the callee. */
	void (*on_control)(void *ctx, const struct us_ctl *ctl, struct str more, int fd);
	/* role_config() is another one from now on, changed in parts that this role can take while
	 * it runs; `before` goes when this returns. NULL: never told. */
	void (*on_config)(void *ctx, const struct us_config *before);
	/* Told to leave by deadline_ns. NULL: leaves at once with 0; else call role_leave. */
	void (*on_stop)(void *ctx, int64_t deadline_ns);
};

/* First statement of main: logs, not dumpable, limits, configuration mapped, loop made. Ends the
 * process on failure (64: not started by a supervisor; 70: sandbox). Never NULL. */
struct role_process *role_begin(enum role id, int argc, char **argv);
/* Dialers only, before role_lock: waits for the next control message (targets come before the
 * lock, because Landlock needs their ports). False when the supervisor is gone. */
bool role_next_control(struct role_process *process, struct us_ctl *ctl, struct str *more);
void role_attach(struct role_process *process, const struct role_ops *ops, void *ctx);
/* Sandbox on, checked, READY sent; ends the process (70) when a protection does not hold. A
 * dialer passes the ports of its targets. */
void role_lock(struct role_process *process, const uint16_t *ports, unsigned port_count);
/* Runs until told to stop; returns the exit code. */
int role_run(struct role_process *process);
void role_leave(struct role_process *process, int code);

struct loop *role_loop(struct role_process *process);
const struct us_config *role_config(const struct role_process *process);
struct role_id role_self(const struct role_process *process);
/* Sends to a peer; false when there is no link now. */
bool role_send(struct role_process *process, enum role peer, unsigned shard, enum message_id id,
    const void *body);
/* The same, with a descriptor that is duplicated (dialers only). */
bool role_send_fd(struct role_process *process, enum role peer, unsigned shard, enum message_id id,
    const void *body, int fd);
/* To the supervisor; magic and seq are filled in. */
void role_tell(struct role_process *process, enum control_type type, uint64_t a0, uint64_t a1,
    const char *text);
/* Acknowledges (why NULL) or refuses a credential generation (F7, F10). */
void role_credential_answer(
    struct role_process *process, const struct msg_credential *credential, const char *why);
/* Shorthand for METRIC towards the monitor; labels NULL where the metric has none. */
void role_metric(struct role_process *process, enum metric_id id, const char *label,
    const char *label2, int64_t value_micro);

#endif
