/*
 * publisher: says on this hub that it is Active, while it is. See publisher/publisher.h for the
 * map.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/log.h"
#include "publisher/publisher.h"

#define CA_MAX_BYTES 65536

/* hubs[self].ca-file on descriptor 6, or nothing; before the lock. */
static void read_ca(struct publisher *publisher)
{
	struct buf pem = buf_make(CA_MAX_BYTES);
	char chunk[4096];
	ssize_t n;

	while ((n = read(ROLE_FD_FILES, chunk, sizeof(chunk))) > 0)
		buf_append(&pem, chunk, (size_t)n);
	close(ROLE_FD_FILES);
	publisher->ca_from_file =
	    pem.len > 0 && !pem.failed && strstr(pem.data, "-----BEGIN CERTIFICATE-----");
	if (!publisher->ca_from_file && (pem.len > 0 || n < 0))
		log_warn("could not read own CA bundle: the ca-file of %s holds no PEM certificate "
			 "of at most %d bytes; the CA of the credential is published",
		    publisher->self, CA_MAX_BYTES);
	publish_set_ca(publisher, publisher->ca_from_file ? buf_str(&pem) : str_of(""));
	buf_free(&pem);
}

static struct publisher *publisher_open(struct role_process *process)
{
	const struct us_config *config = role_config(process);
	struct publisher *publisher = calloc(1, sizeof(*publisher));

	CHECK(publisher);
	publisher->process = process;
	publisher->self = config_text_at(config, config->self_name);
	publisher->endpoint = config_text_at(config, config->hubs[config->self].endpoint);
	publisher->client = kube_client_new(process);
	publish_open(publisher);
	tokens_open(publisher);
	read_ca(publisher);
	role_attach(process, &publisher_ops, publisher);
	return publisher;
}

static void publisher_close(struct publisher *publisher)
{
	tokens_close(publisher);
	bindings_close(publisher);
	publish_close(publisher);
	kube_client_free(publisher->client);
	free(publisher);
}

int main(int argc, char **argv)
{
	struct role_process *process = role_begin(ROLE_PUBLISHER, argc, argv);
	struct publisher *publisher = publisher_open(process); /* curl: before the lock */
	int code;

	role_lock(process, NULL, 0);
	code = role_run(process);
	publisher_close(publisher);
	return code;
}
