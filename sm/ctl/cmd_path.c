/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include "sm/ctl/find.h"

/* path SRC DST: a packet's way through the published plan, hop by hop. */
static bool
end_lid(struct ctl_req *r, const char *arg, uint16_t *lid)
{
	struct found found;
	struct error e = { 0 };

	if (find_node(r->plan, req_string(r, arg), true, &found, &e))
		req_error(r, &e);
	else if (find_is_inner(r->plan, &found))
		req_fail(r, EXIT_USAGE, "%s is a switch: a path begins and ends at the switch, not "
			 "at one of its ports", r->plan->fabric->nodes[found.node].name);
	else if (find_lid(r->plan, &found, lid, &e))
		req_error(r, &e);
	return !r->answered;
}

static void
put_hop(struct json *j, const struct fabric *f, const struct plan_hop *hop)
{
	jw_object(j, NULL);
	jw_str(j, "node", f->nodes[hop->node].name);
	jw_guid(j, "guid", f->nodes[hop->node].guid);
	jw_str(j, "type", node_type_name(f->nodes[hop->node].type));
	jw_uint(j, "in", hop->in);
	jw_uint(j, "out", hop->out);
	jw_uint(j, "vl", hop->vl);
	jw_array(j, "alternatives");
	jw_end(j);
	jw_end(j);
}

static void
path(struct ctl_req *r)
{
	struct plan_path found = { 0 };
	struct error e = { 0 };
	uint16_t src, dst;
	struct json *j;

	if (!end_lid(r, "source", &src) || !end_lid(r, "destination", &dst))
		return;
	if (plan_path(r->plan, src, dst, &found, &e)) {
		req_error(r, &e);
		return;
	}
	j = req_begin(r);
	jw_str(j, "subnet", r->subnet->name);
	jw_uint(j, "src_lid", found.src_lid);
	jw_uint(j, "dst_lid", found.dst_lid);
	jw_uint(j, "sl", found.sl);
	jw_array(j, "hops");
	for (unsigned i = 0; i < found.len; i++)
		put_hop(j, r->plan->fabric, &found.hops[i]);
	req_end(r);
}

static const struct ctl_arg path_args[] = {
	{ .name = "source", .required = true },
	{ .name = "destination", .required = true },
	{ 0 },
};

const struct ctl_command ctl_cmd_path[] = {
	{ .name = "path", .args = path_args, .scope = SCOPE_PLAN, .run = path },
	{ 0 },
};
