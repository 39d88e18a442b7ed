/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include "sm/ctl/find.h"

/*
 * path SRC DST: a packet's way through the published plan, hop by hop. qos explain SRC DST: of
 * which level of service it is, and why. Both as a path record would have it, of the default
 * partition where none is said.
 */
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

/* The other ports that a switch may choose for such a packet; NULL: it goes by its table alone. */
static const struct plan_ar_switch *
spreader(const struct plan *p, const struct plan_hop *hop)
{
	uint32_t sw = p->fabric->nodes[hop->node].sw;

	return sw != FABRIC_NONE && hop->out && p->adaptive ? p->adaptive->sw[sw] : NULL;
}

static void
put_alternatives(struct json *j, const struct plan *p, const struct plan_path *path,
		 const struct plan_hop *hop)
{
	const struct plan_ar_switch *s = spreader(p, hop);
	struct ar_ports ports = { { 0 } };

	if (s)
		ports = plan_ar_choices(s, s->table_of[hop->in], &p->lids->dest[path->dst_lid],
					hop->out);
	jw_array(j, "alternatives");
	for (unsigned port = 1; s && port < 256; port++)
		if (ar_ports_has(&ports, port))
			jw_uint(j, NULL, port);
	jw_end(j);
	jw_bool(j, "spread", ar_ports_count(&ports) && s->mode != AR_STATIC &&
		s->sls >> path->sl & 1);
}

static void
put_hop(struct json *j, const struct plan *p, const struct plan_path *path,
	const struct plan_hop *hop)
{
	const struct fabric *f = p->fabric;

	jw_object(j, NULL);
	jw_str(j, "node", f->nodes[hop->node].name);
	jw_guid(j, "guid", f->nodes[hop->node].guid);
	jw_str(j, "type", node_type_name(f->nodes[hop->node].type));
	jw_uint(j, "in", hop->in);
	jw_uint(j, "out", hop->out);
	jw_uint(j, "vl", hop->vl);
	put_alternatives(j, p, path, hop);
	jw_end(j);
}

static struct level_found
find_level(const struct ctl_req *r, uint16_t src, uint16_t dst)
{
	const struct plan_lids *l = r->plan->lids;
	struct level_query q = {
		.pkey = (uint16_t)req_number(r, "pkey", PKEY_DEFAULT),
		.service_id = req_number(r, "service_id", 0),
		.has_service = json_object_get(r->args, "service_id") != NULL,
		.class = (uint16_t)req_number(r, "class", 0),
		.has_class = json_object_get(r->args, "class") != NULL,
		.src = l->dest[src].port, .dst = l->dest[dst].port,
	};

	return plan_level(r->plan, &q);
}

/* "rules[2]", as the configuration counts them. */
static void
put_level(struct json *j, const struct plan *p, const struct level_found *found)
{
	const char *why = found->why == LEVEL_BY_RULE ? "rule" :
			  found->why == LEVEL_BY_PARTITION ? "partition" : "first level";

	jw_str(j, "level", p->levels ? p->levels->level[found->level].name : NULL);
	jw_str(j, "because", p->levels ? why : NULL);
	if (p->levels && found->why == LEVEL_BY_RULE)
		jw_uint(j, "rule", found->rule);
	else
		jw_null(j, "rule");
}

/* Of a port without a table nothing is known that stands against it. */
static uint16_t
key_of(const struct plan_pkeys *p, uint32_t port, uint16_t pkey)
{
	return p->table[port] == PKEYS_NONE ? pkey | PKEY_FULL :
	       plan_pkeys_find(p, port, pkey & PKEY_NUMBER);
}

/* Whether hosts are told of a path in this partition: both ends are in it, and one fully. */
static void
put_partition(struct json *j, const struct ctl_req *r, uint16_t src, uint16_t dst)
{
	uint16_t pkey = (uint16_t)(req_number(r, "pkey", PKEY_DEFAULT) & PKEY_NUMBER);
	const struct plan_dest *dest = r->plan->lids->dest;
	const struct plan_pkeys *p = r->plan->pkeys;
	bool talk = pkey == PKEY_DEFAULT;	/* where nobody says anything of partitions */

	if (p) {
		uint16_t a = key_of(p, dest[src].port, pkey), b = key_of(p, dest[dst].port, pkey);

		talk = a && b && ((a | b) & PKEY_FULL);
	}
	jw_uint(j, "pkey", pkey);
	jw_bool(j, "talk", talk);
}

static void
explain(struct ctl_req *r)
{
	const struct plan_dest *dest = r->plan->lids->dest;
	struct level_found level;
	uint16_t src, dst;
	struct json *j;

	if (!end_lid(r, "source", &src) || !end_lid(r, "destination", &dst))
		return;
	level = find_level(r, src, dst);
	j = req_begin(r);
	jw_str(j, "subnet", r->subnet->name);
	jw_uint(j, "src_lid", src);
	jw_uint(j, "dst_lid", dst);
	jw_uint(j, "sl", dest[src].port == dest[dst].port ? 0 :
		plan_level_sl(r->plan, &dest[src], &dest[dst], level.level));
	put_level(j, r->plan, &level);
	put_partition(j, r, src, dst);
	req_end(r);
}

static void
path(struct ctl_req *r)
{
	struct plan_path found = { 0 };
	struct level_found level;
	struct error e = { 0 };
	uint16_t src, dst;
	struct json *j;

	if (!end_lid(r, "source", &src) || !end_lid(r, "destination", &dst))
		return;
	level = find_level(r, src, dst);
	if (plan_path_on(r->plan, src, dst, level.level, &found, &e)) {
		req_error(r, &e);
		return;
	}
	j = req_begin(r);
	jw_str(j, "subnet", r->subnet->name);
	jw_uint(j, "src_lid", found.src_lid);
	jw_uint(j, "dst_lid", found.dst_lid);
	jw_uint(j, "sl", found.sl);
	put_level(j, r->plan, &level);
	put_partition(j, r, src, dst);
	jw_array(j, "hops");
	for (unsigned i = 0; i < found.len; i++)
		put_hop(j, r->plan, &found, &found.hops[i]);
	req_end(r);
}

static const struct ctl_arg path_args[] = {
	{ .name = "source", .required = true },
	{ .name = "destination", .required = true },
	{ .name = "service_id", .kind = ARG_NUMBER, .max = INT64_MAX },
	{ .name = "pkey", .kind = ARG_NUMBER, .max = 0xffff },
	{ .name = "class", .kind = ARG_NUMBER, .max = 4095 },
	{ 0 },
};

const struct ctl_command ctl_cmd_path[] = {
	{ .name = "path", .args = path_args, .scope = SCOPE_PLAN, .run = path },
	{ .name = "qos explain", .args = path_args, .scope = SCOPE_PLAN, .run = explain },
	{ 0 },
};
