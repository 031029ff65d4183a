/*
 * Carries a reload out (see the header); changes.c says what differs. It must not wait for
 * anything: everybody else goes on meanwhile. Called by the loop.
 */
#include "supervisor/reload.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "supervisor/changes.h"
#include "supervisor/configuration.h"
#include "supervisor/credentials.h"
#include "supervisor/process.h"
#include "supervisor/rotation.h"
#include "supervisor/start.h"
#include "supervisor/wire.h"

/* Those that get the new configuration while they run: one leads, the other shows. */
static const enum role told[] = { ROLE_ELECTOR, ROLE_MONITOR };

static struct process *single(struct supervisor *supervisor, enum role role)
{
	return process_of(supervisor, (struct role_id){ (uint8_t)role, 0 });
}

void reload_tell_monitor(struct supervisor *supervisor)
{
	const struct reload *reload = &supervisor->reload;
	struct us_ctl ctl = { .type = CONTROL_RELOADED, .a = { reload->count, reload->done } };

	if (reload->count)
		process_send(single(supervisor, ROLE_MONITOR), &ctl, reload->text,
		    strlen(reload->text) + 1, -1);
}

static void end(struct supervisor *supervisor, bool done)
{
	struct reload *reload = &supervisor->reload;

	reload->count++;
	reload->done = done;
	log_write(done ? LOG_INFO : LOG_ERROR, "%s", reload->text);
	reload_tell_monitor(supervisor);
	if (supervisor->ready)
		notify_reloaded(&supervisor->notify, reload->text);
}

static void say(struct supervisor *supervisor, const char *what, const char *which)
{
	(void)snprintf(
	    supervisor->reload.text, sizeof(supervisor->reload.text), "%s%.420s", what, which);
}

/* A description of its own for each reader: the offset belongs to it. */
static void tell_config(struct supervisor *supervisor, struct process *process)
{
	struct us_ctl ctl = { .type = CONTROL_CONFIG };
	char path[64];
	int fd;

	if (!process->supervisor || !process_serves(process))
		return; /* it maps what is in force when it starts */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", supervisor->config_fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		process_kill(process, "the new configuration cannot be opened for it: %m");
		return;
	}
	process_send(process, &ctl, NULL, 0, fd);
	close(fd);
}

static void start_anew(struct supervisor *supervisor, const struct changes *changes, int64_t now_ns)
{
	for (unsigned slot = 0; slot < ROLE_COUNT + ROLE_MAX_SHARDS; slot++) {
		struct process *process = &supervisor->slots[slot];

		if (!process->supervisor || slot == ROLE_LOADER)
			continue;
		if ((changes->anew & ROLE_BIT(process->id.role)) ||
		    (process->id.role == ROLE_REPOINTER &&
			(changes->shards & 1u << process->id.shard)))
			process_start_anew(process, now_ns);
	}
}

/* The number of a worker that is gone is nobody's, that of another one must be learned anew. */
static void forget_workers(
    struct supervisor *supervisor, const struct us_config *next, int64_t now_ns)
{
	for (unsigned i = 0; i < CONFIG_MAX_WORKERS; i++)
		if (changes_worker(supervisor->config, next, i))
			rotation_forget(supervisor, CREDENTIAL_WORKER + i, now_ns);
}

static void put_in_force(
    struct supervisor *supervisor, struct us_config *next, int fd, const struct changes *changes)
{
	int64_t now_ns = base_clock_boot_ns();
	bool targets_go = changes->removed > 0;

	forget_workers(supervisor, next, now_ns);
	free(supervisor->config);
	close(supervisor->config_fd);
	supervisor->config = next;
	supervisor->config_fd = fd;
	process_plan_again(supervisor, next, now_ns);
	start_anew(supervisor, changes, now_ns);
	if (targets_go && single(supervisor, ROLE_REPOINTER_DIALER)->supervisor)
		process_start_anew(single(supervisor, ROLE_REPOINTER_DIALER), now_ns);
	wire_plan(supervisor);
	for (unsigned i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		tell_config(supervisor, single(supervisor, told[i]));
	for (unsigned c = 0; c < CREDENTIAL_LIMIT; c++)
		if (credentials_configured(supervisor, c))
			rotation_authorise(supervisor, c, now_ns);
}

static void apply(struct supervisor *supervisor, struct us_config *next)
{
	struct changes changes;
	char text[400];
	struct err err;
	int fd = -1;

	changes_place_workers(supervisor->config, next);
	changes_between(supervisor->config, next, &changes);
	changes_describe(&changes, text, sizeof(text));
	if (changes.frozen_count) {
		say(supervisor, "not reloaded, nothing is changed: this takes a restart: ", text);
	} else if (config_check(next, &err) || (fd = configuration_seal(next, &err)) < 0 ||
		   start_open_programs(supervisor->programs, config_roles(next), &err)) {
		say(supervisor, "not reloaded, nothing is changed: ", err.text);
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	if (fd < 0) {
		free(next);
		end(supervisor, false);
		return;
	}
	put_in_force(supervisor, next, fd, &changes);
	say(supervisor, "reloaded; changed: ", text);
	end(supervisor, true);
}

void reload_due(struct supervisor *supervisor, int64_t now_ns)
{
	static const char refused[] = "not reloaded, nothing is changed: the file is not valid; "
				      "where, understudyd's log says "
				      "and `understudyctl check-config`";
	struct reload *reload = &supervisor->reload;
	struct us_config *next = NULL;
	struct result *result;
	int code;

	(void)now_ns;
	if (reload->asked && !reload->result) {
		reload->asked = false;
		log_info("%s is read again", supervisor->options.config);
		notify_send(&supervisor->notify, "RELOADING=1\nMONOTONIC_USEC=%lld",
		    (long long)base_clock_monotonic_us());
		if (configuration_begin(supervisor, &reload->result) != EXIT_CODE_OK) {
			say(supervisor, refused, "");
			end(supervisor, false);
		}
	}
	if (!reload->result || configuration_is_being_read(reload->result))
		return;
	result = reload->result;
	reload->result = NULL;
	code = configuration_take(result, &next);
	if (code == EXIT_CODE_OK) {
		apply(supervisor, next);
		return;
	}
	say(supervisor, refused, "");
	end(supervisor, false);
}
