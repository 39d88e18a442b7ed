/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "sim/command.h"
#include "sim/model_impl.h"
#include "sim/names.h"

/*
 * Faults that are in effect: read off the model by comparing it with the text that it was made
 * from, so that nothing has to be remembered and nothing can be forgotten. Each kind is found, told
 * and undone in one place.
 */
struct faults {
	const struct sim *s;	/* the simulation */
	struct model *m;	/* its model */
	struct buf *out;	/* where they are told, or NULL */
	unsigned most;		/* lines to print */
	unsigned n;		/* found */
	bool heal;		/* undo what is found */
};

static void
found(struct faults *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void
found(struct faults *f, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	f->n++;
	if (!f->out || f->n > f->most)
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
silent(struct faults *f, uint32_t i, struct sim_node *n)
{
	if (n->silence == MODEL_ANSWERS)
		return;
	found(f, "%s: %s", name(f, i), n->silence == MODEL_HUNG ?
	      "hangs: no answers, and no directed routes pass" :
	      "is silent: its agent answers nothing");
	if (f->heal)
		model_silence(f->m, i, MODEL_ANSWERS);
}

static void
slow(struct faults *f, uint32_t i, struct sim_node *n)
{
	char text[DURATION_TEXT_SIZE];

	if (n->drop_ppm) {
		found(f, "%s: %g %% of its MADs are lost", name(f, i), n->drop_ppm / 1e4);
		if (f->heal)
			model_drop(f->m, i, 0);
	}
	if (n->delay) {
		found(f, "%s: each answer comes %s late", name(f, i),
		      duration_text(text, n->delay));
		if (f->heal)
			model_delay(f->m, i, 0);
	}
}

static void
lists(struct faults *f, uint32_t i, struct sim_node *n)
{
	char text[8];

	for (unsigned k = 0; k < MUTES; k++) {
		if (n->mute[k]) {
			found(f, "%s: does not answer %s", name(f, i), attr_text(text, n->mute[k]));
			if (f->heal)
				model_mute(f->m, i, n->mute[k], false);
		}
		if (n->refuse[k]) {
			found(f, "%s: refuses Set(%s) with status 0x%04x", name(f, i),
			      attr_text(text, n->refuse[k]), n->refuse_status[k]);
			if (f->heal)
				model_refuse(f->m, i, n->refuse[k], 0);
		}
	}
	if (n->keep) {
		found(f, "%s: keeps fields that it is told to change (0x%x)", name(f, i), n->keep);
		if (f->heal)
			model_keep(f->m, i, 0);
	}
}

static void
identity(struct faults *f, uint32_t i, struct sim_node *n)
{
	char text[2][GUID_TEXT_SIZE];

	if (n->lie_port) {
		found(f, "%s: says LocalPortNum %u whatever the port", name(f, i), n->lie_port);
		if (f->heal)
			model_lie_local_port(f->m, i, 0);
	}
	if (n->guid != n->ib->guid) {
		found(f, "%s: has node GUID %s instead of %s", name(f, i),
		      guid_text(text[0], n->guid), guid_text(text[1], n->ib->guid));
		if (f->heal)
			model_set_node_guid(f->m, i, n->ib->guid);
	}
	if (strncmp(n->desc, n->ib->desc, NODEDESC_SIZE - 1) != 0) {
		found(f, "%s: describes itself as \"%s\"", name(f, i), n->desc);
		if (f->heal)
			model_set_description(f->m, i, n->ib->desc);
	}
}

/* A cable is told at one of its ends. */
static bool
first_end(uint32_t i, unsigned port, uint32_t peer, unsigned peer_port)
{
	return i < peer || (i == peer && port <= peer_port);
}

static void
cut(struct faults *f, uint32_t i, unsigned k, const struct sim_port *p)
{
	if (!p->cut || p->peer == IBNET_NONE || !first_end(i, k, p->peer, p->peer_port))
		return;
	found(f, "%s/%u: the cable to %s/%u is cut", name(f, i), k, name(f, p->peer),
	      p->peer_port);
	if (f->heal)
		model_link_set(f->m, i, k, true);
}

/* Healing puts each cable of the text back, which pulls those that stand in its way. */
static void
moved(struct faults *f, uint32_t i, unsigned k, const struct sim_port *p)
{
	const struct ibnet_port *ib = &f->m->nodes[i].ib->ports[k];

	if (p->peer == ib->peer && (p->peer == IBNET_NONE || p->peer_port == ib->peer_port))
		return;
	if (ib->peer != IBNET_NONE && first_end(i, k, ib->peer, ib->peer_port)) {
		found(f, "%s/%u: the cable to %s/%u was pulled", name(f, i), k, name(f, ib->peer),
		      ib->peer_port);
		if (f->heal)
			model_recable(f->m, i, k, ib->peer, ib->peer_port);
	} else if (p->peer != IBNET_NONE && first_end(i, k, p->peer, p->peer_port)) {
		found(f, "%s/%u: a cable to %s/%u was added", name(f, i), k, name(f, p->peer),
		      p->peer_port);
	}
}

static void
ports(struct faults *f, uint32_t i, struct sim_node *n)
{
	char text[GUID_TEXT_SIZE];

	for (unsigned k = 0; k <= n->nports; k++) {
		struct sim_port *p = &n->ports[k];

		if (is_end_port(n, k) && p->guid != n->ib->ports[k].guid) {
			found(f, "%s/%u: has port GUID %s", name(f, i), k,
			      guid_text(text, p->guid));
			if (f->heal)
				model_set_port_guid(f->m, i, k, n->ib->ports[k].guid);
		}
		if (!k)
			continue;
		cut(f, i, k, p);
		moved(f, i, k, p);
	}
}

static void
look(struct faults *f)
{
	static void (*const kinds[])(struct faults *, uint32_t, struct sim_node *) = {
		silent, slow, lists, identity, ports,
	};

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (uint32_t i = 0; i < f->m->net->nnodes; i++)
			kinds[k](f, i, &f->m->nodes[i]);
}

unsigned
faults_list(const struct sim *s, struct buf *out, unsigned most)
{
	struct faults f = { .s = s, .m = s->model, .out = out, .most = most };

	look(&f);
	if (out && f.n > most)
		buf_printf(out, "... and %u more\n", f.n - most);
	return f.n;
}

unsigned
faults_heal(struct sim *s)
{
	struct faults f = { .s = s, .m = s->model, .heal = true };

	look(&f);
	return f.n;
}
