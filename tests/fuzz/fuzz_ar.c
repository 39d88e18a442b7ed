/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sm/wire/ar.h"

/*
 * Any bytes as adaptive-routing attributes, under a layout of the input's own, and as a layout's
 * text. What decodes is encoded, decoded and encoded once more: both encodings must be the same,
 * and every bit set in them must have been set in the input.
 */

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static void
settled(const uint8_t *data, const uint8_t *once, const uint8_t *twice)
{
	must(!memcmp(once, twice, SMP_DATA_SIZE));
	for (size_t i = 0; i < SMP_DATA_SIZE; i++)
		must(!(once[i] & ~data[i]));
}

#define TRY(name, a, ...) \
	static void \
	try_##name(const struct ar_layout *l, const uint8_t data[SMP_DATA_SIZE]) \
	{ \
		uint8_t once[SMP_DATA_SIZE], twice[SMP_DATA_SIZE]; \
		a; \
\
		(void)l; \
		ar_##name##_decode(__VA_ARGS__, data); \
		ar_##name##_encode(__VA_ARGS__, once); \
		ar_##name##_decode(__VA_ARGS__, once); \
		ar_##name##_encode(__VA_ARGS__, twice); \
		settled(data, once, twice); \
	}
TRY(general, struct ar_general v, &v)
TRY(info, struct ar_info v, &v)
TRY(groups, struct ar_ports v[AR_GROUP_BLOCK], v)
TRY(copy, struct ar_copy v[AR_COPIES], v, l)
TRY(lft, struct ar_lft_entry v[AR_LFT_BLOCK], v)
TRY(plft_info, struct ar_plft_info v, &v)
TRY(plft_def, struct ar_plft_def v[AR_PLFT_BLOCK], v, l)
TRY(plft_map, struct ar_plft_map v, &v)
TRY(gen, uint16_t v[AR_GEN_BLOCK], v)
TRY(rcv, struct ar_rcv v[AR_RCV_BLOCK], v)
TRY(priority, struct ar_priority v[16], v)
TRY(xmit, uint8_t v[AR_XMIT_BLOCK], v)
TRY(hbf, struct ar_hbf v, &v)
TRY(whbf, struct ar_whbf v[AR_WHBF_BLOCK], v)
TRY(pfrn, struct ar_pfrn v, &v)
TRY(node_info, struct ar_node_info v, &v)

static void
try_attributes(const struct ar_layout *l, const uint8_t data[SMP_DATA_SIZE])
{
	try_general(l, data);
	try_info(l, data);
	try_groups(l, data);
	try_copy(l, data);
	try_lft(l, data);
	try_plft_info(l, data);
	try_plft_def(l, data);
	try_plft_map(l, data);
	try_gen(l, data);
	try_rcv(l, data);
	try_priority(l, data);
	try_xmit(l, data);
	try_hbf(l, data);
	try_whbf(l, data);
	try_pfrn(l, data);
	try_node_info(l, data);
}

/* Nothing but the mask changes. */
static void
try_any_order(const uint8_t data[SMP_DATA_SIZE])
{
	uint8_t once[SMP_DATA_SIZE];
	uint16_t sls = ar_port_any_order(data);

	memcpy(once, data, sizeof(once));
	ar_port_set_any_order(once, sls);
	must(!memcmp(once, data, sizeof(once)));
	ar_port_set_any_order(once, (uint16_t)~sls);
	must((ar_port_any_order(once) ^ sls) == UINT16_MAX);
}

static void
try_modifier(const struct ar_layout *l, uint16_t attr_id, uint32_t mod)
{
	struct ar_mod a;

	if (ar_mod_decode(&a, attr_id, l, mod))
		must(ar_mod_encode(&a, attr_id, l) == mod);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ar_layout l = ar_layout_default;
	size_t len = size > SMP_DATA_SIZE ? size - SMP_DATA_SIZE : 0;
	char text[256] = "";
	uint32_t mod;

	if (size < SMP_DATA_SIZE)
		return 0;
	memcpy(text, data + SMP_DATA_SIZE, len < sizeof(text) ? len : sizeof(text) - 1);
	ar_layout_parse(&l, text, NULL);
	try_attributes(&l, data);
	try_any_order(data);
	memcpy(&mod, data, sizeof(mod));
	try_modifier(&l, AR_ATTR_LFT, mod);
	try_modifier(&l, AR_ATTR_GROUPS, mod);
	try_modifier(&l, AR_ATTR_RN_GEN, mod);
	must(ar_sub_groups(&l, data[0] & 15) >= 1);
	return 0;
}
