/*
 * Reads the command line (see the header). Decides nothing, prints nothing: main does.
 */
#include "supervisor/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where upstream's controller gets its namespace from when no flag says it. */
#define UPSTREAMS_VARIABLE "KUBESLICE_CONTROLLER_MANAGER_NAMESPACE"

const char options_usage[] =
    "usage: understudyd [-n [--pair OTHER] | -a] [-d] [-v] [--log FORM] [--config FILE]\n"
    "  --config FILE  the configuration (default " OPTIONS_DEFAULT_CONFIG ")\n"
    "  -n             check the configuration and the files that it names, start nothing\n"
    "  --pair OTHER   with -n: does it fit the configuration of the other hub, or of a worker?\n"
    "  -a             the same, and print what understudyctl audit --offline shows\n"
    "  -d             stay in the foreground (always so: a service manager starts it)\n"
    "  -v             log more\n"
    "  --log FORM     logfmt (the default) or json: the form of the lines on the standard error\n"
    "  --ha-mode, --ha-identity, --controller-end-point, ...: upstream's flags; each overrides a\n"
    "                 key of the configuration (docs/configuration.md)\n"
    "  --version      print which version and build this is\n"
    "exit codes: 0 stopped or checked, 1 could not run, 2 configuration, 78 identity in use\n";

/* The value of `--config FILE` and `--config=FILE`, or of another name; NULL when this is another
 * argument or the value is missing. */
static const char *value_of(const char *name, const char *argument, const char *next, int *taken)
{
	size_t n = strlen(name);

	*taken = 1;
	if (strncmp(argument, name, n) != 0)
		return NULL;
	if (argument[n] == '=')
		return argument + n + 1;
	*taken = 2;
	return argument[n] == '\0' ? next : NULL;
}

static bool take_flag(struct options *options, const char *argument)
{
	if (strcmp(argument, "-n") == 0)
		options->check_only = true;
	else if (strcmp(argument, "-a") == 0)
		options->check_only = options->audit = true;
	else if (strcmp(argument, "-v") == 0)
		options->verbose = true;
	else if (strcmp(argument, "-h") == 0 || strcmp(argument, "--help") == 0)
		options->help = true;
	else if (strcmp(argument, "--version") == 0)
		options->version = true;
	else if (strcmp(argument, "-d") != 0)
		return false;
	return true;
}

static bool is_upstreams(const char *argument)
{
	return strncmp(argument, "--ha-", 5) == 0 ||
	       strncmp(argument, "--controller-end-point", 22) == 0;
}

/* "NAME=VALUE", or "NAME" with a value behind it; or what the environment says. */
static int take_upstreams(
    struct options *options, const char *name, const char *value, int *taken, struct err *err)
{
	bool joined = strchr(name, '=') != NULL;
	char *text;

	if (options->flag_count >= OPTIONS_MAX_FLAGS)
		return err_set(
		    err, "%s: too many flags; expected at most %d", name, OPTIONS_MAX_FLAGS);
	if (!joined && !value)
		return err_set(err, "%s: expected a value", name);
	text = options->texts[options->flag_count];
	if (snprintf(text, OPTIONS_MAX_FLAG, "%s%s%s", name, joined ? "" : "=",
		joined ? "" : value) >= OPTIONS_MAX_FLAG)
		return err_set(err, "%.40s: is too long", name);
	options->flags[options->flag_count++] = text;
	*taken = joined ? 1 : 2;
	return 0;
}

int options_parse(struct options *options, int argc, char **argv, struct err *err)
{
	const char *value = getenv(UPSTREAMS_VARIABLE), *next;
	int taken = 1;

	memset(options, 0, sizeof(*options));
	options->config = OPTIONS_DEFAULT_CONFIG;
	if (value && *value && take_upstreams(options, UPSTREAMS_VARIABLE, value, &taken, err))
		return -1;
	for (int i = 1; i < argc && argv[i]; i += taken) {
		next = i + 1 < argc ? argv[i + 1] : NULL;
		if (is_upstreams(argv[i])) {
			if (take_upstreams(options, argv[i], next, &taken, err))
				return -1;
		} else if ((value = value_of("--config", argv[i], next, &taken)) && *value) {
			options->config = value;
		} else if ((value = value_of("--pair", argv[i], next, &taken)) && *value) {
			options->pair = value;
		} else if ((value = value_of("--log", argv[i], next, &taken))) {
			options->json = strcmp(value, "json") == 0;
			if (!options->json && strcmp(value, "logfmt") != 0)
				return err_set(
				    err, "--log: \"%.40s\"; expected logfmt or json", value);
		} else if (strcmp(argv[i], "--log") == 0) {
			return err_set(err, "--log: expected logfmt or json behind it");
		} else if (strncmp(argv[i], "--config", 8) == 0 ||
			   strncmp(argv[i], "--pair", 6) == 0) {
			return err_set(err, "%s: expected a file behind it", argv[i]);
		} else if (!take_flag(options, argv[i])) {
			return err_set(err, "%s: no such option (-h lists them)", argv[i]);
		}
	}
	if (options->pair && (!options->check_only || options->audit))
		return err_set(err, "--pair: expected with -n");
	return 0;
}
