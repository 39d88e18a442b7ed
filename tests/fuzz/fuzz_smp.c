/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sm/wire/attr.h"
#include "sm/wire/cursor.h"
#include "sm/wire/mad.h"

/*
 * Any bytes as a MAD. What decodes is encoded, decoded and encoded once more: both encodings must
 * be the same, and every bit set in them must have been set in the input, for codecs add nothing.
 * The 64 bytes behind the headers (or the first ones of an input without) then go through every
 * attribute in the same way, and the whole input through a cursor that it drives itself.
 */

static void
must(bool holds)
{
	if (!holds)
		abort();
}

/* `once` and `twice` agree and hold no bit that `data` lacks. */
static void
settled(const uint8_t *data, const uint8_t *once, const uint8_t *twice, size_t size)
{
	must(!memcmp(once, twice, size));
	for (size_t i = 0; i < size; i++)
		must(!(once[i] & ~data[i]));
}

#define TRY(type, a, arg, to) \
	static void \
	try_##type(const uint8_t data[SMP_DATA_SIZE]) \
	{ \
		uint8_t once[SMP_DATA_SIZE], twice[SMP_DATA_SIZE]; \
		a; \
\
		type##_decode(arg, data); \
		type##_encode(to, once); \
		type##_decode(arg, once); \
		type##_encode(to, twice); \
		settled(data, once, twice, SMP_DATA_SIZE); \
	}
TRY(nodeinfo, struct nodeinfo v, &v, &v)
TRY(portinfo, struct portinfo v, &v, &v)
TRY(switchinfo, struct switchinfo v, &v, &v)
TRY(sminfo, struct sminfo v, &v, &v)
TRY(notice, struct notice v, &v, &v)
TRY(nodedesc, char v[NODEDESC_SIZE], v, v)
TRY(guidinfo, uint64_t v[8], v, v)
TRY(pkeys, uint16_t v[32], v, v)
TRY(sl2vl, uint8_t v[16], v, v)
TRY(vlarb, struct vlarb_entry v[32], v, v)
TRY(mft, uint16_t v[32], v, v)

static void
try_attributes(const uint8_t data[SMP_DATA_SIZE])
{
	struct portinfo p;
	struct notice n;

	try_nodeinfo(data);
	try_portinfo(data);
	try_switchinfo(data);
	try_sminfo(data);
	try_notice(data);
	try_nodedesc(data);
	try_guidinfo(data);
	try_pkeys(data);
	try_sl2vl(data);
	try_vlarb(data);
	try_mft(data);
	portinfo_decode(&p, data);
	must(portinfo_speed(&p) <= SPEED_XDR);
	notice_decode(&n, data);
	must(n.generic || !notice_subject_lid(&n));
	must(n.generic || !notice_subject_port(&n));
	must(n.trap == TRAP_CAPABILITY || !notice_144_flags(&n));
}

static void
try_header(const uint8_t *mad, size_t size)
{
	uint8_t once[MAD_HEADER_SIZE], twice[MAD_HEADER_SIZE];
	struct mad_header h;

	if (mad_header_decode(&h, mad, size))
		return;
	mad_header_encode(&h, once);
	must(!mad_header_decode(&h, once, sizeof(once)));
	mad_header_encode(&h, twice);
	settled(mad, once, twice, sizeof(once));
	mad_attr_name(h.attr_id);
	mad_method_name(h.method);
	must(mad_status_text(h.status) != NULL);
}

static void
try_smp(const uint8_t *mad, size_t size)
{
	uint8_t once[MAD_SIZE], twice[MAD_SIZE];
	struct smp s;

	if (smp_decode(&s, mad, size))
		return;
	must(size >= MAD_SIZE && s.hop_count <= SMP_MAX_HOPS);
	must(s.hop_pointer <= s.hop_count + 1);
	smp_encode(&s, once);
	must(!smp_decode(&s, once, sizeof(once)));
	smp_encode(&s, twice);
	settled(mad, once, twice, sizeof(once));
}

/* Each field's width comes from the field before it; what is read is written to a copy. */
static void
try_cursor(const uint8_t *data, size_t size)
{
	uint8_t copy[1024];
	uint32_t v = 7;
	struct cursor r, w;

	if (size > sizeof(copy))
		size = sizeof(copy);
	cursor_read(&r, data, size);
	cursor_write(&w, copy, size);
	for (;;) {
		unsigned n = v % 34;

		v = cursor_bits(&r, n);
		if (!cursor_ok(&r))
			break;
		cursor_put_bits(&w, n, v);
		must(cursor_ok(&w));
		must(r.bit == w.bit && r.bit <= size * 8);
		v += 7 + n;
	}
	must(!memcmp(copy, data, w.bit / 8));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_header(data, size);
	try_smp(data, size);
	try_cursor(data, size);
	if (size >= MAD_SIZE)
		try_attributes(data + 64);
	else if (size >= SMP_DATA_SIZE)
		try_attributes(data);
	return 0;
}
