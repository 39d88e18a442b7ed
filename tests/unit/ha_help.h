/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_HA_HELP_H
#define TESTS_HA_HELP_H

#include <string.h>
#include "sim/model/model_impl.h"
#include "tests/unit/core_bed.h"
#include "tests/unit/core_tap.h"

/* For tests of several subnet managers on a tree of one spine: ways between them, and Sets that one
 * is made to send to another. */

/* From host to host through leaf, spine and leaf, or one leaf: path[1..], how many hops. */
static inline unsigned
ha_path(const struct bed *b, uint32_t from, uint32_t to, uint8_t path[5])
{
	uint32_t leaf = b->net->nodes[from].ports[1].peer, last = b->net->nodes[to].ports[1].peer;
	uint32_t spine = bed_node(b, "S0");

	path[1] = 1;
	if (leaf == last) {
		path[2] = (uint8_t)bed_port_to(b, leaf, to);
		return 2;
	}
	path[2] = (uint8_t)bed_port_to(b, leaf, spine);
	path[3] = (uint8_t)bed_port_to(b, spine, last);
	path[4] = (uint8_t)bed_port_to(b, last, to);
	return 4;
}

/* SMInfo from one host to another, as a MAD. */
static inline void
ha_sminfo(const struct bed *b, uint32_t from, uint32_t to, uint8_t method, uint32_t modifier,
	  const struct sminfo *i, uint8_t mad[MAD_SIZE])
{
	struct smp smp = {
		.h = { .base_version = 1, .class_version = 1, .method = method, .tid = 0x4711,
		       .mgmt_class = MAD_CLASS_SUBN_DIRECT, .attr_id = ATTR_SM_INFO,
		       .attr_mod = modifier },
		.dr_slid = LID_PERMISSIVE, .dr_dlid = LID_PERMISSIVE,
	};

	smp.hop_count = (uint8_t)ha_path(b, from, to, smp.path);
	sminfo_encode(i, smp.data);
	smp_encode(&smp, mad);
}

static inline const char *
ha_role(const struct bed_sm *sm)
{
	return sm->s ? subnet_role_name(sm->s) : "stopped";
}

static inline bool
ha_is(const struct bed_sm *sm, const char *role)
{
	return strcmp(ha_role(sm), role) == 0;
}

/* Until it is that, at most so long; how long it took. */
static inline monotime
ha_becomes(struct bed_sm *sm, const char *role, monotime bound)
{
	struct bed *b = sm->bed;
	monotime start = loop_now(b->loop);

	while (!ha_is(sm, role)) {
		if (loop_now(b->loop) - start > bound)
			fail_msg("it is %s and does not become %s", ha_role(sm), role);
		bed_wait(b, MSEC(1));
	}
	return loop_now(b->loop) - start;
}

#endif
