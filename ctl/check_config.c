/*
 * Has understudyd check a configuration (see the header): its loader reads the file, as at a start,
 * so that there is one opinion. For a program its lines, which a person reads as they are, are
 * sorted into an answer. Called by commands.c through its table.
 */
#include "ctl/check_config.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ctl/answer.h"
#include "ctl/json.h"
#include "ctl/spawn.h"

enum { UNDERSTUDYD_OK = 0, UNDERSTUDYD_CONFIG = 2 };

#define DEFAULT_CONFIG "/etc/understudy/understudy.yaml"
#define MAX_SAID       ((size_t)1 << 20)
#define SUM_CHARACTERS 19 /* 0123-4567-89ab-cdef */

static const char wrong[] = "the configuration is not right, as understudyd says";

struct words {
	char *config, *pair; /* NULL: not given */
	bool as_json;
};

static enum ctl_exit parse(int argc, char **argv, struct words *words, struct err *err)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-o") == 0) {
			if (!answer_format(++i < argc ? argv[i] : NULL, &words->as_json))
				return command_misused(err, argv[0], "-o takes json or text", "");
		} else if (strcmp(argv[i], "--pair") == 0 && !words->pair && i + 1 < argc &&
			   argv[i + 1][0]) {
			words->pair = argv[++i];
		} else if (argv[i][0] && argv[i][0] != '-' && !words->config) {
			words->config = argv[i];
		} else {
			return command_misused(err, argv[0], "unknown word ", argv[i]);
		}
	}
	return CTL_DONE;
}

/* ends: where its outputs go, -1: where ours do. */
static int start(const struct words *words, const int ends[2], pid_t *pid)
{
	char *argv[10] = { "understudyd", "-n", NULL };
	unsigned n = 2;

	if (words->as_json) {
		argv[n++] = "--log";
		argv[n++] = "json";
	}
	if (words->config) {
		argv[n++] = "--config";
		argv[n++] = words->config;
	}
	if (words->pair) {
		argv[n++] = "--pair";
		argv[n] = words->pair;
	}
	return spawn_understudyd(argv, ends[0], ends[1], pid);
}

static enum ctl_exit judge(int code, struct err *err)
{
	if (code == UNDERSTUDYD_OK)
		return CTL_DONE;
	err_set(err, "%s",
	    code == UNDERSTUDYD_CONFIG ? wrong : "it could not be checked, as understudyd says");
	return CTL_REFUSED;
}

static enum ctl_exit not_started(struct err *err)
{
	err_set(err, "understudyd cannot be started: %s; it is looked for beside understudyctl",
	    strerror(errno));
	return CTL_REFUSED;
}

/* --- For a program ---------------------------------------------------------------------------- */

/* One line of standard output: a sum, the verdict about the pair, or what does not fit. */
static void sort_line(const char *line, json_t *answer)
{
	json_t *other = json_object_get(answer, "other");
	bool first = json_is_null(json_object_get(answer, "pair"));

	if (strncmp(line, "pair ", 5) == 0 && strcspn(line + 5, " ") == SUM_CHARACTERS) {
		json_t *file = answer_text(line + 5 + SUM_CHARACTERS + 1);

		first = first && json_equal(file, json_object_get(answer, "file"));
		json_object_set_new(
		    first ? answer : other, "pair", json_stringn(line + 5, SUM_CHARACTERS));
		json_decref(file);
	} else if (strncmp(line, "it fits ", 8) == 0) {
		json_object_set_new(other, "fits", json_true());
	} else if (isdigit((unsigned char)*line) && strstr(line, " do not fit ")) {
		json_object_set_new(other, "fits", json_false());
	} else if (*line && strcmp(line, "configuration ok") != 0) {
		json_array_append_new(json_object_get(answer, "faults"), answer_text(line));
	}
}

/* One line of the log. What is no JSON was written by something else, a dynamic linker say. */
static void sort_log(const char *line, json_t *answer)
{
	json_t *said = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
	const char *level = member_text(said, "level");

	if (!said || strcmp(level, "error") == 0)
		json_array_append_new(json_object_get(answer, "faults"),
		    said ? json_string(member_text(said, "msg")) : answer_text(line));
	json_decref(said);
}

static void sort_lines(char *text, void (*sort)(const char *, json_t *), json_t *answer)
{
	char *line;

	while (text && (line = strsep(&text, "\n")))
		if (*line)
			sort(line, answer);
}

json_t *check_config_answer(const char *config, const char *pair, char *said, char *logged)
{
	json_t *answer = json_pack(
	    "{s:o, s:n, s:n, s:[]}", "file", answer_text(config), "pair", "other", "faults");

	if (pair)
		json_object_set_new(answer, "other",
		    json_pack("{s:o, s:n, s:n}", "file", answer_text(pair), "pair", "fits"));
	sort_lines(said, sort_line, answer);
	sort_lines(logged, sort_log, answer);
	return answer;
}

/* A file takes all that is said, in whatever order; nobody has to read two pipes at once. */
static int make_file(void)
{
	return memfd_create("said", MFD_CLOEXEC);
}

static void read_file(int fd, struct buf *said)
{
	char block[4096];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, block, sizeof(block), at)) > 0) {
		buf_append(said, block, (size_t)n);
		at += n;
	}
}

static enum ctl_exit check_for_program(const struct words *words, struct buf *out, struct err *err)
{
	struct buf said[2] = { buf_make(MAX_SAID), buf_make(MAX_SAID) };
	int files[2] = { make_file(), make_file() };
	enum ctl_exit code;
	pid_t pid;

	if (files[0] < 0 || files[1] < 0 || start(words, files, &pid) != 0) {
		code = not_started(err);
	} else {
		code = judge(spawn_wait(pid), err);
		read_file(files[0], &said[0]);
		read_file(files[1], &said[1]);
	}
	for (unsigned i = 0; i < 2; i++)
		if (files[i] >= 0)
			close(files[i]);
	(void)answer_put(out, code, code == CTL_DONE ? "configuration ok" : err->text,
	    check_config_answer(words->config ? words->config : DEFAULT_CONFIG, words->pair,
		said[0].data, said[1].data));
	buf_free(&said[0]);
	buf_free(&said[1]);
	return code;
}

enum ctl_exit check_config_command(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	static const int ours[2] = { -1, -1 };
	struct words words = { 0 };
	enum ctl_exit code = parse(argc, argv, &words, err);
	pid_t pid;

	(void)options;
	if (code != CTL_DONE)
		return code;
	if (words.as_json)
		return check_for_program(&words, out, err);
	if (start(&words, ours, &pid) != 0)
		return not_started(err);
	return judge(spawn_wait(pid), err);
}
