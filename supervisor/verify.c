/*
 * The supervisor's own check of a started process (see the header). Only reads; the verdict is
 * pure, so that tests can lie to it. Called by process.c when a process says READY.
 * Pitfalls: P45, P89.
 */
#include "supervisor/verify.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/sandbox.h"

static const char *const cap_names[5] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };

/* --- Reading -------------------------------------------------------------------------------- */

/* What follows "\nname:" in the text; NULL when there is no such line. */
static const char *find_line(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += line == text ? 0 : 1;
		if (strncmp(line, name, n) == 0 && line[n] == ':')
			return line + n + 1;
	}
	return NULL;
}

static bool read_numbers(const char *text, const char *name, uint32_t *values, int count)
{
	const char *at = find_line(text, name);
	char *end;

	for (int i = 0; at && i < count; i++) {
		values[i] = (uint32_t)strtoul(at, &end, 10);
		at = end == at ? NULL : end;
	}
	return at != NULL;
}

static bool has_groups(const char *text, bool *missing)
{
	const char *at = find_line(text, "Groups");

	*missing = at == NULL;
	while (at && (*at == ' ' || *at == '\t'))
		at++;
	return at && *at != '\n';
}

int verify_parse_status(const char *text, struct verify_facts *facts, struct err *err)
{
	const struct {
		const char *name;
		uint32_t *values;
		int count;
	} lines[] = {
		{ "Uid", facts->uids, 4 },
		{ "Gid", facts->gids, 4 },
		{ "NoNewPrivs", &facts->no_new_privs, 1 },
		{ "Seccomp", &facts->seccomp, 1 },
		{ "Seccomp_filters", &facts->filters, 1 },
		{ "Threads", &facts->threads, 1 },
		{ "TracerPid", &facts->tracer, 1 },
		{ "PPid", &facts->parent, 1 },
	};
	const char *at;
	bool missing;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (!read_numbers(text, lines[i].name, lines[i].values, lines[i].count))
			return err_set(err, "status has no line %s", lines[i].name);
	for (int i = 0; i < 5; i++) {
		at = find_line(text, cap_names[i]);
		if (!at)
			return err_set(err, "status has no line %s", cap_names[i]);
		facts->caps[i] = strtoull(at, NULL, 16);
	}
	at = find_line(text, "State");
	if (!at)
		return err_set(err, "status has no line State");
	at += strspn(at, " \t");
	facts->ended = *at == 'Z' || *at == 'X';
	facts->has_groups = has_groups(text, &missing);
	return missing ? err_set(err, "status has no line Groups") : 0;
}

/* "Max processes             0                    0                    processes" */
static bool read_limit(const char *text, const char *name, uint64_t *soft, bool *fixed)
{
	const char *at = strstr(text, name);
	char values[2][32];

	if (!at || sscanf(at + strlen(name), "%31s %31s", values[0], values[1]) != 2)
		return false;
	*soft = strcmp(values[0], "unlimited") == 0 ? UINT64_MAX : strtoull(values[0], NULL, 10);
	*fixed = *fixed && strcmp(values[0], values[1]) == 0;
	return true;
}

int verify_parse_limits(const char *text, struct verify_facts *facts, struct err *err)
{
	facts->limits_fixed = true;
	if (!read_limit(text, "Max core file size", &facts->core, &facts->limits_fixed) ||
	    !read_limit(text, "Max processes", &facts->processes, &facts->limits_fixed) ||
	    !read_limit(text, "Max open files", &facts->files, &facts->limits_fixed) ||
	    !read_limit(text, "Max data size", &facts->data_bytes, &facts->limits_fixed) ||
	    !read_limit(text, "Max file size", &facts->file_bytes, &facts->limits_fixed))
		return err_set(err, "limits have another form than expected");
	return 0;
}

static bool read_file(int dir, const char *name, char *text, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Numbers can be listed, targets not resolved, and that is enough (F15). */
static bool count_fds(int dir, struct verify_facts *facts)
{
	int fd = openat(dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *fds = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	unsigned first = 0;

	if (!fds) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	facts->fd_count = 0;
	while ((entry = readdir(fds)) != NULL) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		facts->fd_count++;
		first += strtoul(entry->d_name, NULL, 10) <= ROLE_FD_CONTROL;
	}
	facts->has_first_fds = first == ROLE_FD_CONTROL + 1;
	closedir(fds);
	return true;
}

int verify_read(pid_t pid, struct verify_facts *facts, struct err *err)
{
	char path[32], text[4096];
	struct stat st;
	int dir, result = -1;

	*facts = (struct verify_facts){ 0 };
	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* The directory itself belongs to the process's uid whatever it is; a file in it does not.
	 */
	if (dir < 0 || fstatat(dir, "status", &st, 0) != 0) {
		(void)err_set(err, "%s: %s", path, strerror(errno));
		goto out;
	}
	facts->owner = st.st_uid;
	if (!read_file(dir, "status", text, sizeof(text)))
		(void)err_set(err, "%s/status: %s", path, strerror(errno));
	else if (verify_parse_status(text, facts, err) == 0) {
		if (facts->ended)
			result = 0;
		else if (!read_file(dir, "limits", text, sizeof(text)))
			(void)err_set(err, "%s/limits: %s", path, strerror(errno));
		else if (!count_fds(dir, facts))
			(void)err_set(err, "%s/fd: %s", path, strerror(errno));
		else
			result = verify_parse_limits(text, facts, err);
	}
out:
	if (dir >= 0)
		close(dir);
	return result;
}

int verify_own_filters(void)
{
	struct verify_facts facts;

	return verify_read(getpid(), &facts, NULL) ? -1 : (int)facts.filters;
}

/* --- Judging -------------------------------------------------------------------------------- */

static int judge_identity(
    const struct verify_expected *expected, const struct verify_facts *facts, struct err *err)
{
	for (int i = 0; i < 4; i++)
		if (facts->uids[i] != expected->uid || facts->gids[i] != expected->uid)
			return err_set(err, "uid %u, gid %u (number %d of 4), expected %u",
			    facts->uids[i], facts->gids[i], i + 1, expected->uid);
	if (facts->has_groups)
		return err_set(err, "has supplementary groups");
	if (facts->owner != 0)
		return err_set(err, "is dumpable");
	if (facts->parent != expected->parent)
		return err_set(err, "has parent %u", facts->parent);
	if (facts->tracer != 0)
		return err_set(err, "is traced by process %u", facts->tracer);
	return 0;
}

static int judge_capabilities(
    const struct verify_expected *expected, const struct verify_facts *facts, struct err *err)
{
	bool runner = expected->id.role == ROLE_RUNNER;
	uint64_t three = 1ULL << CAP_SETUID | 1ULL << CAP_SETGID | 1ULL << CAP_KILL;
	uint64_t most[5] = { 0, 0, 0, 0, 0 };

	if (runner)
		most[1] = most[2] = most[3] = three;
	if (expected->waived & SANDBOX_BOUNDING_SET)
		most[3] = UINT64_MAX;
	for (int i = 0; i < 5; i++)
		if (facts->caps[i] & ~most[i])
			return err_set(err, "%s is %016" PRIx64, cap_names[i], facts->caps[i]);
	return 0;
}

/* The runner has filter 1 only: its workload inherits it (F5). */
static int judge_confinement(
    const struct verify_expected *expected, const struct verify_facts *facts, struct err *err)
{
	uint32_t filters = expected->filters + (expected->id.role == ROLE_RUNNER ? 1 : 2);

	if (facts->no_new_privs != 1)
		return err_set(err, "may gain privileges (NoNewPrivs %u)", facts->no_new_privs);
	if (facts->threads != 1)
		return err_set(err, "has %u threads", facts->threads);
	if (facts->seccomp != 2 || facts->filters != filters)
		return err_set(err, "seccomp mode %u with %u filters, expected mode 2 with %u",
		    facts->seccomp, facts->filters, filters);
	return 0;
}

static int judge_limits(
    const struct verify_expected *expected, const struct verify_facts *facts, struct err *err)
{
	const struct role_row *row = role_row(expected->id.role);
	uint32_t fds = ROLE_FD_FILES + 6 + VERIFY_OWN_FDS;

	if (!facts->has_first_fds || facts->fd_count > fds)
		return err_set(err, "%u descriptors%s, expected at most %u", facts->fd_count,
		    facts->has_first_fds ? "" : ", and not all of 0 to 3", fds);
	if (expected->id.role == ROLE_RUNNER)
		return 0;
	if (facts->core != 0)
		return err_set(err, "may write core files");
	if (!facts->limits_fixed)
		return err_set(err, "can raise a limit again");
	if (facts->processes != 0)
		return err_set(err, "may make %" PRIu64 " processes", facts->processes);
	if (facts->files > row->nofile)
		return err_set(err, "may have %" PRIu64 " files open, expected at most %u",
		    facts->files, row->nofile);
	if (facts->data_bytes > (uint64_t)row->data_mib << 20)
		return err_set(err, "may have %" PRIu64 " bytes of data, expected at most %u MiB",
		    facts->data_bytes, row->data_mib);
	if (facts->file_bytes > sandbox_file_bytes(expected->id.role))
		return err_set(err, "may write files of %" PRIu64 " bytes", facts->file_bytes);
	return 0;
}

int verify_judge(
    const struct verify_expected *expected, const struct verify_facts *facts, struct err *err)
{
	if (judge_identity(expected, facts, err) || judge_capabilities(expected, facts, err) ||
	    judge_confinement(expected, facts, err) || judge_limits(expected, facts, err))
		return -1;
	return 0;
}
