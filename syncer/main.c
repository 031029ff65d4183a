/*
 * The syncer's life, from exec to exit (the story of ipc/role.h). It holds the own hub's syncer
 * identity and the peer's read-only one, and nothing else.
 */
#include <stdlib.h>

#include "base/check.h"
#include "base/random.h"
#include "syncer/diff.h"
#include "syncer/syncer.h"

/* Everything that needs a descriptor or a file is made here, before the lock. */
static struct syncer *open_syncer(struct role_process *process)
{
	struct syncer *syncer = calloc(1, sizeof(*syncer));
	const struct us_config *config = role_config(process);

	CHECK(syncer);
	syncer->process = process;
	syncer->loop = role_loop(process);
	syncer->config = config;
	syncer->client = kube_client_new(process);
	kinds_fill(config);
	syncer->mirrors = kinds_any(config);
	engine_open(&syncer->engine, config_text_at(config, config->namespace),
	    config->mirror_window, base_random_u64(), report_note, syncer);
	outside_open(&syncer->outside);
	feeds_open(syncer);
	source_open(syncer);
	writes_open(syncer);
	report_open(syncer);
	preflight_open(syncer);
	served_open(syncer);
	role_attach(process, &syncer_ops, syncer);
	return syncer;
}

static void close_syncer(struct syncer *syncer)
{
	syncer->left = true;
	diff_stop(syncer);
	for (unsigned side = 0; side < SIDE_COUNT; side++)
		for (unsigned kind = 0; kind < kind_end(); kind++)
			feed_stop(&syncer->feeds[side][kind]);
	spaces_close(syncer);
	preflight_close(syncer);
	kube_client_free(syncer->client);
	served_close(syncer);
	engine_close(&syncer->engine);
	outside_close(&syncer->outside);
	free(syncer);
}

int main(int argc, char **argv)
{
	struct role_process *process = role_begin(ROLE_SYNCER, argc, argv);
	struct syncer *syncer = open_syncer(process);
	int code;

	role_lock(process, NULL, 0);
	code = role_run(process);
	close_syncer(syncer);
	return code;
}
