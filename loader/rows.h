/*
 * What the readers of the configuration's rows share: config.c walks the table and has most of
 * them, config_mirror.c those of `mirror`. Each reader takes one value, complains by
 * config_complain() and then returns false.
 */
#ifndef LOADER_ROWS_H
#define LOADER_ROWS_H

#include "loader/config.h"

struct key_row {
	enum section section;
	const char *key;
	bool (*read)(
	    struct reader *, const struct key_row *, const struct yaml_value *, void *base);
	size_t offset;
	uint64_t least, most;
	const char *fallback, *expected;
};

/* A map's rows, and the struct that they fill. A worker is two of them: itself and its source. */
struct place {
	enum section section;
	void *base;
};

/* Complains that the text is what `fault` says, with the text; false. */
bool row_is_wrong(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, const char *fault);
bool row_is_text(struct reader *r, const struct key_row *row, const struct yaml_value *value);
/* Of a number of members within the row's bounds. */
bool row_is_list(struct reader *r, const struct key_row *row, const struct yaml_value *value);
void *row_field(const struct key_row *row, void *base);
/* Puts the text into the pool. False: it is full. */
bool row_keep_text(
    struct reader *r, const struct yaml_value *value, const char *text, config_text *out);
/* map NULL: nothing is written there, the fallbacks hold. */
bool row_read_map(struct reader *r, const struct yaml_value *map, const struct place *places,
    unsigned place_count);

/* config_mirror.c */
bool read_rules(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base);
bool read_equality(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base);
bool read_kinds(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base);
bool read_word(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base);
bool read_selector(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base);
bool read_skips(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base);

#endif
