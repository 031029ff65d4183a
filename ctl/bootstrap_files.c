/*
 * Files of the output folder (see bootstrap.h): nobody else's to read, never half written. A
 * configuration that a person has edited is recognised by its first line's checksum, and stays.
 * Called by bootstrap.c and bootstrap_who.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/bootstrap.h"

#define CONFIGURATION "understudy.yaml"
#define STAMP         "# Made by understudyctl bootstrap, checksum "

void bootstrap_path(const struct bootstrap *b, const struct bootstrap_cluster *machine,
    const char *file, char out[1024])
{
	(void)snprintf(out, 1024, "%s/%s%s%s", b->out, machine->name, file[0] ? "/" : "", file);
}

bool bootstrap_read(const char *path, struct buf *out)
{
	char block[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = -1;

	while (fd >= 0 && !out->failed && (n = read(fd, block, sizeof(block))) > 0)
		buf_append(out, block, (size_t)n);
	explicit_bzero(block, sizeof(block));
	if (fd >= 0)
		close(fd);
	return fd >= 0 && n == 0 && !out->failed;
}

bool bootstrap_write(const char *path, struct str bytes, struct err *err)
{
	char beside[1100];
	int fd;

	(void)snprintf(beside, sizeof(beside), "%s.part", path);
	(void)unlink(beside);
	fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		err_set(err, "%s cannot be made: %s", beside, strerror(errno));
		return false;
	}
	while (bytes.n > 0) {
		ssize_t n = write(fd, bytes.p, bytes.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		bytes.p += n;
		bytes.n -= (size_t)n;
	}
	if (bytes.n == 0 && fsync(fd) == 0 && close(fd) == 0 && rename(beside, path) == 0)
		return true;
	err_set(err, "%s cannot be written: %s", path, strerror(errno));
	(void)close(fd);
	(void)unlink(beside);
	return false;
}

/* --- Folders ---------------------------------------------------------------------------------- */

static bool make_folder(const char *path, struct err *err)
{
	struct stat at;

	if (mkdir(path, 0700) != 0 && errno != EEXIST) {
		err_set(err, "%s cannot be made: %s", path, strerror(errno));
		return false;
	}
	if (lstat(path, &at) != 0 || !S_ISDIR(at.st_mode) || at.st_uid != geteuid() ||
	    (at.st_mode & 077)) {
		err_set(err,
		    "%s will hold tokens; expected a folder of uid %u with mode 0700, not mode "
		    "%04o of uid %u",
		    path, geteuid(), at.st_mode & 07777, at.st_uid);
		return false;
	}
	return true;
}

enum ctl_exit bootstrap_folders(struct bootstrap *b)
{
	const struct bootstrap_cluster *machine;
	char path[1024];

	if (strlen(b->out) > 800) {
		err_set(b->err, "--out is longer than 800 bytes");
		return CTL_REFUSED;
	}
	if (!make_folder(b->out, b->err))
		return CTL_REFUSED;
	for (unsigned i = 0; (machine = bootstrap_cluster_at(b, i)); i++) {
		bootstrap_path(b, machine, "", path);
		if (!make_folder(path, b->err))
			return CTL_REFUSED;
		bootstrap_path(b, machine, "credentials", path);
		if (!make_folder(path, b->err))
			return CTL_REFUSED;
	}
	return CTL_DONE;
}

/* --- Configurations --------------------------------------------------------------------------- */

/* FNV-1a: it recognises an edit, it protects nothing. */
static uint64_t checksum(struct str text)
{
	uint64_t sum = 0xcbf29ce484222325u;

	for (size_t i = 0; i < text.n; i++)
		sum = (sum ^ (unsigned char)text.p[i]) * 0x100000001b3u;
	return sum;
}

void bootstrap_stamp(struct str text, char out[160])
{
	(void)snprintf(out, 160,
	    STAMP "%016" PRIx64 ". Edit it: then bootstrap leaves it as it is.\n", checksum(text));
}

bool bootstrap_is_ours(struct str file)
{
	const char *end = file.n ? memchr(file.p, '\n', file.n) : NULL;
	struct str rest;
	char stamp[160];

	if (!end)
		return false;
	rest = (struct str){ end + 1, file.n - (size_t)(end + 1 - file.p) };
	bootstrap_stamp(rest, stamp);
	return file.n - rest.n == strlen(stamp) && memcmp(file.p, stamp, strlen(stamp)) == 0;
}

void bootstrap_configuration(
    const struct bootstrap *b, const struct bootstrap_cluster *machine, bool token, struct buf *out)
{
	static const char *const held[] = { "elector", "publisher", "syncer", "peer-observer",
		"peer-syncer" };

	buf_puts(out, "# docs/configuration.md names every key.\n");
	if (machine->is_hub && b->mirror_text) /* first, as it was judged */
		buf_printf(out, "%s\n", b->mirror_text);
	buf_printf(out, "mode: %s\nself: %s\nhubs:\n",
	    !machine->is_hub     ? "follower"
	    : machine == b->hubs ? "active"
				 : "standby",
	    machine->name);
	for (unsigned i = 0; i < b->hub_count; i++)
		buf_printf(out,
		    "- {name: %s, endpoint: \"%s\", ca-file: " BOOTSTRAP_INSTALLED "/%s.crt}\n",
		    b->hubs[i].name, b->hubs[i].server, b->hubs[i].name);
	buf_printf(out, "namespace: %s\n", b->namespace);
	if (!machine->is_hub) {
		buf_printf(out,
		    "follower: {project-namespace: %s}\ncredentials:\n"
		    "  follower: {kubeconfig: " BOOTSTRAP_INSTALLED
		    "/credentials/follower.kubeconfig}\n%s",
		    machine->project,
		    token ? "  hub-a: {token-file: " BOOTSTRAP_INSTALLED
			    "/credentials/hub-a.token}\n"
			  : "");
		return;
	}
	buf_puts(out, "credentials:\n");
	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
		buf_printf(out,
		    "  %s: {kubeconfig: " BOOTSTRAP_INSTALLED "/credentials/%s.kubeconfig}\n",
		    held[i], held[i]);
	buf_puts(out, b->worker_count ? "workers:\n" : "");
	for (unsigned i = 0; i < b->worker_count; i++)
		buf_printf(out,
		    "- {name: %s, project-namespace: %s, kubeconfig: " BOOTSTRAP_INSTALLED
		    "/credentials/%s.kubeconfig}\n",
		    b->workers[i].name, b->workers[i].project, b->workers[i].name);
}

static enum ctl_exit configure_one(struct bootstrap *b, const struct bootstrap_cluster *machine)
{
	struct buf text = buf_make(1 << 20), whole = buf_make(1 << 20), was = buf_make(1 << 20);
	char path[1024], stamp[160];
	bool exists, edited, done = true;

	bootstrap_path(b, machine, "credentials/hub-a.token", path);
	bootstrap_configuration(b, machine, access(path, R_OK) == 0, &text);
	bootstrap_stamp(buf_str(&text), stamp);
	buf_puts(&whole, stamp);
	buf_append(&whole, text.data, text.len);
	bootstrap_path(b, machine, CONFIGURATION, path);
	exists = access(path, F_OK) == 0;
	edited = exists && (!bootstrap_read(path, &was) || !bootstrap_is_ours(buf_str(&was)));
	if (edited && !b->force)
		bootstrap_tell(b, "%s: %s was edited and stays; --force replaces it%s",
		    machine->name, path,
		    b->mirror_file && machine->is_hub
			? "; its map `mirror` has to become that of --mirror"
			: "");
	else if (!exists || !str_equal(buf_str(&was), buf_str(&whole)))
		done = bootstrap_write(path, buf_str(&whole), b->err);
	buf_free(&text);
	buf_free(&whole);
	buf_free(&was);
	return done ? CTL_DONE : CTL_REFUSED;
}

enum ctl_exit bootstrap_configure(struct bootstrap *b)
{
	const struct bootstrap_cluster *machine;
	enum ctl_exit code = CTL_DONE;
	char file[96], path[1024];

	for (unsigned i = 0; code == CTL_DONE && (machine = bootstrap_cluster_at(b, i)); i++) {
		for (unsigned h = 0; code == CTL_DONE && h < b->hub_count; h++) {
			(void)snprintf(file, sizeof(file), "%s.crt", b->hubs[h].name);
			bootstrap_path(b, machine, file, path);
			if (!bootstrap_write(path, str_of(b->hubs[h].ca), b->err))
				code = CTL_REFUSED;
		}
		if (code == CTL_DONE && !b->renew)
			code = configure_one(b, machine);
	}
	return code;
}

/* --- The way back ----------------------------------------------------------------------------- */

enum ctl_exit bootstrap_forget(struct bootstrap *b)
{
	const struct bootstrap_cluster *machine;
	struct bootstrap_identity identity;
	char path[1024], file[96];

	for (unsigned i = 0; bootstrap_identity_at(b, i, &identity); i++) {
		bootstrap_path(b, identity.held_by, identity.file, path);
		(void)unlink(path);
	}
	for (unsigned i = 0; (machine = bootstrap_cluster_at(b, i)); i++) {
		struct buf was = buf_make(1 << 20);

		bootstrap_path(b, machine, "credentials/hub-a.token", path);
		(void)unlink(path);
		for (unsigned h = 0; h < b->hub_count; h++) {
			(void)snprintf(file, sizeof(file), "%s.crt", b->hubs[h].name);
			bootstrap_path(b, machine, file, path);
			(void)unlink(path);
		}
		bootstrap_path(b, machine, CONFIGURATION, path);
		if (bootstrap_read(path, &was) && (bootstrap_is_ours(buf_str(&was)) || b->force))
			(void)unlink(path);
		buf_free(&was);
		bootstrap_path(b, machine, "credentials", path);
		(void)rmdir(path);
		bootstrap_path(b, machine, "", path);
		if (rmdir(path) != 0 && errno == ENOTEMPTY)
			bootstrap_tell(
			    b, "%s: files of yours are in %s and stay", machine->name, path);
	}
	(void)rmdir(b->out);
	return CTL_DONE;
}
