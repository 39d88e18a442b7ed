/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/ask.h"

/*
 * SMInfoRecord (IBA 15.2.5.8): ourselves and the other subnet managers that were seen. Nobody is
 * told a key, nor can find it by comparing.
 */
static void
tell_sms(struct sa_ask *a)
{
	struct sa_sm list[SA_SMS_MAX] = { 0 };
	unsigned len = a->env->sms(a->env->arg, list);

	for (unsigned i = 0; i < len; i++) {
		list[i].info.sm_key = 0;
		if (!sa_offer(a, &list[i]))
			return;
	}
}

const struct sa_kind_ops sa_sm_ops = {
	.type = &sa_sm_type, .table = true, .tell = tell_sms,
};
