/*
 * The fence page as its owner sees it: the file is made once and never replaced, truncated or
 * unlinked (C10, F19), and flocked for life, so that a second supervisor on the same directory is
 * refused. Decision 16: the supervisor keeps a writable map and ends the validity of a dead
 * elector. Layout: fence/fence.h.
 */
#ifndef SUPERVISOR_FENCE_H
#define SUPERVISOR_FENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct fence_page {
	int directory; /* run.directory */
	int lock;      /* the flocked description; inherited by nobody */
	uint64_t *words;
};

/* Opens the directory (made when only its last part is missing): root's, writable by root alone,
 * on tmpfs. Makes or adopts the page, locks and maps it. 0, or -1 with the reason. */
int fence_page_open(struct fence_page *page, const char *directory, struct err *err);
void fence_page_close(struct fence_page *page);
/* A descriptor of its own for a process (the lock stays ours). -1 with errno. */
int fence_page_descriptor(const struct fence_page *page, bool writable);
/* NULL, or what somebody did to the file since it was opened: controllers that open it now would
 * not see what the elector writes (C10). */
const char *fence_page_fault(const struct fence_page *page);
/* The instance of the last writer on this boot, 0 when there is none. */
uint64_t fence_page_instance(const struct fence_page *page);
/* Valid until: never. The elector must be dead (reaped), else it could write again. */
void fence_page_end_validity(struct fence_page *page);

#endif
