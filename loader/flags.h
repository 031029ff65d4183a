/*
 * Upstream's flags over the file: each overrides a key, before anything is checked, so that a
 * wrong value is an error that names the flag. Pure.
 */
#ifndef LOADER_FLAGS_H
#define LOADER_FLAGS_H

#include "loader/config.h"

/* Puts "NAME=VALUE"s into the tree, in the order of flags.def: what stands later there wins. An
 * empty value, and "0s" for a duration, is none, as upstream has it. False with the error. */
bool flags_apply(
    struct reader *r, struct yaml_tree *tree, const char *const *flags, unsigned count);
/* What a person must know who gives this flag; NULL: nothing. */
const char *flags_note(const char *flag);

#endif
