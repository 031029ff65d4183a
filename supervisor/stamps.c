/*
 * Looks at files from outside (see the header). It must not open them: credentials.c does, and a
 * loader reads. Called by credentials.c.
 */
#include "supervisor/stamps.h"

#include <errno.h>
#include <stddef.h>
#include <sys/stat.h>

#define FNV_OFFSET 14695981039346656037ULL
#define FNV_PRIME  1099511628211ULL

static uint64_t add(uint64_t hash, uint64_t value)
{
	for (unsigned i = 0; i < sizeof(value); i++)
		hash = (hash ^ (value >> 8 * i & 0xff)) * FNV_PRIME;
	return hash;
}

static uint64_t add_file(uint64_t hash, const char *path)
{
	struct stat st;

	if (*path == '\0')
		return add(hash, 0);
	if (stat(path, &st) != 0)
		return add(hash, (uint64_t)errno);
	hash = add(add(hash, st.st_dev), st.st_ino);
	hash = add(add(hash, (uint64_t)st.st_size), st.st_uid);
	hash = add(hash, st.st_mode);
	hash = add(add(hash, (uint64_t)st.st_mtim.tv_sec), (uint64_t)st.st_mtim.tv_nsec);
	return add(add(hash, (uint64_t)st.st_ctim.tv_sec), (uint64_t)st.st_ctim.tv_nsec);
}

uint64_t stamps_of_file(const char *path)
{
	return add_file(FNV_OFFSET, path) | 1;
}

uint64_t stamps_of(const struct us_config *config, const struct config_credential *source)
{
	const config_text texts[] = { source->kubeconfig, source->ca_file, source->token_file,
		source->certificate_file, source->key_file };
	uint64_t hash = FNV_OFFSET;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		hash = add_file(hash, config_text_at(config, texts[i]));
	return hash | 1;
}

bool stamps_changed(struct stamps_look *look, uint64_t stamp)
{
	bool settled = look->last == stamp;

	look->last = stamp;
	return settled && look->used != stamp;
}
