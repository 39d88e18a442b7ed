/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/model/model.h"

#include <string.h>
#include "sim/model/model_impl.h"
#include "sm/wire/ar.h"

/*
 * What PortInfo has no room for: forward error correction in PortInfoExtended (IBA volume 1,
 * 14.2.5.19), and FDR10 in an attribute of one vendor.
 *
 * A device corrects errors by no method but the one of its speed: none up to EDR, Reed-Solomon
 * codes from HDR on. What is enabled may be narrowed to what is supported, and counts for nothing
 * else here.
 */
enum { FEC_NONE, FEC_FIRE, FEC_RS, FEC_RS_LOW_LATENCY, FEC_RS2 };	/* FECModeActive; bits */

/* The port that the modifier names, NULL if there is none. */
static struct sim_port *
port_of(const struct sma_request *r)
{
	unsigned port = r->mod & 0xff;

	if (r->n->type != NODE_SWITCH && !port)
		port = r->in;
	return r->mod > 0xff || port > r->n->nports ? NULL : &r->n->ports[port];
}

/* Of FDR, EDR, HDR and NDR: the modes that a port has, and where its fields lie. */
static const struct fec {
	uint8_t speed;		/* bit of LinkSpeedExtSupported */
	uint8_t modes;		/* bits of the modes */
	uint8_t at;		/* of FECModeSupported; FECModeEnabled is 2 bytes behind it */
	uint8_t active;		/* the mode of a link of this speed */
} fecs[FEC_SPEEDS] = {
	{ 1, 1 << FEC_NONE | 1 << FEC_FIRE, 6, FEC_NONE },
	{ 2, 1 << FEC_NONE | 1 << FEC_FIRE | 1 << FEC_RS, 10, FEC_NONE },
	{ 4, 1 << FEC_RS | 1 << FEC_RS_LOW_LATENCY, 14, FEC_RS },
	{ 8, 1 << FEC_RS2, 18, FEC_RS2 },
};

static bool
good_fec(const struct sim_port *p, const uint8_t *data)
{
	for (unsigned i = 0; i < FEC_SPEEDS; i++) {
		unsigned enabled = data[fecs[i].at + 2] << 8 | data[fecs[i].at + 3];

		if (p->info.speed_ext_supported & fecs[i].speed && enabled & ~fecs[i].modes)
			return false;
	}
	return true;
}

uint16_t
sma_port_info_extended(const struct sma_request *r)
{
	struct sim_port *p = port_of(r);

	if (!(end_port(r->n, r->in)->info.cap_mask2 & CAP2_PORT_INFO_EXTENDED))
		return MAD_STATUS_BAD_ATTR;
	if (!p || (r->set && !good_fec(p, r->data)))
		return MAD_STATUS_BAD_FIELD;
	for (unsigned i = 0; r->set && i < FEC_SPEEDS; i++)
		if (r->data[fecs[i].at + 3])
			p->fec[i] = r->data[fecs[i].at + 3];
	memset(r->data, 0, SMP_DATA_SIZE);
	r->data[3] = 1;		/* CapabilityMask: modes are supported */
	for (unsigned i = 0; i < FEC_SPEEDS; i++) {
		if (!(p->info.speed_ext_supported & fecs[i].speed))
			continue;
		r->data[fecs[i].at + 1] = fecs[i].modes;
		r->data[fecs[i].at + 3] = p->fec[i] ? p->fec[i] : fecs[i].modes;
		if (p->info.speed_ext_active & fecs[i].speed)
			r->data[5] = fecs[i].active;
	}
	return 0;
}

/* The vendor's ExtendedPortInfo: FDR10, which PortInfo has no bits for, and of which service levels
 * a host takes packets in any order. */
uint16_t
sma_vendor_port_info(const struct sma_request *r)
{
	struct sim_port *p = port_of(r);
	uint8_t *fdr10;

	if (!device_has_fdr10(r->n) && !r->m->o.like_ibsim && !r->n->any_order)
		return MAD_STATUS_BAD_ATTR;
	if (!p)
		return MAD_STATUS_BAD_FIELD;
	fdr10 = &p->fdr10;
	if (r->set && r->data[11] & 1 && !(*fdr10 & FDR10_SUPPORTED))
		return MAD_STATUS_BAD_FIELD;
	if (r->set) {
		*fdr10 &= FDR10_SUPPORTED | FDR10_ACTIVE;
		*fdr10 |= (uint8_t)((r->data[3] & 1 ? FDR10_STATE_CHANGE : 0) |
				    (r->data[11] & 1 ? FDR10_ENABLED : 0));
	}
	if (r->set)
		p->in_order = (uint16_t)~ar_port_any_order(r->data);
	memset(r->data, 0, SMP_DATA_SIZE);
	ar_port_set_any_order(r->data, r->n->any_order & (uint16_t)~p->in_order);
	r->data[3] = *fdr10 & FDR10_STATE_CHANGE ? 1 : 0;
	r->data[7] = *fdr10 & FDR10_SUPPORTED ? 1 : 0;
	r->data[11] = *fdr10 & FDR10_ENABLED ? 1 : 0;
	r->data[15] = *fdr10 & FDR10_ACTIVE ? 1 : 0;
	return 0;
}
