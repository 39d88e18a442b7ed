/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "sim/control/command.h"
#include "sim/control/names.h"
#include "sim/model/model_impl.h"

/*
 * Faults that are in effect: read off the model, also by comparing it with the text that it was
 * made from, so that nothing has to be remembered and nothing can be forgotten.
 */
struct faults {
	const struct sim *s;	/* the simulation */
	const struct model *m;	/* its model */
	struct buf *out;	/* where they are told, or NULL */
	unsigned most;		/* lines to print */
	unsigned n;		/* found */
};

static void
found(struct faults *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void
found(struct faults *f, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	if (f->n++ >= f->most || !f->out)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_printf(f->out, "%s\n", text);
}

static const char *
name(const struct faults *f, uint32_t node)
{
	return names_text(f->s->names, node);
}

static void
power(struct faults *f, uint32_t i, const struct sim_node *n)
{
	if (n->off)
		found(f, "%s: has no power", name(f, i));
}

static void
silent(struct faults *f, uint32_t i, const struct sim_node *n)
{
	if (n->silence == MODEL_HUNG)
		found(f, "%s: hangs: no answers, and no directed routes pass", name(f, i));
	else if (n->silence != MODEL_ANSWERS)
		found(f, "%s: is silent: its agent answers nothing", name(f, i));
}

static void
slow(struct faults *f, uint32_t i, const struct sim_node *n)
{
	char text[DURATION_TEXT_SIZE];

	if (n->drop_ppm)
		found(f, "%s: %g %% of its MADs are lost", name(f, i), n->drop_ppm / 1e4);
	if (n->delay)
		found(f, "%s: each answer comes %s late", name(f, i),
		      duration_text(text, n->delay));
	if (n->slow)
		found(f, "%s: its agent takes %s for a MAD", name(f, i),
		      duration_text(text, n->slow));
}

static void
lists(struct faults *f, uint32_t i, const struct sim_node *n)
{
	char text[8];

	for (unsigned k = 0; k < MUTES; k++) {
		if (n->mute[k])
			found(f, "%s: does not answer %s", name(f, i), attr_text(text, n->mute[k]));
		if (n->refuse[k])
			found(f, "%s: refuses Set(%s) with status 0x%04x", name(f, i),
			      attr_text(text, n->refuse[k]), n->refuse_status[k]);
		if (n->fail[k])
			found(f, "%s: answers Get(%s) with status 0x%04x", name(f, i),
			      attr_text(text, n->fail[k]), n->fail_status[k]);
	}
	if (n->keep)
		found(f, "%s: keeps fields that it is told to change (0x%x)", name(f, i), n->keep);
}

static void
identity(struct faults *f, uint32_t i, const struct sim_node *n)
{
	char text[2][GUID_TEXT_SIZE];

	if (n->lie_port)
		found(f, "%s: says LocalPortNum %u whatever the port", name(f, i), n->lie_port);
	if (n->guid != n->ib->guid)
		found(f, "%s: has node GUID %s instead of %s", name(f, i),
		      guid_text(text[0], n->guid), guid_text(text[1], n->ib->guid));
	if (n->system_guid != n->ib->system_guid)
		found(f, "%s: has system image GUID %s", name(f, i),
		      guid_text(text[0], n->system_guid));
	if (strncmp(n->desc, n->ib->desc, NODEDESC_SIZE - 1) != 0)
		found(f, "%s: describes itself as \"%s\"", name(f, i), n->desc);
}

static void
moved(struct faults *f, uint32_t i, unsigned k, const struct sim_port *p)
{
	const struct ibnet_port *ib = &f->m->nodes[i].ib->ports[k];

	if (p->peer == ib->peer && (p->peer == IBNET_NONE || p->peer_port == ib->peer_port))
		return;
	if (ib->peer != IBNET_NONE && (i < ib->peer || (i == ib->peer && k <= ib->peer_port)))
		found(f, "%s/%u: the cable to %s/%u was pulled", name(f, i), k, name(f, ib->peer),
		      ib->peer_port);
	else if (is_first_end(p, i, k))
		found(f, "%s/%u: a cable to %s/%u was added", name(f, i), k, name(f, p->peer),
		      p->peer_port);
}

static void
cable(struct faults *f, uint32_t i, unsigned k, const struct sim_port *p)
{
	const struct link_faults *l = p->faults;
	char text[DURATION_TEXT_SIZE], rate[LINK_TEXT_SIZE];
	bool first = is_first_end(p, i, k);

	if (p->cut && first)
		found(f, "%s/%u: the cable to %s/%u is cut", name(f, i), k, name(f, p->peer),
		      p->peer_port);
	if (!l)
		return;
	if (first && (l->width || l->speed))
		found(f, "%s/%u: the link trains at most at %s", name(f, i), k,
		      link_text(rate, l->width ? l->width : p->cable_width,
				l->speed ? l->speed : p->cable_speed));
	if (l->loss_ppm)
		found(f, "%s/%u: %g %% of the MADs that leave by it are lost", name(f, i), k,
		      l->loss_ppm / 1e4);
	if (l->delay)
		found(f, "%s/%u: MADs that leave by it come %s late", name(f, i), k,
		      duration_text(text, l->delay));
}

static void
ports(struct faults *f, uint32_t i, const struct sim_node *n)
{
	char text[GUID_TEXT_SIZE];

	for (unsigned k = 0; k <= n->nports; k++) {
		const struct sim_port *p = &n->ports[k];

		if (is_end_port(n, k) && p->guid != n->ib->ports[k].guid)
			found(f, "%s/%u: has port GUID %s", name(f, i), k,
			      guid_text(text, p->guid));
		if (!k)
			continue;
		cable(f, i, k, p);
		moved(f, i, k, p);
	}
}

unsigned
faults_list(const struct sim *s, struct buf *out, unsigned most)
{
	static void (*const kinds[])(struct faults *, uint32_t, const struct sim_node *) = {
		power, silent, slow, lists, identity, ports,
	};
	struct faults f = { .s = s, .m = s->model, .out = out, .most = most };

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (uint32_t i = 0; i < f.m->net->nnodes; i++)
			kinds[k](&f, i, &f.m->nodes[i]);
	if (out && f.n > most)
		buf_printf(out, "... and %u more\n", f.n - most);
	return f.n;
}

unsigned
faults_heal(struct sim *s)
{
	unsigned n = faults_list(s, NULL, 0);

	model_heal(s->model, MODEL_ALL);
	return n;
}
