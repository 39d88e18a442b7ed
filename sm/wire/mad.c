/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/wire/mad.h"

#include <string.h>

#include "sm/base/error.h"
#include "sm/wire/cursor.h"

/*
 * The frame of a management datagram: the header common to all classes (IBA volume 1, 13.4.2) and
 * the two kinds of SMP around their 64 attribute bytes (14.2.1.1 LID routed, 14.2.1.2 directed
 * route). Pure functions between bytes and structs; they own nothing and know of no sockets.
 *
 * What comes in may be anything. A header needs base version 1 only; an SMP must also be of one of
 * the two subnet classes and, if directed, have a hop pointer that lies on its path: 0 (back at
 * the requester) to hop count + 1 (at the responder), 14.2.2. More is for the caller to judge.
 */

#define STATUS_D_BIT 0x8000	/* a directed route's direction, in front of its status */

int
mad_header_decode(struct mad_header *h, const uint8_t *mad, size_t size)
{
	struct cursor c;

	if (size < MAD_HEADER_SIZE)
		return ERR_TRUNCATED;
	cursor_read(&c, mad, MAD_HEADER_SIZE);
	h->base_version = cursor_u8(&c);
	h->mgmt_class = cursor_u8(&c);
	h->class_version = cursor_u8(&c);
	h->method = cursor_u8(&c);
	h->status = cursor_u16(&c);
	if (h->mgmt_class == MAD_CLASS_SUBN_DIRECT)
		h->status &= (uint16_t)~STATUS_D_BIT;
	cursor_skip(&c, 2);		/* class specific; of SMPs the hops */
	h->tid = cursor_u64(&c);
	h->attr_id = cursor_u16(&c);
	cursor_skip(&c, 2);
	h->attr_mod = cursor_u32(&c);
	return h->base_version == 1 ? 0 : ERR_FORMAT;
}

void
mad_header_encode(const struct mad_header *h, uint8_t mad[24])
{
	uint16_t status = h->status;
	struct cursor c;

	if (h->mgmt_class == MAD_CLASS_SUBN_DIRECT)
		status &= (uint16_t)~STATUS_D_BIT;
	cursor_write(&c, mad, MAD_HEADER_SIZE);
	cursor_put_u8(&c, h->base_version);
	cursor_put_u8(&c, h->mgmt_class);
	cursor_put_u8(&c, h->class_version);
	cursor_put_u8(&c, h->method);
	cursor_put_u16(&c, status);
	cursor_put_zero(&c, 2);
	cursor_put_u64(&c, h->tid);
	cursor_put_u16(&c, h->attr_id);
	cursor_put_zero(&c, 2);
	cursor_put_u32(&c, h->attr_mod);
}

int
smp_decode(struct smp *s, const uint8_t *mad, size_t size)
{
	bool directed;
	struct cursor c;
	int err;

	if (size < MAD_SIZE)
		return ERR_TRUNCATED;
	err = mad_header_decode(&s->h, mad, size);
	if (err)
		return err;
	directed = s->h.mgmt_class == MAD_CLASS_SUBN_DIRECT;
	if (!directed && s->h.mgmt_class != MAD_CLASS_SUBN_LID)
		return ERR_FORMAT;

	/* To a LID-routed SMP all that belongs to the route is reserved: read as 0. */
	s->direction = directed && mad[4] & STATUS_D_BIT >> 8;
	s->hop_pointer = directed ? mad[6] : 0;
	s->hop_count = directed ? mad[7] : 0;
	if (s->hop_count > SMP_MAX_HOPS || s->hop_pointer > s->hop_count + 1)
		return ERR_FORMAT;
	cursor_read(&c, mad, MAD_SIZE);
	cursor_skip(&c, MAD_HEADER_SIZE);
	s->m_key = cursor_u64(&c);
	s->dr_slid = directed ? cursor_u16(&c) : 0;
	s->dr_dlid = directed ? cursor_u16(&c) : 0;
	memcpy(s->data, mad + 64, sizeof(s->data));
	if (directed) {
		memcpy(s->path, mad + 128, sizeof(s->path));
		memcpy(s->return_path, mad + 192, sizeof(s->return_path));
	} else {
		memset(s->path, 0, sizeof(s->path));
		memset(s->return_path, 0, sizeof(s->return_path));
	}
	return 0;
}

void
smp_encode(const struct smp *s, uint8_t mad[MAD_SIZE])
{
	bool directed = s->h.mgmt_class == MAD_CLASS_SUBN_DIRECT;
	struct cursor c;

	mad_header_encode(&s->h, mad);
	cursor_write(&c, mad, MAD_SIZE);
	cursor_skip(&c, MAD_HEADER_SIZE);
	cursor_put_u64(&c, s->m_key);
	if (!directed) {
		cursor_put_zero(&c, 32);
		cursor_put_bytes(&c, s->data, sizeof(s->data));
		cursor_put_zero(&c, 128);
		return;
	}
	mad[4] |= (uint8_t)(s->direction ? STATUS_D_BIT >> 8 : 0);
	mad[6] = s->hop_pointer;
	mad[7] = s->hop_count;
	cursor_put_u16(&c, s->dr_slid);
	cursor_put_u16(&c, s->dr_dlid);
	cursor_put_zero(&c, 28);
	cursor_put_bytes(&c, s->data, sizeof(s->data));
	cursor_put_bytes(&c, s->path, sizeof(s->path));
	cursor_put_bytes(&c, s->return_path, sizeof(s->return_path));
}

const char *
mad_attr_name(uint16_t attr_id)
{
	switch ((enum mad_attr)attr_id) {
	case ATTR_CLASS_PORT_INFO:
		return "ClassPortInfo";
	case ATTR_NOTICE:
		return "Notice";
	case ATTR_NODE_DESCRIPTION:
		return "NodeDescription";
	case ATTR_NODE_INFO:
		return "NodeInfo";
	case ATTR_SWITCH_INFO:
		return "SwitchInfo";
	case ATTR_GUID_INFO:
		return "GUIDInfo";
	case ATTR_PORT_INFO:
		return "PortInfo";
	case ATTR_P_KEY_TABLE:
		return "P_KeyTable";
	case ATTR_SL_TO_VL:
		return "SLtoVLMappingTable";
	case ATTR_VL_ARBITRATION:
		return "VLArbitrationTable";
	case ATTR_LINEAR_FDB:
		return "LinearForwardingTable";
	case ATTR_RANDOM_FDB:
		return "RandomForwardingTable";
	case ATTR_MULTICAST_FDB:
		return "MulticastForwardingTable";
	case ATTR_SM_INFO:
		return "SMInfo";
	}
	return NULL;
}

const char *
mad_method_name(uint8_t method)
{
	switch ((enum mad_method)method) {
	case MAD_GET:
		return "Get";
	case MAD_SET:
		return "Set";
	case MAD_SEND:
		return "Send";
	case MAD_TRAP:
		return "Trap";
	case MAD_REPORT:
		return "Report";
	case MAD_TRAP_REPRESS:
		return "TrapRepress";
	case MAD_GET_TABLE:
		return "GetTable";
	case MAD_GET_TRACE:
		return "GetTraceTable";
	case MAD_GET_MULTI:
		return "GetMulti";
	case MAD_DELETE:
		return "Delete";
	case MAD_GET_RESP:
		return "GetResp";
	case MAD_REPORT_RESP:
		return "ReportResp";
	case MAD_GET_TABLE_RESP:
		return "GetTableResp";
	case MAD_GET_MULTI_RESP:
		return "GetMultiResp";
	case MAD_DELETE_RESP:
		return "DeleteResp";
	case MAD_RESPONSE:
		break;
	}
	return NULL;
}

const char *
mad_status_text(uint16_t status)
{
	if (!(status & ~STATUS_D_BIT))
		return "ok";
	if (status & MAD_STATUS_BUSY)
		return "busy";
	if (status & MAD_STATUS_REDIRECT)
		return "redirected";
	switch (status & 0x1c) {
	case MAD_STATUS_BAD_VERSION:
		return "unsupported base or class version";
	case MAD_STATUS_BAD_METHOD:
		return "unsupported method";
	case MAD_STATUS_BAD_ATTR:
		return "unsupported method or attribute";
	case MAD_STATUS_BAD_FIELD:
		return "invalid field";
	}
	/* The upper byte belongs to the class (15.2.3 lists those of subnet administration). */
	return status & 0x7f00 ? "class-specific error" : "reserved status";
}
