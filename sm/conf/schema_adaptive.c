/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/conf/schema.h"

/*
 * Options of entries of routing.adaptive_devices: what administrators know of their switches, and
 * no public source says. Constant data, as schema.c. Names and values are those of struct ar_layout
 * of sm/wire, which is of the same layer: a test of a higher one compares.
 */
#define IN_DEVICE(field) offsetof(struct config_ar_device, field)

static const char *const sub_groups_words[] = { "zero-based", "count", NULL };

const struct option schema_ar_device[] = {
	{
		.name = "vendor", .type = OPTION_NUMBER, .min = 1, .max = 0xffffff, .hex = true,
		.initial = "0x2c9",
		.stage = STAGE_ROUTING, .offset = IN_DEVICE(vendor),
		.help = "NodeInfo VendorID. Switches of a vendor that is named here are asked "
			"whether they route adaptively, as those of vendor 0x2c9 are anyway.",
	}, {
		.name = "devices", .type = OPTION_RANGES, .max = 0xffff, .hex = true,
		.initial = "[]",
		.stage = STAGE_ROUTING, .offset = IN_DEVICE(devices),
		.count = IN_DEVICE(ndevices),
		.help = "NodeInfo DeviceIDs, one or from-to; without any, all of the vendor.",
	}, {
		.name = "sub_groups", .type = OPTION_WORD, .initial = "zero-based",
		.words = sub_groups_words,
		.stage = STAGE_ROUTING, .offset = IN_DEVICE(sub_groups),
		.help = "What SubGrpsActive of AdaptiveRoutingInfo says: that of groups with one "
			"set of ports is 0, or it is 1.",
	}, {
		.name = "hbf_global_bit", .type = OPTION_NUMBER, .min = 12, .max = 31,
		.initial = "unknown", .word = "unknown", .word_value = CONFIG_AR_UNKNOWN,
		.stage = STAGE_ROUTING, .offset = IN_DEVICE(hbf_global_bit),
		.help = "The bit of the attribute modifier of HBFConfig, counted from the least "
			"significant one, that means all ports at once. Unknown: HBFConfig is not "
			"written, and hashes are made as the switch makes them by itself.",
	},
	{ .name = NULL },
};
