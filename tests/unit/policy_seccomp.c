/*
 * Goal: the filters do what policy/syscalls.def says and what the design demands (F6, F15, F17,
 * F33, F37). Method: an interpreter of BPF that shares no code with the assembler runs each built
 * program over every call number with telling and random arguments, against a reading of the table
 * in plain C; and over hand-written cases that say who may do what. Loading them into processes:
 * policy_sandbox.c.
 * Pitfalls: P44, P46, P47, P48, P59, P104.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/seccomp.h"

#define PID         4242
#define ALLOWED     SECCOMP_RET_ALLOW
#define KILLED      SECCOMP_RET_KILL_PROCESS
#define REFUSED(e)  (SECCOMP_RET_ERRNO | (e))
#define BAD_PROGRAM 0xdeadbeefu
#define LAST_CALL   700
#define JUNK        0xabcdef0100000000ULL

/* Nothing but the instructions that seccomp allows; a jump out of the program is BAD_PROGRAM. */
static uint32_t interpret(const struct seccomp_program *program, const struct seccomp_data *data)
{
	uint32_t accumulator = 0;

	for (unsigned pc = 0; pc < program->length; pc++) {
		const struct sock_filter *i = &program->code[pc];

		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (i->k % 4 != 0 || i->k > sizeof(*data) - 4)
				return BAD_PROGRAM;
			memcpy(&accumulator, (const char *)data + i->k, 4);
			break;
		case BPF_ALU | BPF_AND | BPF_K: accumulator &= i->k; break;
		case BPF_JMP | BPF_JEQ | BPF_K: pc += accumulator == i->k ? i->jt : i->jf; break;
		case BPF_JMP | BPF_JGE | BPF_K: pc += accumulator >= i->k ? i->jt : i->jf; break;
		case BPF_RET | BPF_K: return i->k;
		default: return BAD_PROGRAM;
		}
	}
	return BAD_PROGRAM;
}

/* The table, read the plain way. */
static uint32_t expected(enum role role, const struct seccomp_data *data)
{
	size_t count;
	const struct seccomp_rule *rule = seccomp_rules(&count);

	for (; count > 0; count--, rule++) {
		bool matches = rule->number == (uint32_t)data->nr;

		for (unsigned i = 0; i < rule->condition_count; i++) {
			const struct seccomp_condition *c = &rule->conditions[i];

			matches = matches && (data->args[c->argument] & c->mask) ==
						 (c->own_pid ? PID : c->value);
		}
		if (matches && (rule->groups & role_row(role)->syscalls))
			return rule->action;
	}
	return KILLED;
}

static uint64_t random_state = 0x9e3779b97f4a7c15ULL;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Small numbers, flags, all ones, junk in the upper half: what argument filters stumble over. */
static uint64_t telling_argument(void)
{
	static const uint64_t telling[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 17, 262, PID, SIGABRT,
		MSG_NOSIGNAL, MSG_NOSIGNAL | MSG_DONTWAIT, MSG_FASTOPEN, UINT32_MAX, UINT64_MAX,
		JUNK, JUNK | 1, JUNK | 2, JUNK | UINT32_MAX, MAP_PRIVATE | MAP_ANONYMOUS,
		1ULL << 63 };
	uint64_t random = next_random();

	return random % 8 == 0 ? next_random() >> (random >> 8) % 64
			       : telling[(random >> 8) % (sizeof(telling) / sizeof(telling[0]))];
}

static bool has_filter_2(enum role role)
{
	return (role_row(role)->syscalls & SYSCALLS_RUN) == 0;
}

static void test_program_equals_table(void **state)
{
	struct seccomp_program program;

	(void)state;
	for (unsigned role = 0; role < ROLE_COUNT; role++) {
		if (!has_filter_2((enum role)role))
			continue;
		seccomp_build_second(&program, (enum role)role, PID);
		assert_true(program.length <= BPF_MAXINSNS);
		for (int nr = 0; nr < LAST_CALL; nr++)
			for (unsigned i = 0; i < 100; i++) {
				struct seccomp_data data = { nr, AUDIT_ARCH_X86_64, 0, { 0 } };
				uint32_t got;

				for (unsigned a = 0; a < 6; a++)
					data.args[a] = telling_argument();
				got = interpret(&program, &data);
				if (got != expected((enum role)role, &data))
					fail_msg("%s, call %d: %#x", role_name((enum role)role), nr,
					    got);
			}
	}
}

static uint32_t ask2(
    enum role role, int nr, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4)
{
	struct seccomp_data data = { nr, AUDIT_ARCH_X86_64, 0, { a0, a1, a2, a3, a4, 0 } };
	struct seccomp_program program;

	seccomp_build_second(&program, role, PID);
	return interpret(&program, &data);
}

static uint32_t ask1(enum role role, int nr)
{
	struct seccomp_data data = { nr, AUDIT_ARCH_X86_64, 0, { 0 } };
	struct seccomp_program program;

	seccomp_build_first(&program, role);
	return interpret(&program, &data);
}

static void test_other_architectures_are_killed(void **state)
{
	static const uint32_t machines[] = { AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64, 0 };
	struct seccomp_program programs[2];

	(void)state;
	for (unsigned role = 0; role < ROLE_COUNT; role++) {
		if (!has_filter_2((enum role)role))
			continue;
		seccomp_build_first(&programs[0], (enum role)role);
		seccomp_build_second(&programs[1], (enum role)role, PID);
		for (unsigned p = 0; p < 2; p++)
			for (int nr = 0; nr < LAST_CALL; nr++) {
				struct seccomp_data x32 = { nr | 0x40000000, AUDIT_ARCH_X86_64, 0,
					{ 0 } };
				struct seccomp_data negative = { -1 - nr, AUDIT_ARCH_X86_64, 0,
					{ 0 } };

				assert_int_equal(interpret(&programs[p], &x32), KILLED);
				assert_int_equal(interpret(&programs[p], &negative), KILLED);
				for (unsigned m = 0; m < 3; m++) {
					struct seccomp_data other = { nr, machines[m], 0, { 0 } };

					assert_int_equal(interpret(&programs[p], &other), KILLED);
				}
			}
	}
}

/* F17: who may do what beyond the common list, and nobody else. */
static void test_who_may_what(void **state)
{
	static const struct {
		int nr;
		uint32_t who;
	} rows[] = {
		{ SYS_accept4, ROLE_BIT(ROLE_MONITOR) },
		{ SYS_sendmsg, ROLE_DIALERS | ROLE_BIT(ROLE_MONITOR) },
		{ SYS_pread64, ROLE_BIT(ROLE_LOADER) },
		{ SYS_renameat2, ROLE_BIT(ROLE_FOLLOWER) },
		{ SYS_renameat, ROLE_BIT(ROLE_FOLLOWER) },
		{ SYS_symlinkat, ROLE_BIT(ROLE_FOLLOWER) },
		{ SYS_mkdirat, ROLE_BIT(ROLE_FOLLOWER) },
		{ SYS_openat, ROLE_BIT(ROLE_FOLLOWER) },
		{ SYS_connect, ROLE_DIALERS },
		{ SYS_write,
		    ROLE_BIT(ROLE_LOADER) | ROLE_BIT(ROLE_FOLLOWER) }, /* to descriptor 0 */
		{ SYS_bind, 0 },
		{ SYS_listen, 0 },
		{ SYS_accept, 0 },
		{ SYS_execve, 0 },
		{ SYS_execveat, 0 },
		{ SYS_clone, 0 },
		{ SYS_clone3, 0 },
		{ SYS_fork, 0 },
		{ SYS_kill, 0 },
		{ SYS_ptrace, 0 },
		{ SYS_ftruncate, 0 },
		{ SYS_fchmod, 0 },
		{ SYS_sendmmsg, 0 },
		{ SYS_recvmmsg, 0 },
		{ SYS_sendfile, 0 },
		{ SYS_openat2, 0 },
		{ SYS_dup2, 0 },
		{ SYS_io_uring_setup, 0 },
		{ SYS_seccomp, 0 },
		{ SYS_setuid, 0 },
		{ SYS_landlock_create_ruleset, 0 },
		{ SYS_memfd_create, 0 },
		{ SYS_unshare, 0 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned role = 0; role < ROLE_COUNT; role++) {
			bool may = (ROLE_BIT(role) & rows[i].who) != 0;

			if (!has_filter_2((enum role)role))
				continue;
			if ((ask2((enum role)role, rows[i].nr, 0, 0, 0, 0, 0) == ALLOWED) != may)
				fail_msg("%s, call %d", role_name((enum role)role), rows[i].nr);
		}
}

static void test_arguments_of_sockets(void **state)
{
	const enum role dialer = ROLE_SYNCER_DIALER, role = ROLE_SYNCER;
	const uint64_t flags = SOCK_CLOEXEC | SOCK_NONBLOCK;

	(void)state;
	assert_int_equal(ask2(dialer, SYS_socket, AF_INET, SOCK_STREAM | flags, 0, 0, 0), ALLOWED);
	assert_int_equal(ask2(dialer, SYS_socket, AF_INET6, SOCK_DGRAM, 17, 0, 0), ALLOWED);
	assert_int_equal(ask2(dialer, SYS_socket, AF_INET6, SOCK_STREAM, 6, 0, 0), ALLOWED);
	/* MPTCP, which Landlock does not see (F33); the wrong pairs; other families. */
	assert_int_equal(ask2(dialer, SYS_socket, AF_INET, SOCK_STREAM, 262, 0, 0), KILLED);
	assert_int_equal(ask2(dialer, SYS_socket, AF_INET, SOCK_STREAM, 17, 0, 0), KILLED);
	assert_int_equal(ask2(dialer, SYS_socket, AF_INET, SOCK_RAW, 0, 0, 0), KILLED);
	for (uint64_t family = 0; family < 64; family++)
		assert_int_equal(ask2(dialer, SYS_socket, family, SOCK_STREAM, 0, 0, 0),
		    family == AF_INET || family == AF_INET6 ? ALLOWED : KILLED);
	assert_int_equal(ask2(role, SYS_socket, AF_INET, SOCK_STREAM, 0, 0, 0), KILLED);
	assert_int_equal(ask2(role, SYS_connect, 5, 0, 0, 0, 0), REFUSED(EINPROGRESS));
	/* An address, or MSG_FASTOPEN, would be a connect (F33). */
	assert_int_equal(ask2(role, SYS_sendto, 5, 1, 1, MSG_NOSIGNAL, 0), ALLOWED);
	assert_int_equal(ask2(role, SYS_sendto, 5, 1, 1, JUNK | MSG_NOSIGNAL, 0), ALLOWED);
	assert_int_equal(ask2(role, SYS_sendto, 5, 1, 1, MSG_NOSIGNAL, 1), KILLED);
	assert_int_equal(ask2(role, SYS_sendto, 5, 1, 1, MSG_NOSIGNAL, JUNK), KILLED);
	assert_int_equal(ask2(role, SYS_sendto, 5, 1, 1, MSG_FASTOPEN, 0), KILLED);
	assert_int_equal(ask2(dialer, SYS_sendto, 5, 1, 1, 0, 1), KILLED);
	assert_int_equal(ask2(ROLE_MONITOR, SYS_sendto, 5, 1, 1, MSG_MORE, 0), ALLOWED);
	assert_int_equal(ask2(role, SYS_sendto, 5, 1, 1, MSG_MORE, 0), KILLED);
	assert_int_equal(ask2(role, SYS_getsockopt, 5, SOL_SOCKET, 0, 0, 0), ALLOWED);
	assert_int_equal(ask2(role, SYS_getsockopt, 5, IPPROTO_TCP, 0, 0, 0), KILLED);
	assert_int_equal(ask2(dialer, SYS_setsockopt, 5, SOL_SOCKET, SO_MARK, 0, 0), KILLED);
	assert_int_equal(ask2(dialer, SYS_setsockopt, 5, SOL_SOCKET, SO_KEEPALIVE, 0, 0), ALLOWED);
}

static void test_arguments_of_the_rest(void **state)
{
	const enum role role = ROLE_ELECTOR;
	const uint64_t anonymous = MAP_PRIVATE | MAP_ANONYMOUS, rw = PROT_READ | PROT_WRITE;

	(void)state;
	assert_int_equal(ask2(role, SYS_mmap, 0, 4096, rw, anonymous, UINT64_MAX), ALLOWED);
	assert_int_equal(ask2(role, SYS_mmap, 0, 4096, rw, anonymous, UINT32_MAX), ALLOWED);
	assert_int_equal(
	    ask2(role, SYS_mmap, 0, 4096, rw | PROT_EXEC, anonymous, UINT64_MAX), KILLED);
	assert_int_equal(ask2(role, SYS_mmap, 0, 4096, rw | JUNK, anonymous, UINT64_MAX), KILLED);
	assert_int_equal(ask2(role, SYS_mmap, 0, 4096, rw, MAP_SHARED, 5), KILLED);
	assert_int_equal(ask2(role, SYS_mmap, 0, 4096, rw, MAP_PRIVATE, 5), KILLED);
	assert_int_equal(
	    ask2(role, SYS_mmap, 0, 4096, rw, anonymous | MAP_FIXED, UINT64_MAX), KILLED);
	assert_int_equal(ask2(role, SYS_mprotect, 0, 4096, PROT_READ | PROT_EXEC, 0, 0), KILLED);
	/* Its own death, by SIGABRT alone (F6). */
	assert_int_equal(ask2(role, SYS_tgkill, PID, PID, SIGABRT, 0, 0), ALLOWED);
	assert_int_equal(ask2(role, SYS_tgkill, PID + 1, PID, SIGABRT, 0, 0), KILLED);
	assert_int_equal(ask2(role, SYS_tgkill, PID, PID, SIGKILL, 0, 0), KILLED);
	assert_int_equal(ask2(role, SYS_fcntl, 5, F_SETFL, O_NONBLOCK, 0, 0), ALLOWED);
	assert_int_equal(ask2(role, SYS_fcntl, 5, F_SETOWN, 1, 0, 0), KILLED);
	assert_int_equal(ask2(role, SYS_fcntl, 5, F_DUPFD_CLOEXEC, 1, 0, 0), KILLED);
	assert_int_equal(ask2(role, SYS_write, 2, 0, 1, 0, 0), ALLOWED);
	assert_int_equal(ask2(role, SYS_write, 3, 0, 1, 0, 0), KILLED);
	assert_int_equal(ask2(role, SYS_restart_syscall, 0, 0, 0, 0, 0), ALLOWED);
	assert_int_equal(ask2(role, SYS_openat, 0, 0, 0, 0, 0), REFUSED(ENOENT));
	assert_int_equal(ask2(role, SYS_socketpair, 0, 0, 0, 0, 0), REFUSED(EPERM));
}

/* F15: before a role's own filter. What its start needs stays possible. */
static void test_filter_1(void **state)
{
	static const int start[] = { SYS_execveat, SYS_openat, SYS_mmap, SYS_prctl, SYS_socketpair,
		SYS_epoll_create1, SYS_timerfd_create, SYS_landlock_create_ruleset,
		SYS_landlock_restrict_self, SYS_mlock2, SYS_setresuid, SYS_seccomp };
	static const int never[] = { SYS_ptrace, SYS_bpf, SYS_mount, SYS_unshare, SYS_setns,
		SYS_io_uring_setup, SYS_keyctl, SYS_process_vm_writev, SYS_finit_module };

	(void)state;
	for (unsigned role = 0; role < ROLE_COUNT; role++) {
		bool dialer = (ROLE_BIT(role) & ROLE_DIALERS) != 0,
		     runner = role == ROLE_RUNNER || role == ROLE_SUPERVISOR;
		uint32_t refused = runner ? REFUSED(EPERM) : KILLED;

		for (unsigned i = 0; i < sizeof(start) / sizeof(start[0]); i++)
			assert_int_equal(ask1((enum role)role, start[i]), ALLOWED);
		for (unsigned i = 0; i < sizeof(never) / sizeof(never[0]); i++)
			assert_int_equal(ask1((enum role)role, never[i]), refused);
		assert_int_equal(
		    ask1((enum role)role, SYS_socket), dialer || runner ? ALLOWED : KILLED);
		assert_int_equal(ask1((enum role)role, SYS_accept4),
		    role == ROLE_MONITOR || runner ? ALLOWED : KILLED);
		assert_int_equal(ask1((enum role)role, SYS_bind), runner ? ALLOWED : KILLED);
		assert_int_equal(ask1((enum role)role, SYS_clone), runner ? ALLOWED : KILLED);
		assert_int_equal(ask1((enum role)role, SYS_kill), runner ? ALLOWED : KILLED);
	}
}

/* A reason for each line, and no line that an earlier one makes unreachable. */
static void test_every_line_has_a_reason_and_a_use(void **state)
{
	size_t count;
	const struct seccomp_rule *rules = seccomp_rules(&count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		assert_true(strlen(rules[i].reason) > 0);
		assert_true(rules[i].groups != 0);
		for (size_t j = 0; j < i; j++)
			if (rules[j].number == rules[i].number && rules[j].condition_count == 0 &&
			    (rules[i].groups & ~rules[j].groups) == 0)
				fail_msg("%s: line %zu is never reached", rules[i].name, i + 1);
	}
}

/* F32: a sanitizer's own calls pass, libcurl's connect does not reach the kernel. */
static void test_sanitized_filters(void **state)
{
	(void)state;
	for (unsigned role = 0; role < ROLE_COUNT; role++) {
		if (!has_filter_2((enum role)role))
			continue;
		assert_int_equal(ask1((enum role)role, SYS_clone), ALLOWED);
		assert_int_equal(ask2((enum role)role, SYS_openat, 0, 0, 0, 0, 0), ALLOWED);
		assert_int_equal(ask2((enum role)role, SYS_connect, 0, 0, 0, 0, 0),
		    ROLE_BIT(role) & ROLE_DIALERS ? ALLOWED : REFUSED(EINPROGRESS));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program_equals_table),
		cmocka_unit_test(test_who_may_what),
		cmocka_unit_test(test_arguments_of_sockets),
		cmocka_unit_test(test_arguments_of_the_rest),
		cmocka_unit_test(test_filter_1),
		cmocka_unit_test(test_other_architectures_are_killed),
		cmocka_unit_test(test_every_line_has_a_reason_and_a_use),
	};
	const struct CMUnitTest sanitized[] = {
		cmocka_unit_test(test_sanitized_filters),
		cmocka_unit_test(test_other_architectures_are_killed),
		cmocka_unit_test(test_every_line_has_a_reason_and_a_use),
	};

	return SECCOMP_SANITIZED ? cmocka_run_group_tests(sanitized, NULL, NULL)
				 : cmocka_run_group_tests(tests, NULL, NULL);
}
