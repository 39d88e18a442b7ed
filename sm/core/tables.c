/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables of ports: see tables.h. A number stands for what is held; ABSENT, which no contents
 * have, for what the device refuses to tell.
 *
 * The maps of an output port are a row. As long as they are one, the row is one number; where they
 * are not, or some are not known yet, it is an array by input port, which goes again when they are
 * one. A host's port has a row of one.
 */
#include "sm/core/tables.h"

#include <string.h>
#include "sm/base/mem.h"
#include "sm/core/topo.h"

#define ABSENT UINT32_MAX
#define SL2VL_SIZE 8u
#define VLARB_BLOCK 32u

void
tables_init(struct tables *t)
{
	intern_init(&t->blocks, SMP_DATA_SIZE);
	intern_init(&t->maps, SL2VL_SIZE);
}

void
tables_free(struct tables *t)
{
	intern_free(&t->blocks);
	intern_free(&t->maps);
}

static void
drop(struct intern *t, uint32_t *n)
{
	if (*n != ABSENT)
		intern_drop(t, *n);
	*n = INTERN_NONE;
}

static uint32_t
share(struct intern *t, uint32_t n)
{
	return n == ABSENT ? n : intern_share(t, n);
}

static uint32_t
take(struct intern *t, const uint8_t *data)
{
	return data ? intern_take(t, data) : ABSENT;
}

/* ---- What there can be ---- */

static bool
is_switch(const struct live_port *p)
{
	return p->device->info.node_type == NODE_SWITCH;
}

/* Length of a row. */
static unsigned
inputs(const struct live_port *p)
{
	return is_switch(p) ? p->device->info.num_ports + 1u : 1;
}

/* An end port's PortInfo, whose capabilities are the device's too. */
static const struct portinfo *
end_info(const struct live_port *p)
{
	return is_switch(p) ? &p->device->ports[0].info : &p->info;
}

unsigned
tables_pkey_blocks(const struct live_port *p)
{
	unsigned keys = is_switch(p) && p->number ? p->device->sw.partition_enforcement_cap :
						    p->device->info.partition_cap;

	keys = (keys + TABLES_KEYS - 1) / TABLES_KEYS;
	return keys < TABLES_PKEY_BLOCKS ? keys : TABLES_PKEY_BLOCKS;
}

/* With a single data lane there is nothing to arbitrate. */
static bool
has_vlarb(const struct live_port *p, unsigned block)
{
	unsigned cap = block > 2 ? p->info.vl_arb_high_cap : p->info.vl_arb_low_cap;

	return block - 1 < TABLES_VLARB_BLOCKS && p->info.vl_cap > 1 &&
	       cap > (block % 2 ? 0 : VLARB_BLOCK);
}

static bool
has_sl2vl(const struct live_port *out, unsigned in)
{
	return in < inputs(out) && end_info(out)->cap_mask & CAP_SL_MAPPING;
}

/* ---- P_Keys and VL arbitration ---- */

static uint32_t
pkeys_number(const struct live_port *p, unsigned block)
{
	return block < p->tables.pkey_blocks ? p->tables.pkeys[block] : INTERN_NONE;
}

static enum tables_state
state_of(uint32_t n)
{
	return n == INTERN_NONE ? TABLES_UNKNOWN : n == ABSENT ? TABLES_ABSENT : TABLES_HELD;
}

/* The contents by their number, or zeros. */
static void
fill(const struct intern *t, uint32_t n, uint8_t data[SMP_DATA_SIZE])
{
	memset(data, 0, SMP_DATA_SIZE);
	if (state_of(n) == TABLES_HELD)
		memcpy(data, intern_at(t, n), t->size);
}

enum tables_state
tables_pkeys(const struct tables *t, const struct live_port *p, unsigned block,
	     uint16_t keys[TABLES_KEYS])
{
	bool is_there = block < tables_pkey_blocks(p);
	uint32_t n = is_there ? pkeys_number(p, block) : ABSENT;
	uint8_t data[SMP_DATA_SIZE];

	if (keys) {
		fill(&t->blocks, n, data);
		pkeys_decode(keys, data);
		/* Not told: what end ports begin with (IBA 10.9.1). */
		if (is_there && n == ABSENT && !block && !(is_switch(p) && p->number))
			keys[0] = PKEY_FULL | PKEY_DEFAULT;
	}
	return state_of(n);
}

enum tables_state
tables_vlarb(const struct tables *t, const struct live_port *p, unsigned block,
	     struct vlarb_entry e[VLARB_BLOCK])
{
	uint32_t n = has_vlarb(p, block) ? p->tables.vlarb[block - 1] : ABSENT;
	uint8_t data[SMP_DATA_SIZE];

	if (e) {
		fill(&t->blocks, n, data);
		vlarb_decode(e, data);
	}
	return state_of(n);
}

int
tables_pkeys_missing(const struct live_port *p, unsigned most)
{
	unsigned blocks = tables_pkey_blocks(p);

	for (unsigned i = 0; i < blocks && i < most; i++)
		if (pkeys_number(p, i) == INTERN_NONE)
			return (int)i;
	return -1;
}

void
tables_saw_pkeys(struct tables *t, struct live_port *p, unsigned block,
		 const uint8_t data[SMP_DATA_SIZE])
{
	struct port_tables *h = &p->tables;
	uint32_t n;

	if (block >= tables_pkey_blocks(p))
		return;
	if (block >= h->pkey_blocks) {
		h->pkeys = mem_realloc(h->pkeys, block + 1, sizeof(*h->pkeys));
		memset(h->pkeys + h->pkey_blocks, 0,
		       (block + 1 - h->pkey_blocks) * sizeof(*h->pkeys));
		h->pkey_blocks = (uint16_t)(block + 1);
	}
	n = take(&t->blocks, data);
	t->pkeys_changed += h->pkeys[block] != INTERN_NONE && h->pkeys[block] != n;
	drop(&t->blocks, &h->pkeys[block]);
	h->pkeys[block] = n;
}

void
tables_saw_vlarb(struct tables *t, struct live_port *p, unsigned block,
		 const uint8_t data[SMP_DATA_SIZE])
{
	uint32_t n;

	if (!has_vlarb(p, block))
		return;
	n = take(&t->blocks, data);
	t->vlarb_changed += p->tables.vlarb[block - 1] != n;
	drop(&t->blocks, &p->tables.vlarb[block - 1]);
	p->tables.vlarb[block - 1] = n;
}

/* ---- SL to VL ---- */

static uint32_t
map_number(const struct live_port *out, unsigned in)
{
	return out->tables.sl2vl_in ? out->tables.sl2vl_in[in] : out->tables.sl2vl;
}

enum tables_state
tables_sl2vl(const struct tables *t, const struct live_port *out, unsigned in,
	     uint8_t vl[TABLES_SLS])
{
	uint32_t n = has_sl2vl(out, in) ? map_number(out, in) : ABSENT;
	uint8_t data[SMP_DATA_SIZE];

	if (vl) {
		fill(&t->maps, n, data);
		sl2vl_decode(vl, data);
	}
	return state_of(n);
}

static void
row_open(struct tables *t, struct live_port *out)
{
	struct port_tables *p = &out->tables;

	if (p->sl2vl_in)
		return;
	p->sl2vl_in = mem_array(inputs(out), sizeof(*p->sl2vl_in));
	for (unsigned i = 0; i < inputs(out); i++)
		p->sl2vl_in[i] = share(&t->maps, p->sl2vl);
	drop(&t->maps, &p->sl2vl);
}

/* One number says it all again. */
static void
row_close(struct tables *t, struct live_port *out)
{
	struct port_tables *p = &out->tables;

	for (unsigned i = 1; i < inputs(out); i++)
		if (p->sl2vl_in[i] != p->sl2vl_in[0])
			return;
	p->sl2vl = share(&t->maps, p->sl2vl_in[0]);
	for (unsigned i = 0; i < inputs(out); i++)
		drop(&t->maps, &p->sl2vl_in[i]);
	mem_free(p->sl2vl_in);
	p->sl2vl_in = NULL;
}

static void
row_set(struct tables *t, struct live_port *out, unsigned in, uint32_t n)
{
	if (map_number(out, in) != n)
		out->device->lanes_changed = true;
	row_open(t, out);
	drop(&t->maps, &out->tables.sl2vl_in[in]);
	out->tables.sl2vl_in[in] = n;
	row_close(t, out);
}

void
tables_saw_sl2vl(struct tables *t, struct live_port *out, unsigned in,
		 const uint8_t data[SMP_DATA_SIZE])
{
	if (has_sl2vl(out, in))
		row_set(t, out, in, take(&t->maps, data));
}

void
tables_doubt_sl2vl(struct tables *t, struct live_port *out, unsigned in)
{
	if (has_sl2vl(out, in))
		row_set(t, out, in, INTERN_NONE);
}

/* ---- Forgetting ---- */

void
tables_forget_port(struct tables *t, struct live_port *p)
{
	struct port_tables *h = &p->tables;

	/* Of what was not known before, neither: it may have been out of reach of a push. */
	t->pkeys_changed++;
	t->vlarb_changed++;
	for (unsigned i = 0; i < h->pkey_blocks; i++)
		drop(&t->blocks, &h->pkeys[i]);
	mem_free(h->pkeys);
	for (unsigned i = 0; i < TABLES_VLARB_BLOCKS; i++)
		drop(&t->blocks, &h->vlarb[i]);
	for (unsigned i = 0; h->sl2vl_in && i < inputs(p); i++)
		drop(&t->maps, &h->sl2vl_in[i]);
	mem_free(h->sl2vl_in);
	drop(&t->maps, &h->sl2vl);
	*h = (struct port_tables){ 0 };
	p->device->tables.due = true;
	p->device->lanes_changed = true;
}

void
tables_forget(struct tables *t, struct live_port *p)
{
	struct device *d = p->device;

	tables_forget_port(t, p);
	for (unsigned n = 0; is_switch(p) && n <= d->info.num_ports; n++)
		if (map_number(&d->ports[n], p->number) != INTERN_NONE)
			row_set(t, &d->ports[n], p->number, INTERN_NONE);
}

void
tables_forget_device(struct tables *t, struct device *d)
{
	d->lanes_refused = d->lanes_plain = false;
	for (unsigned n = 0; n <= d->info.num_ports; n++)
		tables_forget_port(t, &d->ports[n]);
}
