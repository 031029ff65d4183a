/*
 * Goal: each command that asks no daemon answers a program by one document that follows
 * docs/answers.schema.json, with the outcome of its exit code, and the same exit code as for a
 * person. Method: a kubectl of our own, and a played daemon; real servers are the scenarios'.
 */
#include <stdarg.h>

#include "ctl/answer.h"
#include "ctl/check_config.h"
#include "ctl/json.h"
#include "tests/unit/ctl_daemon.h"
#include "tests/unit/ctl_schema.h"

#define NAME "archive-3-0123456789abcdef"

static json_t *schema;
static char folder[96];

/* The answer that is in `out`, which is one of that command's; the caller's. */
static json_t *answer_of(const char *command)
{
	json_t *of = json_object_get(json_object_get(schema, "$defs"), command);
	json_t *answer =
	    json_loadb(out.data ? out.data : "", out.len, JSON_REJECT_DUPLICATES, NULL);

	assert_non_null(of);
	if (!answer || !follows(of, answer))
		fail_msg(
		    "no answer of %s: %s %s", command, out.len ? out.data : "nothing", err.text);
	json_object_set_new(answer, "outcome", json_string("perhaps"));
	assert_false(follows(of, answer));
	json_decref(answer);
	return json_loadb(out.data, out.len, 0, NULL);
}

/* Runs it for a person, then for a program. The last words: NULL. */
static json_t *both(const char *command, enum ctl_exit expected, const char *const *words)
{
	static const char *const outcomes[] = { "done", "refused", "?", "unknown" };
	char *argv[48] = { "understudyctl", "--socket", path };
	enum ctl_exit person, program;
	json_t *answer;
	int argc = 3;

	while (*words)
		argv[argc++] = (char *)*words++;
	buf_clear(&out);
	person = commands_run(argc, argv, &out, &err);
	if (person != expected)
		fail_msg("%s: exit code %d: %s", command, person, err.text);
	argv[argc++] = "-o";
	argv[argc++] = "json";
	buf_clear(&out);
	program = commands_run(argc, argv, &out, &err);
	assert_int_equal(program, person);
	answer = answer_of(command);
	assert_string_equal(member_text(answer, "outcome"), outcomes[expected]);
	assert_true(member_text(answer, "text")[0]);
	if (expected != CTL_DONE)
		assert_string_equal(member_text(answer, "text"), err.text);
	return answer;
}

#define BOTH(command, expected, ...)                                                               \
	both(command, expected, (const char *const[]){ __VA_ARGS__, NULL })
#define DROP(...) json_decref(BOTH(__VA_ARGS__))

/* --- check-config ----------------------------------------------------------------------------- */

static json_t *checked(const char *pair, const char *said, const char *logged)
{
	char *a = strdup(said), *b = strdup(logged);
	json_t *more = check_config_answer("/a.yaml", pair, a, b);

	free(a);
	free(b);
	buf_clear(&out);
	(void)answer_put(&out, CTL_REFUSED, "text", more);
	return answer_of("check-config");
}

static const char *fault(const json_t *answer, size_t at)
{
	const char *text = json_string_value(json_array_get(json_object_get(answer, "faults"), at));

	return text ? text : "";
}

static void a_configuration_is_checked(void **state)
{
	json_t *answer = checked(NULL, "pair 0123-4567-89ab-cdef /a.yaml\nconfiguration ok\n", "");

	(void)state;
	assert_string_equal(member_text(answer, "pair"), "0123-4567-89ab-cdef");
	assert_true(json_is_null(json_object_get(answer, "other")));
	assert_int_equal(json_array_size(json_object_get(answer, "faults")), 0);
	json_decref(answer);
	answer = checked(NULL, "",
	    "{\"level\":\"error\",\"msg\":\"/a.yaml:3: foo: is an unknown key\"}\n"
	    "{\"level\":\"info\",\"msg\":\"x\"}\nno JSON\n");
	assert_true(json_is_null(json_object_get(answer, "pair")));
	assert_string_equal(fault(answer, 0), "/a.yaml:3: foo: is an unknown key");
	assert_string_equal(fault(answer, 1), "no JSON");
	assert_int_equal(json_array_size(json_object_get(answer, "faults")), 2);
	json_decref(answer);
}

static void two_configurations_are_compared(void **state)
{
	const json_t *other;
	json_t *answer = checked("/b.yaml",
	    "pair 0123-4567-89ab-cdef /a.yaml\npair 1123-4567-89ab-cdef /b.yaml\n"
	    "self: hub-a here, hub-a there; expected each hub once (H14)\n1 do not fit /b.yaml\n",
	    "");

	(void)state;
	other = json_object_get(answer, "other");
	assert_string_equal(member_text(other, "pair"), "1123-4567-89ab-cdef");
	assert_true(json_is_false(json_object_get(other, "fits")));
	assert_string_equal(
	    fault(answer, 0), "self: hub-a here, hub-a there; expected each hub once (H14)");
	assert_int_equal(json_array_size(json_object_get(answer, "faults")), 1);
	json_decref(answer);
	/* A file with itself, and a worker's, which has no sum. */
	answer = checked("/a.yaml",
	    "pair 0123-4567-89ab-cdef /a.yaml\npair 0123-4567-89ab-cdef /a.yaml\nit fits /a.yaml\n",
	    "");
	other = json_object_get(answer, "other");
	assert_string_equal(member_text(other, "pair"), "0123-4567-89ab-cdef");
	assert_true(member_true(other, "fits"));
	json_decref(answer);
	answer = checked("/b.yaml", "pair 1123-4567-89ab-cdef /b.yaml\nit fits /b.yaml\n", "");
	assert_true(json_is_null(json_object_get(answer, "pair")));
	assert_string_equal(
	    member_text(json_object_get(answer, "other"), "pair"), "1123-4567-89ab-cdef");
	json_decref(answer);
	answer = checked("/b.yaml", "pair 0123-4567-89ab-cdef /a.yaml\n", "broken\n");
	assert_true(json_is_null(json_object_get(json_object_get(answer, "other"), "fits")));
	json_decref(answer);
	/* The name of a file may be anything. */
	answer = checked("/\xff.yaml",
	    "pair 0123-4567-89ab-cdef /a.yaml\npair 1123-4567-89ab-cdef /\xff.yaml\nself: \xff\n",
	    "");
	other = json_object_get(answer, "other");
	assert_string_equal(member_text(answer, "pair"), "0123-4567-89ab-cdef");
	assert_string_equal(member_text(other, "pair"), "1123-4567-89ab-cdef");
	assert_string_equal(member_text(other, "file"), "/?.yaml");
	assert_string_equal(fault(answer, 0), "self: ?");
	json_decref(answer);
	DROP("check-config", CTL_REFUSED, "check-config", "/\xff.yaml");
	/* Beside this test there is no understudyd. */
	DROP("check-config", CTL_REFUSED, "check-config", "/a.yaml");
}

/* --- worker ----------------------------------------------------------------------------------- */

static void a_worker_comes_and_goes(void **state)
{
	const json_t *step;
	json_t *answer;

	(void)state;
	SERVE("{\"workers\":[{\"name\":\"w1\",\"identity\":\"hub-a\"}]}", "");
	answer = BOTH("worker add, worker remove", CTL_DONE, "worker", "remove", "w1");
	assert_string_equal(member_text(answer, "worker"), "w1");
	assert_int_equal(json_array_size(json_object_get(answer, "steps")), 3);
	step = json_array_get(json_object_get(answer, "steps"), 2);
	assert_string_equal(member_text(step, "where"), "worker");
	assert_non_null(strstr(member_text(step, "text"), "hub-a"));
	assert_string_equal(member_text(step, "command"),
	    "kubectl delete clustercontrollers.ha.kubeslice.io active");
	json_decref(answer);
	answer = BOTH("worker add, worker remove", CTL_DONE, "worker", "add", "w2");
	assert_int_equal(json_array_size(json_object_get(answer, "steps")), 4);
	json_decref(answer);
	DROP("worker add, worker remove", CTL_REFUSED, "worker", "add", "w1");
	DROP("worker add, worker remove", CTL_REFUSED, "worker", "remove", "w2");
	(void)kill(daemon_pid, SIGKILL);
	(void)waitpid(daemon_pid, NULL, 0);
}

/* --- bootstrap -------------------------------------------------------------------------------- */

#define PAIR                                                                                       \
	"bootstrap", "--hub", "a", "--hub", "b", "--project-namespace", "kubeslice-x", "--worker", \
	    "w", "--out", folder, "--yes", "a"

/* As in ctl_bootstrap.c: every server answers as it should. */
static const char good[] =
    "context=; f=; seen=\n"
    "for word; do [ \"$seen\" = c ] && context=$word; [ \"$seen\" = k ] && f=$word; seen=\n"
    "  case $word in --context) seen=c;; --kubeconfig) seen=k;; esac; done\n"
    "case $all in\n"
    "*' config view '*) printf 'https://%s:6443\\n\\n\\n\\n%s\\n' \"$context\""
    " LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t ;;\n"
    "*' kube-system '*) echo \"uid-of-$context\" ;;\n"
    "*' can-i '*) echo yes ;;\n"
    "*' self '*) echo 'Error from server (NotFound): none' >&2; exit 1 ;;\n"
    "*' token '*) printf '2030-01-01T00:00:00Z\\nSECRET' ;;\n"
    "*' --dry-run=server '*) echo 'Error from server (Forbidden): UNDERSTUDY_FENCE "
    "UNDERSTUDY_IDENTITY' >&2; exit 1 ;;\n"
    "*webhookconfigurations*) echo '{\"items\":[]}' ;;\n"
    "*' --kubeconfig '*) input=$(cat)\n"
    "  user=$(sed -n 's/.*user: \\(understudy-[-a-z]*\\)}.*/\\1/p' \"$f\")\n"
    "  space=$(echo \"$input\" | sed -n 's/.*namespace: \"\\([-a-z]*\\)\".*/\\1/p' | head -n 1)\n"
    "  printf 'SelfSubjectReview system:serviceaccount:%s:%s\\nSelfSubjectAccessReview true\\n"
    "SelfSubjectAccessReview false\\n' \"$space\" \"$user\" ;;\n"
    "*' -f - '*) cat >/dev/null ;;\n"
    "esac\n";

static void bootstrap_says_what_each_machine_got(void **state)
{
	const json_t *credential;
	json_t *answer;
	size_t i;

	(void)state;
	put_kubectl(good);
	answer = BOTH("bootstrap", CTL_DONE, PAIR); /* for the program it is the second time */
	assert_string_equal(member_text(answer, "action"), "install");
	assert_int_equal(json_array_size(json_object_get(answer, "clusters")), 3);
	assert_string_equal(
	    member_text(json_array_get(json_object_get(answer, "clusters"), 2), "uid"), "uid-of-w");
	assert_int_equal(json_array_size(json_object_get(answer, "credentials")), 2 * 6 + 2);
	json_array_foreach(json_object_get(answer, "credentials"), i, credential)
	{
		assert_string_equal(member_text(credential, "state"), i < 13 ? "kept" : "none yet");
	}
	assert_string_equal(
	    member_text(json_array_get(json_object_get(answer, "credentials"), 13), "account"),
	    "kubeslice-rbac-worker-w");
	json_decref(answer);
	answer = BOTH("bootstrap", CTL_DONE, PAIR, "--renew");
	credential = json_array_get(json_object_get(answer, "credentials"), 3);
	assert_string_equal(member_text(credential, "machine"), "a");
	assert_string_equal(member_text(credential, "cluster"), "b");
	assert_string_equal(member_text(credential, "account"), "understudy-peer-observer");
	assert_string_equal(member_text(credential, "state"), "made");
	assert_string_equal(member_text(credential, "expires"), "2030-01-01T00:00:00Z");
	assert_int_equal(access(member_text(credential, "file"), R_OK), 0);
	assert_null(strstr(out.data, "SECRET"));
	json_decref(answer);
	DROP("bootstrap", CTL_DONE, PAIR, "--remove");
	answer = BOTH("bootstrap", CTL_DONE, PAIR, "--dry-run");
	assert_int_equal(json_array_size(json_object_get(answer, "manifests")), 4 + 4 + 3);
	assert_int_equal(json_array_size(json_object_get(answer, "credentials")), 0);
	json_decref(answer);
}

static void bootstrap_that_is_refused_says_how_far_it_got(void **state)
{
	json_t *answer;

	(void)state;
	buf_clear(&out);
	assert_int_equal(RUN("bootstrap", "--hub", "a", "--hub", "b", "--out", "/proc/\xff",
			     "--yes", "a", "-o", "json"),
	    CTL_REFUSED);
	answer = answer_of("bootstrap");
	assert_string_equal(member_text(answer, "folder"), "/proc/?");
	json_decref(answer);
	put_kubectl("case $all in *' can-i '*) echo no; exit 1;; esac");
	DROP("bootstrap", CTL_REFUSED, PAIR);
	put_kubectl(good);
	DROP("bootstrap", CTL_REFUSED, "bootstrap", "--hub", "a", "--hub", "b", "--out", folder);
	DROP("bootstrap", CTL_REFUSED, PAIR, "--mirror", "/nonexistent");
	DROP("bootstrap", CTL_REFUSED, PAIR, "--dry-run", "--mirror", "/nonexistent");
	buf_clear(&out);
	assert_int_equal(RUN("bootstrap", "--hub", "a", "-o", "json"), CTL_USAGE);
	assert_int_equal(RUN("bootstrap", "--hub", "a", "-o", "yaml"), CTL_USAGE);
	assert_int_equal(out.len, 0);
	/* The fourth token is not to be had. */
	put_kubectl("case $all in *' token understudy-peer-syncer '*) echo 'Error from server "
		    "(Forbidden): no' >&2; exit 1;; esac\n");
	answer = BOTH("bootstrap", CTL_REFUSED, PAIR);
	json_decref(answer);
}

/* --- archive ---------------------------------------------------------------------------------- */

#define META                                                                                       \
	"{\"name\":\"" NAME "\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"annotations\":{"  \
	"\"ha.kubeslice.io/archived-kind\":\"v1 ConfigMap\",\"ha.kubeslice.io/archived-object\":"  \
	"\"n/x\",\"ha.kubeslice.io/archived-because\":\"extra\","                                  \
	"\"ha.kubeslice.io/archived-part\":\"1/1\"}}"

static void the_archive_is_pruned_and_restored(void **state)
{
	json_t *answer;

	(void)state;
	put_kubectl("case $all in *' get secrets '*) echo '" META "';; esac");
	answer = BOTH("archive prune", CTL_DONE, "archive", "prune", "--dry-run");
	assert_int_equal(json_array_size(json_object_get(answer, "objects")), 1);
	assert_int_equal(member_number(answer, "stay"), 0);
	json_decref(answer);
	DROP("archive prune", CTL_DONE, "archive", "prune", "--yes", "prune");
	DROP("archive prune", CTL_REFUSED, "archive", "prune");
	put_kubectl("echo 'Error from server (Forbidden): no' >&2; exit 1");
	DROP("archive prune", CTL_REFUSED, "archive", "prune", "--yes", "prune");
	DROP("archive restore", CTL_REFUSED, "archive", "restore", NAME, "--to-context", "b");
	put_kubectl(
	    "case $all in\n"
	    "*' get secret '*) data=$(printf '{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
	    "\"metadata\":{\"name\":\"x\",\"namespace\":\"n\"}}' | gzip | base64 -w 0)\n"
	    "  echo '{\"type\":\"ha.kubeslice.io/archived-object\",\"metadata\":" META
	    ",\"data\":{\"object.json.gz\":\"'$data'\"}}' ;;\n"
	    "*' self '*) echo '{\"spec\":{\"role\":\"Leading\",\"term\":4}}' ;;\n"
	    "*' get namespace '*) echo '{}' ;;\n"
	    "*' create '*) cat >/dev/null ;;\n"
	    "esac");
	answer = BOTH("archive restore", CTL_DONE, "archive", "restore", NAME, "--to-context", "b");
	assert_int_equal(json_array_size(json_object_get(answer, "checks")), 3);
	assert_string_equal(member_text(answer, "text"), "restore: done: ConfigMap n/x is created");
	json_decref(answer);
}

/* --- sync with --context ---------------------------------------------------------------------- */

static void leftovers_are_listed_and_written(void **state)
{
	static const char leading[] =
	    "case $all in *' self '*) printf Leading;; *holderIdentity*) printf hub-a;;\n"
	    "*' api-resources '*) echo 'secrets v1 true Secret';;\n"
	    "*' understudy-syncer '*) echo '{\"rules\":[]}';;\n"
	    "*' get '*) echo 'v1 Secret "
	    "{\"name\":\"x\",\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"1\","
	    "\"labels\":"
	    "{\"ha.kubeslice.io/synced-from\":\"active\"},\"annotations\":{\"ha.kubeslice.io/"
	    "delete-held\":\"true\"}}' ;;\n"
	    "*' delete '*) cat >/dev/null; [ ! -e \"$0.changed\" ] || { echo 'Error from server "
	    "(Conflict): it' >&2; exit 1; } ;;\nesac";
	static const char name[] = "sync confirm-deletes, discard, unpark with --context";
	char changed[120];
	json_t *answer;

	(void)state;
	put_kubectl(leading);
	answer = BOTH(name, CTL_DONE, "sync", "confirm-deletes", "--context", "a", "--dry-run");
	assert_string_equal(member_text(answer, "hub"), "hub-a");
	assert_string_equal(
	    member_text(json_array_get(json_object_get(answer, "rows"), 0), "object"),
	    "Secret n/x");
	json_decref(answer);
	DROP(name, CTL_DONE, "sync", "confirm-deletes", "--context", "a", "--yes", "hub-a");
	DROP(name, CTL_REFUSED, "sync", "confirm-deletes", "--context", "a");
	DROP(name, CTL_REFUSED, "sync", "unpark", "--context", "a", "--yes", "hub-a");
	(void)snprintf(changed, sizeof(changed), "%s/kubectl.changed", directory);
	(void)fclose(fopen(changed, "w"));
	answer =
	    BOTH(name, CTL_REFUSED, "sync", "confirm-deletes", "--context", "a", "--yes", "hub-a");
	assert_string_equal(member_text(json_array_get(json_object_get(answer, "rows"), 0), "text"),
	    "was changed meanwhile, and is left as it is");
	json_decref(answer);
	(void)unlink(changed);
	put_kubectl("case $all in *' self '*) printf Leading;; *holderIdentity*) printf hub-a;;\n"
		    "*' api-resources '*) echo 'secrets v1 true Secret';;\n"
		    "*) printf 'Error from server (Forbidden): cut \\303' >&2; exit 1;; esac");
	answer = BOTH(name, CTL_REFUSED, "sync", "unpark", "--context", "a", "--yes", "hub-a");
	assert_int_equal(json_array_size(json_object_get(answer, "unseen")), 2);
	assert_string_equal(
	    member_text(json_array_get(json_object_get(answer, "unseen"), 1), "kind"), "secrets");
	json_decref(answer);
	put_kubectl("printf Standby");
	DROP(name, CTL_REFUSED, "sync", "discard", "--context", "a", "--yes", "hub-a");
}

/* --- All -------------------------------------------------------------------------------------- */

static void every_command_speaks_to_programs(void **state)
{
	const struct command *command;

	(void)state;
	for (size_t i = 0; (command = command_at(i)); i++) {
		bool prints_text =
		    strcmp(command->name, "help") == 0 || strcmp(command->name, "completion") == 0;

		if (!prints_text && !strstr(command->usage, "[-o text|json]"))
			fail_msg("%s has no -o", command->name);
	}
}

static void words_of_others_stay_json(void **state)
{
	json_t *answer;

	(void)state;
	buf_clear(&out);
	assert_int_equal(answer_put(&out, CTL_UNKNOWN, "cut \xc3", NULL), CTL_UNKNOWN);
	answer = json_loadb(out.data, out.len, 0, NULL);
	assert_string_equal(member_text(answer, "text"), "cut ?");
	assert_string_equal(member_text(answer, "outcome"), "unknown");
	json_decref(answer);
}

static int begin(void **state)
{
	schema = json_load_file("docs/answers.schema.json", JSON_REJECT_DUPLICATES, NULL);
	if (!schema || make_kubectl_directory(state) != 0)
		return -1;
	(void)snprintf(folder, sizeof(folder), "%s/out", directory);
	return 0;
}

static int end(void **state)
{
	char command[200];

	json_decref(schema);
	/* What a bootstrap that was refused has made. */
	(void)snprintf(command, sizeof(command), "rm -r %s", folder);
	(void)!system(command);
	return remove_directory(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_configuration_is_checked),
		TEST(two_configurations_are_compared),
		TEST(a_worker_comes_and_goes),
		TEST(bootstrap_says_what_each_machine_got),
		TEST(bootstrap_that_is_refused_says_how_far_it_got),
		TEST(the_archive_is_pruned_and_restored),
		TEST(leftovers_are_listed_and_written),
		TEST(every_command_speaks_to_programs),
		TEST(words_of_others_stay_json),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
