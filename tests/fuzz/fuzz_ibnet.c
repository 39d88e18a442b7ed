/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "sm/text/ibnet.h"

/*
 * Any bytes into the parser of ibnetdiscover text. What it accepts must come out of the writer as
 * text that it accepts again, and that text must come out the same the second time.
 */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_ends(const struct ibnet *net)
{
	for (uint32_t i = 0; i < net->nnodes; i++) {
		for (unsigned p = 1; p <= net->nodes[i].nports; p++) {
			const struct ibnet_port *a = &net->nodes[i].ports[p], *b;

			if (a->peer == IBNET_NONE)
				continue;
			if (a->peer >= net->nnodes || !a->width || !a->speed)
				abort();
			b = &net->nodes[a->peer].ports[a->peer_port];
			if (b->peer != i || b->peer_port != p)
				abort();
		}
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf first = { 0 }, second = { 0 };
	struct ibnet *net;
	struct error e;

	if (ibnet_parse(&net, (const char *)data, size, "fuzz", &e) < 0)
		return 0;
	check_ends(net);
	ibnet_write(&first, net);
	ibnet_free(net);
	if (ibnet_parse(&net, first.data, first.len, "fuzz", &e) < 0)
		abort();
	ibnet_write(&second, net);
	ibnet_free(net);
	if (first.len != second.len || memcmp(first.data, second.data, first.len))
		abort();
	buf_free(&first);
	buf_free(&second);
	return 0;
}
