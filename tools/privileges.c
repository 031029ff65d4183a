/*
 * Prints docs/privileges.md from the role table and the system call lists, so that the page a
 * reviewer reads is what the kernel is told. Run by tools/docs.sh; reads nothing, is no part of
 * the product.
 */
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>

#include "policy/canary.h"
#include "policy/roles.h"
#include "policy/seccomp.h"

static const struct {
	uint32_t group;
	const char *name;
} groups[] = {
	{ SYSCALLS_BASE, "all" },
	{ SYSCALLS_CURL, "API roles" },
	{ SYSCALLS_DIAL, "dialers" },
	{ SYSCALLS_LISTEN, "monitor" },
	{ SYSCALLS_LOAD, "loader" },
	{ SYSCALLS_HANDOVER, "follower" },
	{ SYSCALLS_RUN, "supervisor, runner" },
};

static void print_groups(uint32_t set, const char *none)
{
	const char *comma = "";

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (set & groups[i].group) {
			printf("%s%s", comma, groups[i].name);
			comma = ", ";
		}
	if (!set)
		printf("%s", none);
}

static void print_links(const struct role_row *row)
{
	const char *comma = "";

	for (unsigned other = 0; other < ROLE_COUNT; other++)
		if (row->links & ROLE_BIT(other)) {
			printf("%s%s", comma, role_name((enum role)other));
			comma = ", ";
		}
	printf(" | ");
}

static void print_credentials(const struct role_row *row)
{
	const char *comma = "";

	for (unsigned c = 0; c <= CREDENTIAL_WORKER; c++)
		if (row->credentials & CREDENTIAL_BIT(c)) {
			printf("%s%s", comma,
			    c == CREDENTIAL_WORKER ? "its shard's workers" : credential_name(c));
			comma = ", ";
		}
	printf(" | ");
}

static void print_role(enum role role)
{
	static const char *const fences[] = { "", "reads", "writes" };
	static const char *const restarts[] = { "always", "on request", "never" };
	const struct role_row *row = role_row(role);
	bool dialer = (ROLE_BIT(role) & ROLE_DIALERS) != 0;

	printf("| %s | ", row->name);
	if (role == ROLE_REPOINTER)
		printf("base + %d + shard | ", ROLE_UID_SHARDS);
	else if (row->uid_offset)
		printf("base + %u | ", row->uid_offset);
	else
		printf("0 | ");
	printf("%u | ", row->trust);
	print_links(row);
	print_credentials(row);
	printf("%s | ", fences[row->fence]);
	printf("%s | ", row->uid_offset == 0 ? ""
			: dialer             ? "no file; its targets' TCP ports and 53"
			: row->syscalls & SYSCALLS_HANDOVER ? "the hand-over directory; no port"
							    : "no file, no port");
	if (row->uid_offset)
		printf("%u files, %u MiB, no process, no core | ", row->nofile, row->data_mib);
	else
		printf(" | ");
	printf("%s | %s |\n", restarts[row->restart], row->reason);
}

/* "WHEN(IS(0, 2), ZERO(4))" without its frame. */
static void print_conditions(const char *when)
{
	size_t n = strlen(when);

	if (n > 6 && strncmp(when, "WHEN(", 5) == 0) {
		/* A pipe would end the cell, in code as well. */
		printf("`");
		for (size_t i = 5; i < n - 1; i++)
			printf(when[i] == '|' ? "\\|" : "%c", when[i]);
		printf("`");
	}
}

static void print_rules(void)
{
	size_t count;
	const struct seccomp_rule *rule = seccomp_rules(&count);

	for (; count > 0; count--, rule++) {
		printf("| %s | ", rule->name);
		print_groups(rule->groups, "");
		if (rule->action == SECCOMP_RET_ALLOW)
			printf(" | allowed | ");
		else
			printf(" | %s | ", strerrorname_np((int)(rule->action & SECCOMP_RET_DATA)));
		print_conditions(rule->when);
		printf(" | %s |\n", rule->reason);
	}
}

static void print_first_rules(void)
{
	size_t count;
	const struct seccomp_rule *rule = seccomp_first_rules(&count);

	for (; count > 0; count--, rule++) {
		printf("| %s | ", rule->name);
		print_groups(rule->groups, "nobody");
		printf(" |\n");
	}
}

static void print_roles(uint32_t set)
{
	const uint32_t locked =
	    ROLE_BIT(ROLE_COUNT) - 1 - ROLE_BIT(ROLE_SUPERVISOR) - ROLE_BIT(ROLE_RUNNER);
	const char *comma = " ";

	if ((set & locked) == locked) {
		printf(" every locked role");
		comma = ", ";
		set &= ~locked;
	} else if (__builtin_popcount(set & locked) > 8) {
		printf(" locked roles but");
		set = locked & ~set;
	}
	if ((set & ROLE_DIALERS) == ROLE_DIALERS) {
		printf("%sdialers", comma);
		comma = ", ";
		set &= ~ROLE_DIALERS;
	}
	for (unsigned role = 0; role < ROLE_COUNT; role++)
		if (set & ROLE_BIT(role)) {
			printf("%s%s", comma, role_name((enum role)role));
			comma = ", ";
		}
	printf(" |");
}

static void print_probes(void)
{
	unsigned count;
	const struct canary_probe *probe = canary_probes(&count);

	for (; count > 0; count--, probe++) {
		printf("| %s |", probe->what);
		print_roles(probe->killed);
		print_roles(probe->refused);
		printf(" %s |", probe->with ? strerrorname_np(probe->with) : "");
		print_roles(probe->works);
		printf("\n");
	}
}

int main(void)
{
	printf(
	    "# What each process may do\n\n"
	    "Printed by `make docs` from `policy/roles.c`, `policy/syscalls.def` and "
	    "`policy/canary.c`; the "
	    "supervisor and the sandbox read the same rows.\n\n"
	    "## Roles\n\n"
	    "`base` is `run.uid-base`; gid = uid. A higher trust outranks a lower one: only then "
	    "does an accusation cost the accused its life.\n\n"
	    "| role | uid | trust | links | credentials | fence page | Landlock | limits | "
	    "restart | why |\n"
	    "|---|---|---|---|---|---|---|---|---|---|\n");
	for (unsigned role = 0; role < ROLE_COUNT; role++)
		print_role((enum role)role);
	printf("\n## System calls of a locked role (filter 2)\n\n"
	       "The first line that fits decides. Anything else ends the process (SIGSYS), as do "
	       "calls of another architecture and of x32.\n\n"
	       "Conditions: `IS(argument, value)`, `BITS(argument, the only bits it may have)`, "
	       "`LONG_BITS` the same in 64 bits, `ZERO(argument)` in 64 bits, `OWN_PID(argument)`, "
	       "`INTERNET(argument)`: AF_INET or AF_INET6, `SOCKET_TYPE(argument, type)`: with or "
	       "without SOCK_CLOEXEC and SOCK_NONBLOCK.\n\n"
	       "| call | who | answer | when | why |\n"
	       "|---|---|---|---|---|\n");
	print_rules();
	printf("\n## Refused from exec on (filter 1)\n\n"
	       "Ends the process; the runner, whose filter the workload inherits, and with it the "
	       "workload get EPERM instead.\n\n"
	       "| call | except for |\n"
	       "|---|---|\n");
	print_first_rules();
	printf(
	    "\n## What canaries try\n\n"
	    "`understudyctl audit --deep`: in the row of each role, with the role's program and "
	    "the uid base + %d, without credential, link, page and configuration. The supervisor "
	    "tries for itself.\n\n"
	    "| a canary | is killed as | is refused as | with | may as |\n"
	    "|---|---|---|---|---|\n",
	    ROLE_UID_CANARY);
	print_probes();
	return ferror(stdout) ? 1 : 0;
}
