/*
 * The loader: the only process that parses what people write. Root opens the files and hands them
 * in; we check and hand the result on, and then we are gone (F7). Two jobs, one per process:
 *
 *   loader config PATH FLAG...   6: the file, 5: pipe for the result  config.c, config_cross.c,
 * flags.c loader credential NUMBER  6...: its files, 5: link to its role    kubeconfig.c,
 * material.c
 *
 * Below them: yaml.c, values.c (texts), pem.c, jwt.c (OpenSSL, jansson), wipe.c (F30).
 * It must not open, connect or decide anything. Exit 0, or 2 with one log line that says why.
 * Pitfall: P83.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "fence/fence.h"
#include "ipc/role.h"
#include "loader/config.h"
#include "loader/flags.h"
#include "loader/kubeconfig.h"
#include "loader/pem.h"

enum { EXIT_DONE = 0, EXIT_INPUT = 2, EXIT_USAGE = 64 };
enum { FD_RESULT = 5, FD_FIRST_FILE = ROLE_FD_FILES };

struct loader {
	struct role_process *process;
	unsigned credential;
	struct material material;
};

static int fail(const struct err *err)
{
	log_error("%s", err->text);
	return EXIT_INPUT;
}

/* The whole content of an opened file. The supervisor has looked at what kind of file it is; a
 * special one says so here again. */
static int read_file(int fd, const char *path, struct buf *out, struct err *err)
{
	char block[4096];
	ssize_t n;

	while ((n = read(fd, block, sizeof(block))) > 0 && !out->failed)
		buf_append(out, block, (size_t)n);
	explicit_bzero(block, sizeof(block));
	if (n < 0)
		return err_set(err, "%s: cannot be read (%s); expected a regular file", path,
		    errno == EAGAIN ? "it is a FIFO" : strerror(errno));
	if (out->failed)
		return err_set(err, "%s: is larger than 1 MiB; expected less", path);
	return 0;
}

static int write_all(int fd, const void *bytes, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t wrote = write(fd, (const char *)bytes + done, n - done);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return -1;
		done += (size_t)wrote;
	}
	return 0;
}

static int load_config(const char *path, const char *const *flags, unsigned flag_count)
{
	static struct us_config config;
	struct buf text = buf_make_secret(YAML_TREE_MAX_BYTES);
	struct err err;
	int code = EXIT_INPUT;

	for (unsigned i = 0; i < flag_count; i++)
		if (flags_note(flags[i]))
			log_warn("%.*s: %s", (int)strcspn(flags[i], "="), flags[i],
			    flags_note(flags[i]));
	if (read_file(FD_FIRST_FILE, path, &text, &err) ||
	    config_read_with(&config, buf_str(&text), path, flags, flag_count, &err))
		fail(&err);
	else if (write_all(FD_RESULT, &config, sizeof(config)))
		log_error("the supervisor does not take the configuration: %s", strerror(errno));
	else
		code = EXIT_DONE;
	buf_free(&text);
	return code;
}

/* One file of the configuration into its part; `fd` moves on to the next descriptor. */
static int take_file(struct material_part *part, const struct us_config *config, config_text path,
    int *fd, struct err *err)
{
	struct buf bytes = buf_make_secret(YAML_TREE_MAX_BYTES);
	const char *name = config_text_at(config, path);
	int result = 0;

	if (path == 0)
		return 0;
	if (read_file((*fd)++, name, &bytes, err) ||
	    material_take(part, buf_str(&bytes), name, err))
		result = -1;
	buf_free(&bytes);
	return result;
}

static int take_kubeconfig(struct material *material, const char *path, struct err *err)
{
	struct buf text = buf_make_secret(YAML_TREE_MAX_BYTES);
	int result = 0;

	if (read_file(FD_FIRST_FILE, path, &text, err) ||
	    kubeconfig_read(material, buf_str(&text), path, err))
		result = -1;
	buf_free(&text);
	return result;
}

/* The order of the descriptors is the supervisor's: kubeconfig, or CA, token, certificate, key. */
static int take_files(struct material *material, const struct us_config *config,
    const struct config_credential *source, struct err *err)
{
	const char *fault;
	int fd = FD_FIRST_FILE;

	if (source->kubeconfig)
		return take_kubeconfig(material, config_text_at(config, source->kubeconfig), err);
	fault = value_server(config_text_at(config, source->server), &material->server);
	if (fault)
		return err_set(err, "server: %s", fault);
	if (take_file(&material->ca, config, source->ca_file, &fd, err) ||
	    take_file(&material->token, config, source->token_file, &fd, err) ||
	    take_file(&material->certificate, config, source->certificate_file, &fd, err) ||
	    take_file(&material->key, config, source->key_file, &fd, err))
		return -1;
	return 0;
}

/* What the supervisor needs to know; the identity itself it never holds (F7). */
static int tell_loaded(const struct loader *loader, uint64_t key)
{
	const struct material *material = &loader->material;
	struct us_loaded loaded = { .magic = CONTROL_MAGIC,
		.port = material->server.port,
		.fingerprint = material_fingerprint(material, key),
		.public_print = material_public_print(material),
		.issued_us = material->times.issued_us,
		.expires_us = material->times.expires_us };

	(void)str_copy(loaded.host, sizeof(loaded.host), str_of(material->server.host));
	(void)str_copy(loaded.subject, sizeof(loaded.subject), str_of(material->subject));
	role_tell(loader->process, CONTROL_LOADED, 0, 0, NULL);
	return send(ROLE_FD_CONTROL, &loaded, sizeof(loaded), MSG_NOSIGNAL) == sizeof(loaded) ? 0
											      : -1;
}

static int hand_over(const struct loader *loader, uint64_t generation)
{
	const struct material *material = &loader->material;
	struct msg_credential message = { .target = loader->credential,
		.generation = generation,
		.server = str_of(material->server.url),
		.tls_name = str_of(material->tls_name),
		.ca = buf_str(&material->ca.bytes),
		.certificate = buf_str(&material->certificate.bytes),
		.key = buf_str(&material->key.bytes),
		.token = buf_str(&material->token.bytes) };
	struct buf packet = buf_make_secret(MESSAGE_MAX_BYTES);
	struct err err;
	int code = EXIT_INPUT;

	if (message_encode(MSG_CREDENTIAL, &message, &packet, &err))
		fail(&err);
	else if (send(FD_RESULT, packet.data, packet.len, MSG_NOSIGNAL) != (ssize_t)packet.len)
		log_error("the role does not take its credential: %s", strerror(errno));
	else
		code = EXIT_DONE;
	buf_free(&packet);
	return code;
}

static void on_control(void *ctx, const struct us_ctl *ctl, struct str more, int fd)
{
	struct loader *loader = ctx;

	(void)more;
	if (fd >= 0)
		close(fd);
	if (ctl->type == CONTROL_RELEASE)
		role_leave(loader->process, hand_over(loader, ctl->a[0]));
}

/* key: of the fingerprint. The boot id keeps fingerprints of two machines apart, and lets a
 * loader of today compare with one of an hour ago. */
static int load_credential(struct role_process *process, const char *number, uint64_t key)
{
	static const struct role_ops ops = { .on_control = on_control };
	static struct loader loader;
	const struct us_config *config = role_config(process);
	const struct config_credential *source;
	char name[300];
	uint64_t n = CREDENTIAL_LIMIT;
	struct err err;
	int code = EXIT_INPUT;

	if (!config || !str_to_u64(str_of(number), &n) || n >= CREDENTIAL_LIMIT ||
	    !(source = config_credential_of(config, (unsigned)n)))
		return EXIT_USAGE;
	(void)snprintf(name, sizeof(name), "%s%s%s", credential_name((unsigned)n),
	    n < CREDENTIAL_WORKER ? "" : " ",
	    n < CREDENTIAL_WORKER
		? ""
		: config_text_at(config, config->workers[n - CREDENTIAL_WORKER].name));
	loader.process = process;
	loader.credential = (unsigned)n;
	material_init(&loader.material);
	loader.material.token_follows = (n == CREDENTIAL_HUB_A || n == CREDENTIAL_HUB_B) &&
					!source->token_file && !source->kubeconfig;
	if (take_files(&loader.material, config, source, &err) ||
	    material_check(&loader.material, base_clock_wall_us(), &err)) {
		log_error("credential %s: %s", name, err.text);
		goto out;
	}
	if (loader.material.note[0])
		log_warn("credential %s: %s: %s: left out", name, loader.material.ca.where,
		    loader.material.note);
	role_attach(process, &ops, &loader);
	if (tell_loaded(&loader, key) == 0)
		code = role_run(process);
out:
	material_free(&loader.material);
	return code;
}

int main(int argc, char **argv)
{
	struct role_process *process = role_begin(ROLE_LOADER, argc, argv);
	uint64_t boot = fence_boot_id();

	pem_begin();
	role_lock(process, NULL, 0);
	if (argc >= 3 && strcmp(argv[1], "config") == 0)
		return load_config(argv[2], (const char *const *)argv + 3, (unsigned)argc - 3);
	if (argc == 3 && strcmp(argv[1], "credential") == 0)
		return load_credential(process, argv[2], boot);
	log_error("started with no job of this build");
	return EXIT_USAGE;
}
