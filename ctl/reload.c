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

static void put_json(const json_t *value, const char *otherwise, struct buf *out)
{
	char *text = json_dumps(value, JSON_INDENT(2) | JSON_PRESERVE_ORDER);

	buf_puts(out, text ? text : otherwise);
	buf_puts(out, "\n");
	free(text);
}

static enum ctl_exit tell(const json_t *document, bool as_json, struct buf *out, struct err *err)
{
	const json_t *reload = json_object_get(document, "reload");

	if (as_json)
		put_json(reload, "null", out);
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
	json_t *document;
	enum ctl_exit code = read_status(options, &document, err);

	if (code != CTL_DONE)
		return code;
	if (as_json)
		put_json(json_object_get(document, "workers"), "[]", out);
	else
		show_workers(document, out);
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

/* The configuration file is people's, and so is what must stand on a worker before a hub may write
 * there: nobody of understudy has that right. Who has it is told how. */
static enum ctl_exit explain_addition(
    const struct ctl_options *options, const char *name, struct buf *out, struct err *err)
{
	json_t *document;
	enum ctl_exit code = read_status(options, &document, err);

	if (code == CTL_DONE && find(document, name)) {
		err_set(
		    err, "%.200s is one of this hub's workers already; see `worker list`", name);
		code = CTL_REFUSED;
	}
	if (code == CTL_DONE)
		buf_printf(out,
		    "Nothing is done by this; these are the steps.\n"
		    "1. An administrator runs understudyctl bootstrap with the words of before "
		    "and\n"
		    "       --worker %s\n"
		    "   which makes what it needs on its cluster and on both hubs, a kubeconfig of "
		    "it\n"
		    "   for each hub, and, where nobody edited them, the configurations anew.\n"
		    "2. On both hubs the kubeconfig is put in its place, and the worker into "
		    "`workers`:\n"
		    "       - {name: %s, project-namespace: ITS-PROJECT, kubeconfig: FILE}\n"
		    "   then\n"
		    "       understudyctl reload\n"
		    "3. `worker list` shows it: ok, or what is missing there.\n",
		    name, name);
	json_decref(document);
	return code;
}

/* M5: a hub deletes nothing on a worker; who may is told how. */
static enum ctl_exit explain_removal(
    const struct ctl_options *options, const char *name, struct buf *out, struct err *err)
{
	json_t *document;
	enum ctl_exit code = read_status(options, &document, err);
	const json_t *worker = find(document, name);

	if (code == CTL_DONE && !worker) {
		err_set(err, "no worker is called %.200s; `worker list` names them", name);
		code = CTL_REFUSED;
	}
	if (code == CTL_DONE) {
		buf_printf(out,
		    "1. On both hubs take %s out of `workers` in the configuration file, then\n"
		    "       understudyctl reload\n"
		    "   From then on nobody of understudy holds its credential or writes to it.\n"
		    "2. It goes on following ",
		    name);
		show_text(out, text_of(worker, "identity")[0] ? text_of(worker, "identity")
							      : "the hub that it follows");
		buf_puts(out, ". To take that claim away, on the worker as a member of the group\n"
			      "   understudy:break-glass:\n"
			      "       kubectl delete clustercontrollers.ha.kubeslice.io active\n");
	}
	json_decref(document);
	return code;
}

enum ctl_exit reload_worker(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	if (argc >= 2 && strcmp(argv[1], "list") == 0) {
		if (argc == 2 || takes_format(argc - 2, argv + 2))
			return list(options, argc == 4 && strcmp(argv[3], "json") == 0, out, err);
		return command_misused(err, argv[0], "list takes -o text or -o json", "");
	}
	if (argc == 3 && strcmp(argv[1], "add") == 0)
		return explain_addition(options, argv[2], out, err);
	if (argc == 3 && strcmp(argv[1], "remove") == 0)
		return explain_removal(options, argv[2], out, err);
	return command_misused(err, argv[0],
	    argc < 2 ? "list, or add or remove and a name" : "unknown word ",
	    argc < 2 ? "" : argv[1]);
}
