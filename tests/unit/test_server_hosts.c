/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "sim/serve/scratch.h"
#include "sm/base/log.h"
#include "sm/wire/attr.h"
#include "tests/unit/attach_bed.h"

/*
 * What a program finds in its host's sysfs tree. Formats are those of Linux 6.1, as
 * Documentation/ABI/stable/sysfs-class-infiniband describes them and a ConnectX-5 shows them.
 */
static char root[256];		/* of the tree looked at last */

static void
enter(struct bed *b, const char *node, uint32_t layout)
{
	struct program p = dial(b);
	struct attach_request q = request(ATTACH_HOST, 0, node);
	struct attach_reply r;

	q.layout = layout;
	r = ask(&p, q);
	if (r.status)
		fail_msg("%s", r.text);
	assert_int_equal(r.length_text, strlen(r.text));
	assert_true(r.length_text < sizeof(root));
	memcpy(root, r.text, r.length_text + 1);
	hang_up(&p);
}

/* Text of a file below root/sys/class, or "" if there is none. */
static const char *
text_of(const char *name)
{
	static char text[200];
	char path[512];
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/sys/class/%s", root, name);
	fd = open(path, O_RDONLY);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = 0;
	return text;
}

/* Names in a folder below the root, in order, with blanks. */
static const char *
names_in(const char *folder)
{
	static char text[2000];
	struct dirent **list;
	char path[512];
	int n;

	text[0] = 0;
	snprintf(path, sizeof(path), "%s/%s", root, folder);
	n = scandir(path, &list, NULL, alphasort);
	assert_true(n >= 2);
	for (int i = 0; i < n; i++) {
		if (list[i]->d_name[0] != '.') {
			strcat(text, text[0] ? " " : "");
			strcat(text, list[i]->d_name);
		}
		free(list[i]);
	}
	free(list);
	return text;
}

#define SHOWS(file, text) assert_string_equal(text_of("infiniband/" file), text)

static void
test_tree(void **state)
{
	enter(*state, "gpu-01", ATTACH_PLAIN);
	assert_string_equal(names_in("sys/class/infiniband"), "mlx5_0 mlx5_1");
	assert_string_equal(names_in("sys/class/infiniband_mad"),
			    "abi_version issm0 issm1 umad0 umad1");
	assert_string_equal(names_in("sys/class/infiniband_verbs"), "");
	assert_string_equal(names_in("dev/infiniband"), "issm0 issm1 umad0 umad1");
	assert_string_equal(text_of("infiniband_mad/abi_version"), "5\n");
	assert_string_equal(text_of("infiniband_mad/umad1/ibdev"), "mlx5_1\n");
	assert_string_equal(text_of("infiniband_mad/umad1/port"), "1\n");
	assert_string_equal(text_of("infiniband_mad/umad1/dev"), "231:1\n");
	assert_string_equal(text_of("infiniband_mad/issm1/dev"), "231:65\n");
	SHOWS("mlx5_0/node_type", "1: CA\n");
	SHOWS("mlx5_0/node_guid", "0000:0000:0000:0010\n");
	SHOWS("mlx5_0/sys_image_guid", "0000:0000:0000:0013\n");
	SHOWS("mlx5_0/node_desc", "gpu-01 mlx5_0\n");
	SHOWS("mlx5_0/hca_type", "MT4129\n");
	SHOWS("mlx5_0/hw_rev", "0\n");
	assert_string_equal(names_in("sys/class/infiniband/mlx5_0/ports"), "1");
}

static void
test_port_files(void **state)
{
	enter(*state, "gpu-01 mlx5_0", ATTACH_PLAIN);
	SHOWS("mlx5_0/ports/1/lid", "0x2\n");
	SHOWS("mlx5_0/ports/1/sm_lid", "0x0\n");
	SHOWS("mlx5_0/ports/1/sm_sl", "0\n");
	SHOWS("mlx5_0/ports/1/lid_mask_count", "0\n");
	SHOWS("mlx5_0/ports/1/state", "2: INIT\n");
	SHOWS("mlx5_0/ports/1/phys_state", "5: LinkUp\n");
	SHOWS("mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
	SHOWS("mlx5_0/ports/1/link_layer", "InfiniBand\n");
	SHOWS("mlx5_0/ports/1/gids/0", "fe80:0000:0000:0000:0000:0000:0000:0011\n");
	SHOWS("mlx5_0/ports/1/gids/7", "0000:0000:0000:0000:0000:0000:0000:0000\n");
	SHOWS("mlx5_0/ports/1/gids/8", "");
	SHOWS("mlx5_0/ports/1/pkeys/0", "0xffff\n");
	SHOWS("mlx5_0/ports/1/pkeys/63", "0x0000\n");
	SHOWS("mlx5_0/ports/1/pkeys/64", "");
}

/* FDR is 14 Gb/s a lane to Linux, SDR 2.5; a port without a cable is down. */
static void
test_rates(void **state)
{
	enter(*state, "0x20", ATTACH_PLAIN);
	assert_string_equal(names_in("sys/class/infiniband"), "mlx5_0");
	assert_string_equal(names_in("sys/class/infiniband/mlx5_0/ports"), "1 2");
	SHOWS("mlx5_0/ports/1/rate", "56 Gb/sec (4X FDR)\n");
	SHOWS("mlx5_0/ports/2/rate", "2.5 Gb/sec (1X SDR)\n");
	assert_string_equal(text_of("infiniband_mad/umad1/port"), "2\n");
	enter(*state, "H-50", ATTACH_PLAIN);
	SHOWS("mlx5_0/node_guid", "0000:0000:0000:0050\n");
	SHOWS("mlx5_0/ports/1/state", "1: DOWN\n");
	SHOWS("mlx5_0/ports/1/phys_state", "2: Polling\n");
	enter(*state, "S1", ATTACH_PLAIN);
	assert_string_equal(names_in("sys/class/infiniband/mlx5_0/ports"), "0");
	SHOWS("mlx5_0/node_type", "2: switch\n");
	SHOWS("mlx5_0/ports/0/pkeys/31", "0x0000\n");
	SHOWS("mlx5_0/ports/0/pkeys/32", "");
	enter(*state, "", ATTACH_PLAIN);
	SHOWS("mlx5_1/node_desc", "gpu-01 mlx5_1\n");
}

/* Set an attribute of the port by an SMP of its own; nobody looks at the files before the answer
 * is there. */
static void
set_attr(struct program *p, uint16_t attr, const uint8_t data[64])
{
	static uint32_t tid;
	struct attach_slot s;
	uint8_t mad[320] = { 0 };
	struct smp smp = {
		.h = { .base_version = 1, .class_version = 1, .mgmt_class = MAD_CLASS_SUBN_DIRECT,
		       .method = MAD_SET, .attr_id = attr, .tid = ++tid },
		.dr_slid = LID_PERMISSIVE, .dr_dlid = LID_PERMISSIVE,
	};

	memcpy(smp.data, data, 64);
	smp_encode(&smp, mad + 64);
	mad[8] = 100;			/* timeout_ms */
	mad[28] = mad[29] = 0xff;	/* lid */
	assert_true(tx_put(p, mad, sizeof(mad)));
	assert_true(rx_wait(p, &s));
	assert_int_equal(smp_decode(&smp, s.data + 64, MAD_SIZE), 0);
	assert_int_equal(smp.h.status, 0);
}

static void
test_live(void **state)
{
	struct bed *b = *state;
	struct program p = open_umad(b, "gpu-01", 0);
	struct portinfo pi = *model_portinfo(b->sim->model, 1, 1);
	uint8_t data[64] = { 0 };
	uint16_t keys[32] = { 0xffff, 0x8001 };
	uint64_t guids[8] = { 0x11, 0xabc };

	enter(b, "gpu-01", ATTACH_PLAIN);
	assert_int_equal(ask(&p, smp_agent(0)).status, 0);
	pi.lid = 0x123;
	pi.sm_lid = 7;
	pi.sm_sl = 3;
	pi.lmc = 2;
	pi.lid = 0x120;
	pi.gid_prefix = UINT64_C(0xfec0000000000001);
	pi.state = pi.phys_state = 0;
	portinfo_encode(&pi, data);
	set_attr(&p, ATTR_PORT_INFO, data);
	SHOWS("mlx5_0/ports/1/lid", "0x120\n");
	SHOWS("mlx5_0/ports/1/sm_lid", "0x7\n");
	SHOWS("mlx5_0/ports/1/sm_sl", "3\n");
	SHOWS("mlx5_0/ports/1/lid_mask_count", "2\n");
	SHOWS("mlx5_0/ports/1/gids/0", "fec0:0000:0000:0001:0000:0000:0000:0011\n");
	pkeys_encode(keys, data);
	set_attr(&p, ATTR_P_KEY_TABLE, data);
	SHOWS("mlx5_0/ports/1/pkeys/1", "0x8001\n");
	SHOWS("mlx5_0/ports/1/pkeys/2", "0x0000\n");
	guidinfo_encode(guids, data);
	set_attr(&p, ATTR_GUID_INFO, data);
	SHOWS("mlx5_0/ports/1/gids/1", "fec0:0000:0000:0001:0000:0000:0000:0abc\n");
	keys[1] = 0;
	pkeys_encode(keys, data);
	set_attr(&p, ATTR_P_KEY_TABLE, data);
	SHOWS("mlx5_0/ports/1/pkeys/1", "0x0000\n");
	model_link_set(b->sim->model, 1, 1, false);
	run(b);
	SHOWS("mlx5_0/ports/1/state", "1: DOWN\n");
	hang_up(&p);
}

/* An SMI and a GSI device with the same port GUID, as rdma-core 56 puts them together; only the
 * SMI one has IsSMdisabled clear, an issm file, and QP 0. */
static void
test_pairs(void **state)
{
	struct bed *b = *state;
	struct program p = dial(b);
	struct attach_request q = request(ATTACH_OPEN_ISSM, 0, "gpu-01");
	struct attach_request gmp = smp_agent(0);
	unsigned long mask;

	enter(b, "gpu-01", ATTACH_PAIRS);
	assert_string_equal(names_in("sys/class/infiniband"), "mlx5_0 mlx5_1 smi1 smi2");
	assert_string_equal(names_in("sys/class/infiniband_mad"),
			    "abi_version issm2 issm3 umad0 umad1 umad2 umad3");
	assert_string_equal(text_of("infiniband_mad/umad2/ibdev"), "smi1\n");
	mask = strtoul(text_of("infiniband/mlx5_0/ports/1/cap_mask"), NULL, 16);
	assert_int_equal(mask & 0x400, 0x400);
	mask = strtoul(text_of("infiniband/smi1/ports/1/cap_mask"), NULL, 16);
	assert_int_equal(mask & 0x400, 0);
	SHOWS("mlx5_0/ports/1/gids/0", "fe80:0000:0000:0000:0000:0000:0000:0011\n");
	SHOWS("smi1/ports/1/gids/0", "fe80:0000:0000:0000:0000:0000:0000:0011\n");
	q.layout = ATTACH_PAIRS;
	assert_int_equal(ask(&p, q).status, ENXIO);
	q.kind = ATTACH_OPEN_UMAD;
	assert_int_equal(ask(&p, q).status, 0);
	assert_int_equal(ask(&p, smp_agent(0)).status, EPROTONOSUPPORT);
	gmp.reg.qpn = 1;
	assert_int_equal(ask(&p, gmp).status, 0);
	hang_up(&p);
	p = dial(b);
	q.index = 2;
	assert_int_equal(ask(&p, q).status, 0);
	assert_int_equal(ask(&p, smp_agent(0)).status, 0);
	assert_int_equal(ask(&p, gmp).status, EPROTONOSUPPORT);
	hang_up(&p);
}

/* The folder goes with its server; what a killed process left goes with the next. */
static void
test_leftovers(void **state)
{
	char base[] = "/tmp/weft-test-XXXXXX", path[300];
	struct error e = { 0 };
	struct scratch *s, *other;
	struct stat st;
	int status;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(base));
	setenv("XDG_RUNTIME_DIR", base, 1);
	snprintf(path, sizeof(path), "%s/weftsim.other-thing", base);
	assert_int_equal(symlink("/etc", path), 0);
	assert_int_equal(scratch_new(&other, &e), 0);
	pid = fork();
	if (!pid) {
		_exit(scratch_new(&s, &e) ||
		      mkdirat(AT_FDCWD, strcat(strcpy(path, scratch_path(s)), "/sub"), 0700));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(scratch_new(&s, &e), 0);
	snprintf(root, sizeof(root), "%s", base);
	assert_int_equal(lstat(scratch_path(other), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	scratch_free(s);
	scratch_free(other);
	assert_string_equal(names_in(""), "weftsim.other-thing");
	snprintf(path, sizeof(path), "%s/weftsim.other-thing", base);
	unlink(path);
	assert_int_equal(rmdir(base), 0);
	unsetenv("XDG_RUNTIME_DIR");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_tree), TEST(test_port_files), TEST(test_rates), TEST(test_live),
		TEST(test_pairs), cmocka_unit_test(test_leftovers),
	};

	log_open("stderr", LOG_L_ERROR, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
