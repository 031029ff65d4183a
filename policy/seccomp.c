/*
 * Assembles and loads the system call filters of policy/syscalls.def. An assembler of our own
 * (some 60 lines) and not libseccomp: the same answers (F37), no generated file to keep fresh, no
 * library in root, no allocation between fork and exec. tests/unit/policy_seccomp.c interprets
 * what it builds and loads it into real processes. It must not read anything but the table.
 * Pitfalls: P46, P47, P48, P50, P59.
 */
#include "policy/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/check.h"

/* For a run that finds out what is missing, build with CPPFLAGS=-DSECCOMP_UNLISTED=
 * SECCOMP_RET_LOG; the kernel's log names each call (F6). */
#ifndef SECCOMP_UNLISTED
#define SECCOMP_UNLISTED SECCOMP_RET_KILL_PROCESS
#endif

#define X32_BIT  0x40000000u
#define INT_MASK 0xffffffffu

enum {
	NONE = 0,
	BASE = SYSCALLS_BASE,
	CURL = SYSCALLS_CURL,
	DIAL = SYSCALLS_DIAL,
	LISTEN = SYSCALLS_LISTEN,
	LOAD = SYSCALLS_LOAD,
	HANDOVER = SYSCALLS_HANDOVER,
	RUN = SYSCALLS_RUN
};

#define ALLOW        SECCOMP_RET_ALLOW
#define ERRNO(error) (SECCOMP_RET_ERRNO | (error))

#define CONDITION(n, own, mask, value)                                                             \
	{                                                                                          \
		(n), (own), (mask), (value)                                                        \
	}
#define IS(n, wanted)         CONDITION(n, false, INT_MASK, (uint32_t)(wanted))
#define BITS(n, allowed)      CONDITION(n, false, INT_MASK & ~(uint32_t)(allowed), 0)
#define LONG_BITS(n, allowed) CONDITION(n, false, ~(uint64_t)(allowed), 0)
#define ZERO(n)               CONDITION(n, false, UINT64_MAX, 0)
#define OWN_PID(n)            CONDITION(n, true, INT_MASK, 0)
#define SOCKET_TYPE(n, type)  CONDITION(n, false, INT_MASK & ~(SOCK_CLOEXEC | SOCK_NONBLOCK), type)
/* AF_INET is 2, AF_INET6 is 10. */
#define INTERNET(n) CONDITION(n, false, INT_MASK & ~(uint32_t)(AF_INET ^ AF_INET6), AF_INET)
#define WHEN(...)                                                                                  \
	{ __VA_ARGS__ },                                                                           \
	    sizeof((struct seccomp_condition[]){ __VA_ARGS__ }) / sizeof(struct seccomp_condition)
#define ANY { { 0, false, 0, 0 } }, 0

static const struct seccomp_rule rules[] = {
#define CALL(groups, name, action, conditions, reason)                                             \
	{ groups, SYS_##name, action, conditions, #name, #conditions, reason },
#include "policy/syscalls.def"
#undef CALL
};

static const struct seccomp_rule first_rules[] = {
#define REFUSED(exempt, name) { exempt, SYS_##name, SECCOMP_RET_KILL_PROCESS, ANY, #name, "", "" },
#include "policy/syscalls.def"
#undef REFUSED
};

const struct seccomp_rule *seccomp_rules(size_t *count)
{
	*count = sizeof(rules) / sizeof(rules[0]);
	return rules;
}

const struct seccomp_rule *seccomp_first_rules(size_t *count)
{
	*count = sizeof(first_rules) / sizeof(first_rules[0]);
	return first_rules;
}

static void emit(struct seccomp_program *program, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	CHECK(program->length < SECCOMP_MAX_CODE);
	program->code[program->length++] = (struct sock_filter){ code, jt, jf, k };
}

static void load_word(struct seccomp_program *program, size_t offset)
{
	emit(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void return_action(struct seccomp_program *program, uint32_t action)
{
	emit(program, BPF_RET | BPF_K, action, 0, 0);
}

/* Another architecture's numbers, and x32 on this one, mean other calls: fatal, first of all. */
static void begin(struct seccomp_program *program)
{
	program->length = 0;
	load_word(program, offsetof(struct seccomp_data, arch));
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	return_action(program, SECCOMP_RET_KILL_PROCESS);
	load_word(program, offsetof(struct seccomp_data, nr));
	emit(program, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
	return_action(program, SECCOMP_RET_KILL_PROCESS);
}

/* Compares one half of an argument; remembers in jumps where a mismatch has to leave. */
static unsigned compare_half(struct seccomp_program *program, size_t offset, uint32_t mask,
    uint32_t value, unsigned short *jumps, unsigned count)
{
	if (mask == 0)
		return count;
	load_word(program, offset);
	if (mask != UINT32_MAX)
		emit(program, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
	jumps[count] = program->length;
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 0);
	return count + 1;
}

/* The call's number is in the accumulator before and after. */
static void add_rule(
    struct seccomp_program *program, const struct seccomp_rule *rule, uint32_t action, pid_t pid)
{
	unsigned short jumps[2 * SECCOMP_MAX_CONDITIONS], skip = program->length;
	unsigned count = 0;

	emit(program, BPF_JMP | BPF_JEQ | BPF_K, rule->number, 0, 0);
	for (unsigned i = 0; i < rule->condition_count; i++) {
		const struct seccomp_condition *c = &rule->conditions[i];
		size_t offset = offsetof(struct seccomp_data, args) + 8 * (size_t)c->argument;
		uint64_t value = c->own_pid ? (uint32_t)pid : c->value;

		count =
		    compare_half(program, offset, (uint32_t)c->mask, (uint32_t)value, jumps, count);
		count = compare_half(program, offset + 4, (uint32_t)(c->mask >> 32),
		    (uint32_t)(value >> 32), jumps, count);
	}
	return_action(program, action);
	for (unsigned i = 0; i < count; i++)
		program->code[jumps[i]].jf = (uint8_t)(program->length - jumps[i] - 1);
	if (count > 0)
		load_word(program, offsetof(struct seccomp_data, nr));
	program->code[skip].jf = (uint8_t)(program->length - skip - 1);
}

void seccomp_build_first(struct seccomp_program *program, enum role role)
{
	uint32_t groups = role_row(role)->syscalls;
	size_t count;
	const struct seccomp_rule *rule = seccomp_first_rules(&count);
	/* The workload inherits the runner's: a program of somebody else's is told, not killed. */
	uint32_t action = groups & RUN ? ERRNO(EPERM) : SECCOMP_RET_KILL_PROCESS;

	begin(program);
	for (; count > 0 && !SECCOMP_SANITIZED; count--, rule++)
		if (!(rule->groups & groups))
			add_rule(program, rule, action, 0);
	return_action(program, SECCOMP_RET_ALLOW);
}

void seccomp_build_second(struct seccomp_program *program, enum role role, pid_t pid)
{
	uint32_t groups = role_row(role)->syscalls;
	size_t count;
	const struct seccomp_rule *rule = seccomp_rules(&count);

	begin(program);
	for (; count > 0; count--, rule++)
		if ((rule->groups & groups) && (!SECCOMP_SANITIZED || rule->number == SYS_connect))
			add_rule(program, rule, rule->action, pid);
	return_action(program, SECCOMP_SANITIZED ? SECCOMP_RET_ALLOW : SECCOMP_UNLISTED);
}

int seccomp_load(const struct seccomp_program *program)
{
	struct sock_fprog prog = { program->length, (struct sock_filter *)program->code };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0);
}
