/* SPDX-License-Identifier: BSD-2-Clause */
#include "partitions/change.h"

#include <string.h>
#include "sm/base/mem.h"
#include "sm/conf/config.h"

/* Life of what commands and the core hand each other: a change is copied while it waits, a view is
 * a snapshot with references. */
struct partition_change *
partition_change_copy(const struct partition_change *c)
{
	struct partition_change *copy = mem_zalloc(sizeof(*copy));
	struct part_member *m = mem_array(c->nmembers + 1u, sizeof(*m));

	*copy = *c;
	copy->name = mem_strdup(c->name);
	if (c->nmembers)
		memcpy(m, c->members, c->nmembers * sizeof(*m));
	copy->members = m;
	copy->conf = config_ref(c->conf);
	return copy;
}

void
partition_change_free(struct partition_change *c)
{
	if (!c)
		return;
	mem_free((char *)(uintptr_t)c->name);
	mem_free((struct part_member *)(uintptr_t)c->members);
	config_free(c->conf);
	mem_free(c);
}

void
partition_view_free(struct partition_view *v)
{
	policy_unref(v->policy);
	mem_free(v->aliases);
	memset(v, 0, sizeof(*v));
}
