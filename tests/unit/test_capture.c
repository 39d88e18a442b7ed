/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/sim_bed.h"

#include <stdio.h>
#include "sim/control/capture.h"

/* Captures, held against packets that were put together by hand from the specification. */
static size_t
slurp(const char *path, uint8_t *data, size_t size)
{
	FILE *f = fopen(path, "rb");
	size_t n;

	assert_non_null(f);
	n = fread(data, 1, size, f);
	fclose(f);
	return n;
}

static void
record(struct rig *r, const char *path, bool text)
{
	struct capture *c;
	struct error e = { 0 };
	struct ask q = { .path = "1", .method = MAD_GET, .attr = ATTR_NODE_INFO };

	assert_int_equal(capture_open(&c, r->m, path, text, &e), 0);
	must(ask(r, q));
	assert_int_equal(capture_count(c), 2);
	assert_int_equal(capture_close(c, &e), 0);
	/* Nothing is told after the end. */
	must(ask(r, q));
}

static void
test_pcap(void **state)
{
	/* ERF: 2026-01-01, where virtual time begins, behind its fraction; type InfiniBand with a
	 * length of its own, 306 bytes; no loss; 290 bytes on the wire. LRH: VL 15, version 0; SL
	 * 0, LNH 2; DLID 0xffff; 72 words; SLID 0xffff. BTH: UD send only; P_Key 0xffff; QP 0.
	 * DETH: Q_Key 0, QP 0. MAD: base version 1, directed route, class version 1, Get; hop
	 * pointer 0, hop count 1. */
	static const uint8_t headers[] = {
		0, 0, 0, 0, 0x00, 0xb9, 0x55, 0x69,
		21, 4, 0x01, 0x32, 0, 0, 0x01, 0x22,
		0xf0, 0x02, 0xff, 0xff, 0x00, 0x48, 0xff, 0xff,
		0x64, 0x00, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0,
		0x01, 0x81, 0x01, 0x01, 0x00, 0x00, 0x00, 0x01,
	};
	char path[] = "/tmp/weft-capture-XXXXXX";
	int fd = mkstemp(path);
	uint8_t data[2048];
	uint32_t word[10];
	size_t n;

	assert_true(fd >= 0);
	close(fd);
	record(*state, path, false);
	n = slurp(path, data, sizeof(data));
	unlink(path);
	/* Two records of 16 bytes, and packets of 28 of headers, 256 of MAD and 6 of checksums. */
	assert_int_equal(n, 24 + 2 * (16 + 306));
	memcpy(word, data, sizeof(word));
	assert_int_equal(word[0], 0xa1b2c3d4);
	assert_int_equal(word[5], 197);
	assert_int_equal(word[8], 306);
	assert_int_equal(word[9], 306);
	memcpy(word, data + 24, 4);
	assert_int_equal(word[0], 1767225600);
	assert_memory_equal(data + 40, headers, sizeof(headers));
	/* The answer: GetResp, direction bit. */
	assert_int_equal(data[40 + 306 + 16 + 44 + 3], 0x81);
	assert_int_equal(data[40 + 306 + 16 + 44 + 4], 0x80);
}

static void
test_text(void **state)
{
	char path[] = "/tmp/weft-capture-XXXXXX", text[1024] = { 0 };
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	record(*state, path, true);
	slurp(path, (uint8_t *)text, sizeof(text) - 1);
	unlink(path);
	assert_non_null(strstr(text, " h1/1 > A/1 SubnDirect Get NodeInfo modifier 0x0 tid 0x"));
	assert_non_null(strstr(text, " route 0,1\n"));
	assert_non_null(strstr(text, " A/0 > h1/1 SubnDirect GetResp NodeInfo "));
}

static void
test_refused(void **state)
{
	struct rig *r = *state;
	struct error e = { 0 };
	struct capture *c;

	assert_int_equal(capture_open(&c, r->m, "/nowhere/x", false, &e), ERR_IO);
	assert_string_equal(e.text, "cannot write /nowhere/x: No such file or directory");
	assert_int_equal(capture_open(&c, r->m, "/dev/full", false, &e), 0);
	assert_int_equal(capture_close(c, &e), ERR_IO);
	assert_string_equal(e.text, "cannot write all of /dev/full: No space left on device");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pcap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_text, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
