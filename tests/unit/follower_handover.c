/*
 * Goal: a reader sees one hub's five files or the other's, never a mixture (W10, M11); the highest
 * term outlives everything and is never taken for none (H19, I3); what a crash left is cleared
 * away. Method: a directory under /dev/shm; a reader that goes on reading while generations are
 * swapped.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "follower/handover.h"

static char base[64];
static int directory;

static int open_directory(void **state)
{
	(void)state;
	(void)snprintf(base, sizeof(base), "/dev/shm/handover-XXXXXX");
	if (!mkdtemp(base))
		return -1;
	(void)umask(027);
	directory = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return directory < 0;
}

static int remove_directory(void **state)
{
	char command[128];

	(void)state;
	close(directory);
	(void)snprintf(command, sizeof(command), "rm -rf %s", base);
	return system(command);
}

static void read_at(int dir, const char *path, char text[256])
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, 255);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

static void expect(const char *path, const char *content)
{
	char text[256];

	read_at(directory, path, text);
	assert_string_equal(text, content);
}

static uint64_t swap(uint64_t generation, const char *hub, uint64_t term)
{
	char endpoint[64], token[64];
	struct handover_content content = {
		.ca = str_of(hub), .namespace = STR_LIT("p"), .term = term
	};
	struct err err = { "" };

	(void)snprintf(endpoint, sizeof(endpoint), "https://%s", hub);
	(void)snprintf(token, sizeof(token), "token-%s", hub);
	content.endpoint = str_of(endpoint);
	content.token = str_of(token);
	if (handover_swap(directory, &generation, &content, &err))
		fail_msg("%s", err.text);
	return generation;
}

static unsigned entries(void)
{
	DIR *all = opendir(base);
	unsigned n = 0;

	while (readdir(all))
		n++;
	closedir(all);
	return n - 2;
}

static void files_of_one_hub(void **state)
{
	struct handover_found found;
	struct stat st;
	struct err err;
	unsigned after_first;

	(void)state;
	assert_int_equal(handover_read(directory, &found, &err), 0);
	assert_string_equal(found.endpoint, "");
	assert_int_equal(swap(found.generation, "hub-a", 2), 1);
	expect("endpoint", "https://hub-a");
	expect("token", "token-hub-a");
	expect("ca.crt", "hub-a");
	expect("namespace", "p");
	expect("term", "2");
	assert_int_equal(fstatat(directory, "..data/token", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0640); /* group: the workload's; others: nothing */
	after_first = entries();
	assert_int_equal(swap(1, "hub-b", 3), 2);
	expect("endpoint", "https://hub-b");
	expect("token", "token-hub-b");
	expect("term", "3");
	assert_int_equal(entries(), after_first); /* the generation before is gone */
	assert_int_equal(handover_read(directory, &found, &err), 0);
	assert_string_equal(found.endpoint, "https://hub-b");
	assert_int_equal(found.term, 3);
	assert_int_equal(found.generation, 2);
}

/* A reader opens the directory once, then the files in it, as M11 says. */
_Noreturn static void read_for_ever(void)
{
	char endpoint[256], token[256], ca[256];

	for (;;) {
		int data = openat(directory, "..data", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		/* The link was read, then what it named went: as with a mounted Secret, again. */
		if (data < 0 && errno == ENOENT)
			continue;
		if (data < 0)
			_exit(2);
		read_at(data, "endpoint", endpoint);
		read_at(data, "token", token);
		read_at(data, "ca.crt", ca);
		close(data);
		/* Gone while it was read: it is read again. Never a mixture. */
		if (endpoint[0] && token[0] && strcmp(endpoint + 8, token + 6) != 0)
			_exit(1);
		if (token[0] && ca[0] && strcmp(ca, token + 6) != 0)
			_exit(1);
	}
}

static void readers_never_see_a_mixture_W10(void **state)
{
	uint64_t generation = swap(0, "hub-a", 2);
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (pid == 0)
		read_for_ever();
	for (int i = 0; i < 300; i++)
		generation = swap(generation, i % 2 ? "hub-a" : "hub-b", 2);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void the_term_is_kept_H19(void **state)
{
	struct handover_found found;
	struct err err = { "" };
	int fd;

	(void)state;
	assert_int_equal(handover_keep_term(directory, 3, &err), 0);
	assert_int_equal(handover_keep_term(directory, 9007199254740991, &err), 0);
	assert_int_equal(handover_read(directory, &found, &err), 0);
	assert_int_equal(found.max_term, 9007199254740991);
	/* Unreadable is not 0. */
	fd = openat(directory, "maxTerm", O_WRONLY | O_TRUNC | O_CLOEXEC);
	close(fd);
	assert_int_equal(handover_read(directory, &found, &err), -1);
	assert_non_null(strstr(err.text, "maxTerm: expected a number"));
	assert_int_equal(unlinkat(directory, "maxTerm", 0), 0);
	assert_int_equal(mkdirat(directory, "maxTerm", 0700), 0);
	assert_int_equal(handover_read(directory, &found, &err), -1);
}

/* A crash between any two steps of a swap. */
static void leftovers_are_cleared(void **state)
{
	struct handover_found found;
	struct err err;
	unsigned clean;
	int fd;

	(void)state;
	(void)swap(swap(0, "hub-a", 2), "hub-b", 3);
	clean = entries();
	assert_int_equal(mkdirat(directory, "..3", 0750), 0);
	fd = openat(directory, "..3/token", O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
	close(fd);
	assert_int_equal(symlinkat("..3", directory, "..data_new"), 0);
	assert_int_equal(mkdirat(directory, "..1", 0750), 0);
	fd = openat(directory, "..maxTerm_new", O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
	close(fd);
	assert_int_equal(handover_read(directory, &found, &err), 0);
	assert_int_equal(entries(), clean);
	assert_int_equal(found.generation, 2);
	expect("token", "token-hub-b");
	/* What cannot be cleared is passed over. */
	assert_int_equal(mkdirat(directory, "..3", 0750), 0);
	assert_int_equal(mkdirat(directory, "..3/foreign", 0750), 0);
	assert_int_equal(swap(found.generation, "hub-a", 4), 4);
	expect("token", "token-hub-a");
}

static void a_failure_leaves_what_was_there(void **state)
{
	struct handover_content content = { .endpoint = STR_LIT("https://hub-b") };
	uint64_t generation = swap(0, "hub-a", 2);
	struct err err = { "" };
	int closed = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(handover_swap(closed, &generation, &content, &err), -1);
	assert_non_null(strstr(err.text, "hand-over directory"));
	assert_int_equal(generation, 1);
	assert_int_equal(handover_keep_term(closed, 3, &err), -1);
	close(closed);
	expect("endpoint", "https://hub-a");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_of_one_hub),
		TEST(readers_never_see_a_mixture_W10),
		TEST(the_term_is_kept_H19),
		TEST(leftovers_are_cleared),
		TEST(a_failure_leaves_what_was_there),
	};

	(void)alarm(300);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
