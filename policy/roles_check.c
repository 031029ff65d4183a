/*
 * Does the role table contradict itself? Asked by the supervisor before it starts anything and by
 * the tests, which break copies of the table. A fault here is a fault of the build, never of an
 * input. Rules: F2 (one dialer per role), F4 (trust), F19 (who writes the page), F24 (uids).
 */
#include <string.h>

#include "policy/roles.h"
#include "policy/seccomp.h"

static bool is_in(unsigned role, uint32_t set)
{
	return (ROLE_BIT(role) & set) != 0;
}

static const char *uid_fault(const struct role_row *row, unsigned role)
{
	bool is_root = role == ROLE_SUPERVISOR || role == ROLE_RUNNER;

	if ((row->uid_offset == 0) != is_root)
		return "uid 0 is for supervisor and runner, and only for them";
	if (row->uid_offset == ROLE_UID_WORKLOAD || row->uid_offset == ROLE_UID_CANARY)
		return "a role has the uid of the workload or of the canary";
	if (row->uid_offset == ROLE_UID_SIGNALLER)
		return "a role has the uid of the workload's signaller";
	if ((row->uid_offset >= ROLE_UID_SHARDS) != (role == ROLE_REPOINTER) ||
	    row->uid_offset > ROLE_UID_SHARDS)
		return "the uids of the shards are for repointers, and only for them";
	return NULL;
}

static const char *row_fault(const struct role_row *row, unsigned role)
{
	uint32_t dialers = row->links & ROLE_DIALERS;

	if (!row->name || !row->program || !row->reason)
		return "a row is not filled in";
	if (is_in(role, row->links))
		return "a role has a link with itself";
	if (row->links >> ROLE_COUNT)
		return "a role has a link with no role";
	if (is_in(role, ROLE_KUBE) ? dialers != ROLE_BIT(role_dialer_of(role)) : dialers != 0)
		return "a role that asks API servers has its own dialer, others have none";
	if (!is_in(role, ROLE_KUBE) && row->credentials)
		return "a role that asks no API server holds a credential";
	if (row->uid_offset != 0 && (row->nofile == 0 || row->data_mib == 0))
		return "a role has no limits";
	if (((row->syscalls & SYSCALLS_DIAL) != 0) != is_in(role, ROLE_DIALERS))
		return "socket and connect are for dialers, and only for them";
	if (((row->syscalls & SYSCALLS_CURL) != 0) != is_in(role, ROLE_KUBE))
		return "libcurl is for roles that ask API servers, and only for them";
	if (((row->syscalls & SYSCALLS_RUN) != 0) !=
	    (role == ROLE_RUNNER || role == ROLE_SUPERVISOR))
		return "starting processes and a workload is for the supervisor and the runner";
	if (row->fence == ROLE_FENCE_WRITE && role != ROLE_SUPERVISOR && role != ROLE_ELECTOR)
		return "the fence page is written by elector and supervisor only";
	return NULL;
}

static const char *pair_fault(const struct role_row *rows, unsigned a, unsigned b)
{
	if (is_in(a, rows[b].links) != is_in(b, rows[a].links))
		return "a link is in one of its two rows only";
	if (strcmp(rows[a].name, rows[b].name) == 0)
		return "two roles share a name";
	if (rows[a].uid_offset != 0 && rows[a].uid_offset == rows[b].uid_offset)
		return "two roles share a uid";
	if (rows[a].credentials & rows[b].credentials)
		return "two roles hold one credential";
	return NULL;
}

/* Supervisor > runner > elector > its peers > dialers > monitor > loader (F4). */
static const char *trust_fault(const struct role_row *rows)
{
	static const uint32_t ranks[] = { ROLE_BIT(ROLE_LOADER), ROLE_BIT(ROLE_MONITOR),
		ROLE_DIALERS, ROLE_KUBE & ~ROLE_BIT(ROLE_ELECTOR), ROLE_BIT(ROLE_ELECTOR),
		ROLE_BIT(ROLE_RUNNER), ROLE_BIT(ROLE_SUPERVISOR) };

	for (unsigned rank = 0; rank < sizeof(ranks) / sizeof(ranks[0]); rank++)
		for (unsigned role = 0; role < ROLE_COUNT; role++)
			if (is_in(role, ranks[rank]) != (rows[role].trust == rank + 1))
				return "a role has a trust rank that is not its own";
	return NULL;
}

const char *role_table_fault_of(const struct role_row *rows)
{
	const char *fault = NULL;

	for (unsigned role = 0; role < ROLE_COUNT && !fault; role++) {
		fault = uid_fault(&rows[role], role);
		if (!fault)
			fault = row_fault(&rows[role], role);
		for (unsigned other = 0; other < role && !fault; other++)
			fault = pair_fault(rows, role, other);
	}
	return fault ? fault : trust_fault(rows);
}
