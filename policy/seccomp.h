/*
 * The two system call filters of a process, built from policy/syscalls.def for the groups of its
 * row: filter 1 before exec (a list of what nobody needs, so that a role which forgets its own
 * filter is never naked: F15), filter 2 when the role locks itself (a list of what it needs, with
 * the arguments that it may use; anything else ends the process).
 * Programs are plain structs in the caller's memory: building allocates nothing and is
 * async-signal-safe. x86-64 only.
 * Pitfall: P104.
 */
#ifndef POLICY_SECCOMP_H
#define POLICY_SECCOMP_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/roles.h"

#ifndef __x86_64__
#error "the system call lists are measured on x86-64; another machine needs its own"
#endif

/* Groups of syscalls.def, for role_row.syscalls. */
enum syscalls_group {
	SYSCALLS_BASE = 1 << 0,     /* every role: loop, links, memory, log, clock, own death */
	SYSCALLS_CURL = 1 << 1,     /* libcurl and OpenSSL over handed connections */
	SYSCALLS_DIAL = 1 << 2,     /* resolve, connect, hand over */
	SYSCALLS_LISTEN = 1 << 3,   /* accept and answer */
	SYSCALLS_LOAD = 1 << 4,     /* read files, write results */
	SYSCALLS_HANDOVER = 1 << 5, /* files beneath the hand-over directory */
	SYSCALLS_RUN = 1 << 6,      /* supervisor and runner: filter 1 only, refusing with EPERM */
};

/* Sanitizers need calls that no list of ours has: filter 2 then refuses connect and nothing else,
 * filter 1 nothing at all (F32). */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SECCOMP_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define SECCOMP_SANITIZED 1
#endif
#endif
#ifndef SECCOMP_SANITIZED
#define SECCOMP_SANITIZED 0
#endif

/* A condition on one argument: (argument & mask) == value. */
struct seccomp_condition {
	uint8_t argument;
	bool own_pid; /* value is the process's id, known when the filter is built */
	uint64_t mask, value;
};

#define SECCOMP_MAX_CONDITIONS 4

/* One line of syscalls.def. */
struct seccomp_rule {
	uint32_t groups;
	uint32_t number;
	uint32_t action; /* SECCOMP_RET_*, with the errno */
	struct seccomp_condition conditions[SECCOMP_MAX_CONDITIONS];
	uint8_t condition_count;
	const char *name;
	const char *when; /* the conditions as syscalls.def writes them, for people */
	const char *reason;
};

#define SECCOMP_MAX_CODE 640

struct seccomp_program {
	struct sock_filter code[SECCOMP_MAX_CODE];
	unsigned short length;
};

/* The lines of filter 2, first match wins; count gets their number. */
const struct seccomp_rule *seccomp_rules(size_t *count);
/* The lines of filter 1: `groups` are those that are exempt. */
const struct seccomp_rule *seccomp_first_rules(size_t *count);

void seccomp_build_first(struct seccomp_program *program, enum role role);
/* pid: the process that will load it. */
void seccomp_build_second(struct seccomp_program *program, enum role role, pid_t pid);
/* Loads it for this process, for good. Needs no-new-privileges. 0, or -1 with errno. */
int seccomp_load(const struct seccomp_program *program);

#endif
