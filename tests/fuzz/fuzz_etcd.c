/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "sm/store/etcd_text.h"

/* Any bytes as an answer of etcd: rows are texts, and an error has a text. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct etcd_answer a;
	struct buf out = { 0 };

	if (!etcd_read(&a, (const char *)data, size) && !a.error)
		abort();
	if (a.code && !a.error)
		abort();
	etcd_write_txn_begin(&out, "/weft/writer", a.revision);
	for (unsigned i = 0; i < a.len; i++) {
		if (!*a.rows[i].key)
			abort();
		if (a.rows[i].value)
			etcd_write_txn_put(&out, a.rows[i].key, a.rows[i].value);
		else
			etcd_write_txn_delete(&out, a.rows[i].key);
	}
	etcd_write_txn_end(&out, "/weft/writer");
	if (strlen(out.data) != out.len)
		abort();
	buf_free(&out);
	region_free(a.region);
	return 0;
}
