/*
 * Dispositions of signals at the start of a process. Ours act on no signal: they leave when their
 * link hangs up (F25), and a parent's leftovers must not reach what it starts (P4).
 * Pitfall: P11.
 */
#ifndef BASE_SIGNALS_H
#define BASE_SIGNALS_H

/* Every signal to its default, none blocked. Async-signal-safe: for use between fork and exec. */
void signals_reset(void);
/* What people, service managers and broken pipes send is ignored. */
void signals_ignore(void);

#endif
