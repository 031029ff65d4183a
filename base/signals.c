/*
 * Dispositions (see the header). Installs no handler, ever, and allocates nothing.
 */
#include "base/signals.h"

#include <signal.h>
#include <stddef.h>

void signals_reset(void)
{
	struct sigaction fresh = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		(void)sigaction(number, &fresh, NULL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

void signals_ignore(void)
{
	static const int ignored[] = { SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGUSR1, SIGUSR2 };

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		(void)signal(ignored[i], SIG_IGN);
}
