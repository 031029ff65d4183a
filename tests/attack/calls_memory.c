/*
 * What a hostile role tries with memory (see calls.h): code that nobody checked, memory that is
 * shared or has no name, more of it than its row allows.
 * Pitfalls: P57, P98.
 */
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include "tests/attack/calls.h"

#define PAGE   4096
#define MUCH   (1UL << 30) /* more than any row's data_mib */
#define GETKEY 0

static int map(size_t size, int protection, int flags, int fd)
{
	return mmap(NULL, size, protection, flags, fd, 0) == MAP_FAILED ? errno : 0;
}

#define MAP(name, size, protection, flags, fd)                                                     \
	static int name(const struct scene *scene)                                                 \
	{                                                                                          \
		(void)scene;                                                                       \
		return map(size, protection, flags, fd);                                           \
	}

MAP(executable, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1)
MAP(executable_file, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, FD_PROGRAM)
MAP(private_file, PAGE, PROT_READ, MAP_PRIVATE, FD_PROGRAM)
MAP(shared, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1)
MAP(stack, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1)
MAP(locked, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1)
MAP(populated, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1)
MAP(much, MUCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1)

static void *page(void)
{
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* Not errno of mmap: a page to work on is no attempt. */
	if (at == MAP_FAILED)
		_exit(0);
	return at;
}

TRY(executable_later, mprotect(page(), PAGE, PROT_READ | PROT_EXEC))
TRY(key_later, syscall(SYS_pkey_mprotect, page(), PAGE, PROT_READ, -1))
TRY(move_fixed, syscall(SYS_mremap, page(), PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, page()))
TRY(dump, madvise(page(), PAGE, MADV_DODUMP))
TRY(merge, madvise(page(), PAGE, MADV_NOHUGEPAGE))
TRY(lock_page, mlock(page(), PAGE))
TRY(lock_all, mlockall(MCL_CURRENT))
TRY(resident, mincore(page(), PAGE, (unsigned char[1]){ 0 }))
TRY(nameless_file, memfd_create("x", MFD_CLOEXEC))
TRY(secret_file, syscall(SYS_memfd_secret, O_CLOEXEC))
TRY(queue_file, mq_open("/attack", O_RDONLY | O_CLOEXEC) < 0 && errno != ENOENT ? -1 : 0)
TRY(fault_handler, syscall(SYS_userfaultfd, O_CLOEXEC))
TRY(barrier, syscall(SYS_membarrier, 0, 0, 0))
TRY(key, syscall(SYS_keyctl, GETKEY, -3, 0))
TRY(new_key, syscall(SYS_add_key, "user", "attack", "x", 1, -1))

/* System V's outlive their maker. */
#define REMOVE(name, make, remove)                                                                 \
	static int name(const struct scene *scene)                                                 \
	{                                                                                          \
		int id = (make);                                                                   \
                                                                                                   \
		(void)scene;                                                                       \
		return id < 0 ? errno : attempt_outcome(remove);                                   \
	}

REMOVE(shared_segment, shmget(IPC_PRIVATE, PAGE, 0600), shmctl(id, IPC_RMID, NULL))
REMOVE(message_queue, msgget(IPC_PRIVATE, 0600), msgctl(id, IPC_RMID, NULL))
REMOVE(semaphores, semget(IPC_PRIVATE, 1, 0600), semctl(id, 0, IPC_RMID))

static const struct attempt table[] = {
	{ "maps executable memory", executable, RUNNER, SECCOMP, false },
	{ "makes memory executable", executable_later, RUNNER, SECCOMP, false },
	{ "maps an executable file", executable_file, RUNNER, SECCOMP, false },
	{ "maps a handed file", private_file, RUNNER, SECCOMP, false },
	{ "maps shared memory", shared, RUNNER, SECCOMP, false },
	{ "maps a growing stack", stack, RUNNER, SECCOMP, false },
	{ "maps locked memory", locked, RUNNER, SECCOMP, false },
	{ "maps memory that is there at once", populated, RUNNER, SECCOMP, false },
	{ "takes more memory than its row has", much, RUNNER, USER, false },
	{ "protects memory by a key", key_later, RUNNER, SECCOMP, true },
	{ "moves memory to a chosen place", move_fixed, RUNNER, SECCOMP, false },
	{ "puts memory into core files", dump, RUNNER, SECCOMP, false },
	{ "gives advice that is not listed", merge, RUNNER, SECCOMP, true },
	{ "locks a page", lock_page, RUNNER, SECCOMP, false },
	{ "locks all its memory", lock_all, RUNNER, SECCOMP, true },
	{ "asks what is in memory", resident, RUNNER, SECCOMP, false },
	{ "makes a nameless file", nameless_file, RUNNER, SECCOMP, false },
	{ "makes a secret file", secret_file, RUNNER, SECCOMP, true },
	{ "opens a message queue", queue_file, RUNNER, SECCOMP, true },
	{ "makes a shared segment", shared_segment, RUNNER, SECCOMP, true },
	{ "makes a message queue", message_queue, RUNNER, SECCOMP, true },
	{ "makes semaphores", semaphores, RUNNER, SECCOMP, true },
	{ "handles page faults", fault_handler, 0, SECCOMP, true },
	{ "orders the memory of others", barrier, RUNNER, SECCOMP, true },
	{ "looks for a key of the kernel's", key, 0, SECCOMP, true },
	{ "gives the kernel a key", new_key, 0, SECCOMP, true },
};
LIST(memory_attempts, table);
