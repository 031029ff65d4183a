/*
 * The control link (see the header). Never blocks: the supervisor may be stopped, the clock is not
 * (F5). A supervisor of another build or a broken packet is our own bug: CHECK.
 */
#include "runner/control.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/check.h"
#include "base/log.h"

bool control_tell(struct runner *runner, enum control_type type, uint64_t a0, uint64_t a1)
{
	struct us_ctl ctl = { .magic = CONTROL_MAGIC,
		.type = (uint16_t)type,
		.seq = runner->sent + 1,
		.a = { a0, a1, runner->received } };

	if (send(ROLE_FD_CONTROL, &ctl, sizeof(ctl), MSG_NOSIGNAL | MSG_DONTWAIT) !=
	    (ssize_t)sizeof(ctl))
		return false;
	runner->sent++;
	return true;
}

static void take(struct runner *runner, const struct us_ctl *ctl)
{
	CHECK(ctl->magic == CONTROL_MAGIC && ctl->seq == ++runner->received);
	runner->reported = false;
	switch (ctl->type) {
	case CONTROL_START:
		runner->wanted = true;
		runner->wanted_term = ctl->a[0];
		break;
	case CONTROL_STOP: runner->wanted = false; break;
	default: log_warn("control message %u is not for a runner", ctl->type);
	}
}

void control_take(struct runner *runner)
{
	struct us_ctl ctl;
	ssize_t n;

	while (!runner->gone) {
		n = recv(ROLE_FD_CONTROL, &ctl, sizeof(ctl), MSG_DONTWAIT);
		if (n == (ssize_t)sizeof(ctl))
			take(runner, &ctl);
		else if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		else
			runner->gone = true;
	}
}

void control_report(struct runner *runner, bool running, bool empty)
{
	if (runner->gone || (runner->reported && runner->reported_running == running &&
				runner->reported_empty == empty))
		return;
	runner->reported = control_tell(runner, CONTROL_WORKLOAD_SEEN, running, empty);
	runner->reported_running = running;
	runner->reported_empty = empty;
}
