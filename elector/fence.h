/*
 * The writer's side of the fence page; its layout and its reader are fence/fence.h (C10, F19).
 * Times are CLOCK_BOOTTIME ns. The mapping lives until fence_unmap or the end of the process; the
 * page is never truncated, unlinked or replaced here.
 */
#ifndef ELECTOR_FENCE_H
#define ELECTOR_FENCE_H

#include <stdint.h>

#include "base/err.h"
#include "fence/fence.h"

struct fence_page {
	volatile uint64_t *words;
	uint64_t boot, time_ns;
	uint64_t instance;
};

/* Before the sandbox is locked: maps the page of descriptor fd, reads the boot id and the time
 * namespace, and closes fd. Leaves the page as it is. 0, or -1 with the reason (fd closed). */
int fence_page_map(struct fence_page *page, int fd, uint64_t instance, struct err *err);
void fence_page_unmap(struct fence_page *page);
/* Writes the page as a whole: readers see the old one or the new one, and none while it is
 * written. role: enum fence_role; only FENCE_LEADING with a future valid_until_ns opens it. */
void fence_page_write(struct fence_page *page, enum fence_role role, uint64_t term,
    int64_t valid_until_ns, int64_t written_at_ns);

#endif
