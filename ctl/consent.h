/*
 * What a person types to let something happen that cannot be taken back: a word, at a prompt that
 * the caller has written. Nothing else reads the terminal.
 */
#ifndef CTL_CONSENT_H
#define CTL_CONSENT_H

#include <stdbool.h>

/* Whether the next line of standard input is that word. */
bool consent_typed(const char *word);

#endif
