/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PARTITION_FAKE_H
#define TESTS_PARTITION_FAKE_H

#include <stdlib.h>
#include <string.h>
#include "partitions/change.h"
#include "sm/conf/config.h"
#include "sm/fabric/plan.h"

/* What the control socket is lent of partitions where no daemon is: a partition "blue" that a
 * command made, of two ports (one a limited member) and a GUID that nobody has. */
#define FAKE_NOBODY UINT64_C(0xabcdef)

static struct policy *fake_policy;	/* in force; reference held for good */
static struct partition_change fake_asked;	/* the last; without what it points to */
static char fake_asked_name[PART_NAME_MAX + 1];

/* Puts P_Keys to the plan, which nobody else has yet. */
static inline void
fake_partitions_plan(struct plan *p, uint64_t full, uint64_t limited)
{
	struct part_member members[] = {
		{ .guid = full, .membership = MEMBERSHIP_FULL, .origin = PART_COMMAND },
		{ .guid = limited, .membership = MEMBERSHIP_LIMITED, .origin = PART_COMMAND },
		{ .guid = FAKE_NOBODY, .membership = MEMBERSHIP_BOTH, .origin = PART_COMMAND },
	};
	struct part_row row = { .name = "blue", .pkey = 7, .members = members, .nmembers = 3 };
	struct error e;
	const struct config *conf = config_load(NULL, &e);
	struct pins *pins = pins_new();
	struct policy_input in = { .conf = conf, .subnet = "one", .rows = &row, .nrows = 1,
				   .fabric = p->fabric, .pins = pins };
	struct pkeys_input compile = { .fabric = p->fabric };

	policy_unref(fake_policy);
	if (!conf || policy_new(&in, &fake_policy, &e))
		abort();
	compile.policy = fake_policy;
	p->pkeys = pkeys_compile(&compile, NULL);
	pins_free(pins);
	config_free(conf);
}

/* What the first member asks for is done; partition "full" has no room. */
static inline int
fake_partition(void *subnet, const struct partition_change *c, partition_done_fn done, void *arg,
	       struct error *e)
{
	struct partition_access list = { .guid = c->nmembers ? c->members[0].guid : 0, .pkey = 7,
					 .after = 2 };
	struct partition_report report = { .list = &list, .len = c->nmembers > 0,
					   .gain = c->nmembers > 0, .pkey = 7, .pending = 1,
					   .blocks = 2 };

	(void)subnet;
	fake_asked = *c;
	strncpy(fake_asked_name, c->name, sizeof(fake_asked_name) - 1);
	if (strcmp(c->name, "full") == 0)
		return error_set(e, ERR_FULL, "nothing was changed: port 1 has no room");
	done(arg, 0, c->dry_run ? "nothing was changed" : "it is in force", &report);
	return 0;
}

static inline void
fake_partitions(void *subnet, struct partition_view *v)
{
	(void)subnet;
	*v = (struct partition_view){ .policy = policy_ref(fake_policy),
				      .report = { .pending = 1 } };
}

#endif
