/*
 * Terms by slot (C7, I4). Pure arithmetic: no I/O, no clock. Called by the machine when it takes
 * over and when a worker shows a term.
 */
#include "elector/terms.h"

uint64_t terms_next(uint64_t seen, unsigned slot)
{
	uint64_t term;

	if (seen >= TERMS_MAX)
		return 0;
	term = seen + 1;
	if (term % 2 != slot)
		term++;
	return term <= TERMS_MAX ? term : 0;
}

bool terms_plausible(uint64_t term, unsigned slot, uint64_t known)
{
	if (slot > 1 || term == 0 || term > TERMS_MAX || term % 2 != slot)
		return false;
	return term <= known || term - known <= TERMS_LEAP;
}
