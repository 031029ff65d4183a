/*
 * Has the configuration read again and waits for what comes of it; lists workers; says how one
 * comes and how it is taken away (see the header). Whom to signal the kernel says: the listener of
 * admin.sock is understudyd's own. Called by commands.c through its table.
 */
#include "ctl/reload.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl/answer.h"
#include "ctl/show.h"

#define LOOK_MS     100
#define PATIENCE_MS 15000 /* a loader that hangs is ended after 10 s */

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static enum ctl_exit read_status(
    const struct ctl_options *options, json_t **document, struct err *err)
{
	struct buf text = buf_make(CLIENT_MAX_BYTES);
	enum ctl_exit code = client_read(options->socket, &text, err);

	*document = NULL;
	if (code == CTL_DONE) {
		*document = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
		if (!json_is_object(*document)) {
			err_set(err,
			    "%s: what came back is no status document; is it "
			    "understudyd's status.sock?",
			    options->socket);
			json_decref(*document);
			*document = NULL;
			code = CTL_NO_DAEMON;
		}
	}
	buf_free(&text);
	return code;
}

/* Exactly `-o text` or `-o json`. */
static bool takes_format(int argc, char **argv)
{
	return argc == 2 && strcmp(argv[0], "-o") == 0 &&
	       (strcmp(argv[1], "text") == 0 || strcmp(argv[1], "json") == 0);
}

/* --- reload ----------------------------------------------------------------------------------- */

static json_int_t count_of(const json_t *document)
{
	return json_integer_value(json_object_get(json_object_get(document, "reload"), "count"));
}

static enum ctl_exit send_signal(const struct ctl_options *options, struct err *err)
{
	char path[512];
	const char *slash = strrchr(options->socket, '/');
	int directory = slash ? (int)(slash - options->socket) + 1 : 0;
	enum ctl_exit code;
	long pid = 0;

	(void)snprintf(path, sizeof(path), "%.*sadmin.sock", directory, options->socket);
	code = client_daemon(path, &pid, err);
	if (code != CTL_DONE)
		return code;
	if (kill((pid_t)pid, SIGHUP) == 0)
		return CTL_DONE;
	err_set(
	    err, "understudyd (pid %ld) cannot be told: %s; expected root", pid, strerror(errno));
	return CTL_REFUSED;
}

static enum ctl_exit tell(const json_t *document, bool as_json, struct buf *out, struct err *err)
{
	const json_t *reload = json_object_get(document, "reload");

	if (as_json)
		answer_document(out, reload);
	if (as_json && json_is_true(json_object_get(reload, "done")))
		return CTL_DONE;
	if (json_is_true(json_object_get(reload, "done"))) {
		show_text(out, text_of(reload, "text"));
		buf_puts(out, "\n");
		return CTL_DONE;
	}
	err_set(err, "%.400s", text_of(reload, "text"));
	return CTL_REFUSED;
}

enum ctl_exit reload_run(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	struct timespec span = { 0, LOOK_MS * 1000000L };
	json_t *document = NULL;
	json_int_t before;
	enum ctl_exit code;

	if (argc != 1 && !takes_format(argc - 1, argv + 1))
		return command_misused(err, argv[0], "it takes -o text or -o json", "");
	code = read_status(options, &document, err);
	before = count_of(document);
	json_decref(document);
	if (code != CTL_DONE || (code = send_signal(options, err)) != CTL_DONE)
		return code;
	for (long waited = 0; waited < PATIENCE_MS; waited += LOOK_MS) {
		(void)nanosleep(&span, NULL);
		/* A monitor that starts anew is told by understudyd. */
		if (read_status(options, &document, err) != CTL_DONE)
			continue;
		if (count_of(document) != before) {
			code = tell(document, argc == 3 && strcmp(argv[2], "json") == 0, out, err);
			json_decref(document);
			return code;
		}
		json_decref(document);
	}
	err_set(
	    err, "reload: no outcome within %d s; see the log of understudyd", PATIENCE_MS / 1000);
	return CTL_UNKNOWN;
}

/* --- worker ----------------------------------------------------------------------------------- */

static enum ctl_exit list(
    const struct ctl_options *options, bool as_json, struct buf *out, struct err *err)
{
	json_t *document, *none, *workers;
	enum ctl_exit code = read_status(options, &document, err);

	if (code != CTL_DONE)
		return code;
	none = json_array();
	workers = json_object_get(document, "workers");
	if (as_json)
		answer_document(out, workers ? workers : none);
	else if (json_array_size(workers) == 0)
		buf_puts(out, "there is no worker in the configuration of this machine\n");
	else
		show_workers(document, out);
	json_decref(none);
	json_decref(document);
	return CTL_DONE;
}

static const json_t *find(const json_t *document, const char *name)
{
	const json_t *worker;
	size_t i;

	json_array_foreach(json_object_get(document, "workers"), i, worker)
	{
		if (strcmp(text_of(worker, "name"), name) == 0)
			return worker;
	}
	return NULL;
}

/* The configuration file is people's, and so is what stands on a worker: nobody of understudy has
 * that right, and a hub deletes nothing there (M5). Who has it is told how. */
static void add_step(json_t *steps, const char *where, const char *text, const char *command)
{
	json_array_append_new(
	    steps, json_pack("{s:s, s:s, s:s?}", "where", where, "text", text, "command", command));
}

static json_t *addition(const char *name)
{
	json_t *steps = json_array();
	struct buf text = buf_make(4096);

	buf_printf(&text, "understudyctl bootstrap ... --worker %s=CONTEXT", name);
	add_step(steps, "contexts",
	    "Where your contexts are, with the words of before: it makes what the worker needs, "
	    "there and on both hubs, and a kubeconfig for each hub.",
	    text.data);
	buf_clear(&text);
	buf_printf(&text,
	    "On both hubs put that kubeconfig in its place, and into `workers` of the "
	    "configuration file: - {name: %s, project-namespace: ITS-PROJECT, kubeconfig: FILE}",
	    name);
	add_step(steps, "hubs", text.data, NULL);
	add_step(steps, "hubs", "Then, on both hubs:", "understudyctl reload");
	add_step(steps, "hubs", "It is over when this says ok; else it says what is missing there.",
	    "understudyctl worker list");
	buf_free(&text);
	return steps;
}

static json_t *removal(const char *name, const char *follows)
{
	json_t *steps = json_array();
	struct buf text = buf_make(4096);

	buf_printf(&text, "On both hubs take %s out of `workers` in the configuration file.", name);
	add_step(steps, "hubs", text.data, NULL);
	add_step(steps, "hubs",
	    "Then, on both hubs; from then on nobody of understudy holds its credential or writes "
	    "to it:",
	    "understudyctl reload");
	buf_clear(&text);
	buf_puts(&text, "It goes on following ");
	show_text(&text, follows[0] ? follows : "the hub that it follows");
	buf_puts(&text, ". To take that claim away, on the worker, as a member of the group "
			"understudy:break-glass:");
	add_step(
	    steps, "worker", text.data, "kubectl delete clustercontrollers.ha.kubeslice.io active");
	buf_free(&text);
	return steps;
}

static void put_steps(const json_t *steps, struct buf *out)
{
	const json_t *step;
	size_t i;

	buf_puts(out, "Nothing is done by this; these are the steps.\n");
	json_array_foreach(steps, i, step)
	{
		buf_printf(out, "%zu. %s\n", i + 1, text_of(step, "text"));
		if (text_of(step, "command")[0])
			buf_printf(out, "       %s\n", text_of(step, "command"));
	}
}

static enum ctl_exit explain(const struct ctl_options *options, bool adds, const char *name,
    bool as_json, struct buf *out, struct err *err)
{
	json_t *document, *steps = NULL;
	enum ctl_exit code = read_status(options, &document, err);
	const json_t *worker = find(document, name);

	if (code == CTL_DONE && adds && worker) {
		err_set(
		    err, "%.200s is one of this hub's workers already; see `worker list`", name);
		code = CTL_REFUSED;
	} else if (code == CTL_DONE && !adds && !worker) {
		err_set(err, "no worker is called %.200s; `worker list` names them", name);
		code = CTL_REFUSED;
	} else if (code == CTL_DONE) {
		steps = adds ? addition(name) : removal(name, text_of(worker, "identity"));
	}
	if (steps && !as_json)
		put_steps(steps, out);
	if (as_json && code != CTL_NO_DAEMON)
		(void)answer_put(out, code,
		    steps ? "nothing was done; these are the steps" : err->text,
		    json_pack("{s:s, s:O?}", "worker", name, "steps", steps));
	json_decref(steps);
	json_decref(document);
	return code;
}

enum ctl_exit reload_worker(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	bool lists = argc >= 2 && strcmp(argv[1], "list") == 0;
	bool adds = argc >= 2 && strcmp(argv[1], "add") == 0;
	bool removes = argc >= 2 && strcmp(argv[1], "remove") == 0;
	int words = lists ? 2 : 3;
	bool as_json = argc == words + 2 && strcmp(argv[words + 1], "json") == 0;

	if (!lists && !adds && !removes)
		return command_misused(err, argv[0],
		    argc < 2 ? "list, or add or remove and a name" : "unknown word ",
		    argc < 2 ? "" : argv[1]);
	if (argc < words || argv[words - 1][0] == '-')
		return command_misused(err, argv[0], "a worker's name is wanted behind ", argv[1]);
	if (argc != words && !takes_format(argc - words, argv + words))
		return command_misused(
		    err, argv[0], "this takes -o text or -o json and nothing else: ", argv[1]);
	if (lists)
		return list(options, as_json, out, err);
	return explain(options, adds, argv[2], as_json, out, err);
}
