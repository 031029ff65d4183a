/*
 * Goal: no control struct of a hostile child crashes root, whatever its role and state: the whole
 * surface that a child has to the supervisor (F28), with the struct behind CONTROL_LOADED. The
 * processes have no pid, so that nothing is signalled.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "supervisor/credentials.h"
#include "supervisor/process.h"
#include "supervisor/requests.h"
#include "supervisor/wire.h"
#include "tests/fuzz/fuzz.h"

static struct supervisor supervisor;
static struct us_config config;
static uint64_t page[512];

static void begin(void)
{
	static bool begun;
	struct err err;

	memset(&config, 0, sizeof(config));
	config.mode = CONFIG_STANDBY;
	config.hub_count = 2;
	config.shard_size = 8;
	config.worker_count = 9;
	for (unsigned i = 0; i < config.worker_count; i++)
		config.workers[i].credential.kubeconfig = 1;
	config.credentials[CREDENTIAL_ELECTOR].kubeconfig = 1;
	config.argument_count = 1;
	config.uid_base = 61000;
	if (!begun) {
		log_open("fuzz", LOG_ERROR + 1);
		MUST(events_open(&supervisor.events, &err) == 0);
	}
	begun = true;
	supervisor.config = &config;
	supervisor.config_fd = supervisor.handover = -1;
	supervisor.admin.listener = supervisor.audit.listener = -1;
	supervisor.listeners[0] = supervisor.listeners[1] = -1;
	supervisor.notify.fd = -1;
	supervisor.fence = (struct fence_page){ -1, -1, page };
	memset(supervisor.identities, 0, sizeof(supervisor.identities));
	for (unsigned c = 0; c < CREDENTIAL_LIMIT; c++)
		supervisor.identities[c].role_end = -1;
	process_plan(&supervisor, NULL);
	process_plan(&supervisor, &config);
	supervisor.wire_count = 0;
	wire_plan(&supervisor);
	for (unsigned i = 0; i < supervisor.wire_count; i++) {
		supervisor.wires[i].up = true;
		supervisor.wires[i].generation = 1;
	}
}

static void end(void)
{
	free(supervisor.wires);
	supervisor.wires = NULL;
	supervisor.wire_count = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct us_loaded loaded;
	struct us_ctl ctl;
	struct err err;

	if (size < 2)
		return 0;
	begin();
	for (; size >= 2 + sizeof(ctl); size -= 2 + sizeof(ctl), data += 2 + sizeof(ctl)) {
		struct process *process =
		    data[0] & 0x80 ? process_loader(&supervisor, data[0] & 0x1f)
				   : &supervisor.slots[data[0] % (ROLE_COUNT + ROLE_MAX_SHARDS)];

		if (!process->supervisor)
			continue;
		process->state = data[1] % (PROCESS_LEAVING + 1);
		memcpy(&ctl, data + 2, sizeof(ctl));
		ctl.blob[sizeof(ctl.blob) - 1] = '\0'; /* control_receive has checked it */
		requests_take(process, &ctl);
	}
	memset(&loaded, 0, sizeof(loaded));
	memcpy(&loaded, data, size < sizeof(loaded) ? size : sizeof(loaded));
	if (credentials_check_loaded(&loaded, &err) == 0) {
		MUST(memchr(loaded.host, 0, sizeof(loaded.host)) && *loaded.host);
		MUST(memchr(loaded.subject, 0, sizeof(loaded.subject)));
		MUST(loaded.port > 0 && loaded.port < 65536);
	}
	end();
	return 0;
}
