/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of files under the preload library: which are the simulated host's, by which function and
 * however they are written. The test runs itself again with the library (preload_fake.h).
 */
#include <dirent.h>
#include <dlfcn.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <cmocka.h>
#include "tests/unit/preload_fake.h"

#define SYS "/sys/class/infiniband"
#define LID SYS "/mlx5_0/ports/1/lid"

#define assert_fails(expression, why) \
	do { \
		errno = 0; \
		assert_true((expression) == -1); \
		assert_int_equal(errno, why); \
	} while (0)

static void
assert_lid(int fd)
{
	char text[16] = "";

	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, sizeof(text) - 1), 4);
	assert_string_equal(text, "0x7\n");
	close(fd);
}

static void
names_open(void **state)
{
	int (*open_2)(const char *, int);
	int dir;
	FILE *f;

	(void)state;
	assert_lid(open(LID, O_RDONLY));
	assert_lid(open64(LID, O_RDONLY));
	open_2 = (int (*)(const char *, int))dlsym(RTLD_DEFAULT, "__open_2");
	assert_lid(open_2(LID, O_RDONLY));
	assert_lid(open("//sys/./class//infiniband/../infiniband/mlx5_0/ports/1/lid", O_RDONLY));
	assert_lid(openat(AT_FDCWD, LID, O_RDONLY));
	dir = open("/sys/class", O_RDONLY | O_DIRECTORY);
	assert_lid(openat(dir, "infiniband/mlx5_0/ports/1/lid", O_RDONLY));
	assert_lid(openat64(dir, "./infiniband/mlx5_0/ports/1/lid", O_RDONLY));
	close(dir);
	dir = open(SYS "/mlx5_0", O_RDONLY | O_DIRECTORY);
	assert_lid(openat(dir, "ports/1/lid", O_RDONLY));
	close(dir);
	f = fopen(LID, "r");
	assert_non_null(f);
	assert_int_equal(fgetc(f), '0');
	fclose(f);
	assert_fails(open(SYS "/none/lid", O_RDONLY), ENOENT);
	assert_fails(open("/dev/infiniband/umad99", O_RDWR), ENOENT);
	assert_fails(open(SYS "x/mlx5_0/ports/1/lid", O_RDONLY), ENOENT);
	assert_null(fopen("/dev/infiniband/umad0", "r"));
}

static void
names_from_elsewhere(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(chdir("/sys"), 0);
	assert_lid(open("class/infiniband/mlx5_0/ports/1/lid", O_RDONLY));
	assert_int_equal(chdir(SYS), 0);
	assert_lid(open("mlx5_0/ports/1/lid", O_RDONLY));
	assert_int_equal(chdir("/dev/infiniband"), 0);
	fd = open("umad0", O_RDWR | O_NONBLOCK);
	assert_int_equal(ioctl(fd, _IO(0x1b, 3), NULL), 0);	/* a device: ENABLE_PKEY */
	close(fd);
	assert_int_equal(chdir("/"), 0);
}

static void
names_list(void **state)
{
	struct dirent **list;
	struct dirent *e;
	int found = 0, n;
	DIR *d;
	glob_t g;

	(void)state;
	n = scandir(SYS "/mlx5_0", &list, NULL, alphasort);
	assert_int_equal(n, 9);		/* 6 files, ports, and two dots */
	for (int i = 1; i < n; i++)
		assert_true(strcmp(list[i - 1]->d_name, list[i]->d_name) < 0);
	for (int i = 0; i < n; i++)
		free(list[i]);
	free(list);
	d = opendir("/dev/infiniband/");
	assert_non_null(d);
	while ((e = readdir(d)))
		found += strcmp(e->d_name, "umad0") == 0 || strcmp(e->d_name, "issm0") == 0;
	closedir(d);
	assert_int_equal(found, 2);
	assert_int_equal(glob(SYS "/*/node_guid", 0, NULL, &g), 0);
	assert_int_equal(g.gl_pathc, 1);
	assert_string_equal(g.gl_pathv[0], SYS "/mlx5_0/node_guid");
	globfree(&g);
}

static void
names_kind(void **state)
{
	char *real = realpath(SYS "/mlx5_0/../mlx5_0", NULL);
	struct statx x;
	struct stat s;

	(void)state;
	assert_string_equal(real, SYS "/mlx5_0");
	free(real);
	assert_int_equal(stat("/dev/infiniband/issm0", &s), 0);
	assert_true(S_ISCHR(s.st_mode));
	assert_int_equal(s.st_rdev, makedev(231, 64));
	assert_int_equal(statx(AT_FDCWD, "/dev/infiniband/umad0", 0, STATX_BASIC_STATS, &x), 0);
	assert_true(S_ISCHR(x.stx_mode));
	assert_int_equal(x.stx_rdev_major, 231);
	assert_int_equal(lstat(SYS "/mlx5_0", &s), 0);
	assert_true(S_ISDIR(s.st_mode));
	assert_int_equal(access(LID, R_OK), 0);
	assert_int_equal(faccessat(AT_FDCWD, LID, R_OK, 0), 0);
	assert_fails(access(SYS "/mlx5_1", F_OK), ENOENT);
	assert_int_equal(stat("/sys/class", &s), 0);
	assert_int_equal(stat("/etc/passwd", &s), 0);
}

static int
run_all(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_open),
		cmocka_unit_test(names_from_elsewhere),
		cmocka_unit_test(names_list),
		cmocka_unit_test(names_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int
main(int argc, char **argv)
{
	(void)argv;
	return argc > 1 ? run_all() : fake_run();
}
