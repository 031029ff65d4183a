/*
 * Has understudyd check a configuration (see the header): its loader reads the file, as at a start,
 * so that there is one opinion. Called by commands.c through its table.
 */
#include "ctl/check_config.h"

#include <errno.h>
#include <string.h>

#include "ctl/spawn.h"

enum { UNDERSTUDYD_OK = 0, UNDERSTUDYD_CONFIG = 2 };

enum ctl_exit check_config_command(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	char *words[8] = { "understudyd", "-n", NULL };
	char *config = NULL, *pair = NULL;
	unsigned n = 2;
	pid_t pid;
	int code;

	(void)options;
	(void)out; /* it prints by itself */
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--pair") == 0 && !pair && i + 1 < argc && argv[i + 1][0])
			pair = argv[++i];
		else if (argv[i][0] && argv[i][0] != '-' && !config)
			config = argv[i];
		else
			return command_misused(err, argv[0], "unknown word ", argv[i]);
	}
	if (config) {
		words[n++] = "--config";
		words[n++] = config;
	}
	if (pair) {
		words[n++] = "--pair";
		words[n] = pair;
	}
	if (spawn_understudyd(words, -1, &pid) != 0) {
		err_set(err,
		    "understudyd cannot be started: %s; it is looked for beside understudyctl",
		    strerror(errno));
		return CTL_REFUSED;
	}
	code = spawn_wait(pid);
	if (code == UNDERSTUDYD_OK)
		return CTL_DONE;
	err_set(err, "%s",
	    code == UNDERSTUDYD_CONFIG ? "the configuration is not right, as understudyd says"
				       : "it could not be checked, as understudyd says");
	return CTL_REFUSED;
}
