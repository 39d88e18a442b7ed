/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/ask.h"

#include "sm/sa/alias.h"

/*
 * The answer as it grows: records that fit are encoded one behind the other. A Get is over with the
 * second, for then there are too many; a table when it is larger than what is told at once.
 *
 * It grows in slices, between which the loop does other things. The clock is read once in a number
 * of units of work; on a virtual loop, where it stands still, the units alone end a slice.
 */
#define LOOK_EACH 64		/* units of work */
#define SLICE_TIME MSEC(1)

void
sa_slice(struct sa_ask *a, unsigned units)
{
	a->paused = false;
	a->look = a->work + (units < LOOK_EACH ? units : LOOK_EACH);
	a->slice_end = a->work + units;
	a->slice_until = MONOTIME_NEVER;
}

/* The first look of a slice starts its clock, so that what is short never reads it. */
bool
sa_slice_over(struct sa_ask *a)
{
	monotime now = loop_now(a->env->loop);

	if (a->slice_until == MONOTIME_NEVER)
		a->slice_until = now + SLICE_TIME;
	a->paused = a->work > a->slice_end || now >= a->slice_until;
	a->look = a->work + LOOK_EACH;
	if (a->look > a->slice_end)
		a->look = a->slice_end;
	return a->paused;
}

bool
sa_offer(struct sa_ask *a, const void *record)
{
	uint8_t bytes[SA_DATA_SIZE] = { 0 };

	if (!sa_query_fits(&a->query, record))
		return true;
	if (a->h.h.method == MAD_GET && a->hits) {
		a->status = SA_STATUS_TOO_MANY;
		return false;
	}
	if (a->out.len + sa_stride(a->type) > SA_TABLE_MAX ||
	    a->out.len + *a->held > SA_OPEN_SIZE_MAX) {
		a->status = SA_STATUS_NO_RESOURCES;
		return false;
	}
	sa_encode(a->type, record, bytes);
	buf_add(&a->out, bytes, a->h.h.method == MAD_GET_TABLE ? sa_stride(a->type) : SA_DATA_SIZE);
	a->hits++;
	return true;
}

void
sa_reply(struct sa_ask *a, const void *record)
{
	uint8_t bytes[SA_DATA_SIZE] = { 0 };

	sa_encode(a->type, record, bytes);
	buf_add(&a->out, bytes, SA_DATA_SIZE);
	a->hits++;
}

uint32_t
sa_asker(const struct sa_ask *a)
{
	const struct plan_lids *l = a->plan->lids;

	return a->in->lid && a->in->lid <= l->top ? l->dest[a->in->lid].port : FABRIC_NONE;
}

uint32_t
sa_port_by_guid(const struct sa_ask *a, uint64_t guid)
{
	uint32_t port = guid ? fabric_port_by_guid(a->f, guid) : FABRIC_NONE;
	uint64_t own = port == FABRIC_NONE ? sa_aliases_port(a->kept->aliases, guid) : 0;

	return own ? fabric_port_by_guid(a->f, own) : port;
}

bool
sa_has_pkey(const struct sa_ask *a, uint32_t port, uint16_t pkey)
{
	(void)a;
	return port != FABRIC_NONE && (pkey & 0x7fff) == 0x7fff;
}

void
sa_each_port(struct sa_ask *a, unsigned bit, uint16_t lid,
	     bool (*fn)(struct sa_ask *a, uint32_t port))
{
	const struct plan_lids *l = a->plan->lids;

	if (sa_asks(a, bit)) {
		if (lid && lid <= l->top && l->dest[lid].port != FABRIC_NONE)
			fn(a, l->dest[lid].port);
		return;
	}
	for (uint32_t p = (uint32_t)a->at; p < l->nports; p++) {
		if (!l->base[p])
			continue;
		if (sa_pause(a)) {
			a->at = p;
			return;
		}
		if (!fn(a, p))
			return;
	}
}
