/*
 * Credential files and their loaders (see the header). One loader per identity reads its files,
 * says where the identity belongs, and waits; when the role that holds it is verified, both get
 * their word and the bytes go from one to the other. Files that change are read again, and are the
 * next generation of the same identity or refused. Never reads a file that it opens.
 */
#include "supervisor/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "supervisor/process.h"
#include "supervisor/rotation.h"
#include "supervisor/start.h"

#define MAX_FILES 4
/* Loaders that read at one time while all are checked. */
#define CHECKED_AT_ONCE 16
/* What a loader has for its last message after its release. */
#define RELEASE_NS 5000000000LL
/* Between two offers of what a holder does not take: a second, doubled so often. */
#define NACK_DOUBLINGS 6

/* --- Files ---------------------------------------------------------------------------------- */

int credentials_open_file(const char *path, struct err *err)
{
	/* No O_NOFOLLOW: mounted Secrets are symbolic links (P75, P76). */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	/* Behind somebody else's mode even root gets EACCES here: the owner is what is wrong. */
	if (fd < 0 && (errno != EACCES || stat(path, &st) != 0 || st.st_uid == 0))
		(void)err_set(
		    err, "%s: %s; expected a file that root can read", path, strerror(errno));
	else if (fd >= 0 && fstat(fd, &st) != 0)
		(void)err_set(err, "%s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		(void)err_set(err, "%s: is no regular file; expected one", path);
	else if (st.st_uid != 0 || (st.st_mode & 022) != 0)
		(void)err_set(err,
		    "%s: has owner %u and mode %03o, expected root's and writable by root alone",
		    path, st.st_uid, st.st_mode & 0777);
	else if (st.st_size > CREDENTIALS_FILE_BYTES)
		(void)err_set(err, "%s: has %lld bytes, expected at most %d", path,
		    (long long)st.st_size, CREDENTIALS_FILE_BYTES);
	else if (st.st_size == 0)
		(void)err_set(err, "%s: is empty; expected its content", path);
	else
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int credentials_check_readers(
    const char *path, uint32_t gid, uint32_t mode, uint32_t uid_base, struct err *err)
{
	/* Whoever the file's group is: a role must not read another's identity past Landlock. */
	if ((mode & 040) && gid >= uid_base && gid - uid_base < ROLE_UID_RANGE)
		return err_set(err,
		    "%s: gid %u, which is a process of understudy's, may read it; expected root "
		    "alone",
		    path, gid);
	if (mode & 04)
		log_warn("%s: has mode %03o and everybody may read it; expected 0400", path,
		    mode & 0777);
	return 0;
}

/* One that holds a secret. */
static int open_secret(const struct supervisor *supervisor, const char *path, struct err *err)
{
	int fd = credentials_open_file(path, err);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && credentials_check_readers(path, st.st_gid, st.st_mode,
				       supervisor->config->uid_base, err) == 0)
		return fd;
	close(fd);
	return -1;
}

const char *credentials_describe(
    const struct supervisor *supervisor, unsigned number, char *text, size_t size)
{
	const struct us_config *config = supervisor->config;

	(void)snprintf(text, size, "credential %s%s%s", credential_name(number),
	    number < CREDENTIAL_WORKER ? "" : " ",
	    number < CREDENTIAL_WORKER
		? ""
		: config_text_at(config, config->workers[number - CREDENTIAL_WORKER].name));
	return text;
}

struct process *credentials_holder(struct supervisor *supervisor, unsigned number)
{
	return process_of(supervisor, role_holding(number, supervisor->config->shard_size));
}

bool credentials_configured(const struct supervisor *supervisor, unsigned number)
{
	return config_credential_of(supervisor->config, number) != NULL;
}

/* --- Loaders --------------------------------------------------------------------------------- */

/* In the order that the loader expects: kubeconfig | ca, token, certificate, key. */
static int open_files(
    const struct supervisor *supervisor, unsigned number, int *fds, struct err *err)
{
	const struct config_credential *source = config_credential_of(supervisor->config, number);
	const config_text texts[] = { source->kubeconfig, source->ca_file, source->token_file,
		source->certificate_file, source->key_file };
	const bool secret[] = { true, false, true, false, true };
	const char *path;
	int count = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && count < MAX_FILES; i++) {
		if (texts[i] == 0)
			continue;
		path = config_text_at(supervisor->config, texts[i]);
		fds[count] = secret[i] ? open_secret(supervisor, path, err)
				       : credentials_open_file(path, err);
		if (fds[count] < 0) {
			while (count > 0)
				close(fds[--count]);
			return -1;
		}
		count++;
	}
	return count;
}

void credentials_drop_link(struct identity *credential)
{
	if (credential->role_end >= 0)
		close(credential->role_end);
	credential->role_end = -1;
}

/* A load failed, and why was logged. Who has nothing is served as soon as it can be; who has a
 * good one keeps it: until its files change when they were wrong, else it was our machine. */
static void stay_or_try_again(
    struct supervisor *supervisor, unsigned number, bool files_are_wrong, int64_t lived_ns)
{
	struct identity *credential = &supervisor->identities[number];
	char text[128];

	credential->again_ns =
	    base_clock_boot_ns() + children_link_delay(&credential->backoff, lived_ns);
	if (!credential->delivered)
		return;
	credential->due = !files_are_wrong;
	log_warn("%s: generation %llu stays in use",
	    credentials_describe(supervisor, number, text, sizeof(text)),
	    (unsigned long long)credential->generation);
}

/* False: cause logged, and due again after a while. */
static bool start_loader(struct supervisor *supervisor, unsigned number)
{
	struct identity *credential = &supervisor->identities[number];
	int extra[1 + MAX_FILES], pair[2], count;
	char text[128];
	struct err err;
	bool started = false;

	credentials_drop_link(credential);
	credential->loaded = credential->expects_more = credential->released = false;
	credential->due = credential->refused = credential->dismissed = false;
	/* Before they are opened: what is written meanwhile differs at the next look. */
	credential->files.used =
	    stamps_of(supervisor->config, config_credential_of(supervisor->config, number));
	credential->may_move = credential->authorised == credential->files.used;
	credential->authorised = 0;
	count = open_files(supervisor, number, extra + 1, &err);
	if (count < 0) {
		log_error("%s: %s", credentials_describe(supervisor, number, text, sizeof(text)),
		    err.text);
	} else if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		log_error("%s: %s", credentials_describe(supervisor, number, text, sizeof(text)),
		    strerror(errno));
	} else {
		extra[0] = pair[0];
		credential->role_end = pair[1];
		started =
		    process_start(process_loader(supervisor, number), extra, (unsigned)count + 1);
		close(pair[0]);
	}
	for (int i = 1; i <= count; i++)
		close(extra[i]);
	if (!started)
		stay_or_try_again(supervisor, number, count < 0, 0);
	return started;
}

int credentials_check_loaded(const struct us_loaded *loaded, struct err *err)
{
	size_t host = strnlen(loaded->host, sizeof(loaded->host));
	size_t subject = strnlen(loaded->subject, sizeof(loaded->subject));

	if (loaded->magic != CONTROL_MAGIC)
		return err_set(err, "magic %#x", loaded->magic);
	if (loaded->port == 0 || loaded->port > 65535)
		return err_set(err, "port %u", loaded->port);
	if (host == 0 || host == sizeof(loaded->host) || subject == sizeof(loaded->subject))
		return err_set(err, "a text that is empty or does not end");
	for (size_t i = 0; i < host; i++)
		if (loaded->host[i] <= 0x20 || loaded->host[i] >= 0x7f)
			return err_set(err, "a host with byte %#x", (unsigned char)loaded->host[i]);
	for (size_t i = 0; i < subject; i++)
		if ((unsigned char)loaded->subject[i] < 0x20 || loaded->subject[i] == 0x7f)
			return err_set(err, "a subject with a control byte");
	return 0;
}

int credentials_check_pin(
    const struct us_loaded *pinned, const struct us_loaded *loaded, struct err *err)
{
	if (strcmp(pinned->host, loaded->host) != 0 || pinned->port != loaded->port)
		return err_set(err, "now names %s:%u, expected %s:%u as at the start", loaded->host,
		    loaded->port, pinned->host, pinned->port);
	if (strcmp(pinned->subject, loaded->subject) != 0)
		return err_set(err, "now is \"%s\", expected \"%s\" as at the start",
		    loaded->subject, pinned->subject);
	return 0;
}

/* --- From loader to role --------------------------------------------------------------------- */

static void deliver(struct supervisor *supervisor, unsigned number)
{
	struct identity *credential = &supervisor->identities[number];
	struct process *loader = process_loader(supervisor, number);
	struct process *holder = credentials_holder(supervisor, number);
	struct us_ctl ctl = { .type = CONTROL_CRED };

	if (!credential->loaded || !process_serves(loader) || !process_serves(holder))
		return;
	credential->generation++;
	ctl.a[0] = number;
	ctl.a[1] = credential->generation;
	process_send(holder, &ctl, NULL, 0, credential->role_end);
	credentials_drop_link(credential);
	process_tell(loader, CONTROL_RELEASE, credential->generation, 0);
	credential->delivered = credential->released = true;
	credential->loaded = false;
	loader->state = PROCESS_LEAVING;
	loader->kill_ns = base_clock_boot_ns() + RELEASE_NS;
}

static bool is_at_same_place(const struct us_loaded *a, const struct us_loaded *b)
{
	return strcmp(a->host, b->host) == 0 && a->port == b->port;
}

/* A dialer learns its targets before its lock: another target is another dialer. What is connected
 * stays so. */
static void renew_dialer(struct supervisor *supervisor, unsigned number)
{
	enum role role = role_dialer_of(role_holding(number, supervisor->config->shard_size).role);

	process_start_anew(
	    process_of(supervisor, (struct role_id){ (uint8_t)role, 0 }), base_clock_boot_ns());
}

/* False: it is another identity than before, and nobody has allowed that (F7). */
static bool may_be(struct process *loader, const struct us_loaded *loaded)
{
	struct identity *credential = &loader->supervisor->identities[loader->credential];
	const char *subject = *loaded->subject ? loaded->subject : "no subject";
	char text[128];
	struct err err;

	(void)credentials_describe(loader->supervisor, loader->credential, text, sizeof(text));
	if (!credential->pinned_once) {
		log_info("%s: %s at %s:%u", text, subject, loaded->host, loaded->port);
		return true;
	}
	if (credentials_check_pin(&credential->pinned, loaded, &err) == 0)
		return true;
	if (!credential->may_move) {
		credential->refused = true;
		process_kill(
		    loader, "%s %s; refused until an operator reloads (SIGHUP)", text, err.text);
		return false;
	}
	log_warn("%s: by an operator's reload now %s at %s:%u, no longer %s at %s:%u", text,
	    subject, loaded->host, loaded->port,
	    *credential->pinned.subject ? credential->pinned.subject : "no subject",
	    credential->pinned.host, credential->pinned.port);
	return true;
}

void credentials_on_loaded(struct process *loader, const struct us_loaded *loaded)
{
	struct supervisor *supervisor = loader->supervisor;
	unsigned number = loader->credential;
	struct identity *credential = &supervisor->identities[number];
	bool is_new = !credential->pinned_once, moves;
	char text[128];
	struct err err;

	credential->expects_more = false;
	if (credentials_check_loaded(loaded, &err)) {
		process_kill(loader, "%s: it loaded %s",
		    credentials_describe(supervisor, number, text, sizeof(text)), err.text);
		return;
	}
	if (!may_be(loader, loaded))
		return;
	if (credential->delivered && loaded->fingerprint == credential->pinned.fingerprint) {
		/* Touched, or copied over itself: the holder has it. */
		process_hang_up(loader, base_clock_boot_ns());
		return;
	}
	moves = is_new || !is_at_same_place(&credential->pinned, loaded);
	credential->pinned = *loaded;
	credential->pinned_once = credential->loaded = true;
	credential->warned = false;
	if (moves)
		renew_dialer(supervisor, number);
	deliver(supervisor, number);
}

void credentials_on_loader_end(struct process *loader, bool clean)
{
	struct supervisor *supervisor = loader->supervisor;
	struct identity *credential;
	bool wrong;

	if (loader->credential >= CREDENTIAL_LIMIT)
		return;
	credential = &supervisor->identities[loader->credential];
	credential->loaded = credential->expects_more = false;
	credentials_drop_link(credential);
	if (clean && credential->delivered) {
		credential->backoff = (struct children_backoff){ 0 };
		return;
	}
	if (credential->released) /* Whether the holder has got it, nobody knows. */
		credential->delivered = false;
	/* We ended it ourselves: whoever holds it when it starts does not wait for that. */
	if (credential->dismissed)
		return;
	wrong = credential->refused || (WIFEXITED(loader->status) &&
					   WEXITSTATUS(loader->status) == PROCESS_LOADER_REFUSES);
	if (credentials_configured(supervisor, loader->credential))
		stay_or_try_again(supervisor, loader->credential, wrong,
		    base_clock_boot_ns() - loader->started_ns);
}

void credentials_on_role_ready(struct process *role)
{
	struct supervisor *supervisor = role->supervisor;

	for (unsigned c = 0; c < CREDENTIAL_LIMIT; c++)
		if (credentials_configured(supervisor, c) &&
		    credentials_holder(supervisor, c) == role)
			deliver(supervisor, c);
}

/* What was given to a process is gone with it; its successor's is loaded while that one starts. */
void credentials_on_role_end(struct process *role)
{
	struct supervisor *supervisor = role->supervisor;

	for (unsigned c = 0; c < CREDENTIAL_LIMIT; c++) {
		if (!credentials_configured(supervisor, c) ||
		    credentials_holder(supervisor, c) != role)
			continue;
		supervisor->identities[c].delivered = false;
		supervisor->identities[c].again_ns = 0;
	}
}

/* The holder goes on with what it had, if anything: the files are read again, soon and then ever
 * less often, and what they hold counts as new whatever it is. */
static void offer_again(struct identity *credential)
{
	unsigned doublings =
	    credential->nacks < NACK_DOUBLINGS ? credential->nacks : NACK_DOUBLINGS;

	credential->nacks++;
	credential->pinned.fingerprint = 0;
	credential->due = true;
	credential->again_ns = base_clock_boot_ns() + (BASE_NS_PER_S << doublings);
}

void credentials_on_answer(struct process *role, const struct us_ctl *ctl)
{
	struct supervisor *supervisor = role->supervisor;
	char text[128];

	if (ctl->a[0] >= CREDENTIAL_LIMIT ||
	    credentials_holder(supervisor, (unsigned)ctl->a[0]) != role) {
		process_kill(role, "it answers for a credential that it does not hold");
		return;
	}
	if (!credentials_configured(supervisor, (unsigned)ctl->a[0]))
		return; /* a reload has taken it away meanwhile */
	(void)credentials_describe(supervisor, (unsigned)ctl->a[0], text, sizeof(text));
	if (ctl->type == CONTROL_CRED_NACK) {
		log_error("%s: refused by %s: %s", text, role->name, ctl->blob);
		if (ctl->a[1] == supervisor->identities[ctl->a[0]].generation)
			offer_again(&supervisor->identities[ctl->a[0]]);
		return;
	}
	supervisor->identities[ctl->a[0]].nacks = 0;
	log_write(ctl->a[1] > 1 ? LOG_INFO : LOG_DEBUG, "%s: %s uses generation %llu", text,
	    role->name, (unsigned long long)ctl->a[1]);
}

int64_t credentials_due(struct supervisor *supervisor, int64_t now_ns)
{
	int64_t next_ns = rotation_due(supervisor, now_ns);
	unsigned reading = 0;

	for (unsigned c = 0; c < CREDENTIAL_LIMIT; c++)
		reading += process_runs(process_loader(supervisor, c)) &&
			   !supervisor->identities[c].loaded;
	for (unsigned c = 0; c < CREDENTIAL_LIMIT; c++) {
		struct identity *credential = &supervisor->identities[c];
		struct process *holder;

		if (!credentials_configured(supervisor, c) ||
		    (credential->delivered && !credential->due) ||
		    process_runs(process_loader(supervisor, c)))
			continue;
		holder = credentials_holder(supervisor, c);
		if (!process_runs(holder) || holder->state == PROCESS_LEAVING)
			continue;
		if (now_ns >= credential->again_ns && reading < CHECKED_AT_ONCE)
			reading += start_loader(supervisor, c);
		if (credential->again_ns > now_ns && credential->again_ns < next_ns)
			next_ns = credential->again_ns;
	}
	return next_ns;
}

/* --- At the start ---------------------------------------------------------------------------- */

/* Starts loaders that have not run, a few at a time; counts what still reads and what failed. */
static void check_some(
    struct supervisor *supervisor, unsigned *next, unsigned *reading, unsigned *failed)
{
	*reading = 0;
	for (unsigned c = 0; c < *next; c++)
		*reading += process_runs(process_loader(supervisor, c)) &&
			    !supervisor->identities[c].loaded;
	for (; *next < CREDENTIAL_LIMIT && *reading < CHECKED_AT_ONCE; ++*next) {
		if (!credentials_configured(supervisor, *next))
			continue;
		if (start_loader(supervisor, *next))
			++*reading;
		else
			++*failed;
	}
}

/* A role that does not start now gets its credential when it does: until then nobody holds it. */
static void dismiss_unneeded(struct supervisor *supervisor)
{
	for (unsigned c = 0; c < CREDENTIAL_LIMIT; c++) {
		struct process *loader = process_loader(supervisor, c);

		if (!process_runs(loader) ||
		    (!supervisor->options.check_only && credentials_holder(supervisor, c)->wanted))
			continue;
		supervisor->identities[c].dismissed = true;
		process_hang_up(loader, base_clock_boot_ns());
	}
}

int credentials_check_all(struct supervisor *supervisor)
{
	unsigned next = 0, reading = 1, failed = 0;

	for (unsigned c = 0; c < CREDENTIAL_LIMIT; c++)
		supervisor->identities[c].role_end = -1;
	while (reading > 0 || next < CREDENTIAL_LIMIT) {
		check_some(supervisor, &next, &reading, &failed);
		if (reading > 0)
			process_wait(supervisor);
		if (supervisor->stop_asked)
			return EXIT_CODE_FAILED;
	}
	for (unsigned c = 0; c < CREDENTIAL_LIMIT; c++)
		failed += credentials_configured(supervisor, c) &&
			  !supervisor->identities[c].loaded &&
			  process_loader(supervisor, c)->started_ns != 0;
	if (failed > 0) {
		log_error("%u credential%s cannot be used: nothing was started", failed,
		    failed == 1 ? "" : "s");
		return EXIT_CODE_CONFIG;
	}
	dismiss_unneeded(supervisor);
	return EXIT_CODE_OK;
}

/* --- Dialers --------------------------------------------------------------------------------- */

static bool is_target_of(const struct supervisor *supervisor, unsigned number, enum role dialer)
{
	struct role_id holder = role_holding(number, supervisor->config->shard_size);

	/* Where a new worker's server is, is known once its files were read. */
	return credentials_configured(supervisor, number) &&
	       supervisor->identities[number].pinned_once && holder.role < ROLE_COUNT &&
	       role_dialer_of(holder.role) == dialer;
}

unsigned credentials_count_targets(const struct supervisor *supervisor, enum role dialer)
{
	unsigned count = 0;

	for (unsigned c = 0; c < CREDENTIAL_LIMIT; c++)
		count += is_target_of(supervisor, c, dialer);
	return count;
}

void credentials_send_targets(struct process *dialer)
{
	struct supervisor *supervisor = dialer->supervisor;

	for (unsigned c = 0; c < CREDENTIAL_LIMIT; c++) {
		const struct us_loaded *pinned = &supervisor->identities[c].pinned;
		struct us_ctl ctl = { .type = CONTROL_TARGET, .a = { c, pinned->port } };

		if (is_target_of(supervisor, c, dialer->id.role))
			process_send(dialer, &ctl, pinned->host, strlen(pinned->host) + 1, -1);
	}
}
