/*
 * The words of bootstrap, its plan, and its steps in their order (see the header). Each step is
 * idempotent: what failed half-way is finished by running it again. Called by commands.c through
 * its table.
 */
#include "ctl/bootstrap.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ctl/answer.h"
#include "ctl/archive.h"
#include "ctl/consent.h"
#include "ctl/show.h"

#define DEFAULT_LIFE_S (30LL * 24 * 3600)
#define LEAST_LIFE_S   600LL /* what an API server issues at least */
#define MOST_LIFE_S    (366LL * 24 * 3600)
#define CLUSTERS_BYTES ((2 + BOOTSTRAP_MAX_WORKERS) * sizeof(struct bootstrap_cluster))
/* Of each hub its own five and one of each worker; of each worker its own, and KubeSlice's. */
#define MAX_CREDENTIALS (2 * (5 + BOOTSTRAP_MAX_WORKERS) + 2 * BOOTSTRAP_MAX_WORKERS)
#define SHARED_BYTES    (CLUSTERS_BYTES + MAX_CREDENTIALS * sizeof(struct bootstrap_result))

/* --- Words ------------------------------------------------------------------------------------ */

static enum ctl_exit misused(struct err *err, const char *what, const char *which)
{
	return command_misused(err, "bootstrap", what, which);
}

/* RFC 1123: part of names of accounts, roles and objects. */
static bool is_label(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!islower((unsigned char)text[i]) && !isdigit((unsigned char)text[i]) &&
		    (text[i] != '-' || i == 0 || i == n - 1))
			return false;
	return n > 0 && n <= 40;
}

/* What stands in a YAML text and in a URL of an API server; the rest understudyd judges. */
bool bootstrap_is_endpoint(const char *text)
{
	return strncmp(text, "https://", 8) == 0 && strlen(text) < 500 &&
	       text[8 + strspn(text + 8, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789-._~:/[]%")] == '\0';
}

struct bootstrap_cluster *bootstrap_cluster_at(struct bootstrap *b, unsigned i)
{
	if (i < b->hub_count)
		return &b->hubs[i];
	i -= b->hub_count;
	return i < b->worker_count ? &b->workers[i] : NULL;
}

static struct bootstrap_cluster *find(struct bootstrap *b, const char *name, size_t n)
{
	struct bootstrap_cluster *cluster;

	for (unsigned i = 0; (cluster = bootstrap_cluster_at(b, i)); i++)
		if (strlen(cluster->name) == n && strncmp(cluster->name, name, n) == 0)
			return cluster;
	return NULL;
}

/* NAME[=CONTEXT]. */
static enum ctl_exit take_cluster(struct bootstrap *b, bool is_hub, const char *word,
    const char *project, const char *kubeconfig, struct err *err)
{
	size_t n = strcspn(word, "=");
	struct bootstrap_cluster *cluster;

	if (!is_label(word, n))
		return misused(err, "a name is a DNS label of at most 40 characters: ", word);
	if (find(b, word, n))
		return misused(err, "this name is there twice: ", word);
	if (is_hub ? b->hub_count == 2 : b->worker_count == BOOTSTRAP_MAX_WORKERS)
		return misused(err, is_hub ? "there are two hubs: " : "too many workers: ", word);
	if (!is_hub && !project)
		return misused(err, "--project-namespace stands before the worker: ", word);
	cluster = is_hub ? &b->hubs[b->hub_count++] : &b->workers[b->worker_count++];
	*cluster = (struct bootstrap_cluster){ .is_hub = is_hub,
		.project = project,
		.admin = { kubeconfig, word[n] ? word + n + 1 : NULL } };
	memcpy(cluster->name, word, n);
	if (!cluster->admin.context)
		cluster->admin.context = cluster->name;
	if (!cluster->admin.context[0] || cluster->admin.context[0] == '-')
		return misused(err, "this names no context: ", word);
	return CTL_DONE;
}

/* NAME=VALUE of a cluster that another option names. */
static enum ctl_exit take_detail(
    struct bootstrap *b, const char *option, const char *word, struct err *err)
{
	size_t n = strcspn(word, "=");
	struct bootstrap_cluster *cluster = find(b, word, n);
	bool is_ca = strcmp(option, "--ca") == 0;

	if (!cluster || !word[n] || (!is_ca && cluster->is_hub != (option[2] == 'h')))
		return misused(err, "this wants the NAME= of a cluster: ", option);
	if (is_ca)
		cluster->ca_file = word + n + 1;
	else if (bootstrap_is_endpoint(word + n + 1))
		cluster->endpoint = word + n + 1;
	else
		return misused(err, "this is no https://HOST[:PORT][/PATH]: ", word + n + 1);
	return CTL_DONE;
}

static enum ctl_exit take_value(struct bootstrap *b, const char *option, const char *value,
    const char **project, const char **kubeconfig, struct err *err)
{
	long long ms;

	if (strcmp(option, "--hub") == 0 || strcmp(option, "--worker") == 0)
		return take_cluster(b, option[2] == 'h', value, *project, *kubeconfig, err);
	if (strcmp(option, "--project-namespace") == 0)
		*project = value;
	else if (strcmp(option, "--kubeconfig") == 0)
		*kubeconfig = value;
	else if (strcmp(option, "--namespace") == 0)
		b->namespace = value;
	else if (strcmp(option, "--out") == 0)
		b->out = value;
	else if (strcmp(option, "--mirror") == 0)
		b->mirror_file = value;
	else if (strcmp(option, "--yes") == 0)
		b->yes = value;
	else if (strcmp(option, "-o") == 0) {
		if (!answer_format(value, &b->as_json))
			return misused(err, "-o takes json or text", "");
	} else if (strcmp(option, "--token-life") == 0) {
		if (!archive_span(value, &ms) || ms < LEAST_LIFE_S * 1000 ||
		    ms > MOST_LIFE_S * 1000)
			return misused(err, "a token lives for 10m to 366d, not ", value);
		b->life_s = ms / 1000;
	} else if (strcmp(option, "--hub-endpoint") != 0 &&
		   strcmp(option, "--worker-endpoint") != 0 && strcmp(option, "--ca") != 0)
		return misused(err, "unknown word ", option);
	return CTL_DONE;
}

static bool take_flag(struct bootstrap *b, const char *word)
{
	if (strcmp(word, "--dry-run") == 0)
		b->dry_run = true;
	else if (strcmp(word, "--renew") == 0)
		b->renew = true;
	else if (strcmp(word, "--remove") == 0)
		b->remove = true;
	else if (strcmp(word, "--force") == 0)
		b->force = true;
	else
		return false;
	return true;
}

static enum ctl_exit judge_words(const struct bootstrap *b, const char *project, struct err *err)
{
	if (b->hub_count != 2)
		return misused(err, "two hubs are wanted, the first one to lead first", "");
	if (!is_label(b->namespace, strlen(b->namespace)))
		return misused(err, "no namespace is called ", b->namespace);
	for (unsigned i = 0; i < b->worker_count; i++)
		if (!is_label(b->workers[i].project, strlen(b->workers[i].project)))
			return misused(err, "no namespace is called ", project);
	if (b->dry_run + b->renew + b->remove > 1)
		return misused(err, "--dry-run, --renew and --remove stand alone", "");
	if (!b->out && !b->dry_run)
		return misused(err, "--out names the folder for what the machines get", "");
	return CTL_DONE;
}

enum ctl_exit bootstrap_parse(int argc, char **argv, struct bootstrap *b, struct err *err)
{
	const char *project = NULL, *kubeconfig = NULL;
	enum ctl_exit code = CTL_DONE;

	b->err = err;
	b->hubs =
	    mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (b->hubs == MAP_FAILED) {
		b->hubs = NULL;
		err_set(err, "out of memory");
		return CTL_REFUSED;
	}
	b->workers = b->hubs + 2;
	b->results = (struct bootstrap_result *)(b->workers + BOOTSTRAP_MAX_WORKERS);
	b->namespace = DEFAULT_NAMESPACE;
	b->life_s = DEFAULT_LIFE_S;
	for (int i = 1; i < argc && code == CTL_DONE; i++) {
		if (take_flag(b, argv[i]))
			continue;
		if (strncmp(argv[i], "--", 2) != 0 && strcmp(argv[i], "-o") != 0)
			return misused(err, "unknown word ", argv[i]);
		if (i + 1 == argc || !argv[i + 1][0])
			return misused(err, "this needs a value, or is no option: ", argv[i]);
		code = take_value(b, argv[i], argv[i + 1], &project, &kubeconfig, err);
		i++;
	}
	for (int i = 1; i < argc && code == CTL_DONE; i++)
		if (strcmp(argv[i], "--hub-endpoint") == 0 ||
		    strcmp(argv[i], "--worker-endpoint") == 0 || strcmp(argv[i], "--ca") == 0)
			code = take_detail(b, argv[i], argv[i + 1], err);
	if (code == CTL_DONE)
		code = judge_words(b, project, err);
	return code == CTL_DONE ? bootstrap_mirror_take(b) : code;
}

void bootstrap_free(struct bootstrap *b)
{
	if (b->hubs)
		(void)munmap(b->hubs, SHARED_BYTES);
	b->hubs = b->workers = NULL;
	b->hub_count = b->worker_count = 0;
	free(b->mirror_text);
	free(b->config);
	b->mirror_text = NULL;
	b->config = NULL;
}

/* --- Telling ---------------------------------------------------------------------------------- */

void bootstrap_show(struct bootstrap *b)
{
	if (b->quiet || !isatty(STDOUT_FILENO) || !b->said->data)
		return;
	(void)fwrite(b->said->data, 1, b->said->len, stdout);
	(void)fflush(stdout);
	buf_clear(b->said);
}

void bootstrap_tell(struct bootstrap *b, const char *format, ...)
{
	char line[1400];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	show_text(b->said, line);
	buf_puts(b->said, "\n");
	bootstrap_show(b);
}

enum ctl_exit bootstrap_fail(
    struct bootstrap *b, const struct bootstrap_cluster *cluster, enum ctl_exit code)
{
	struct err was = *b->err;

	err_set(b->err, "%s: %s", cluster->name, was.text);
	return code;
}

/* What the accounts get rights on, where somebody chose it. */
static void tell_mirror(struct bootstrap *b)
{
	struct buf words = buf_make(1 << 16);

	bootstrap_mirror_put(b->config, &words);
	bootstrap_tell(b, "mirrored: %s", words.data ? words.data : "");
	buf_free(&words);
}

static void tell_plan(struct bootstrap *b)
{
	const struct bootstrap_cluster *cluster;

	bootstrap_tell(b, "%s %s and %s with %u worker%s, namespace %s:",
	    b->remove  ? "remove understudy from"
	    : b->renew ? "new tokens for"
		       : "bootstrap of",
	    b->hubs[0].name, b->hubs[1].name, b->worker_count, b->worker_count == 1 ? "" : "s",
	    b->namespace);
	for (unsigned i = 0; (cluster = bootstrap_cluster_at(b, i)); i++) {
		struct buf line = buf_make(4096);

		buf_puts(&line, "  ");
		show_column(&line, cluster->name, 16);
		show_column(&line, cluster->admin.context, 20);
		buf_puts(&line, cluster->server);
		if (cluster->is_hub)
			buf_printf(
			    &line, "  HubRole: %s", cluster->role[0] ? cluster->role : "none yet");
		else
			buf_printf(&line, "  project %s", cluster->project);
		bootstrap_tell(b, "%s", line.data ? line.data : "");
		buf_free(&line);
	}
	if (b->mirror_file && !b->remove && !b->renew)
		tell_mirror(b);
	if (b->remove)
		bootstrap_tell(b,
		    "rights first, then policies, kinds and Leases go, and the files in %s that "
		    "nobody changed; what the mirror copied and what is archived stays",
		    b->out);
	else if (b->renew)
		bootstrap_tell(
		    b, "each token is made anew, proven, and replaces its file in %s", b->out);
	else
		bootstrap_tell(b,
		    "each hub gets CRD, HubRole, admission policies and then accounts with least "
		    "rights; %s%s gets a folder for each machine "
		    "with its configuration, certificates and tokens for %lld h",
		    b->worker_count ? "each worker the same for both hubs; " : "", b->out,
		    b->life_s / 3600);
}

/* True when the first hub's name was given, by --yes or on the terminal. */
static bool is_consented(struct bootstrap *b)
{
	if (b->yes) {
		if (strcmp(b->yes, b->hubs[0].name) == 0)
			return true;
		err_set(b->err, "--yes names %.100s, the first hub is %s: nothing was done", b->yes,
		    b->hubs[0].name);
		return false;
	}
	if (isatty(STDIN_FILENO)) {
		if ((b->quiet || !isatty(STDOUT_FILENO)) && b->said->data)
			(void)fputs(b->said->data, stderr);
		(void)fprintf(stderr, "Type the name of the first hub to go on: ");
		if (consent_typed(b->hubs[0].name))
			return true;
	}
	err_set(b->err, "not confirmed: nothing was done; in a script: --yes %s", b->hubs[0].name);
	return false;
}

/* --- Steps ------------------------------------------------------------------------------------ */

static enum ctl_exit print_manifests(struct bootstrap *b)
{
	const struct bootstrap_cluster *cluster;

	for (unsigned i = 0; (cluster = bootstrap_cluster_at(b, i)); i++)
		for (unsigned part = PART_FIRST; part < PART_COUNT; part++) {
			buf_printf(b->said, "# --- %s, context ", cluster->name);
			show_text(b->said, cluster->admin.context);
			buf_printf(b->said, ", step %u\n", part + 1);
			bootstrap_manifest(b, cluster, (enum bootstrap_part)part, b->said);
			buf_puts(b->said, "---\n");
		}
	return CTL_DONE;
}

static enum ctl_exit install(struct bootstrap *b)
{
	unsigned clusters = b->hub_count + b->worker_count;
	enum ctl_exit code = bootstrap_folders(b);

	if (code == CTL_DONE && !b->renew)
		code = bootstrap_many(b, clusters, bootstrap_apply);
	if (code == CTL_DONE)
		code = bootstrap_many(b, bootstrap_credential_count(b), bootstrap_credentials);
	if (code == CTL_DONE)
		code = bootstrap_configure(b);
	if (code != CTL_DONE)
		return code;
	bootstrap_tell(b,
	    b->renew
		? "done: copy each machine's credentials and certificates to it; a running "
		  "understudyd takes them over"
		: "done: copy each folder of %s to its machine as " BOOTSTRAP_INSTALLED
		  ", owned by root; `understudyd -n` checks it there; start the first hub first",
	    b->out);
	return CTL_DONE;
}

static enum ctl_exit take_away(struct bootstrap *b)
{
	enum ctl_exit code = bootstrap_many(b, b->hub_count + b->worker_count, bootstrap_remove);

	if (code == CTL_DONE)
		code = bootstrap_forget(b);
	if (code == CTL_DONE)
		bootstrap_tell(b, "done");
	return code;
}

static enum ctl_exit run(struct bootstrap *b)
{
	enum ctl_exit code;

	if (b->dry_run)
		return print_manifests(b);
	code = bootstrap_many(b, b->hub_count + b->worker_count, bootstrap_reach);
	if (code == CTL_DONE)
		code = bootstrap_judge_uids(b);
	if (code == CTL_DONE)
		tell_plan(b);
	if (code == CTL_DONE && !is_consented(b))
		code = CTL_REFUSED;
	if (code == CTL_DONE)
		code = b->remove ? take_away(b) : install(b);
	return code;
}

/* For a program what is told goes into its document, not before it. code: of its words. */
static enum ctl_exit run_for_program(struct bootstrap *b, enum ctl_exit code, struct buf *out)
{
	struct buf said = buf_make(4 << 20);

	/* Nobody tells anything after this. */
	/* cppcheck-suppress autoVariables */
	b->said = &said;
	b->quiet = true;
	if (code == CTL_DONE && !b->dry_run)
		code = run(b);
	code = bootstrap_answer(b, code, &said, out);
	buf_free(&said);
	return code;
}

enum ctl_exit bootstrap_command(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	struct bootstrap *b = calloc(1, sizeof(*b));
	enum ctl_exit code;

	(void)options;
	if (!b) {
		err_set(err, "out of memory");
		return CTL_REFUSED;
	}
	b->said = out;
	code = bootstrap_parse(argc, argv, b, err);
	/* What was misused names no whole cluster. */
	if (b->as_json && code != CTL_USAGE)
		code = run_for_program(b, code, out);
	else if (code == CTL_DONE)
		code = run(b);
	bootstrap_free(b);
	free(b);
	return code;
}
