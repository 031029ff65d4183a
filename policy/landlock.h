/*
 * Landlock for one process: no file, no TCP port, no abstract socket and no signal beyond what is
 * named here (sandbox-rules 6, F33). What the kernel offers decides what is handled: the result
 * tells, and the caller compares it with what must be there.
 */
#ifndef POLICY_LANDLOCK_H
#define POLICY_LANDLOCK_H

#include <stdint.h>

/* What the kernel knows: 0 none, 1 files, 4 TCP ports, 6 scopes. */
int landlock_abi(void);
/* The SANDBOX_LANDLOCK_* bits that a kernel of this ABI can give. */
unsigned landlock_bits(int abi);

/*
 * Restricts this process for good. directory_fd: files beneath it may be made, written, renamed
 * and removed; -1 for none. Ports: TCP ports to which it may connect. Returns the bits that are in
 * force, 0 when the kernel has none; -1 with errno when it has but refuses.
 */
int landlock_restrict(int directory_fd, const uint16_t *ports, unsigned port_count);

#endif
