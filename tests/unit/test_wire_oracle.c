/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/wire_fields.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "sm/wire/mad.h"

/*
 * The wire codecs against libibmad, an implementation that shares nothing with ours: for random
 * bytes it must read each field as our decoders do, it must read back what our encoders write, and
 * our decoders must read what it writes.
 */
#define ROUNDS 20000

static uint64_t
oracle_get(uint8_t *data, enum MAD_FIELDS field, unsigned bits)
{
	return bits == 64 ? mad_get_field64(data, 0, field) : mad_get_field(data, 0, field);
}

/* libibmad's reading of `data` is what `value` says, field by field. */
static void
agree(const struct attr *a, const void *value, uint8_t data[SMP_DATA_SIZE], const char *when)
{
	uint8_t bytes[SMP_DATA_SIZE];

	each_field(f, a) {
		uint64_t ours, theirs;

		if (f->oracle == IB_NO_FIELD)
			continue;
		if (f->size > 8) {
			mad_get_array(data, 0, f->oracle, bytes);
			assert_memory_equal(bytes, (const uint8_t *)value + f->offset, f->size);
			continue;
		}
		ours = field_get(f, value);
		theirs = oracle_get(data, f->oracle, f->bits);
		if (ours != theirs)
			fail_msg("%s: %s.%s is %#llx, by libibmad %#llx", when, a->name, f->name,
			    (unsigned long long)ours, (unsigned long long)theirs);
	}
}

static void
test_decoders(void **state)
{
	uint8_t data[SMP_DATA_SIZE];
	union any_attr value;

	(void)state;
	each_attr(a) {
		for (int i = 0; i < ROUNDS; i++) {
			random_bytes(data, sizeof(data));
			a->decode(&value, data);
			agree(a, &value, data, "decoding");
		}
	}
}

static void
test_encoders(void **state)
{
	uint8_t data[SMP_DATA_SIZE];
	union any_attr value;

	(void)state;
	each_attr(a) {
		for (int i = 0; i < ROUNDS; i++) {
			random_attr(a, &value);
			random_bytes(data, sizeof(data));
			a->encode(&value, data);
			agree(a, &value, data, "encoding");
		}
	}
}

static void
test_reads_what_libibmad_writes(void **state)
{
	uint8_t data[SMP_DATA_SIZE];
	union any_attr value, back;

	(void)state;
	each_attr(a) {
		for (int i = 0; i < ROUNDS; i++) {
			random_attr(a, &value);
			memset(data, 0, sizeof(data));
			each_field(f, a) {
				uint64_t v = f->size > 8 ? 0 : field_get(f, &value);

				if (f->oracle == IB_NO_FIELD)
					continue;
				if (f->size > 8)
					mad_set_array(data, 0, f->oracle,
					    (uint8_t *)&value + f->offset);
				else if (f->bits == 64)
					mad_set_field64(data, 0, f->oracle, v);
				else
					mad_set_field(data, 0, f->oracle, (uint32_t)v);
			}
			a->decode(&back, data);
			each_field(f, a)
				if (f->oracle != IB_NO_FIELD)
					assert_memory_equal((uint8_t *)&back + f->offset,
					    (uint8_t *)&value + f->offset, f->size);
		}
	}
}

static void
agree_smp(const struct smp *s, uint8_t mad[MAD_SIZE])
{
	uint8_t path[64];

	assert_int_equal(s->h.base_version, mad_get_field(mad, 0, IB_MAD_BASEVER_F));
	assert_int_equal(s->h.mgmt_class, mad_get_field(mad, 0, IB_MAD_MGMTCLASS_F));
	assert_int_equal(s->h.class_version, mad_get_field(mad, 0, IB_MAD_CLASSVER_F));
	assert_int_equal(s->h.method, mad_get_field(mad, 0, IB_MAD_METHOD_F) |
	    mad_get_field(mad, 0, IB_MAD_RESPONSE_F) << 7);
	assert_true(s->h.tid == mad_get_field64(mad, 0, IB_MAD_TRID_F));
	assert_int_equal(s->h.attr_id, mad_get_field(mad, 0, IB_MAD_ATTRID_F));
	assert_int_equal(s->h.attr_mod, mad_get_field(mad, 0, IB_MAD_ATTRMOD_F));
	assert_true(s->m_key == mad_get_field64(mad, 0, IB_MAD_MKEY_F));
	assert_memory_equal(s->data, mad + IB_SMP_DATA_OFFS, SMP_DATA_SIZE);
	if (s->h.mgmt_class != MAD_CLASS_SUBN_DIRECT) {
		assert_int_equal(s->h.status, mad_get_field(mad, 0, IB_MAD_STATUS_F));
		return;
	}
	assert_int_equal(s->h.status, mad_get_field(mad, 0, IB_DRSMP_STATUS_F));
	assert_int_equal(s->direction, mad_get_field(mad, 0, IB_DRSMP_DIRECTION_F));
	assert_int_equal(s->hop_count, mad_get_field(mad, 0, IB_DRSMP_HOPCNT_F));
	assert_int_equal(s->hop_pointer, mad_get_field(mad, 0, IB_DRSMP_HOPPTR_F));
	assert_int_equal(s->dr_slid, mad_get_field(mad, 0, IB_DRSMP_DRSLID_F));
	assert_int_equal(s->dr_dlid, mad_get_field(mad, 0, IB_DRSMP_DRDLID_F));
	mad_get_array(mad, 0, IB_DRSMP_PATH_F, path);
	assert_memory_equal(s->path, path, sizeof(path));
	mad_get_array(mad, 0, IB_DRSMP_RPATH_F, path);
	assert_memory_equal(s->return_path, path, sizeof(path));
}

static void
test_smp(void **state)
{
	uint8_t mad[MAD_SIZE], again[MAD_SIZE];
	struct smp s;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		random_bytes(mad, sizeof(mad));
		mad[0] = 1;
		mad[1] = i % 2 ? MAD_CLASS_SUBN_LID : MAD_CLASS_SUBN_DIRECT;
		mad[7] &= 63;
		mad[6] = (uint8_t)(mad[6] % (mad[7] + 2));
		assert_int_equal(smp_decode(&s, mad, sizeof(mad)), 0);
		agree_smp(&s, mad);
		random_bytes(again, sizeof(again));
		smp_encode(&s, again);
		agree_smp(&s, again);
	}
}

static void
test_tables(void **state)
{
	uint8_t data[SMP_DATA_SIZE], vl[16];
	uint64_t guids[8];

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		random_bytes(data, sizeof(data));
		guidinfo_decode(guids, data);
		for (int k = 0; k < 8; k++)
			assert_true(guids[k] == mad_get_field64(data, 0,
			    (enum MAD_FIELDS)(IB_GI_GUID0_F + k)));
		sl2vl_decode(vl, data);
		for (int k = 0; k < 16; k++)
			assert_int_equal(vl[k], mad_get_field64(data, 0,
			    IB_SLTOVL_MAPPING_TABLE_F) >> (60 - 4 * k) & 15);
		random_bytes(data, sizeof(data));
		guidinfo_encode(guids, data);
		for (int k = 0; k < 8; k++)
			assert_true(guids[k] == mad_get_field64(data, 0,
			    (enum MAD_FIELDS)(IB_GI_GUID0_F + k)));
		sl2vl_encode(vl, data);
		for (int k = 0; k < 16; k++)
			assert_int_equal(vl[k], mad_get_field64(data, 0,
			    IB_SLTOVL_MAPPING_TABLE_F) >> (60 - 4 * k) & 15);
	}
}

static void
test_notice_details(void **state)
{
	static const uint16_t traps[] = { 128, 144 };
	uint8_t data[SMP_DATA_SIZE];
	struct notice n;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		random_bytes(data, sizeof(data));
		notice_decode(&n, data);
		n.generic = true;
		n.trap = traps[i % 2];
		assert_int_equal(notice_subject_lid(&n), mad_get_field(data, 0,
		    i % 2 ? IB_NOTICE_DATA_144_LID_F : IB_NOTICE_DATA_LID_F));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decoders),
		cmocka_unit_test(test_encoders),
		cmocka_unit_test(test_reads_what_libibmad_writes),
		cmocka_unit_test(test_smp),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_notice_details),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
