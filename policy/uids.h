/*
 * Who runs under a uid, and how all of them are ended. The workload is held by its uid, because
 * process groups and parents do not hold it (F5); a start is refused while a stranger runs under
 * one of our uids (F24). Used by runner and supervisor: the runner ends the workload, and when the
 * runner itself died the supervisor does.
 */
#ifndef POLICY_UIDS_H
#define POLICY_UIDS_H

#include <stdbool.h>
#include <sys/types.h>

struct uids_found {
	pid_t pid; /* 0: none */
	uid_t uid;
	char name[32];
};

/* Returns false when it has seen enough. */
typedef bool uids_visit(void *arg, const struct uids_found *found);
/* Each living process (a zombie is none) one of whose four uids lies in first..last. 0, or -1 with
 * errno when /proc, or one process in it, cannot be read: then nobody may conclude that there is
 * no other. */
int uids_each(uid_t first, uid_t last, uids_visit *visit, void *arg);
/* A living process (a zombie is none) one of whose four uids lies in first..last. 0, or -1 with
 * errno when /proc, or one process in it, cannot be read: then nobody may conclude that there is
 * none. */
int uids_find(uid_t first, uid_t last, struct uids_found *found);
/*
 * Sends the signal to every process of the uid. A child does it that has `uid` as effective uid
 * and `helper` as its others: helper must be nobody's, so that no process of the uid can stop or
 * kill the child, and no other process than theirs is reached. Waits for that child (it does two
 * system calls). 0, or -1 with errno. One round does not prove that the uid is empty: uids_find.
 */
int uids_signal(uid_t uid, uid_t helper, int signal);

#endif
