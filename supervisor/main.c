/*
 * understudyd: starts the processes of a hub, each in its row of the role table, checks them,
 * wires them, restarts them, stops them. main() is the story; each step is one function with one
 * way to fail. It parses nothing of the outside world: that is what loaders and roles are for.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/capability.h>

#include "base/build.h"
#include "base/clock.h"
#include "base/log.h"
#include "policy/config_pair.h"
#include "policy/sandbox.h"
#include "supervisor/admin.h"
#include "supervisor/audit.h"
#include "supervisor/canary.h"
#include "supervisor/configuration.h"
#include "supervisor/credentials.h"
#include "supervisor/handover.h"
#include "supervisor/init.h"
#include "supervisor/preconditions.h"
#include "supervisor/process.h"
#include "supervisor/reload.h"
#include "supervisor/start.h"
#include "supervisor/stop.h"
#include "supervisor/supervisor.h"
#include "supervisor/verify.h"
#include "supervisor/wire.h"

/* Woken so much later than asked, we were stopped or the machine slept. */
#define STANDSTILL_NS 2000000000LL

static int fail(const struct err *err, int code)
{
	log_error("%s", err->text);
	return code;
}

static int read_options(struct supervisor *supervisor, int argc, char **argv)
{
	struct err err;

	if (options_parse(&supervisor->options, argc, argv, &err)) {
		(void)fprintf(stderr, "understudyd: %s\n%s", err.text, options_usage);
		return EXIT_CODE_CONFIG;
	}
	if (supervisor->options.help) {
		(void)fputs(options_usage, stdout);
		exit(EXIT_CODE_OK);
	}
	if (supervisor->options.version) {
		printf("understudyd %s, build %016" PRIx64 "%016" PRIx64 "\n", build_version,
		    build_id[0], build_id[1]);
		exit(EXIT_CODE_OK);
	}
	log_open("understudyd", supervisor->options.verbose ? LOG_DEBUG
				: supervisor->options.audit ? LOG_WARN
							    : LOG_INFO);
	if (supervisor->options.json)
		log_in_json();
	return EXIT_CODE_OK;
}

static void on_signal(void *arg, uint32_t events)
{
	struct supervisor *supervisor = arg;
	int number;

	(void)events;
	while ((number = init_next_signal(supervisor->signals.fd)) != 0) {
		if (number == SIGCHLD)
			init_reap(process_on_ended, supervisor);
		else if (number == SIGTERM || number == SIGINT || number == SIGQUIT)
			stop_ask(supervisor);
		else if (number == SIGHUP)
			supervisor->reload.asked = true;
	}
}

/* Root, a clean process, a loop that hears signals. */
static int prepare(struct supervisor *supervisor)
{
	struct err err;
	const char *fault = role_table_fault();
	int fd;

	if (fault) {
		(void)err_set(&err, "the role table contradicts itself: %s", fault);
		return fail(&err, EXIT_CODE_FAILED);
	}
	if (preconditions_check_root(&err) || init_prepare(&supervisor->files, &err) ||
	    init_lock_down(&err) || events_open(&supervisor->events, &err) ||
	    (fd = init_open_signals(&err)) < 0)
		return fail(&err, EXIT_CODE_FAILED);
	if (events_add(&supervisor->events, &supervisor->signals, fd, on_signal, supervisor) != 0)
		return EXIT_CODE_FAILED;
	logs_unblock_own();
	notify_open(&supervisor->notify);
	(void)clearenv();
	supervisor->available = sandbox_available();
	supervisor->own_filters = verify_own_filters();
	if (supervisor->own_filters < 0) {
		log_error("/proc/self/status does not tell what a check of processes needs");
		return EXIT_CODE_FAILED;
	}
	return EXIT_CODE_OK;
}

static int open_programs(struct supervisor *supervisor, uint32_t roles)
{
	struct err err;

	return start_open_programs(supervisor->programs, roles, &err) ? fail(&err, EXIT_CODE_FAILED)
								      : EXIT_CODE_OK;
}

static int load_configuration(struct supervisor *supervisor)
{
	int code = open_programs(supervisor, ROLE_BIT(ROLE_LOADER));

	process_plan(supervisor, NULL);
	if (code == EXIT_CODE_OK)
		code = configuration_load(supervisor);
	if (code == EXIT_CODE_OK)
		process_plan(supervisor, supervisor->config);
	return code;
}

/* What this machine and its other tenants must allow before anything is started. */
static int check_ground(struct supervisor *supervisor)
{
	const struct us_config *config = supervisor->config;
	struct err err;
	int code;

	if (preconditions_check_protections(supervisor->available, config->allow_missing, &err) ||
	    preconditions_check_one_uid(supervisor->available, config, &err))
		return fail(&err, EXIT_CODE_FAILED);
	if (supervisor->options.check_only)
		return EXIT_CODE_OK;
	code = open_programs(supervisor, config_roles(config));
	if (code != EXIT_CODE_OK)
		return code;
	if (fence_page_open(
		&supervisor->fence, config_text_at(config, config->run_directory), &err) ||
	    preconditions_check_uids(config->uid_base, PRECONDITIONS_PATIENCE_NS, &err))
		return fail(&err, EXIT_CODE_FAILED);
	if (config->mode == CONFIG_FOLLOWER) {
		supervisor->handover = handover_open(config, &err);
		if (supervisor->handover < 0)
			return fail(&err, EXIT_CODE_FAILED);
	}
	/* C15: the lock and the empty uids prove that the last writer of the page is dead. Where
	 * that one had our own uid nothing does: its Lease has to run out. */
	if (supervisor->available & SANDBOX_UID_SEPARATION)
		supervisor->predecessor = fence_page_instance(&supervisor->fence);
	fence_page_end_validity(&supervisor->fence);
	return EXIT_CODE_OK;
}

static int open_listeners(struct supervisor *supervisor)
{
	struct err err;

	if (supervisor->options.check_only)
		return EXIT_CODE_OK;
	if (wire_open_listeners(supervisor, &err) == 0 && admin_open(supervisor, &err) == 0 &&
	    audit_open(supervisor, &err) == 0 && canary_open(supervisor, &err) == 0)
		return EXIT_CODE_OK;
	return fail(&err, EXIT_CODE_FAILED);
}

/* Before the first credential file is opened: what cannot be read with these cannot be read again
 * at a restart either, and shows now. */
static int shed_capabilities(struct supervisor *supervisor)
{
	uint64_t keep =
	    1ULL << CAP_SETUID | 1ULL << CAP_SETGID | 1ULL << CAP_SETPCAP | 1ULL << CAP_KILL;
	const char *step = start_keep_capabilities(
	    keep, (supervisor->config->allow_missing & SANDBOX_BOUNDING_SET) != 0);

	if (!step)
		return EXIT_CODE_OK;
	log_error("cannot give up capabilities: %s: %m", step);
	return EXIT_CODE_FAILED;
}

/* The runner first, then all roles in the table's order; the syncer when the elector asks. */
static int start_roles(struct supervisor *supervisor)
{
	uint32_t order[] = { ROLE_BIT(ROLE_RUNNER), ~ROLE_BIT(ROLE_RUNNER) };
	struct process *process;

	wire_plan(supervisor);
	supervisor->seen_empty = true;
	for (unsigned pass = 0; pass < 2; pass++) {
		for (unsigned i = 0; i < ROLE_COUNT + ROLE_MAX_SHARDS; i++) {
			process = &supervisor->slots[i];
			if (process->wanted && (order[pass] & ROLE_BIT(process->id.role)))
				(void)process_start(process, NULL, 0);
		}
	}
	return EXIT_CODE_OK;
}

/* Ready is when every process that should run was verified and holds what it should (P15).
 */
static void tell_ready(struct supervisor *supervisor)
{
	unsigned count = 0;

	for (unsigned i = 0; i < ROLE_COUNT + ROLE_MAX_SHARDS; i++) {
		if (supervisor->slots[i].wanted && !process_serves(&supervisor->slots[i]))
			return;
		count += supervisor->slots[i].wanted;
	}
	if (supervisor->ready)
		return;
	supervisor->ready = true;
	log_info("ready: %u processes run, each verified in its row", count);
	notify_send(&supervisor->notify, "READY=1");
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* C10: what is left of our page nobody can open any more. The next start makes a new one. */
static void watch_fence(struct supervisor *supervisor)
{
	const char *fault = supervisor->stop_asked ? NULL : fence_page_fault(&supervisor->fence);

	if (!fault)
		return;
	log_error("the fence page in run.directory %s %s while it is in use: stopping",
	    config_text_at(supervisor->config, supervisor->config->run_directory), fault);
	supervisor->stop_asked = true;
	supervisor->stop_code = EXIT_CODE_FAILED;
}

static int run(struct supervisor *supervisor)
{
	int64_t now_ns = base_clock_boot_ns(), next_ns = now_ns, stop_ns;

	for (;;) {
		now_ns = base_clock_boot_ns();
		if (now_ns - next_ns > STANDSTILL_NS)
			process_forgive(supervisor, now_ns);
		watch_fence(supervisor);
		next_ns = process_due(supervisor, now_ns);
		if (supervisor->stop_asked) {
			canary_stop(supervisor);
			if (stop_due(supervisor, now_ns, &stop_ns))
				return supervisor->stop_code;
			next_ns = least(next_ns, stop_ns);
		} else {
			reload_due(supervisor, now_ns);
			next_ns = least(next_ns, credentials_due(supervisor, now_ns));
			next_ns = least(next_ns, wire_due(supervisor, now_ns));
			next_ns = least(next_ns, wire_mend_sockets(supervisor, now_ns));
			next_ns = least(next_ns, admin_due(supervisor, now_ns));
			next_ns = least(next_ns, audit_due(supervisor, now_ns));
			next_ns = least(next_ns, canary_due(supervisor, now_ns));
			tell_ready(supervisor);
		}
		next_ns = least(next_ns, notify_watchdog(&supervisor->notify,
					     process_all_fresh(supervisor, now_ns), now_ns));
		events_turn(&supervisor->events, next_ns);
	}
}

/* What could not be loaded is a row of its own: the rows are printed in any case. */
static void print_audit(struct supervisor *supervisor)
{
	struct buf rows = buf_make(AUDIT_MAX_BYTES);

	wire_plan(supervisor);
	audit_collect(supervisor, AUDIT_OFFLINE, &rows);
	(void)fwrite(rows.data ? rows.data : "", 1, rows.len, stdout);
	buf_free(&rows);
}

/* For whoever has the other hub's file only on the phone. */
static void print_pair(const char *whose, const struct us_config *config)
{
	uint64_t hash = config_pair_hash(config);

	if (hash)
		(void)printf("pair %04x-%04x-%04x-%04x %s\n", (unsigned)(hash >> 48),
		    (unsigned)(hash >> 32 & 0xffff), (unsigned)(hash >> 16 & 0xffff),
		    (unsigned)(hash & 0xffff), whose);
}

/* Does the configuration of another machine fit? Its files are on that machine: only it is read,
 * and without the flags, which are ours. */
static int check_pair(struct supervisor *supervisor)
{
	struct buf faults = buf_make(65536);
	struct us_config *other = NULL;
	struct result *result = NULL;
	unsigned count;
	int code;

	supervisor->options.config = supervisor->options.pair;
	supervisor->options.flag_count = 0;
	code = configuration_begin(supervisor, &result);
	while (code == EXIT_CODE_OK && configuration_is_being_read(result))
		process_wait(supervisor);
	if (code == EXIT_CODE_OK)
		code = configuration_take(result, &other);
	if (code != EXIT_CODE_OK)
		return code;
	print_pair(supervisor->options.pair, other);
	count = config_pair_faults(supervisor->config, other, &faults);
	if (count)
		(void)printf("%s%u do not fit %s\n", faults.data, count, supervisor->options.pair);
	else
		(void)printf("it fits %s\n", supervisor->options.pair);
	free(other);
	buf_free(&faults);
	return count ? EXIT_CODE_CONFIG : EXIT_CODE_OK;
}

static int check_only(struct supervisor *supervisor)
{
	int code = credentials_check_all(supervisor), pair = EXIT_CODE_OK;

	if (!supervisor->options.audit)
		print_pair(supervisor->options.config, supervisor->config);
	if (supervisor->options.pair)
		pair = check_pair(supervisor);
	code = code == EXIT_CODE_OK ? pair : code;
	if (supervisor->options.audit)
		print_audit(supervisor);
	else if (code == EXIT_CODE_OK)
		(void)puts("configuration ok");
	return code;
}

int main(int argc, char **argv)
{
	static struct supervisor supervisor;
	int code;

	supervisor.handover = -1;
	for (unsigned role = 0; role < ROLE_COUNT; role++)
		supervisor.programs[role] = -1;
	supervisor.listeners[0] = supervisor.listeners[1] = supervisor.config_fd = -1;
	supervisor.admin.listener = supervisor.admin.watch.fd = -1;
	supervisor.canary = (struct canary){ .listener = -1,
		.watch = { .fd = -1 },
		.client = -1,
		.control = { .fd = -1 },
		.control_watch = { .fd = -1 },
		.log_end = -1 };
	supervisor.audit.listener = supervisor.audit.watch.fd = supervisor.audit.client.fd = -1;
	if ((code = read_options(&supervisor, argc, argv)) != EXIT_CODE_OK ||
	    (code = prepare(&supervisor)) != EXIT_CODE_OK ||
	    (code = load_configuration(&supervisor)) != EXIT_CODE_OK ||
	    (code = check_ground(&supervisor)) != EXIT_CODE_OK ||
	    (code = open_listeners(&supervisor)) != EXIT_CODE_OK ||
	    (code = shed_capabilities(&supervisor)) != EXIT_CODE_OK)
		return code;
	if (supervisor.options.check_only)
		return check_only(&supervisor);
	if ((code = credentials_check_all(&supervisor)) != EXIT_CODE_OK ||
	    (code = start_roles(&supervisor)) != EXIT_CODE_OK)
		return supervisor.stop_asked ? (int)supervisor.stop_code : code;
	return run(&supervisor);
}
