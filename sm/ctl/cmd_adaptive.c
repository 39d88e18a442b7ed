/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include "routing/adaptive.h"
#include "sm/base/mem.h"
#include "sm/ctl/listing.h"
#include "sm/fabric/adaptive_view.h"

/*
 * show adaptive: what the configuration wants of adaptive routing, what the plan has for it, and
 * what each switch does, a slice at a time. Where there are many switches those are left out that
 * do what they should, unless all are asked for.
 */
#define SLICE 256u

struct show {
	uint64_t next;		/* row to look at */
	bool all;		/* not only the noteworthy */
};

static void
put_plan(struct json *j, const struct plan_adaptive *a)
{
	struct adaptive_summary sum = { 0 };

	if (a)
		sum = adaptive_sum(a);
	jw_uint(j, "groups", sum.groups);
	jw_uint(j, "groups_max", sum.most);
	jw_uint(j, "left_out", sum.left_out);
	jw_uint(j, "cut", sum.cut);
	jw_str(j, "cut_first", sum.cut ? a->cut_first : NULL);
}

static void
put_sls(struct json *j, const char *key, uint16_t sls)
{
	jw_array(j, key);
	for (unsigned sl = 0; sl < 16; sl++)
		if (sls >> sl & 1)
			jw_uint(j, NULL, sl);
	jw_end(j);
}

static void
put_view(struct json *j, const struct adaptive_view *v)
{
	jw_str(j, "wanted", v->wanted);
	jw_str(j, "mode", v->mode);
	jw_bool(j, "recovery", v->recovery);
	jw_object(j, "count");
	jw_uint(j, "switches", v->switches);
	jw_uint(j, "on", v->on);
	jw_uint(j, "recovery", v->recovering);
	jw_uint(j, "static", v->plain);
	jw_uint(j, "absent", v->absent);
	jw_uint(j, "unasked", v->unasked);
	jw_uint(j, "failed", v->failed);
	jw_end(j);
	jw_object(j, "hosts");
	jw_str(j, "wanted", v->hosts_wanted);
	jw_uint(j, "hosts", v->hosts);
	jw_uint(j, "known", v->hosts_known);
	put_sls(j, "any_order", v->any_order);
	jw_end(j);
}

static void
put_transports(struct json *j, uint8_t transports)
{
	static const struct {
		const char *word;
		uint8_t bit;
	} all[] = { { "rc", AR_RC }, { "uc", AR_UC }, { "dc", AR_DC }, { "ud", AR_UD } };

	jw_array(j, "transports");
	for (unsigned i = 0; i < 4; i++)
		if (transports & all[i].bit)
			jw_str(j, NULL, all[i].word);
	jw_end(j);
}

static void
put_row(struct json *j, const struct plan *p, const struct adaptive_row *row)
{
	uint32_t node = p ? fabric_node_by_guid(p->fabric, row->guid) : FABRIC_NONE;

	jw_object(j, NULL);
	jw_str(j, "node", node == FABRIC_NONE ? NULL : p->fabric->nodes[node].name);
	jw_guid(j, "guid", row->guid);
	jw_str(j, "kind", row->kind);
	jw_str(j, "state", row->state);
	jw_str(j, "why", row->why[0] ? row->why : NULL);
	jw_uint(j, "groups", row->used);
	jw_uint(j, "groups_free", row->room > row->used ? row->room - row->used : 0);
	jw_uint(j, "left_out", row->left_out);
	put_sls(j, "sls", row->sls);
	put_transports(j, row->transports);
	jw_bool(j, "recovery", row->recovery);
	jw_end(j);
}

static enum ctl_step
rows_step(struct ctl_req *r)
{
	struct show *show = r->state;
	struct adaptive_row row;

	for (unsigned i = 0; i < SLICE; i++) {
		if (!r->subnet->adaptive_row(r->subnet->subnet, show->next, &row)) {
			jw_end(&r->json);
			return STEP_DONE;
		}
		if (show->all || row.notable)
			put_row(&r->json, r->plan, &row);
		show->next = row.next;
	}
	return STEP_MORE;
}

static void
show_adaptive(struct ctl_req *r)
{
	struct show *show = mem_zalloc(sizeof(*show));
	struct adaptive_view v;
	struct json *j;

	r->state = show;
	r->state_free = mem_free;
	j = req_begin(r);
	r->subnet->adaptive(r->subnet->subnet, &v);
	show->all = req_flag(r, "all") || v.switches <= LISTING_SHORT;
	jw_str(j, "subnet", r->subnet->name);
	put_view(j, &v);
	put_plan(j, r->plan ? r->plan->adaptive : NULL);
	jw_bool(j, "all", show->all);
	jw_array(j, "switches");
	req_stream(r, rows_step);
}

static const struct ctl_arg adaptive_args[] = {
	{ .name = "all", .kind = ARG_FLAG },
	{ 0 },
};

const struct ctl_command ctl_cmd_adaptive[] = {
	{ .name = "show adaptive", .args = adaptive_args, .scope = SCOPE_PLAN,
	  .run = show_adaptive },
	{ 0 },
};
