/*
 * One error text on its way to a person. A function that can fail for a reason a person must read
 * takes a `struct err *`, fills it once and returns -1. The text names what, where and what was
 * expected, and never a secret.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

struct err {
	char text[512];
};

/* Fills the text (a longer one is cut) and returns -1, so that callers write
 * `return err_set(err, ...)`. err may be NULL. */
int err_set(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
