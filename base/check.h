/*
 * CHECK is for our own bugs: it says where and aborts, and the supervisor restarts the role.
 * Never for input: what a file, a peer or a server sent is judged by code that returns an error.
 */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			base_check_failed(__FILE__, __LINE__, #condition);                         \
	} while (0)

/* Writes one line to descriptor 2 without allocating and aborts (SIGABRT, never SIGSYS: F6). */
__attribute__((noreturn)) void base_check_failed(const char *file, int line, const char *condition);

#endif
