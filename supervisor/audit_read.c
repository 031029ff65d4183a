/*
 * What is there to be judged (see the header): processes in /proc, files by stat, credentials and
 * links by the supervisor's own books. It opens no credential, reads no child's words, and changes
 * nothing.
 */
#include "supervisor/audit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "base/clock.h"
#include "policy/sandbox.h"
#include "policy/uids.h"
#include "supervisor/canary.h"
#include "supervisor/credentials.h"
#include "supervisor/process.h"
#include "supervisor/wire.h"

struct collector {
	struct supervisor *supervisor;
	const struct us_config *config;
	bool offline;
	struct buf *out;
};

#define ROLE_SLOTS (ROLE_COUNT + ROLE_MAX_SHARDS)

/* --- Processes ------------------------------------------------------------------------------- */

static struct verify_expected expected_of(const struct collector *c, struct role_id id)
{
	return (struct verify_expected){ .id = id,
		.uid = id.role == ROLE_RUNNER ? 0 : role_uid(id, c->config->uid_base),
		.parent = (uint32_t)getpid(),
		.filters = (uint32_t)c->supervisor->own_filters,
		.waived = c->config->allow_missing };
}

static void put_state(const struct collector *c, const struct process *process)
{
	struct audit_row row = { .kind = AUDIT_PROCESS, .what = "state" };
	bool serves = process_serves(process);

	(void)snprintf(row.subject, sizeof(row.subject), "%s", process->name);
	(void)snprintf(row.declared, sizeof(row.declared), "%s",
	    role_row(process->id.role)->restart == ROLE_RESTART_ALWAYS ? "runs"
								       : "runs when asked for");
	if (c->offline || (!process->wanted && !process_runs(process)))
		row.verdict = AUDIT_DECLARED;
	else if (!serves)
		row.verdict = AUDIT_UNVERIFIED;
	if (serves)
		(void)snprintf(row.effective, sizeof(row.effective),
		    "runs, pid %d, verified against its row", (int)process->pid);
	else if (!c->offline)
		(void)snprintf(row.effective, sizeof(row.effective), "%s",
		    process_runs(process) ? "starts or leaves" : "does not run");
	audit_put(c->out, &row);
}

static void put_process(const struct collector *c, const struct process *process)
{
	struct verify_expected expected = expected_of(c, process->id);
	struct verify_facts facts;
	struct err err;

	put_state(c, process);
	if (c->offline || (!process->wanted && !process_runs(process)))
		audit_judge_unseen(c->out, process->name, &expected, NULL);
	else if (!process_serves(process))
		audit_judge_unseen(c->out, process->name, &expected, "it does not serve now");
	else if (verify_read(process->pid, &facts, &err))
		audit_judge_unseen(c->out, process->name, &expected, err.text);
	else
		audit_judge_process(c->out, process->name, &expected, &facts, process->in_force,
		    c->supervisor->available);
}

static void put_supervisor(const struct collector *c)
{
	struct audit_row row = { .kind = AUDIT_PROTECTION,
		.verdict = AUDIT_UNVERIFIED,
		.subject = "supervisor",
		.what = "all" };
	struct verify_facts facts;
	struct err err;

	if (verify_read(getpid(), &facts, &err) == 0) {
		audit_judge_supervisor(c->out, &facts, (uint32_t)c->supervisor->own_filters,
		    (c->config->allow_missing & SANDBOX_BOUNDING_SET) != 0);
		return;
	}
	(void)snprintf(row.text, sizeof(row.text), "%s", err.text);
	audit_put(c->out, &row);
}

/* Who runs under one of our uids and is none of ours (F24). */
struct strangers {
	const struct collector *collector;
	unsigned count;
};

static bool is_ours(const struct collector *c, const struct uids_found *found)
{
	/* The second: whoever ends the workload, for the moment that it takes (F5). */
	if (found->uid == c->config->uid_base + ROLE_UID_WORKLOAD ||
	    found->uid == c->config->uid_base + ROLE_UID_SIGNALLER)
		return c->config->argument_count > 0;
	for (unsigned i = 0; i < SUPERVISOR_SLOTS; i++)
		if (c->supervisor->slots[i].pid == found->pid)
			return true;
	return c->supervisor->canary.pid == found->pid;
}

static bool see_stranger(void *arg, const struct uids_found *found)
{
	struct strangers *strangers = arg;
	const struct collector *c = strangers->collector;
	struct audit_row row = { .kind = AUDIT_PROCESS,
		.verdict = AUDIT_FINDING,
		.subject = "uid range",
		.declared = "processes of understudy and its workload only",
		.text = "a process that understudyd did not start has a uid of its roles" };

	if (is_ours(c, found))
		return true;
	strangers->count++;
	(void)snprintf(row.what, sizeof(row.what), "pid %d", (int)found->pid);
	(void)snprintf(
	    row.effective, sizeof(row.effective), "%s under uid %u", found->name, found->uid);
	audit_put(c->out, &row);
	return true;
}

static void put_strangers(const struct collector *c)
{
	struct strangers strangers = { c, 0 };
	struct audit_row row = { .kind = AUDIT_PROCESS,
		.subject = "uid range",
		.declared = "processes of understudy and its workload only" };
	uint32_t first = c->config->uid_base;

	(void)snprintf(
	    row.what, sizeof(row.what), "uids %u to %u", first, first + ROLE_UID_RANGE - 1);
	if (c->offline) {
		row.verdict = AUDIT_DECLARED;
	} else if (uids_each(first, first + ROLE_UID_RANGE - 1, see_stranger, &strangers) != 0) {
		row.verdict = AUDIT_UNVERIFIED;
		(void)snprintf(row.text, sizeof(row.text), "/proc: %s", strerror(errno));
	} else if (strangers.count > 0) {
		return;
	} else {
		(void)snprintf(row.effective, sizeof(row.effective), "no other");
	}
	audit_put(c->out, &row);
}

/* --- Files ----------------------------------------------------------------------------------- */

static struct audit_file file_at(const char *path, uint32_t type)
{
	struct audit_file file = { .path = path };
	struct stat st;

	/* Mounted Secrets are symbolic links: what they lead to is what is read (pitfall 76). */
	if (stat(path, &st) != 0) {
		file.error = errno;
		return file;
	}
	file.uid = st.st_uid;
	file.gid = st.st_gid;
	file.mode = st.st_mode;
	file.right_kind = (st.st_mode & S_IFMT) == type;
	return file;
}

static const struct audit_wanted_file written_by_root = {
	.words = "root's, written by root alone", .forbidden = 022, .any_group = true
};
static const struct audit_wanted_file read_by_root = {
	.words = "root's, read and written by root alone", .forbidden = 027
};

static void put_program(const struct collector *c, enum role role)
{
	int fd = c->supervisor->programs[role];
	char link[32], path[256] = "";
	struct audit_file file = { .path = path };
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	if (fstat(fd, &st) != 0)
		file.error = errno;
	file.uid = st.st_uid;
	file.gid = st.st_gid;
	file.mode = st.st_mode;
	file.right_kind = S_ISREG(st.st_mode);
	audit_judge_file(c->out, AUDIT_FILE, "program", &file, &written_by_root);
}

static void put_socket(const struct collector *c, const char *name, config_text group, bool always)
{
	const char *directory = config_text_at(c->config, c->config->run_directory);
	const char *members = config_text_at(c->config, group);
	char path[256], words[128];
	struct audit_file file;
	struct audit_wanted_file wanted = { .words = words };
	gid_t gid = 0;

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = file_at(path, S_IFSOCK);
	if (wire_group(members, "/etc/group", &gid) != 0)
		file.error = ENOENT;
	wanted.gid = gid;
	if (*members || always) {
		(void)snprintf(
		    words, sizeof(words), "root:%s, mode 0660", *members ? members : "root");
		wanted.forbidden = 0117;
		wanted.needed = 0660;
	} else {
		(void)snprintf(words, sizeof(words), "root:root, mode 0600");
		wanted.forbidden = 0177;
		wanted.needed = 0600;
	}
	audit_judge_file(c->out, AUDIT_FILE, "socket", &file, &wanted);
}

static void put_run_directory(const struct collector *c)
{
	static const struct audit_wanted_file on_tmpfs = {
		.words = "root's, on tmpfs, written by root alone",
		.forbidden = 022,
		.any_group = true
	};
	static const struct audit_wanted_file page = {
		.words = "root's, written by root alone, read by all",
		.forbidden = 022,
		.needed = 0444,
		.any_group = true
	};
	const char *directory = config_text_at(c->config, c->config->run_directory);
	struct audit_file file = file_at(directory, S_IFDIR);
	struct statfs fs;
	char path[256];

	/* Made at the start where it is not. */
	if (c->offline && file.error == ENOENT)
		return;
	file.right_kind =
	    file.right_kind && statfs(directory, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
	audit_judge_file(c->out, AUDIT_FILE, "run.directory", &file, &on_tmpfs);
	if (c->offline)
		return;
	(void)snprintf(path, sizeof(path), "%s/fence", directory);
	file = file_at(path, S_IFREG);
	audit_judge_file(c->out, AUDIT_FILE, "fence page", &file, &page);
	if (c->supervisor->listeners[CONTROL_LISTENER_STATUS] >= 0)
		put_socket(c, "status.sock", c->config->status_group, true);
	if (c->supervisor->admin.listener >= 0)
		put_socket(c, "admin.sock", c->config->admin_group, false);
	put_socket(c, "audit.sock", c->config->admin_group, false);
	put_socket(c, "canary.sock", c->config->admin_group, false);
}

static void put_files(const struct collector *c)
{
	struct audit_file file = file_at(c->supervisor->options.config, S_IFREG);
	bool seen_dialer = false;

	audit_judge_file(c->out, AUDIT_FILE, "configuration", &file, &written_by_root);
	for (unsigned role = 0; role < ROLE_COUNT; role++)
		if (!(ROLE_BIT(role) & ROLE_DIALERS) || !seen_dialer) {
			put_program(c, (enum role)role); /* all dialers are one program */
			seen_dialer |= (ROLE_BIT(role) & ROLE_DIALERS) != 0 &&
				       c->supervisor->programs[role] >= 0;
		}
	put_run_directory(c);
}

/* --- Credentials ----------------------------------------------------------------------------- */

static void put_credential_file(
    const struct collector *c, const char *name, config_text path, bool secret)
{
	struct audit_file file;

	if (path == 0)
		return;
	file = file_at(config_text_at(c->config, path), S_IFREG);
	audit_judge_file(
	    c->out, AUDIT_CREDENTIAL, name, &file, secret ? &read_by_root : &written_by_root);
}

static bool is_one_file(const struct us_config *config, config_text a, config_text b)
{
	return a && b && strcmp(config_text_at(config, a), config_text_at(config, b)) == 0;
}

/* Another role's credential for the same account of the same server; CREDENTIAL_LIMIT: there is
 * none. Two tokens of one account are one identity. */
static unsigned find_same(const struct collector *c, unsigned number, bool *allowed)
{
	const struct config_credential *mine = config_credential_of(c->config, number), *its;
	const struct us_loaded *us = &c->supervisor->identities[number].pinned, *them;
	unsigned other = 0;

	for (; other < CREDENTIAL_LIMIT && *us->subject; other++) {
		its = config_credential_of(c->config, other);
		them = &c->supervisor->identities[other].pinned;
		if (!its || role_holding(number, 0).role == role_holding(other, 0).role ||
		    strcmp(us->subject, them->subject) != 0 || strcmp(us->host, them->host) != 0 ||
		    us->port != them->port)
			continue;
		*allowed = is_one_file(c->config, mine->kubeconfig, its->kubeconfig) ||
			   is_one_file(c->config, mine->token_file, its->token_file) ||
			   is_one_file(c->config, mine->key_file, its->key_file);
		return other;
	}
	return CREDENTIAL_LIMIT;
}

static void put_credential(const struct collector *c, unsigned number)
{
	const struct config_credential *source = config_credential_of(c->config, number);
	const struct identity *identity = &c->supervisor->identities[number];
	const struct process *holder = credentials_holder(c->supervisor, number);
	struct audit_identity told = { .holder = holder->name,
		.holder_runs = process_serves(holder),
		.holder_wanted = holder->wanted || process_runs(holder),
		.known = identity->pinned_once,
		.delivered = identity->delivered,
		.pinned = &identity->pinned,
		.generation = identity->generation };
	char text[128], other_text[128];
	unsigned same = find_same(c, number, &told.same_allowed);

	if (same < CREDENTIAL_LIMIT)
		told.same =
		    credentials_describe(c->supervisor, same, other_text, sizeof(other_text)) +
		    sizeof("credential ") - 1;
	/* "credential worker worker-1": without its first word. */
	told.name = credentials_describe(c->supervisor, number, text, sizeof(text)) +
		    sizeof("credential ") - 1;
	put_credential_file(c, told.name, source->kubeconfig, true);
	put_credential_file(c, told.name, source->ca_file, false);
	put_credential_file(c, told.name, source->token_file, true);
	put_credential_file(c, told.name, source->certificate_file, false);
	put_credential_file(c, told.name, source->key_file, true);
	audit_judge_identity(c->out, &told, c->offline, base_clock_wall_us());
}

/* --- Links and endpoints --------------------------------------------------------------------- */

static void put_links(const struct collector *c)
{
	const struct supervisor *supervisor = c->supervisor;
	char name[128];

	for (unsigned i = 0; i < supervisor->wire_count; i++) {
		const struct wire *wire = &supervisor->wires[i];
		const struct process *a = wire->ends[1], *b = wire->ends[0];

		(void)snprintf(name, sizeof(name), "%s - %s", a->name, b->name);
		audit_judge_link(c->out, name, wire->up, wire->generation,
		    process_serves(a) && process_serves(b),
		    (a->wanted || process_runs(a)) && (b->wanted || process_runs(b)), c->offline);
	}
}

/* What a dialer may connect to. The kernel holds it to the ports; addresses are its own code (F34).
 */
static void put_target(const struct collector *c, unsigned number)
{
	const struct identity *identity = &c->supervisor->identities[number];
	struct role_id holder = role_holding(number, c->config->shard_size);
	const struct process *dialer =
	    process_of(c->supervisor, (struct role_id){ (uint8_t)role_dialer_of(holder.role), 0 });
	bool by_port = (dialer->in_force & SANDBOX_LANDLOCK_NET) != 0;
	struct audit_row row = { .kind = AUDIT_ENDPOINT };
	char text[128];

	(void)snprintf(row.subject, sizeof(row.subject), "%s", dialer->name);
	(void)snprintf(row.what, sizeof(row.what), "target of %s",
	    credentials_describe(c->supervisor, number, text, sizeof(text)));
	if (identity->pinned_once)
		(void)snprintf(row.declared, sizeof(row.declared), "%s:%u", identity->pinned.host,
		    identity->pinned.port);
	(void)snprintf(row.text, sizeof(row.text),
	    "addresses: %s, enforced by the dialer's own code only",
	    c->config->range_count ? "those of dial.allow" : "no loopback, no link-local");
	if (!identity->pinned_once || (!c->offline && dialer->wanted && !process_serves(dialer)))
		row.verdict = AUDIT_UNVERIFIED;
	else if (c->offline || !dialer->wanted)
		row.verdict = AUDIT_DECLARED;
	else
		(void)snprintf(row.probed, sizeof(row.probed), "%s",
		    by_port ? "no other TCP port, by Landlock, at its start"
			    : "by the dialer's own code only: this kernel has no landlock-net");
	audit_put(c->out, &row);
}

static void put_http(const struct collector *c)
{
	struct audit_row row = { .kind = AUDIT_ENDPOINT,
		.subject = "monitor",
		.what = "listen.http",
		.text = "words of the monitor, not a fence (F35)" };
	int fd = c->supervisor->listeners[CONTROL_LISTENER_HTTP];
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} bound = { .v6 = { 0 } };
	socklen_t bytes = sizeof(bound);
	char host[INET6_ADDRSTRLEN] = "";
	uint16_t port;

	(void)snprintf(row.declared, sizeof(row.declared), "%s port %u",
	    config_text_at(c->config, c->config->listen_address), c->config->listen_port);
	if (c->offline) {
		row.verdict = AUDIT_DECLARED;
	} else if (fd < 0 || getsockname(fd, &bound.any, &bytes) != 0) {
		row.verdict = AUDIT_UNVERIFIED;
	} else {
		bool is_v6 = bound.any.sa_family == AF_INET6;

		(void)inet_ntop(bound.any.sa_family,
		    is_v6 ? (const void *)&bound.v6.sin6_addr : (const void *)&bound.v4.sin_addr,
		    host, sizeof(host));
		port = ntohs(is_v6 ? bound.v6.sin6_port : bound.v4.sin_port);
		(void)snprintf(row.effective, sizeof(row.effective), "%s port %u", host, port);
		if (strcmp(row.declared, row.effective) != 0)
			row.verdict = AUDIT_FINDING;
	}
	audit_put(c->out, &row);
}

void audit_collect(struct supervisor *supervisor, enum audit_depth depth, struct buf *out)
{
	const bool offline = depth == AUDIT_OFFLINE;
	const struct collector c = { supervisor, supervisor->config, offline, out };

	buf_puts(out, AUDIT_HEAD "\n");
	if (!offline)
		put_supervisor(&c);
	for (unsigned i = 0; i < ROLE_SLOTS; i++)
		if (supervisor->slots[i].supervisor && i != ROLE_LOADER)
			put_process(&c, &supervisor->slots[i]);
	put_strangers(&c);
	put_files(&c);
	for (unsigned n = 0; n < CREDENTIAL_LIMIT; n++)
		if (credentials_configured(supervisor, n))
			put_credential(&c, n);
	put_links(&c);
	for (unsigned n = 0; n < CREDENTIAL_LIMIT; n++)
		if (credentials_configured(supervisor, n))
			put_target(&c, n);
	put_http(&c);
	if (depth == AUDIT_DEEP)
		canary_put(supervisor, out);
	buf_puts(out, AUDIT_END "\n");
}
