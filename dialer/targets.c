/*
 * The target table (see the header). Pure but for the memory that the caller gives: no I/O, no
 * clock. The link says who asks; nothing that a role sends can widen this table.
 */
#include "dialer/targets.h"

#include <string.h>

int targets_add(struct targets *targets, const struct us_ctl *ctl, struct str more, struct err *err)
{
	struct target row = { .id = (unsigned)ctl->a[0], .port = (uint16_t)ctl->a[1] };

	if (ctl->a[0] >= CREDENTIAL_LIMIT || targets_find(targets, ctl->a[0]))
		return err_set(err, "target %llu is out of range or there already",
		    (unsigned long long)ctl->a[0]);
	if (ctl->a[1] == 0 || ctl->a[1] > UINT16_MAX)
		return err_set(err, "target %u: port %llu is none, expected 1 to 65535", row.id,
		    (unsigned long long)ctl->a[1]);
	if (more.n < 2 || more.p[more.n - 1] != '\0' ||
	    !str_copy(row.host, sizeof(row.host), (struct str){ more.p, more.n - 1 }))
		return err_set(
		    err, "target %u: expected a terminated host of 1 to 255 bytes", row.id);
	targets->rows[targets->count++] = row;
	return 0;
}

struct target *targets_find(struct targets *targets, uint64_t id)
{
	for (unsigned i = 0; i < targets->count; i++)
		if (targets->rows[i].id == id)
			return &targets->rows[i];
	return NULL;
}

bool targets_belongs(uint64_t id, struct role_id asker, unsigned shard_size)
{
	struct role_id holder;

	if (id >= CREDENTIAL_LIMIT)
		return false;
	holder = role_holding((unsigned)id, shard_size);
	return holder.role == asker.role && holder.shard == asker.shard;
}

unsigned targets_ports(const struct targets *targets, uint16_t *ports)
{
	unsigned count = 0;

	for (unsigned i = 0; i < targets->count; i++) {
		unsigned at = 0;

		while (at < count && ports[at] != targets->rows[i].port)
			at++;
		if (at == count)
			ports[count++] = targets->rows[i].port;
	}
	return count;
}
