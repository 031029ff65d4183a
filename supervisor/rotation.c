/*
 * Credentials that change while they are in use (see the header). It decides when files are read
 * again; credentials.c has them read and handed over. It must not open a credential's file.
 * Pitfall: P78.
 */
#include "supervisor/rotation.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/expiry.h"
#include "base/log.h"
#include "supervisor/credentials.h"
#include "supervisor/process.h"

/* Between two looks at all files; a change is taken by the second look that finds it. */
#define LOOK_NS BASE_NS_PER_S
/* Between two loads because of 401. */
#define REFUSED_NS (10 * BASE_NS_PER_S)

/* A server that answers 401 may know a newer credential than ours: its files are read again, now
 * and not when the role ends one day (B10). Nothing new in them changes nothing. */
void rotation_on_refused(struct process *role, const struct us_ctl *ctl)
{
	struct supervisor *supervisor = role->supervisor;
	struct identity *credential;
	int64_t now_ns = base_clock_boot_ns();
	char text[128];

	if (ctl->a[0] >= CREDENTIAL_LIMIT ||
	    credentials_holder(supervisor, (unsigned)ctl->a[0]) != role) {
		process_kill(role, "it speaks of a credential that it does not hold");
		return;
	}
	credential = &supervisor->identities[ctl->a[0]];
	if (!credentials_configured(supervisor, (unsigned)ctl->a[0]) || !credential->delivered ||
	    now_ns - credential->told_ns < REFUSED_NS)
		return;
	log_warn("%s: the server does not take it (401): its files are read again",
	    credentials_describe(supervisor, (unsigned)ctl->a[0], text, sizeof(text)));
	credential->told_ns = now_ns;
	credential->due = true;
	credential->again_ns = now_ns;
}

void rotation_authorise(struct supervisor *supervisor, unsigned number, int64_t now_ns)
{
	struct identity *credential = &supervisor->identities[number];

	credential->due = true;
	credential->authorised =
	    stamps_of(supervisor->config, config_credential_of(supervisor->config, number));
	credential->again_ns = now_ns;
	/* One that is being read began before the operator's word. */
	if (!process_runs(process_loader(supervisor, number)) || credential->released)
		return;
	credential->dismissed = true;
	process_hang_up(process_loader(supervisor, number), now_ns);
}

void rotation_forget(struct supervisor *supervisor, unsigned number, int64_t now_ns)
{
	struct process *loader = process_loader(supervisor, number);

	if (process_runs(loader))
		process_hang_up(loader, now_ns);
	credentials_drop_link(&supervisor->identities[number]);
	/* Generations go on: what a loader of the one before still says is not of this one. */
	supervisor->identities[number] = (struct identity){ .role_end = -1,
		.dismissed = process_runs(loader),
		.generation = supervisor->identities[number].generation };
}

/* Told once per identity (C4). */
static void watch_expiry(struct supervisor *supervisor, unsigned number, int64_t now_us)
{
	struct identity *credential = &supervisor->identities[number];
	int64_t expires_us = credential->pinned.expires_us;
	char text[128];

	if (!credential->delivered || credential->warned ||
	    !expiry_is_soon(credential->pinned.issued_us, expires_us, now_us))
		return;
	credential->warned = true;
	log_warn("%s: expires in %lld s, and its files hold no newer one",
	    credentials_describe(supervisor, number, text, sizeof(text)),
	    (long long)((expires_us - now_us) / 1000000));
}

/* This hub's CA, which goes to the workers, is read by the publisher at its start (B9). */
static void watch_own_ca(struct supervisor *supervisor, int64_t now_ns)
{
	struct process *publisher = process_of(supervisor, (struct role_id){ ROLE_PUBLISHER, 0 });
	const struct us_config *config = supervisor->config;
	const char *path = config_text_at(config, config->hubs[config->self].ca_file);
	uint64_t stamp;
	struct err err;
	int fd;

	if (*path == '\0' || !process_serves(publisher))
		return;
	stamp = stamps_of_file(path);
	if (!stamps_changed(&supervisor->own_ca, stamp))
		return;
	supervisor->own_ca.used = stamp;
	fd = credentials_open_file(path, &err);
	if (fd < 0) {
		log_error("%s; workers are told the CA as it was", err.text);
		return;
	}
	close(fd);
	log_info("%s changed: the publisher starts anew and tells the workers", path);
	process_start_anew(publisher, now_ns);
}

static void look_at_files(struct supervisor *supervisor, int64_t now_ns)
{
	const struct us_config *config = supervisor->config;
	int64_t now_us = base_clock_wall_us();

	supervisor->looked_ns = now_ns;
	for (unsigned c = 0; c < CREDENTIAL_LIMIT; c++) {
		struct identity *credential = &supervisor->identities[c];

		if (!credentials_configured(supervisor, c) ||
		    !process_runs(credentials_holder(supervisor, c)))
			continue;
		if (stamps_changed(
			&credential->files, stamps_of(config, config_credential_of(config, c)))) {
			credential->due = true;
			credential->again_ns = now_ns;
		}
		watch_expiry(supervisor, c, now_us);
	}
	watch_own_ca(supervisor, now_ns);
}

int64_t rotation_due(struct supervisor *supervisor, int64_t now_ns)
{
	if (now_ns - supervisor->looked_ns >= LOOK_NS)
		look_at_files(supervisor, now_ns);
	return supervisor->looked_ns + LOOK_NS;
}
