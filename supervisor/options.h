/*
 * The command line of understudyd: --config FILE, -n (check only), -a (the audit's rows without a
 * running process), -d (foreground, the default), -v (more log), -h. Texts point into argv.
 */
#ifndef SUPERVISOR_OPTIONS_H
#define SUPERVISOR_OPTIONS_H

#include <stdbool.h>

#include "base/err.h"

#define OPTIONS_DEFAULT_CONFIG "/etc/understudy/understudy.yaml"

struct options {
	const char *config;
	bool check_only, audit, verbose, help;
};

extern const char options_usage[];

/* 0, or -1 with what is wrong with which argument. */
int options_parse(struct options *options, int argc, char **argv, struct err *err);

#endif
