/*
 * One process from start to end: started in its row, greeted, verified (F15), then wired and given
 * its credentials; killed when it breaks the control protocol or does not beat; reaped, and
 * started again as its row says.
 */
#ifndef SUPERVISOR_PROCESS_H
#define SUPERVISOR_PROCESS_H

#include "supervisor/supervisor.h"

/* No HELLO and READY, or no BEAT, for so long: killed. */
#define PROCESS_SILENCE_NS 10000000000LL
/* What a process that hung up its control link still has. */
#define PROCESS_LINGER_NS 2000000000LL

/* Exit code of a loader whose input is wrong. */
#define PROCESS_LOADER_REFUSES 2

/* The slot of a role's process; of the loader of a credential. */
struct process *process_of(struct supervisor *supervisor, struct role_id id);
struct process *process_loader(struct supervisor *supervisor, unsigned credential);
/* Fills the slots of the roles of a configuration (NULL: the loader of it only). */
void process_plan(struct supervisor *supervisor, const struct us_config *config);
/* Starts the slot's process. Extra descriptors by number (-1: none), from ROLE_FD_FENCE on, for
 * loaders; NULL for roles. Failure: logged, and tried again after the back-off; false. */
bool process_start(struct process *process, const int *extra, unsigned extra_count);
/* To the process, if it runs. One that does not read is killed. */
void process_send(
    struct process *process, const struct us_ctl *ctl, const void *more, size_t more_bytes, int fd);
void process_tell(struct process *process, enum control_type type, uint64_t a0, uint64_t a1);
/* Asks it to leave; killed at deadline_ns. Not started again. */
void process_stop(struct process *process, int64_t deadline_ns);
/* Asks one that runs to leave, so that it starts anew at once: its part of the configuration is
 * another one. */
void process_start_anew(struct process *process, int64_t now_ns);
/* Plans the slots that this configuration wants and nobody has planned, and starts them; ends those
 * that it does not want any more. */
void process_plan_again(
    struct supervisor *supervisor, const struct us_config *config, int64_t now_ns);
/* Closes its control link, which every process takes for the end; killed if it stays. */
void process_hang_up(struct process *process, int64_t now_ns);
/* With the reason, for the log. One that has ended already only counts as killed. */
void process_kill(struct process *process, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static inline bool process_runs(const struct process *process)
{
	return process->pid != 0;
}
/* Verified, and not told to leave. */
static inline bool process_serves(const struct process *process)
{
	return process->state == PROCESS_RUNNING && !process->killed;
}
/* Called by the loop's reaper: the pid of any child, known or an orphan. */
void process_on_ended(void *supervisor, pid_t pid, int status);
/* Nobody was due to be killed so long ago that it cannot be killed: what is stuck in the kernel is
 * a matter for the service manager. */
bool process_all_fresh(const struct supervisor *supervisor, int64_t now_ns);
/* Starts, kills and beats that are due. Returns when the next one is. */
int64_t process_due(struct supervisor *supervisor, int64_t now_ns);
/* One turn of the loop for a step that waits for processes it started. */
void process_wait(struct supervisor *supervisor);
/* The supervisor itself did not run for a while (stopped, suspended): nobody's silence counts. */
void process_forgive(struct supervisor *supervisor, int64_t now_ns);

#endif
