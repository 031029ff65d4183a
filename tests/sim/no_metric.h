/*
 * For a world whose role process counts nothing: what a role says of its metrics is not looked at.
 * Included once in a program.
 */
#ifndef TESTS_SIM_NO_METRIC_H
#define TESTS_SIM_NO_METRIC_H

#include "ipc/role.h"

void role_metric(struct role_process *process, enum metric_id id, const char *label,
    const char *label2, int64_t value_micro)
{
	(void)process;
	(void)id;
	(void)label;
	(void)label2;
	(void)value_micro;
}

#endif
