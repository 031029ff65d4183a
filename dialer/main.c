/*
 * dialer: one process per asking role (F2), named by argv[0] "observer-dialer" and the like. The
 * rows of its table come before the lock because Landlock needs their ports. It must not open,
 * listen or accept anything after the lock.
 */
#include <stdlib.h>

#include "base/check.h"
#include "base/log.h"
#include "dialer/connect.h"
#include "dialer/dialer.h"

/* argv {name, shard, number of targets}. */
static void take_targets(struct dialer *dialer, int argc, char **argv)
{
	uint64_t count = 0;
	struct us_ctl ctl;
	struct str more;
	struct err err;

	CHECK(argc > 2 && str_to_u64(str_of(argv[2]), &count) && count <= CREDENTIAL_LIMIT);
	while (dialer->targets.count < count) {
		if (!role_next_control(dialer->process, &ctl, &more))
			exit(0); /* the supervisor is gone */
		if (ctl.type != CONTROL_TARGET)
			continue;
		if (targets_add(&dialer->targets, &ctl, more, &err)) {
			log_error("%s", err.text);
			exit(1);
		}
	}
}

static struct dialer *dialer_open(struct role_process *process, int argc, char **argv)
{
	struct dialer *dialer = calloc(1, sizeof(*dialer));

	CHECK(dialer);
	dialer->process = process;
	role_attach(process, &dialer_ops, dialer);
	dialer->resolver = resolver_new(role_loop(process));
	take_targets(dialer, argc, argv);
	for (unsigned i = 0; i < dialer->targets.count; i++)
		resolver_know(dialer->resolver, dialer->targets.rows[i].host);
	return dialer;
}

static void dialer_lock(struct dialer *dialer)
{
	uint16_t ports[CREDENTIAL_LIMIT];

	role_lock(dialer->process, ports, targets_ports(&dialer->targets, ports));
}

static void dialer_close(struct dialer *dialer)
{
	dial_forget_all(dialer);
	resolver_free(dialer->resolver);
	free(dialer);
}

int main(int argc, char **argv)
{
	enum role self = argc > 0 ? role_by_name(argv[0]) : ROLE_COUNT;
	struct role_process *process;
	struct dialer *dialer;
	int code;

	if (self == ROLE_COUNT || !(ROLE_BIT(self) & ROLE_DIALERS))
		return 64; /* started by hand */
	process = role_begin(self, argc, argv);
	dialer = dialer_open(process, argc, argv);
	dialer_lock(dialer);
	code = role_run(process);
	dialer_close(dialer);
	return code;
}
