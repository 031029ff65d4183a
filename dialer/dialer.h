/*
 * The dialer: turns "target 3" into a connected TCP socket for the one role that it serves
 * (F2). It holds no credential and sees ciphertext only; what a hostile one can still do is in
 * F34. It must never block, never keep a copy of a socket that it handed over (F8, H3), and never
 * connect to what is not in its table.
 *
 *   targets   who may ask for which target       ranges   which addresses are allowed; pure
 *   resolve   names to addresses (c-ares)        connect  dials, at most 16 at once per asker
 *   messages  the one message that it gets
 */
#ifndef DIALER_DIALER_H
#define DIALER_DIALER_H

#include "dialer/resolve.h"
#include "dialer/targets.h"
#include "ipc/role.h"

struct dial;

struct dialer {
	struct role_process *process;
	struct resolver *resolver;
	struct dial *dials; /* waiting and running ones, in the order of asking */
	struct targets targets;
};

extern const struct role_ops dialer_ops;

#endif
