/*
 * The configuration file as struct us_config. Pure: text in, struct out, so that tests need no
 * process. The keys are the rows of config.def; rules between keys are in config_cross.c.
 * Errors: "FILE:LINE: KEY: what it is; expected ...". Values are quoted, for the file holds no
 * secret; a URL is not, for somebody may have put a password there.
 */
#ifndef LOADER_CONFIG_H
#define LOADER_CONFIG_H

#include "loader/yaml.h"
#include "policy/config.h"

/* The maps of the file; rows of config.def name them. */
enum section {
	SECTION_ROOT,
	SECTION_HUB,
	SECTION_LEASE,
	SECTION_PROMOTION,
	SECTION_MIRROR,
	SECTION_CREDENTIALS,
	SECTION_SOURCE,
	SECTION_WORKER,
	SECTION_REPOINTER,
	SECTION_FOLLOWER,
	SECTION_HUB_TOKEN,
	SECTION_WORKLOAD,
	SECTION_LISTEN,
	SECTION_DIAL,
	SECTION_RUN,
	SECTION_KIND
};

struct reader {
	struct us_config *config;
	const struct yaml_value *root;
	const char *file;
	uint32_t pool_used;
	struct err *err;
};

/* 0, or -1 with the first error. `file` is for messages. The result has passed config_check(). */
int config_read(struct us_config *config, struct str text, const char *file, struct err *err);
/* The same with upstream's flags over it (flags.h). */
int config_read_with(struct us_config *config, struct str text, const char *file,
    const char *const *flags, unsigned flag_count, struct err *err);

/* The rules that more than one key takes part in: H17, H18, C7, F7. False with the error set. */
bool config_check_cross(struct reader *r);
/* Sets "FILE:LINE: KEY: what; expected ..." and returns false; a flag's name stands in place of
 * file and line where it has put the value. value NULL: about the file. */
bool config_complain(struct reader *r, const struct yaml_value *value, const char *key,
    const char *expected, const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
