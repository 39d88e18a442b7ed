/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/ask.h"

/*
 * ClassPortInfo (IBA 13.4.8.1, 15.2.4): what this administrator can do. Of the optional parts only
 * those are told that are there; nobody is sent elsewhere.
 */
#define RESP_TIME 16		/* 4.096 us * 2^16: 0.27 s */

static void
tell_class(struct sa_ask *a)
{
	struct sa_class_port_info c = {
		.base_version = 1,
		.class_version = SA_CLASS_VERSION,
		.cap_mask = SA_CAP_NOTICE | SA_CAP_MULTICAST | SA_CAP_MULTIPATH |
			SA_CAP_CAP_MASK_MATCH,
		.cap_mask2 = SA_CAP2_MFT_TOP | SA_CAP2_ALIAS_GUIDS | SA_CAP2_FULL_PORTINFO |
			SA_CAP2_EXTENDED_SPEEDS | SA_CAP2_CAP_MASK2_MATCH |
			SA_CAP2_SEND_ONLY_FULL,
		.resp_time = RESP_TIME,
	};

	sa_offer(a, &c);
}

const struct sa_kind_ops sa_class_ops = {
	.type = &sa_class_port_info_type, .own = UINT64_MAX, .tell = tell_class,
};
