/*
 * What the files of an identity look like from outside: enough to notice that one was replaced,
 * also by the swap of a link that the path runs through (..data), without reading a byte of it.
 */
#ifndef SUPERVISOR_STAMPS_H
#define SUPERVISOR_STAMPS_H

#include <stdint.h>

#include "policy/config.h"

/* One number for all files of the credential: it differs when one of them is another file, or was
 * written to, or is gone. Never 0. */
uint64_t stamps_of(const struct us_config *config, const struct config_credential *source);
/* The same of one file, "" included. */
uint64_t stamps_of_file(const char *path);

/* A change counts once it has stood still between two looks: who writes several files, or one in
 * pieces, is not interrupted. Zero-initialised: nothing was ever looked at. */
struct stamps_look {
	uint64_t used; /* as it was when the files were read */
	uint64_t last; /* as it was at the last look */
};
/* True when they should be read again; then call it `used`. Pure. */
bool stamps_changed(struct stamps_look *look, uint64_t stamp);

#endif
