/*
 * The command line of understudyd: --config FILE, -n (check only), --pair OTHER with it, -a (the
 * audit's rows without a running process), -d (foreground, the default), -v (more log), --log FORM,
 * -h, and upstream's flags, which the loader knows, --version. Texts point into argv or the
 * options.
 */
#ifndef SUPERVISOR_OPTIONS_H
#define SUPERVISOR_OPTIONS_H

#include <stdbool.h>

#include "base/err.h"

#define OPTIONS_DEFAULT_CONFIG "/etc/understudy/understudy.yaml"

#define OPTIONS_MAX_FLAGS 20
#define OPTIONS_MAX_FLAG  1100

struct options {
	const char *config;
	const char *pair; /* with check_only: another machine's configuration; NULL */
	bool check_only, audit, verbose, json, help, version;
	/* Upstream's flags as NAME=VALUE; nothing here knows what they mean (flags.def does). */
	const char *flags[OPTIONS_MAX_FLAGS];
	char texts[OPTIONS_MAX_FLAGS][OPTIONS_MAX_FLAG]; /* of those that were two words */
	unsigned flag_count;
};

extern const char options_usage[];

/* 0, or -1 with what is wrong with which argument. */
int options_parse(struct options *options, int argc, char **argv, struct err *err);

#endif
