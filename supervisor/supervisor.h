/*
 * The context of understudyd, and the map of its files:
 *   main.c          the story: the steps of a start, the run, the stop
 *   options.c       command line              preconditions.c  what a start is refused for
 *   init.c          process 1 duties          events.c         the loop
 *   configuration.c the checked configuration reload.c         another one while it runs
 *   changes.c       which of them are what, pure
 *   credentials.c   loaders, pinned identities rotation.c      when they are read again
 *   stamps.c        files seen from outside
 *   start.c         fork, descriptors, exec   verify.c         /proc against the row
 *   process.c       one process from start to end              children.c  restart policy, pure
 *   control.c       control links             requests.c       what a process may ask for
 *   wire.c          links and listeners       fence.c          the page
 *   admin.c         admin.sock to elector     handover.c       the follower's directory
 *   audit*.c        rows for audit.sock
 *   canary.c        what roles cannot do, tried
 *   workload.c      elector <-> runner        logs.c, notify.c lines; service manager
 *   stop.c          the ordered end
 * One thread; everything is owned by struct supervisor, which lives as long as the process.
 */
#ifndef SUPERVISOR_SUPERVISOR_H
#define SUPERVISOR_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "policy/canary.h"
#include "policy/config.h"
#include "policy/control.h"
#include "policy/roles.h"
#include "supervisor/children.h"
#include "supervisor/control.h"
#include "supervisor/events.h"
#include "supervisor/fence.h"
#include "supervisor/logs.h"
#include "supervisor/notify.h"
#include "supervisor/options.h"
#include "supervisor/stamps.h"

/* Of understudyd (decision 25); an elector whose identity is somebody else's leaves with the last.
 */
enum exit_code {
	EXIT_CODE_OK = 0,
	EXIT_CODE_FAILED = 1,
	EXIT_CODE_CONFIG = 2,
	EXIT_CODE_IDENTITY = 78
};

enum process_state {
	PROCESS_NONE,    /* not running, not due */
	PROCESS_WAITING, /* to be started at again_ns */
	PROCESS_STARTED, /* runs; has not said HELLO */
	PROCESS_GREETED, /* of our build; not yet READY */
	PROCESS_RUNNING, /* locked down and verified: may have links and credentials */
	PROCESS_LEAVING  /* told to leave, or hung up, or killed; dead at kill_ns */
};

/* A slot for one process of one role (and shard; loaders: one per credential). */
struct process {
	struct supervisor *supervisor;
	struct role_id id;
	unsigned credential; /* loaders; CREDENTIAL_LIMIT: it reads the configuration */
	enum process_state state;
	bool wanted; /* restarted when it ends */
	bool anew;   /* told to leave so that it starts anew: no failure, no delay */
	bool killed; /* SIGKILL sent by us; its cause is logged already */
	bool reaped; /* ended, its last words not read yet: pid may be somebody else's by now */
	pid_t pid;   /* 0: none */
	int status;  /* of waitpid, of the last one that ended */
	unsigned in_force; /* SANDBOX_* by its word of READY, for the audit */
	char name[48];
	struct control control;
	struct watch control_watch, log_watch;
	struct logs *logs; /* while it runs */
	int64_t started_ns, beat_ns, kill_ns, again_ns;
	struct children_backoff backoff;
	struct children_accuser accuser;
};

/* One allowed pair of processes. */
struct wire {
	struct process *ends[2];
	uint64_t generation;
	bool up;
	bool cut; /* the generation is over, and the processes that it linked still live */
	int64_t since_ns, again_ns;
	struct children_backoff backoff;
};

/* What is known of one identity: never a secret. */
struct identity {
	bool pinned_once;
	bool loaded;       /* a loader holds what it read, for the holder */
	bool delivered;    /* the holder has a generation of it */
	bool due;          /* to be read again although the holder has one */
	bool dismissed;    /* its loader was ended by us: nobody needs what it read */
	bool released;     /* the loader was told to hand it over */
	bool refused;      /* what the loader read is another identity */
	bool may_move;     /* the load that runs may */
	bool expects_more; /* CONTROL_LOADED came, the struct behind it not yet */
	bool warned;       /* that it expires soon */
	/* Host, port and subject of the first load are fixed from then on (F7). */
	struct us_loaded pinned;
	uint64_t generation;
	int role_end; /* one-shot link: the holder's end, until it is handed over; -1 */
	int64_t again_ns;
	int64_t told_ns; /* of the last 401 that was acted on */
	struct stamps_look files;
	uint64_t authorised; /* their stamp when an operator reloaded: what lies there may be
				another identity (F7); 0: nothing */
	struct children_backoff backoff;
	unsigned nacks; /* generations in a row that the holder did not take */
};

struct result; /* of the loader that reads a configuration (configuration.c) */

/* A configuration that is being read while the one before is in force (reload.c). */
struct reload {
	bool asked;            /* SIGHUP came */
	struct result *result; /* what the loader writes; NULL: none runs */
	uint64_t count;        /* finished ones */
	bool done;             /* how the last one ended, for the monitor */
	char text[512];
};

/* The sockets in run.directory. */
enum run_socket { SOCKET_STATUS, SOCKET_ADMIN, SOCKET_AUDIT, SOCKET_CANARY, SOCKET_COUNT };

/* Which file its name stands for, so that one that was removed is noticed. */
struct socket_file {
	dev_t device;
	ino_t inode; /* 0: never bound */
	bool lost;   /* told, and not mended yet */
};

/* admin.sock, and the tokens of its rate. */
struct admin {
	int listener; /* -1: there is none */
	struct watch watch;
	unsigned spent;
	int64_t earned_ns;
};

/* audit.sock, and the one reader that is served. */
struct audit {
	int listener;        /* -1: there is none */
	struct watch watch;  /* of the listener */
	struct watch client; /* who is written to; fd -1: nobody */
	struct buf rows;     /* what it gets */
	size_t sent;
	int64_t until_ns; /* it reads until then, or never mind */
	int64_t again_ns; /* nobody is served before */
};

/* What became of the probes in one role's row. */
struct canary_answers {
	bool entered;      /* one of its canaries was checked in /proc and told to go on */
	unsigned in_force; /* SANDBOX_* of it */
	char fault[256];   /* why its canaries ended early; "" */
	bool deviates;     /* that is because one was not what its row says */
	/* Of waitpid, or of the answer: 0 it worked, an errno, CANARY_UNANSWERED; with CANARY_DIED
	 * the number of the signal that ended the canary. */
	uint16_t outcomes[CANARY_MAX];
};
#define CANARY_DIED 0x100

/* canary.sock, who asked, and the canary that lives now. */
struct canary {
	int listener; /* -1: there is none */
	struct watch watch;
	int client;           /* who waits for the answer; -1: nobody, and nothing runs */
	enum role role;       /* whose row is tried, by which probe */
	unsigned probe;       /* CANARY_MAX: by none that kills */
	pid_t pid;            /* 0: none lives */
	bool released, ended; /* this one was told to go on; all are done */
	struct control control;
	struct watch control_watch;
	int log_end;
	int64_t one_until_ns, all_until_ns, again_ns;
	struct canary_answers answers[ROLE_COUNT];
};

#define SUPERVISOR_SLOTS (ROLE_COUNT + ROLE_MAX_SHARDS + CREDENTIAL_LIMIT)

struct supervisor {
	struct options options;
	struct events events;
	struct watch signals;
	struct notify notify;
	rlim_t files;       /* soft limit that we were started with */
	int own_filters;    /* seccomp filters on ourselves */
	unsigned available; /* SANDBOX_* of this machine */
	int programs[ROLE_COUNT];

	struct us_config *config; /* NULL until it is loaded and checked */
	int config_fd;            /* sealed memfd */
	struct fence_page fence;
	int listeners[2]; /* by enum control_listener */
	struct socket_file sockets[SOCKET_COUNT];
	int64_t sockets_ns; /* when their files were looked at */
	int handover;       /* the follower's directory; -1: none */
	struct admin admin;
	struct audit audit;
	struct canary canary;

	struct process slots[SUPERVISOR_SLOTS];
	struct identity identities[CREDENTIAL_LIMIT];
	struct stamps_look own_ca; /* of this hub, which the publisher reads at its start */
	int64_t looked_ns;         /* at all files of identities */
	struct reload reload;
	struct wire *wires;
	unsigned wire_count;

	uint64_t accusations[ROLE_COUNT][2]; /* of its processes; [1]: that killed one (F4) */

	bool syncer_asked; /* STOP_SYNCER waits for its answer */
	bool syncer_clean; /* how the last syncer ended, and when */
	int64_t syncer_ended_ns;
	bool run_wanted; /* the elector's last word to the runner */
	uint64_t run_term, run_valid_until_ns;
	uint64_t run_seq;              /* of the START that this runner got last, 0: none */
	bool seen_running, seen_empty; /* the runner's last word to the elector */
	bool ending_uid;               /* the runner died: we end the workload's uid ourselves */
	int64_t ending_at_ns;
	uint64_t predecessor; /* instance of the last elector, dead; 0: none */

	bool ready; /* READY=1 was told */
	bool stop_asked;
	bool stop_hurried;        /* and asked again: no stage waits for long */
	enum exit_code stop_code; /* what understudyd ends with when the stop is done */
	unsigned stop_stage;      /* enum of stop.c */
	int64_t stop_until_ns;
};

#endif
