/*
 * The hand-over directory (see the header). It must not log what it writes. Order of a swap: files,
 * their directory, all synced; then the link; then the generation before goes.
 */
#include "follower/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DATA       "..data"
#define DATA_NEW   "..data_new"
#define TERM       "maxTerm"
#define TERM_NEW   "..maxTerm_new"
#define FILE_MODE  0640
#define NAME_BYTES 32

static const char *const names[] = { "endpoint", "token", "ca.crt", "namespace", "term",
	"generation" };
#define NAMES (sizeof(names) / sizeof(names[0]))

static void generation_name(char name[NAME_BYTES], uint64_t generation)
{
	(void)snprintf(name, NAME_BYTES, "..%" PRIu64, generation);
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* The text of a small file without the line break at its end. -1 with errno. */
static int read_text(int directory, const char *path, char *text, size_t size)
{
	int fd = openat(directory, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	size_t n = 0;
	ssize_t got = 1;

	text[0] = '\0';
	if (fd < 0)
		return -1;
	while (n < size - 1 && (got = read(fd, text + n, size - 1 - n)) > 0)
		n += (size_t)got;
	close(fd);
	if (got < 0)
		n = 0;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return got < 0 ? -1 : 0;
}

static uint64_t read_number(int directory, const char *path)
{
	uint64_t number = 0;
	char text[32];

	if (read_text(directory, path, text, sizeof(text)) != 0 ||
	    !str_to_u64(str_of(text), &number))
		return 0;
	return number;
}

static void remove_generation(int directory, uint64_t generation)
{
	char name[NAME_BYTES], path[NAME_BYTES + 16];

	generation_name(name, generation);
	for (size_t i = 0; i < NAMES; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", name, names[i]);
		(void)unlinkat(directory, path, 0);
	}
	(void)unlinkat(directory, name, AT_REMOVEDIR);
}

int handover_read(int directory, struct handover_found *found, struct err *err)
{
	char text[32];

	*found = (struct handover_found){ 0 };
	found->generation = read_number(directory, DATA "/generation");
	found->term = read_number(directory, DATA "/term");
	if (read_text(directory, DATA "/endpoint", found->endpoint, sizeof(found->endpoint)) != 0)
		found->endpoint[0] = '\0';
	/* A crash before or after the swap leaves one of these. */
	(void)unlinkat(directory, DATA_NEW, 0);
	(void)unlinkat(directory, TERM_NEW, 0);
	remove_generation(directory, found->generation + 1);
	if (found->generation > 0)
		remove_generation(directory, found->generation - 1);
	if (read_text(directory, TERM, text, sizeof(text)) != 0) {
		if (errno == ENOENT)
			return 0;
		return err_set(err, "hand-over directory: " TERM ": %s", strerror(errno));
	}
	if (!str_to_u64(str_of(text), &found->max_term))
		return err_set(err, "hand-over directory: " TERM ": expected a number");
	return 0;
}

/* --- Writing ---------------------------------------------------------------------------------- */

static bool write_all(int fd, struct str bytes)
{
	while (bytes.n > 0) {
		ssize_t wrote = write(fd, bytes.p, bytes.n);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return false;
		bytes.p += wrote;
		bytes.n -= (size_t)wrote;
	}
	return true;
}

/* Written and synced. */
static bool write_file(int directory, const char *path, struct str bytes)
{
	int fd = openat(
	    directory, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	bool done;
	int error;

	if (fd < 0)
		return false;
	done = write_all(fd, bytes) && fsync(fd) == 0;
	error = errno;
	close(fd);
	errno = error;
	return done;
}

/* What was renamed or made in it is on the disk. */
static bool sync_directory(int directory, const char *path)
{
	int fd = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool done;
	int error;

	if (fd < 0)
		return false;
	done = fsync(fd) == 0;
	error = errno;
	close(fd);
	errno = error;
	return done;
}

static int failed(struct err *err, const char *what)
{
	return err_set(err, "hand-over directory: %s: %s", what, strerror(errno));
}

int handover_keep_term(int directory, uint64_t max_term, struct err *err)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRIu64 "\n", max_term);
	if (!write_file(directory, TERM_NEW, str_of(text)) ||
	    renameat(directory, TERM_NEW, directory, TERM) != 0 || !sync_directory(directory, "."))
		return failed(err, TERM);
	return 0;
}

static bool write_generation(
    int directory, const char *name, uint64_t generation, const struct handover_content *content)
{
	char path[NAME_BYTES + 16], term[32], number[32];
	struct str texts[NAMES] = { content->endpoint, content->token, content->ca,
		content->namespace };

	(void)snprintf(term, sizeof(term), "%" PRIu64, content->term);
	(void)snprintf(number, sizeof(number), "%" PRIu64, generation);
	texts[NAMES - 2] = str_of(term);
	texts[NAMES - 1] = str_of(number);
	for (size_t i = 0; i < NAMES; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", name, names[i]);
		if (!write_file(directory, path, texts[i]))
			return false;
	}
	return sync_directory(directory, name);
}

/* NAME -> ..data/NAME, made once and never again. */
static bool link_names(int directory)
{
	char target[32];

	for (size_t i = 0; i < NAMES; i++) {
		(void)snprintf(target, sizeof(target), DATA "/%s", names[i]);
		if (symlinkat(target, directory, names[i]) != 0 && errno != EEXIST)
			return false;
	}
	return true;
}

/* The directory of the next generation. A name that is taken by what cannot be removed is passed
 * over: it belongs to somebody else's uid, of a former configuration. */
static int make_generation(int directory, uint64_t *generation, char name[NAME_BYTES])
{
	for (int tries = 0; tries < 8; tries++) {
		generation_name(name, ++*generation);
		remove_generation(directory, *generation);
		if (mkdirat(directory, name, 0750) == 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	return -1;
}

int handover_swap(
    int directory, uint64_t *generation, const struct handover_content *content, struct err *err)
{
	uint64_t next = *generation;
	char name[NAME_BYTES];

	if (make_generation(directory, &next, name) != 0)
		return failed(err, "next generation");
	(void)unlinkat(directory, DATA_NEW, 0);
	if (!write_generation(directory, name, next, content) || !link_names(directory) ||
	    symlinkat(name, directory, DATA_NEW) != 0 ||
	    renameat(directory, DATA_NEW, directory, DATA) != 0) {
		(void)failed(err, "swap");
		remove_generation(directory, next);
		return -1;
	}
	(void)sync_directory(directory, ".");
	if (*generation > 0)
		remove_generation(directory, *generation);
	*generation = next;
	return 0;
}
