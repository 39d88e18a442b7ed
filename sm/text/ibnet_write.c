/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/text/ibnet.h"

#include <inttypes.h>
#include <string.h>

/*
 * The text of a fabric, laid out as ibnetdiscover does it: for each node its identifying numbers,
 * a header, and a line a cable; an empty line behind it. The reader of packaged ibsim needs its
 * numbers before the header, a cable's line to start with '[', and the LID and rate of the other
 * end last in the line.
 */
static const char *
type_word(const struct ibnet_node *n)
{
	return n->type == IBNET_SWITCH ? "Switch" : n->type == IBNET_CA ? "Ca" : "Rt";
}

/* A description in quotes, without what would end the line. */
static void
write_quoted(struct buf *b, const char *s)
{
	size_t len = strnlen(s, IBNET_MAX_NAME);

	buf_char(b, '"');
	for (size_t i = 0; i < len; i++)
		buf_char(b, (unsigned char)s[i] < ' ' || s[i] == 127 ? '?' : s[i]);
	buf_char(b, '"');
}

static void
write_header(struct buf *b, const struct ibnet_node *n)
{
	buf_printf(b, "vendid=0x%x\ndevid=0x%x\nsysimgguid=0x%" PRIx64 "\n", n->vendor_id,
		   n->device_id, n->system_guid);
	if (n->type == IBNET_SWITCH)
		buf_printf(b, "switchguid=0x%" PRIx64 "(%" PRIx64 ")\n", n->guid, n->ports[0].guid);
	else
		buf_printf(b, "%sguid=0x%" PRIx64 "\n", n->type == IBNET_CA ? "ca" : "rt", n->guid);
	buf_printf(b, "%s\t%u \"%s\"\t\t# ", type_word(n), n->nports, n->name);
	write_quoted(b, n->desc);
	if (n->type == IBNET_SWITCH)
		buf_printf(b, " %s port 0 lid %u lmc %u", n->enhanced_port0 ? "enhanced" : "base",
			   n->ports[0].lid, n->ports[0].lmc);
	buf_char(b, '\n');
}

static void
write_cable(struct buf *b, const struct ibnet *net, const struct ibnet_node *n, unsigned port)
{
	const struct ibnet_port *p = &n->ports[port];
	const struct ibnet_node *r = &net->nodes[p->peer];
	const struct ibnet_port *q = &r->ports[p->peer_port];
	char rate[LINK_TEXT_SIZE];

	buf_printf(b, "[%u]", port);
	if (n->type != IBNET_SWITCH)
		buf_printf(b, "(%" PRIx64 ") ", p->guid);
	buf_printf(b, "\t\"%s\"[%u]", r->name, p->peer_port);
	if (r->type != IBNET_SWITCH)
		buf_printf(b, "(%" PRIx64 ") ", q->guid);
	buf_str(b, "\t\t# ");
	if (n->type != IBNET_SWITCH)
		buf_printf(b, "lid %u lmc %u ", p->lid, p->lmc);
	write_quoted(b, r->desc);
	buf_printf(b, " lid %u %s\n", r->type == IBNET_SWITCH ? r->ports[0].lid : q->lid,
		   link_text(rate, p->width, p->speed));
}

void
ibnet_write(struct buf *b, const struct ibnet *net)
{
	buf_str(b, "#\n# Topology file\n#\n");
	for (uint32_t i = 0; i < net->nnodes; i++) {
		const struct ibnet_node *n = &net->nodes[i];

		buf_char(b, '\n');
		write_header(b, n);
		for (unsigned p = 1; p <= n->nports; p++)
			if (n->ports[p].peer != IBNET_NONE)
				write_cable(b, net, n, p);
	}
}
