/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/text/ibnet.h"

#include <inttypes.h>
#include <string.h>
#include "sm/base/map.h"
#include "sm/text/lines.h"

/*
 * From text to a fabric, in three steps. Lines are read in order: "key=value" lines describe the
 * node to come, a header makes it, lines that start with '[' are noted as one end of a cable. Then
 * nodes without a GUID get one (as ibsim counts them: adapters from 0x100000, switches from
 * 0x200000). At last the noted ends are joined: an end that the file does not state is taken
 * from the other, two ends that contradict each other refuse the file.
 *
 * Three dialects come along: ibnetdiscover with port GUIDs, LIDs and rates; its old releases
 * without GUIDs or rates; and ibsim's short form with names alone and w=, s=, e= options.
 */
struct cable_end {
	const char *remote;	/* identifier of the other end, in the text */
	uint64_t remote_guid;	/* port GUID of the other end, 0 if not stated */
	uint32_t remote_len;	/* bytes of it */
	uint32_t node;		/* the end that the line belongs to */
	uint32_t line;		/* line in the file */
	uint16_t remote_lid;	/* LID of the other end, 0 if not stated */
	uint8_t port;		/* port of the end that the line belongs to */
	uint8_t remote_port;	/* port of the other end, unchecked */
};

struct pending_node {
	uint64_t guid;		/* of the key lines before a header, 0 = not stated */
	uint64_t port0_guid;	/* number in parentheses behind it */
	uint64_t system_guid;	/* sysimgguid */
	uint64_t vendor_id;	/* vendid */
	uint64_t device_id;	/* devid */
};

struct parser {
	struct lines l;			/* the text */
	struct ibnet *net;		/* what is being built */
	struct map names;		/* hash of a name to its node, collisions at the next key */
	struct map guids;		/* node GUID to node */
	struct cable_end *ends;		/* nends cable ends in order of the file */
	size_t nends;			/* in use */
	size_t ends_size;		/* allocated */
	struct pending_node next;	/* key lines seen since the last header */
	uint32_t node;			/* node that '[' lines belong to, or IBNET_NONE */
	uint8_t width;			/* default of ports, from width= */
	uint8_t speed;			/* default of ports, from speed= and extspeed= */
};

/* The node called so; *key is where it is, or where it belongs. */
static uint32_t
name_find(const struct parser *p, const char *name, size_t len, uint64_t *key)
{
	uint64_t h = map_text(name, len);
	uint32_t i;

	for (; (i = map_get(&p->names, h)) != MAP_NONE; h++) {
		const char *other = p->net->nodes[i].name;

		if (strlen(other) == len && !memcmp(other, name, len))
			break;
	}
	*key = h;
	return i == MAP_NONE ? IBNET_NONE : i;
}

/* An identifier in quotes. */
static int
take_name(struct lines *l, const char **name, uint32_t *len)
{
	const char *end;

	lines_blanks(l);
	if (!lines_eat(l, "\"") || !(end = lines_find(l, '"')))
		return lines_error(l, "expected a node's identifier in double quotes");
	if (end == l->p || end - l->p > (ptrdiff_t)IBNET_MAX_NAME)
		return lines_error(l, "a node's identifier has 1 to %u bytes", IBNET_MAX_NAME);
	for (const char *c = l->p; c < end; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			return lines_error(l, "a node's identifier holds a control character");
	*name = l->p;
	*len = (uint32_t)(end - l->p);
	l->p = end + 1;
	return 0;
}

/* "[12]" */
static int
take_port(struct lines *l, unsigned max, uint8_t *port)
{
	uint64_t v;

	if (!lines_eat(l, "[") || !lines_number(l, &v) || !lines_eat(l, "]"))
		return lines_error(l, "expected a port number in square brackets");
	if (!v || v > max)
		return lines_error(l, "port %" PRIu64 " is not one of 1 to %u", v, max);
	*port = (uint8_t)v;
	return 0;
}

/* "lid 12" or "lmc 1" where the word is, if it is there. */
static int
find_value(struct lines *l, const char *word, uint64_t max, uint64_t *value)
{
	const char *at = lines_find_word(l, word);
	struct lines rest = *l;

	if (!at)
		return 0;
	rest.p = at + strlen(word);
	if (!lines_number(&rest, value) || *value > max)
		return lines_error(l, "\"%s\" is followed by no number of 0 to %" PRIu64, word,
				   max);
	return 0;
}

/* Skip to behind '#' and blanks; false if the line has no comment. */
static bool
enter_comment(struct lines *l)
{
	const char *hash = lines_find(l, '#');

	if (!hash)
		return false;
	l->p = hash + 1;
	lines_blanks(l);
	return true;
}

/* The description of a header's comment: in quotes (it may hold quotes), or up to a known word. */
static void
take_desc(struct lines *l, const char **desc, size_t *len)
{
	static const char *const words[] = { " enhanced port ", " base port ", " port 0 ", " lid ",
					     " lmc " };
	const char *end = lines_find_last(l, '"');

	*desc = l->p;
	if (l->p < l->stop && *l->p == '"' && end > l->p) {
		*desc = l->p + 1;
		*len = (size_t)(end - *desc);
		l->p = end + 1;
		return;
	}
	end = l->stop;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *at = lines_find_word(l, words[i]);

		if (at && at < end)
			end = at;
	}
	*len = (size_t)(end - *desc);
	l->p = end;
}

static int
parse_switch_tail(struct parser *p, struct ibnet_node *n)
{
	uint64_t lid = 0, lmc = 0;
	int rc;

	n->enhanced_port0 = lines_find_word(&p->l, "enhanced port 0") != NULL;
	if ((rc = find_value(&p->l, "lid ", 0xffff, &lid)) < 0 ||
	    (rc = find_value(&p->l, "lmc ", 7, &lmc)) < 0)
		return rc;
	n->ports[0].lid = (uint16_t)lid;
	n->ports[0].lmc = (uint8_t)lmc;
	return 0;
}

static int
add_node(struct parser *p, enum ibnet_type type, unsigned nports, const char *name, size_t len)
{
	struct ibnet *net = p->net;
	struct ibnet_node *n;
	uint64_t key;
	uint32_t other = name_find(p, name, len, &key);

	if (other != IBNET_NONE)
		return lines_error(&p->l, "node \"%.*s\" has a header in line %u already", (int)len,
				   name, net->nodes[other].line);
	name = text_copy(net->region, name, len, len);
	p->node = ibnet_add(net, type, nports, p->next.guid, name, NULL);
	if (p->node == IBNET_NONE)
		return lines_error(&p->l, "the fabric is larger than %u nodes or %u ports",
				   IBNET_MAX_NODES, IBNET_MAX_PORTS);
	map_set(&p->names, key, p->node);
	n = &net->nodes[p->node];
	n->line = p->l.line;
	n->system_guid = p->next.system_guid;
	n->vendor_id = (uint32_t)p->next.vendor_id;
	n->device_id = (uint16_t)p->next.device_id;
	if (type == IBNET_SWITCH)
		n->ports[0].guid = p->next.port0_guid;
	else
		for (unsigned i = 1; i <= nports; i++)
			n->ports[i].guid = 0;
	memset(&p->next, 0, sizeof(p->next));
	return 0;
}

/* Switch  24 "S-005442ba00003080"  # "ISR9024" base port 0 lid 6 lmc 0 */
static int
parse_header(struct parser *p, enum ibnet_type type)
{
	struct ibnet_node *n;
	const char *name, *desc;
	uint32_t len;
	size_t desc_len;
	uint64_t nports;
	int rc;

	lines_blanks(&p->l);
	if (!lines_number(&p->l, &nports) || !nports || nports > IBNET_MAX_NODE_PORTS)
		return lines_error(&p->l, "expected a number of ports of 1 to %u",
				   IBNET_MAX_NODE_PORTS);
	if ((rc = take_name(&p->l, &name, &len)) < 0 ||
	    (rc = add_node(p, type, (unsigned)nports, name, len)) < 0)
		return rc;
	if (!enter_comment(&p->l))
		return 0;
	n = &p->net->nodes[p->node];
	take_desc(&p->l, &desc, &desc_len);
	if (desc_len || p->l.p > desc)
		n->desc = text_copy(p->net->region, desc, desc_len, IBNET_MAX_NAME);
	return type == IBNET_SWITCH ? parse_switch_tail(p, n) : 0;
}

/* ibsim gives widths and speeds as bit masks; the best one counts. */
static uint8_t
best_width(uint64_t mask)
{
	static const uint8_t order[] = { LINK_12X, LINK_8X, LINK_4X, LINK_2X, LINK_1X };

	for (size_t i = 0; i < sizeof(order); i++)
		if (mask & order[i])
			return order[i];
	return 0;
}

static uint8_t
best_speed(uint64_t mask)
{
	return mask & 4 ? SPEED_QDR : mask & 2 ? SPEED_DDR : mask & 1 ? SPEED_SDR : SPEED_NONE;
}

static uint8_t
best_extended(uint64_t mask)
{
	return mask & 8 ? SPEED_NDR : mask & 4 ? SPEED_HDR : mask & 2 ? SPEED_EDR :
		mask & 1 ? SPEED_FDR : SPEED_NONE;
}

/* w=, s= and e= between the other end and the comment. */
static int
parse_options(struct lines *l, struct ibnet_port *port)
{
	uint64_t v;

	for (lines_blanks(l); l->p < l->stop && *l->p != '#'; lines_blanks(l)) {
		char option = *l->p++;

		if (!lines_eat(l, "=") || !lines_number(l, &v))
			return lines_error(l, "expected w=, s= or e= and a number, or a comment");
		if (option == 'w')
			port->width = best_width(v);
		else if (option == 's' && port->speed < SPEED_FDR)
			port->speed = best_speed(v);
		else if (option == 'e' && best_extended(v))
			port->speed = best_extended(v);
	}
	return 0;
}

/* The last words of a cable's line: lid 4 4xEDR. An unknown rate is no rate. */
static int
parse_remote_tail(struct lines *l, struct ibnet_port *port, struct cable_end *end)
{
	enum link_width width;
	enum link_speed speed;
	uint64_t lid;
	char rate[LINK_TEXT_SIZE] = "";

	lines_blanks(l);
	if (!lines_eat(l, "lid "))
		return 0;
	if (!lines_number(l, &lid) || lid > 0xffff)
		return lines_error(l, "\"lid \" is followed by no number of 0 to 65535");
	end->remote_lid = (uint16_t)lid;
	lines_blanks(l);
	for (size_t i = 0; i + 1 < sizeof(rate) && l->p < l->stop && *l->p != ' '; i++)
		rate[i] = *l->p++;
	if (link_parse(rate, &width, &speed)) {
		port->width = (uint8_t)width;
		port->speed = (uint8_t)speed;
	}
	return 0;
}

/* # lid 4 lmc 1 "description of the other end" lid 6 4xSDR */
static int
parse_cable_comment(struct lines *l, struct ibnet_port *port, bool own, struct cable_end *end)
{
	const char *quote = lines_find(l, '"');
	uint64_t lid = 0, lmc = 0;
	struct lines head = *l;
	int rc;

	if (own) {
		head.stop = quote ? quote : l->stop;
		if ((rc = find_value(&head, "lid ", 0xffff, &lid)) < 0 ||
		    (rc = find_value(&head, "lmc ", 7, &lmc)) < 0)
			return rc;
		port->lid = (uint16_t)lid;
		port->lmc = (uint8_t)lmc;
	}
	if (!quote)
		return 0;
	l->p = lines_find_last(l, '"') + 1;
	return parse_remote_tail(l, port, end);
}

static void
skip_ext(struct lines *l)	/* "[ext 3]", the number on a chassis' front */
{
	const char *end;

	if (lines_eat(l, "[ext ") && (end = lines_find(l, ']')))
		l->p = end + 1;
}

static int
take_guid(struct lines *l, uint64_t *guid)	/* "(8f10403961355)", if it is there */
{
	if (lines_eat(l, "(") && (!lines_hex(l, guid) || !lines_eat(l, ")")))
		return lines_error(l, "expected a GUID in parentheses");
	return 0;
}

static struct cable_end *
new_end(struct parser *p)
{
	struct cable_end *end;

	if (p->nends == p->ends_size) {
		p->ends_size = p->ends_size ? p->ends_size * 2 : 64;
		p->ends = mem_realloc(p->ends, p->ends_size, sizeof(*p->ends));
	}
	end = &p->ends[p->nends++];
	memset(end, 0, sizeof(*end));
	end->node = p->node;
	end->line = p->l.line;
	return end;
}

/* [1](8f10403960985)  "S-0008f10400410015"[6](guid)  w=2  # comment */
static int
parse_cable(struct parser *p)
{
	struct lines *l = &p->l;
	struct ibnet_node *n;
	struct ibnet_port *port;
	struct cable_end *end;
	int rc;

	if (p->node == IBNET_NONE)
		return lines_error(l, "a port comes before the header of its node");
	n = &p->net->nodes[p->node];
	end = new_end(p);
	if ((rc = take_port(l, n->nports, &end->port)) < 0)
		return rc;
	port = &n->ports[end->port];
	if (port->line)
		return lines_error(l, "port %u of \"%s\" is given in line %u already", end->port,
				   n->name, port->line);
	port->line = l->line;
	if ((rc = take_guid(l, &port->guid)) < 0)
		return rc;
	skip_ext(l);
	if ((rc = take_name(l, &end->remote, &end->remote_len)) < 0)
		return rc;
	lines_blanks(l);
	end->remote_port = 1;
	if (l->p < l->stop && *l->p == '[' &&
	    (rc = take_port(l, IBNET_MAX_NODE_PORTS, &end->remote_port)) < 0)
		return rc;
	skip_ext(l);
	if ((rc = take_guid(l, &end->remote_guid)) < 0 || (rc = parse_options(l, port)) < 0)
		return rc;
	return enter_comment(l) ?
		parse_cable_comment(l, port, n->type != IBNET_SWITCH, end) : 0;
}

static int
key_value(struct parser *p, uint64_t max, uint64_t *value)
{
	if (!lines_number(&p->l, value) || *value > max)
		return lines_error(&p->l, "expected a number of 0 to 0x%" PRIx64 " behind '='",
				   max);
	p->node = IBNET_NONE;
	return 0;
}

static int
parse_rate_default(struct parser *p)
{
	struct lines *l = &p->l;
	uint64_t v;

	if (lines_eat(l, "width=") && lines_number(l, &v) && best_width(v))
		p->width = best_width(v);
	else if (lines_eat(l, "extspeed=") && lines_number(l, &v) && v <= 15)
		p->speed = best_extended(v) ? best_extended(v) : p->speed;
	else if (lines_eat(l, "speed=") && lines_number(l, &v) && best_speed(v))
		p->speed = best_speed(v);
	else
		return lines_error(l, "expected a bit mask of widths or speeds behind '='");
	return 0;
}

static int
parse_key(struct parser *p)
{
	struct lines *l = &p->l;
	int rc;

	if (lines_eat(l, "vendid="))
		return key_value(p, 0xffffff, &p->next.vendor_id);
	if (lines_eat(l, "devid="))
		return key_value(p, 0xffff, &p->next.device_id);
	if (lines_eat(l, "sysimgguid="))
		return key_value(p, UINT64_MAX, &p->next.system_guid);
	if (lines_eat(l, "caguid=") || lines_eat(l, "hcaguids=") || lines_eat(l, "rtguid="))
		return key_value(p, UINT64_MAX, &p->next.guid);
	if (lines_eat(l, "switchguid=")) {
		rc = key_value(p, UINT64_MAX, &p->next.guid);
		return rc < 0 ? rc : take_guid(l, &p->next.port0_guid);
	}
	if (lines_find_word(l, "width=") == l->p || lines_find_word(l, "speed=") == l->p ||
	    lines_find_word(l, "extspeed=") == l->p)
		return parse_rate_default(p);
	/* ibnetdiscover -g heads its sections so. */
	if (lines_eat(l, "Chassis ") || lines_eat(l, "Non-Chassis "))
		return 0;
	return lines_error(l, "this is no line of ibnetdiscover's text: \"%.*s\"",
			   l->stop - l->p > 40 ? 40 : (int)(l->stop - l->p), l->p);
}

static int
parse_line(struct parser *p)
{
	struct lines *l = &p->l;

	if (l->p == l->stop || *l->p == '#')
		return 0;
	if (*l->p == '[')
		return parse_cable(p);
	if (lines_eat(l, "Switch"))
		return parse_header(p, IBNET_SWITCH);
	if (lines_eat(l, "Ca") || lines_eat(l, "Hca"))
		return parse_header(p, IBNET_CA);
	if (lines_eat(l, "Rt"))
		return parse_header(p, IBNET_ROUTER);
	return parse_key(p);
}

static int
claim_guid(struct parser *p, uint32_t i)
{
	const struct ibnet_node *n = &p->net->nodes[i];
	uint32_t other = map_get(&p->guids, n->guid);

	p->l.line = n->line;
	if (other != MAP_NONE)
		return lines_error(&p->l, "node \"%s\" has the GUID 0x%016" PRIx64
				   " of node \"%s\" in line %u", n->name, n->guid,
				   p->net->nodes[other].name, p->net->nodes[other].line);
	map_set(&p->guids, n->guid, i);
	return 0;
}

static void
fill_guids(struct ibnet_node *n)
{
	if (!n->system_guid)
		n->system_guid = n->guid;
	if (n->type == IBNET_SWITCH && !n->ports[0].guid)
		n->ports[0].guid = n->guid;
	for (unsigned i = 1; i <= n->nports && n->type != IBNET_SWITCH; i++)
		if (!n->ports[i].guid)
			n->ports[i].guid = n->guid + i;
}

/* Stated GUIDs first, so that an invented one never takes the place of a stated one. */
static int
settle_guids(struct parser *p)
{
	uint64_t ca = 0x100000, sw = 0x200000;
	int rc;

	for (uint32_t i = 0; i < p->net->nnodes; i++)
		if (p->net->nodes[i].guid && (rc = claim_guid(p, i)) < 0)
			return rc;
	for (uint32_t i = 0; i < p->net->nnodes; i++) {
		struct ibnet_node *n = &p->net->nodes[i];
		uint64_t *count = n->type == IBNET_SWITCH ? &sw : &ca;

		while (!n->guid) {
			if (map_get(&p->guids, *count) == MAP_NONE) {
				n->guid = *count;
				map_set(&p->guids, n->guid, i);
			}
			*count += n->type == IBNET_SWITCH ? 1u : n->nports + 1u;
		}
	}
	return 0;
}

static int
contradiction(struct parser *p, const struct cable_end *end, const struct ibnet_node *r)
{
	const struct ibnet_node *n = &p->net->nodes[end->node];
	const struct ibnet_port *q = &r->ports[end->remote_port];

	p->l.line = end->line;
	return lines_error(&p->l, "port %u of \"%s\" goes to port %u of \"%s\" here, but line %u "
			   "joins that one to port %u of \"%s\"", end->port, n->name,
			   end->remote_port, r->name, q->line, q->peer_port,
			   p->net->nodes[q->peer].name);
}

/* Find who is meant by an end's line, and note it on the end's own side. */
static int
resolve(struct parser *p, const struct cable_end *end)
{
	const struct ibnet_node *n = &p->net->nodes[end->node];
	uint64_t key;
	uint32_t remote = name_find(p, end->remote, end->remote_len, &key);

	p->l.line = end->line;
	if (remote == IBNET_NONE)
		return lines_error(&p->l, "port %u of \"%s\" goes to \"%.*s\", of which the file "
				   "has no header", end->port, n->name, (int)end->remote_len,
				   end->remote);
	if (end->remote_port > p->net->nodes[remote].nports)
		return lines_error(&p->l, "port %u of \"%s\" goes to port %u of \"%.*s\", which "
				   "has %u ports", end->port, n->name, end->remote_port,
				   (int)end->remote_len, end->remote, p->net->nodes[remote].nports);
	n->ports[end->port].peer = remote;
	n->ports[end->port].peer_port = end->remote_port;
	return 0;
}

/* Bring what one end's line says to the other end, which may have no line of its own. */
static int
join(struct parser *p, const struct cable_end *end)
{
	struct ibnet_port *port = &p->net->nodes[end->node].ports[end->port];
	struct ibnet_node *r = &p->net->nodes[port->peer];
	struct ibnet_port *q = &r->ports[end->remote_port];
	struct ibnet_port *lid_port = r->type == IBNET_SWITCH ? &r->ports[0] : q;

	if (q->peer == IBNET_NONE) {
		q->peer = end->node;
		q->peer_port = end->port;
		q->line = end->line;
	}
	if (q->peer != end->node || q->peer_port != end->port)
		return contradiction(p, end, r);
	if (!lid_port->lid)
		lid_port->lid = end->remote_lid;
	if (r->type != IBNET_SWITCH && !q->guid)
		q->guid = end->remote_guid;
	if (!q->width) {
		q->width = port->width;
		q->speed = port->speed;
	}
	return 0;
}

static void
settle_ports(struct parser *p, struct ibnet_node *n, uint32_t *ends)
{
	fill_guids(n);
	for (unsigned i = 1; i <= n->nports; i++) {
		struct ibnet_port *port = &n->ports[i];

		if (port->peer == IBNET_NONE)
			continue;
		if (!port->width)
			port->width = p->width;
		if (!port->speed)
			port->speed = p->speed;
		/* A plug that loops a port back to itself has one end. */
		*ends += &p->net->nodes[port->peer].ports[port->peer_port] == port ? 2 : 1;
	}
}

static int
finish(struct parser *p)
{
	uint32_t ends = 0;
	int rc;

	if (!p->net->nnodes)
		return error_set(p->l.e, ERR_FORMAT, "%s holds no node; is it the output of "
				 "ibnetdiscover?", p->l.file);
	if ((rc = settle_guids(p)) < 0)
		return rc;
	for (size_t i = 0; i < p->nends; i++)
		if ((rc = resolve(p, &p->ends[i])) < 0)
			return rc;
	for (size_t i = 0; i < p->nends; i++)
		if ((rc = join(p, &p->ends[i])) < 0)
			return rc;
	for (uint32_t i = 0; i < p->net->nnodes; i++)
		settle_ports(p, &p->net->nodes[i], &ends);
	p->net->nlinks = ends / 2;
	return 0;
}

int
ibnet_parse(struct ibnet **net, const char *text, size_t size, const char *file, struct error *e)
{
	struct parser p = { .node = IBNET_NONE, .width = LINK_4X, .speed = SPEED_SDR };
	int rc;

	*net = NULL;
	p.net = ibnet_new();
	lines_start(&p.l, text, size, file, e);
	while ((rc = lines_next(&p.l, IBNET_MAX_LINE)) > 0)
		if ((rc = parse_line(&p)) < 0)
			break;
	if (rc == 0)
		rc = finish(&p);
	map_free(&p.names);
	map_free(&p.guids);
	mem_free(p.ends);
	if (rc < 0)
		ibnet_free(p.net);
	else
		*net = p.net;
	return rc;
}

int
ibnet_read(struct ibnet **net, const char *path, struct error *e)
{
	struct buf b = { 0 };
	int rc;

	*net = NULL;
	rc = text_load(&b, path, e);
	if (rc == 0)
		rc = ibnet_parse(net, b.data ? b.data : "", b.len, path, e);
	buf_free(&b);
	return rc;
}
