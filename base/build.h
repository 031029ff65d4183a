/*
 * The identity of this build: a hash over all sources, made by the Makefile. A role and the
 * supervisor exchange native structs, so they must come from one build (F38). The version is what
 * people call it, from packaging/debian/changelog.
 * Pitfall: P102.
 */
#ifndef BASE_BUILD_H
#define BASE_BUILD_H

#include <stdint.h>

extern const uint64_t build_id[2];
extern const char build_version[];

#endif
