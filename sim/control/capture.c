/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/control/capture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "sim/control/words.h"
#include "sm/base/mem.h"
#include "sm/wire/congestion.h"
#include "sm/wire/cursor.h"

/*
 * MADs of a model into a file, as the model tells them when they set out.
 *
 * A pcap record is the packet that would be on the first cable: local route header, base transport
 * header, datagram extended transport header, the MAD, and two checksums that are left zero (IBA
 * volume 1, 7.7, 9.2, 9.3). SMPs travel on virtual lane 15 between the queue pairs 0, GMPs on lane
 * 0 between the queue pairs 1. The pcap registry has a link type for such packets, 247, but
 * Wireshark does not read it; what it reads are ERF records (link type 197) of the type InfiniBand,
 * which is a header of 16 bytes more.
 */
#define PCAP_MAGIC 0xa1b2c3d4u		/* times in microseconds */
#define PCAP_LINK_ERF 197u
#define ERF_SIZE 16u
#define ERF_INFINIBAND 21u
#define ERF_VARYING 4u			/* the length is the record's own */
#define LRH_SIZE 8u
#define BTH_SIZE 12u
#define DETH_SIZE 8u
#define ICRC_SIZE 4u
#define VCRC_SIZE 2u
#define PACKET_SIZE (LRH_SIZE + BTH_SIZE + DETH_SIZE + MAD_SIZE + ICRC_SIZE + VCRC_SIZE)
#define RECORD_SIZE (ERF_SIZE + PACKET_SIZE)
#define PACKET_WORDS ((PACKET_SIZE - VCRC_SIZE) / 4)	/* LRH PktLen counts all but the VCRC */
#define OPCODE_UD_SEND_ONLY 0x64u
#define GSI_QKEY 0x80010000u
#define DEFAULT_PKEY 0xffffu

struct capture {
	struct model *m;		/* whose MADs */
	FILE *f;			/* where they go */
	char *path;			/* its name, for people */
	bool text;			/* lines, not pcap */
	uint64_t count;			/* MADs told */
	monotime start;			/* of the capture, on the loop's clock */
	int error;			/* errno of the first write that failed */
};

static void
put(struct capture *c, const void *data, size_t size)
{
	if (!c->error && fwrite(data, 1, size, c->f) != size)
		c->error = errno ? errno : EIO;
}

/* ---- pcap ---- */

static void
put_header(struct capture *c)
{
	const uint32_t header[6] = {
		PCAP_MAGIC, 2 | 4 << 16, 0, 0, RECORD_SIZE, PCAP_LINK_ERF,
	};

	put(c, header, sizeof(header));
}

/* Its time is a little-endian number of 2^-32 seconds, the rest is big-endian. */
static void
encode_erf(struct cursor *w, int64_t wall)
{
	uint64_t time = (uint64_t)(wall / 1000000) << 32 |
		((uint64_t)(wall % 1000000) << 32) / 1000000;

	for (unsigned i = 0; i < 8; i++)
		cursor_put_u8(w, (uint8_t)(time >> 8 * i));
	cursor_put_u8(w, ERF_INFINIBAND);
	cursor_put_u8(w, ERF_VARYING);
	cursor_put_u16(w, RECORD_SIZE);
	cursor_put_u16(w, 0);
	cursor_put_u16(w, PACKET_SIZE);
}

static void
encode_packet(uint8_t record[RECORD_SIZE], const struct model_passage *p, int64_t wall,
	      uint32_t psn)
{
	struct cursor w;

	memset(record, 0, RECORD_SIZE);
	cursor_write(&w, record, RECORD_SIZE);
	encode_erf(&w, wall);
	/* LRH: lane, version; SL, what follows (2: BTH); DLID, length, SLID. */
	cursor_put_u8(&w, p->qp ? 0 : 0xf0);
	cursor_put_u8(&w, (uint8_t)(p->sl << 4 | 2));
	cursor_put_u16(&w, p->dlid);
	cursor_put_u16(&w, PACKET_WORDS);
	cursor_put_u16(&w, p->slid);
	/* BTH: opcode, flags, P_Key, destination queue pair, sequence number. */
	cursor_put_u8(&w, OPCODE_UD_SEND_ONLY);
	cursor_put_u8(&w, 0);
	cursor_put_u16(&w, DEFAULT_PKEY);
	cursor_put_u32(&w, p->qp);
	cursor_put_u32(&w, psn & 0xffffff);
	/* DETH: Q_Key, source queue pair. */
	cursor_put_u32(&w, p->qp ? GSI_QKEY : 0);
	cursor_put_u32(&w, p->qp);
	cursor_put_bytes(&w, p->mad, MAD_SIZE);
}

static void
put_packet(struct capture *c, const struct model_passage *p)
{
	int64_t wall = loop_wall(model_loop(c->m));
	const uint32_t header[4] = {
		(uint32_t)(wall / 1000000), (uint32_t)(wall % 1000000), RECORD_SIZE, RECORD_SIZE,
	};
	uint8_t record[RECORD_SIZE];

	encode_packet(record, p, wall, (uint32_t)c->count);
	put(c, header, sizeof(header));
	put(c, record, sizeof(record));
}

/* ---- Text ---- */

static const char *
class_name(uint8_t mgmt_class)
{
	switch (mgmt_class) {
	case MAD_CLASS_SUBN_LID:
		return "Subn";
	case MAD_CLASS_SUBN_DIRECT:
		return "SubnDirect";
	case MAD_CLASS_SUBN_ADM:
		return "SubnAdm";
	case MAD_CLASS_PERF:
		return "Perf";
	case MAD_CLASS_CONGESTION:
		return "Cong";
	default:
		return NULL;
	}
}

static void
add_addresses(struct buf *b, const struct model_passage *p)
{
	struct smp s;

	if (p->mad[1] != MAD_CLASS_SUBN_DIRECT || smp_decode(&s, p->mad, MAD_SIZE) < 0) {
		buf_printf(b, "lid %u > %u sl %u", p->slid, p->dlid, p->sl);
		return;
	}
	buf_printf(b, "route 0");
	for (unsigned i = 1; i <= s.hop_count; i++)
		buf_printf(b, ",%u", s.path[i]);
}

static void
put_line(struct capture *c, const struct model_passage *p)
{
	const struct ibnet_node *nodes = model_ibnet(c->m)->nodes;
	char now[SECONDS_TEXT_SIZE];
	struct mad_header h;
	struct buf b = { 0 };
	bool smp = p->mad[1] == MAD_CLASS_SUBN_LID || p->mad[1] == MAD_CLASS_SUBN_DIRECT;
	const char *class, *method, *attribute;

	mad_header_decode(&h, p->mad, MAD_SIZE);
	class = class_name(h.mgmt_class);
	method = mad_method_name(h.method);
	attribute = h.mgmt_class == MAD_CLASS_CONGESTION ? cc_attr_name(h.attr_id) :
		smp || h.attr_id <= ATTR_NOTICE ? mad_attr_name(h.attr_id) : NULL;
	seconds_text(now, loop_now(model_loop(c->m)) - c->start);
	buf_printf(&b, "%s %s/%u %s %s/%u ", now, nodes[p->from].name, p->from_port,
		   p->lost ? "lost at" : ">", nodes[p->to].name, p->to_port);
	if (class)
		buf_printf(&b, "%s ", class);
	else
		buf_printf(&b, "class 0x%02x ", h.mgmt_class);
	if (method)
		buf_printf(&b, "%s ", method);
	else
		buf_printf(&b, "method 0x%02x ", h.method);
	if (attribute)
		buf_printf(&b, "%s", attribute);
	else
		buf_printf(&b, "attribute 0x%04x", h.attr_id);
	buf_printf(&b, " modifier 0x%x tid 0x%" PRIx64 " ", h.attr_mod, h.tid);
	if (h.status)
		buf_printf(&b, "status 0x%04x ", h.status);
	add_addresses(&b, p);
	buf_printf(&b, "\n");
	put(c, b.data, b.len);
	buf_free(&b);
}

static void
on_passage(void *arg, const struct model_passage *p)
{
	struct capture *c = arg;

	if (c->text)
		put_line(c, p);
	else
		put_packet(c, p);
	c->count++;
}

/* ---- Files ---- */

bool
capture_is_text(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && !strcmp(path + len - 4, ".txt");
}

int
capture_open(struct capture **c, struct model *m, const char *path, bool text, struct error *e)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "we") : stdout;

	*c = NULL;
	if (!f)
		return error_set(e, ERR_IO, "cannot write %s: %s", path, strerror(errno));
	*c = mem_zalloc(sizeof(**c));
	(*c)->m = m;
	(*c)->f = f;
	(*c)->path = mem_strdup(path);
	(*c)->text = text;
	(*c)->start = loop_now(model_loop(m));
	if (!text)
		put_header(*c);
	model_tap(m, on_passage, *c);
	return 0;
}

int
capture_close(struct capture *c, struct error *e)
{
	int err, rc = 0;

	if (!c)
		return 0;
	model_tap(c->m, NULL, NULL);
	errno = 0;
	if ((c->f == stdout ? fflush(c->f) : fclose(c->f)) && !c->error)
		c->error = errno ? errno : EIO;
	err = c->error;
	if (err)
		rc = error_set(e, ERR_IO, "cannot write all of %s: %s", c->path, strerror(err));
	mem_free(c->path);
	mem_free(c);
	return rc;
}

uint64_t
capture_count(const struct capture *c)
{
	return c->count;
}
