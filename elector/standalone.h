/*
 * mode standalone: one understudyd, no Lease, the page open as long as it lives (decision 17).
 */
#ifndef ELECTOR_STANDALONE_H
#define ELECTOR_STANDALONE_H

struct elector;

/* Before the sandbox is locked. */
void standalone_open(struct elector *elector);

#endif
