/*
 * understudyctl: asks the understudyd of this machine. File map: commands.c (the table), operate.c
 * (what changes something), client.c (the socket), show.c (text); archive.c and bootstrap.h, which
 * go to API servers by the caller's kubectl. It holds no right of its own: what the caller may open
 * is what it may ask.
 */
#include <stdio.h>

#include "ctl/commands.h"

int main(int argc, char **argv)
{
	struct buf out = buf_make(4 * CLIENT_MAX_BYTES);
	struct err err = { "" };
	int code = (int)commands_run(argc, argv, &out, &err);

	if (out.failed || (out.len && fwrite(out.data, 1, out.len, stdout) != out.len) ||
	    fflush(stdout) != 0) {
		(void)snprintf(err.text, sizeof(err.text), "the output cannot be written");
		code = CTL_REFUSED;
	}
	if (code != CTL_DONE)
		(void)fprintf(stderr, "understudyctl: %s\n", err.text);
	buf_free(&out);
	return code;
}
