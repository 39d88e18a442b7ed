/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a fuzz target without a fuzzer: once over no input at all, then over each file of the
 * folders and files given, in the order of their names. What a fuzzer once found stays in the
 * corpus and is thereby tried by every `make check`. A crash or a sanitizer ends the run; the name
 * of the file at work is printed before it is tried, so that the log tells which one it was.
 */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes come in a block of their exact size, so that ASan sees one read too many. */
static int
replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	long size = -1;
	int rc = -1;

	if (f && !fseek(f, 0, SEEK_END))
		size = ftell(f);
	if (size < 0 || fseek(f, 0, SEEK_SET))
		goto out;
	data = malloc(size ? (size_t)size : 1);
	if (!data || fread(data, 1, (size_t)size, f) != (size_t)size)
		goto out;
	printf("%s (%ld bytes)\n", path, size);
	fflush(stdout);
	LLVMFuzzerTestOneInput(data, (size_t)size);
	rc = 0;
out:
	if (rc)
		fprintf(stderr, "%s: cannot be read\n", path);
	free(data);
	if (f)
		fclose(f);
	return rc;
}

static int
visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static int
replay_folder(const char *path, unsigned *count)
{
	struct dirent **names;
	int n = scandir(path, &names, visible, alphasort);
	int rc = 0;

	if (n < 0) {
		fprintf(stderr, "%s: cannot be read\n", path);
		return -1;
	}
	for (int i = 0; i < n; i++) {
		char full[4096];
		int len = snprintf(full, sizeof(full), "%s/%s", path, names[i]->d_name);

		if (len < 0 || (size_t)len >= sizeof(full) || replay_file(full))
			rc = -1;
		else
			++*count;
		free(names[i]);
	}
	free(names);
	return rc;
}

int
main(int argc, char **argv)
{
	unsigned count = 0;
	int rc = 0;

	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++) {
		struct stat st;

		if (stat(argv[i], &st) || !S_ISDIR(st.st_mode)) {
			rc |= replay_file(argv[i]);
			count++;
		} else {
			rc |= replay_folder(argv[i], &count);
		}
	}
	printf("%u inputs replayed\n", count);
	return rc ? 1 : 0;
}
