/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include <string.h>
#include "sm/base/mem.h"
#include "sm/ctl/find.h"
#include "sm/text/ibnet.h"

/*
 * show topology: the snapshot as other programs read it. Texts (ibnetdiscover's form, and
 * Graphviz's dot) are written by a worker into one buffer and leave as an array of lines; the
 * JSON form streams straight from the snapshot.
 */
#define SLICE 256u		/* nodes, ports or lines in one step */

struct topology {
	const struct plan *plan;	/* the request's */
	bool dot;			/* else ibnetdiscover's form */
	struct buf text;		/* as written by the worker */
	size_t pos;			/* of the next line */
	uint32_t next;			/* node, then port, to write */
	bool links;			/* nodes are done */
};

static void
topology_free(void *state)
{
	struct topology *t = state;

	buf_free(&t->text);
	mem_free(t);
}

/* Graphviz: a label is a quoted string in which a backslash begins an escape. */
static void
dot_string(struct buf *b, const char *s)
{
	buf_char(b, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			buf_char(b, '\\');
		buf_char(b, (unsigned char)*s < ' ' ? ' ' : *s);
	}
	buf_char(b, '"');
}

static void
dot_node(struct buf *b, const struct fabric_node *n)
{
	buf_printf(b, "\t\"%016llx\" [shape=%s, label=", (unsigned long long)n->guid,
		   n->type == NODE_SWITCH ? "box" : "ellipse");
	dot_string(b, n->name);
	buf_str(b, "];\n");
}

static void
dot_link(struct buf *b, const struct fabric *f, uint32_t port, uint32_t end)
{
	const struct fabric_port *p = &f->ports[port], *q = &f->ports[end];
	char text[LINK_TEXT_SIZE];

	buf_printf(b,
		   "\t\"%016llx\" -- \"%016llx\" [taillabel=%u, headlabel=%u, label=\"%s\"%s];\n",
		   (unsigned long long)f->nodes[p->node].guid,
		   (unsigned long long)f->nodes[q->node].guid, p->number, q->number,
		   link_text(text, (enum link_width)p->width, (enum link_speed)p->speed),
		   link_drained(f, port) ? ", style=dashed" : "");
}

/* Of a cable that is up. */
static bool
is_lower_end(const struct fabric *f, uint32_t port)
{
	uint32_t end = fabric_cable_end(f, port);

	return end != FABRIC_NONE && end >= port;
}

static void
dot_write(struct buf *b, const struct fabric *f)
{
	buf_str(b, "graph fabric {\n");
	for (uint32_t i = 0; i < f->nnodes; i++)
		dot_node(b, &f->nodes[i]);
	for (uint32_t i = 0; i < f->nports; i++) {
		if (is_lower_end(f, i))
			dot_link(b, f, i, fabric_cable_end(f, i));
	}
	buf_str(b, "}\n");
}

static void
write_text(struct ctl_req *r)
{
	struct topology *t = r->state;
	struct ibnet *net;

	if (t->dot) {
		dot_write(&t->text, t->plan->fabric);
		return;
	}
	net = fabric_to_ibnet(t->plan->fabric);
	ibnet_write(&t->text, net);
	ibnet_free(net);
}

static enum ctl_step
lines_step(struct ctl_req *r)
{
	struct topology *t = r->state;

	for (unsigned i = 0; i < SLICE && t->pos < t->text.len; i++) {
		char *line = t->text.data + t->pos, *end = strchr(line, '\n');

		if (end)
			*end = '\0';
		jw_str(&r->json, NULL, line);
		t->pos += strlen(line) + 1;
	}
	return t->pos < t->text.len ? STEP_MORE : STEP_DONE;
}

static void
lines_begin(struct ctl_req *r)
{
	jw_array(req_begin(r), "lines");
	req_stream(r, lines_step);
}

static void
put_node(struct json *j, const struct plan *p, uint32_t i)
{
	const struct fabric_node *n = &p->fabric->nodes[i];

	jw_object(j, NULL);
	jw_guid(j, "guid", n->guid);
	jw_guid(j, "system_guid", n->system_guid);
	jw_str(j, "name", n->name);
	jw_str(j, "description", n->desc);
	jw_str(j, "type", node_type_name(n->type));
	jw_uint(j, "ports", n->nports);
	jw_uint(j, "vendor_id", n->vendor_id);
	jw_uint(j, "device_id", n->device_id);
	jw_array(j, "lids");
	for (unsigned k = 0; k <= n->nports; k++) {
		if (!port_lid(p, n->first_port + k))
			continue;
		jw_object(j, NULL);
		jw_uint(j, "port", k);
		jw_guid(j, "guid", p->fabric->ports[n->first_port + k].guid);
		jw_uint(j, "lid", port_lid(p, n->first_port + k));
		jw_uint(j, "lmc", p->lids->lmc[n->first_port + k]);
		jw_end(j);
	}
	jw_end(j);
	jw_end(j);
}

static void
put_link(struct json *j, const struct fabric *f, uint32_t i)
{
	const struct fabric_port *p = &f->ports[i];
	char text[LINK_TEXT_SIZE];

	jw_object(j, NULL);
	put_port(j, "a", f, i);
	put_port(j, "b", f, fabric_cable_end(f, i));
	jw_str(j, "link", link_text(text, (enum link_width)p->width, (enum link_speed)p->speed));
	jw_uint(j, "rate_mbps", p->rate_mbps);
	jw_str(j, "state", port_state_name(p->state));
	jw_bool(j, "drained", link_drained(f, i));
	jw_end(j);
}

static enum ctl_step
json_step(struct ctl_req *r)
{
	struct topology *t = r->state;
	const struct fabric *f = t->plan->fabric;
	uint32_t count = t->links ? f->nports : f->nnodes;

	for (unsigned i = 0; i < SLICE && t->next < count; i++, t->next++) {
		if (!t->links)
			put_node(&r->json, t->plan, t->next);
		else if (is_lower_end(f, t->next))
			put_link(&r->json, f, t->next);
	}
	if (t->next < count)
		return STEP_MORE;
	if (t->links)
		return STEP_DONE;
	jw_end(&r->json);
	jw_array(&r->json, "links");
	t->links = true;
	t->next = 0;
	return STEP_MORE;
}

static void
show_topology(struct ctl_req *r)
{
	const char *form = req_string(r, "format");
	struct topology *t = mem_zalloc(sizeof(*t));
	struct json *j;

	r->state = t;
	r->state_free = topology_free;
	t->plan = r->plan;
	t->dot = form && strcmp(form, "dot") == 0;
	if (!form || strcmp(form, "json") != 0) {
		req_job(r, write_text, lines_begin, MSEC(20));
		return;
	}
	j = req_begin(r);
	jw_str(j, "subnet", r->subnet->name);
	jw_uint(j, "generation", r->plan->fabric->generation);
	jw_array(j, "nodes");
	req_stream(r, json_step);
}

static const char *const forms[] = { "ibnetdiscover", "dot", "json", NULL };

static const struct ctl_arg topology_args[] = {
	{ .name = "format", .words = forms },
	{ 0 },
};

const struct ctl_command ctl_cmd_topology[] = {
	{ .name = "show topology",
	  .args = topology_args,
	  .scope = SCOPE_PLAN,
	  .run = show_topology },
	{ 0 },
};
