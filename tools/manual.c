/*
 * Prints understudyctl(1) from the table of commands (ctl/commands.c). Run by the Makefile; is no
 * part of the product.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "ctl/commands.h"

/* A minus that is no hyphen, a line that is no request, a backslash that is one. */
static void put_text(struct str text)
{
	bool line_begins = true;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (line_begins && (c == '.' || c == '\''))
			(void)fputs("\\&", stdout);
		if (c == '\\')
			(void)fputs("\\e", stdout);
		else if (c == '-')
			(void)fputs("\\-", stdout);
		else
			(void)putchar(c);
		line_begins = c == '\n';
	}
}

static void put_commands(void)
{
	const struct command *command;

	for (size_t i = 0; (command = command_at(i)); i++) {
		printf(".Ss ");
		for (const char *p = command->name; *p; p++)
			(void)putchar(toupper((unsigned char)*p));
		/* As it stands in the help: which options go with which verb its lines say. */
		printf("\n.Bd -literal\n");
		put_text(str_of(command->usage));
		printf("\n.Ed\n.Pp\n");
		put_text(str_of(command->summary));
		printf(".\n.Bd -unfilled -offset indent\n");
		put_text(str_of(command->help));
		printf(".Ed\n");
	}
}

int main(void)
{
	printf(
	    ".\\\" Printed by tools/manual.c from ctl/commands.c.\n"
	    ".Dd $Mdocdate$\n.Dt UNDERSTUDYCTL 1\n.Os\n"
	    ".Sh NAME\n.Nm understudyctl\n.Nd asks the understudyd of this machine, and tells it\n"
	    ".Sh SYNOPSIS\n.Nm\n.Op Fl \\-socket Ar path\n.Ar command\n.Op Ar ...\n"
	    ".Nm\n.Fl \\-version\n"
	    ".Sh DESCRIPTION\n.Nm\nasks the sockets of\n.Xr understudyd 8\n"
	    "in its runtime directory. It holds no right of its own: what the caller may open is "
	    "what\n"
	    "may be asked.\n.Pa status.sock\nbelongs to run.status\\-group,\n.Pa admin.sock\n"
	    "to root, or to run.admin\\-group.\n.Pp\n"
	    "A command that changes something has three outcomes: it is done; it is refused, and\n"
	    "nothing was changed; or it is not known yet, and goes on by itself under an operation "
	    "id.\n"
	    "With\n.Fl o Cm json\nthat is in the members outcome and text of what is printed.\n"
	    "One that could lose something shows both hubs and asks for the name of this one.\n"
	    "Nothing but a terminal is ever cleared, and there is no colour.\n"
	    ".Bl -tag -width Ds\n.It Fl \\-socket Ar path\nof\n.Pa status.sock ;\n"
	    "the other sockets are looked for beside it. Default:\n.Pa %s .\n"
	    ".It Fl \\-help , Fl h\nbehind a command what it does, as below; else all commands.\n"
	    ".It Fl \\-version\nprints which version and build this is.\n.El\n"
	    ".Sh COMMANDS\n",
	    CLIENT_DEFAULT_SOCKET);
	put_commands();
	printf(
	    ".Sh FILES\n.Bl -tag -width Ds\n.It Pa /run/understudy/status.sock\nwhat this hub is\n"
	    ".It Pa /run/understudy/admin.sock\ncommands\n"
	    ".It Pa /run/understudy/audit.sock\nwhat understudyd sees of its processes\n"
	    ".It Pa /run/understudy/canary.sock\nthe same, and what canaries meet\n.El\n"
	    ".Sh EXIT STATUS\n.Bl -tag -width Ds -compact\n.It 0\ndone\n"
	    ".It 1\nrefused, and nothing was changed\n"
	    ".It 3\nnot known yet, or still running\n.It 4\nno daemon answers, and nothing was "
	    "asked\n.It 64\nusage\n.El\n"
	    ".Pp\n.Cm sync diff\nends with 0 when the hubs are equal, 1 when they differ, above 1 "
	    "when\n"
	    "that is not known;\n.Cm audit\nwith 0 clean, 1 findings, 2 unverified.\n"
	    ".Sh EXAMPLES\nCould the other hub take over now, and why not:\n"
	    ".Dl understudyctl switchover \\-\\-check\n"
	    "Hand the lead over for maintenance, and wait for the end:\n"
	    ".Dl understudyctl switchover \\-\\-to hub\\-b \\-\\-wait\n"
	    "Take the lead when the peer is gone for good and the guards do not agree:\n"
	    ".Dl understudyctl promote \\-\\-force\n"
	    ".Sh SEE ALSO\n.Xr understudy.conf 5 ,\n.Xr understudy 7 ,\n.Xr understudyd 8\n");
	return 0;
}
