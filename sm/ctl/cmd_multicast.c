/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include <inttypes.h>
#include <stdio.h>
#include "sm/base/mem.h"
#include "sm/fabric/levels.h"

/*
 * show multicast: the groups of a subnet a slice at a time; one that comes or
 * goes meanwhile may be told or not.
 */
#define SLICE 256u

/* The first level of service whose packets have this service level; NULL: none has. */
static const char *
level_of(const struct plan *p, unsigned sl)
{
	const struct plan_sls *s = p->sls;

	for (unsigned i = 0; p->levels && s && s->slot[sl] != SLS_FREE && i < p->levels->len; i++)
		if (s->place[i] == s->slot[sl] / s->classes)
			return p->levels->level[i].name;
	return NULL;
}

static void
put_group(struct json *j, const struct plan *p, const struct multicast_row *g)
{
	char mgid[40];

	snprintf(mgid, sizeof(mgid), "%016" PRIx64 "%016" PRIx64, g->mgid[0], g->mgid[1]);
	jw_object(j, NULL);
	jw_uint(j, "mlid", g->mlid);
	jw_str(j, "mgid", mgid);
	jw_uint(j, "members", g->members);
	jw_uint(j, "full_members", g->full);
	jw_uint(j, "switches", g->switches);
	jw_uint(j, "sharing", g->sharing);
	jw_uint(j, "pkey", g->pkey);
	jw_uint(j, "qkey", g->qkey);
	jw_uint(j, "mtu", g->mtu);
	jw_uint(j, "rate_mbps", g->rate_mbps);
	jw_uint(j, "sl", g->sl);
	jw_str(j, "level", level_of(p, g->sl & 15));
	jw_end(j);
}

static enum ctl_step
groups_step(struct ctl_req *r)
{
	unsigned *next = r->state;
	struct multicast_row g;

	for (unsigned i = 0; i < SLICE; i++) {
		if (!r->subnet->multicast(r->subnet->subnet, *next, &g)) {
			jw_end(&r->json);
			return STEP_DONE;
		}
		put_group(&r->json, r->plan, &g);
		*next = g.slot + 1u;
	}
	return STEP_MORE;
}

static void
show_multicast(struct ctl_req *r)
{
	struct json *j;

	r->state = mem_zalloc(sizeof(unsigned));
	r->state_free = mem_free;
	j = req_begin(r);
	jw_array(j, "groups");
	req_stream(r, groups_step);
}

const struct ctl_command ctl_cmd_multicast[] = {
	{ .name = "show multicast", .scope = SCOPE_PLAN, .run = show_multicast },
	{ 0 },
};
