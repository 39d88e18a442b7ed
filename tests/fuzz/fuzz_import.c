/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include "offline/import_policy.h"
#include "sm/base/buf.h"

/* Any bytes as each of OpenSM's files, by the first of them: a configuration that reads back. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_one(uint8_t kind, struct import_text *t, struct config *c, struct import_notes *n)
{
	struct import_said said = { .both = kind & 8, .qos = kind & 16 };

	switch (kind % 4) {
	case 0:
		import_partitions(import_partitions_read(t, n), t->file, &said, c, n);
		break;
	case 1:
		import_options(import_conf_read(t, n), t->file, c, &said, n);
		import_qos(NULL, t->file, &said, c, n);
		break;
	case 2:
		if (kind & 8)
			import_lids_read(t, n);
		else
			import_guids_read(t, n);
		break;
	default:
		import_partitions(NULL, NULL, &said, c, n);
		import_qos(import_policy_read(t, n), t->file, &said, c, n);
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct import_notes notes = { .region = region_new() };
	struct config *c = config_load(NULL, NULL), *again;
	struct import_text t = { .file = "fuzz" };
	struct error e = { 0 };
	struct buf out = { 0 };

	if (size) {
		t.at = (const char *)data + 1;
		t.end = (const char *)data + size;
		read_one(data[0], &t, c, &notes);
	}
	config_print_changed(c, &out);
	again = config_parse(out.data, out.len, "made", &e);
	if (!again)
		abort();
	config_free(again);
	config_free(c);
	buf_free(&out);
	region_free(notes.region);
	return 0;
}
