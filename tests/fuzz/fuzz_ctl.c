/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "sm/base/loop.h"
#include "sm/base/mem.h"
#include "sm/ctl/ctl.h"
#include "sm/text/ibnet.h"
#include "tests/unit/partition_fake.h"

/*
 * Any bytes as one request line, against a subnet with a small plan and a virtual loop: workers
 * and timers run to their end after each line. The answer must be one line, of JSON's first byte.
 */
static const char fabric_text[] =
	"Switch 4 \"S-01\" # \"leaf\" port 0 lid 1 lmc 0\n"
	"[1] \"H-11\"[1] # \"a\" lid 2 4xNDR\n"
	"[2] \"H-12\"[1] # \"b\" lid 3 4xNDR\n\n"
	"Ca 1 \"H-11\" # \"a\"\n[1](12) \"S-01\"[1] # lid 2 lmc 0 \"leaf\" lid 1 4xNDR\n\n"
	"Ca 1 \"H-12\" # \"b\"\n[1](13) \"S-01\"[2] # lid 3 lmc 0 \"leaf\" lid 1 4xNDR\n";

static struct loop *loop;		/* virtual */
static const struct plan *plan;		/* of fabric_text */
static struct ctl *ctl;			/* without a socket */

static bool
up(void *subnet)
{
	(void)subnet;
	return true;
}

static void
status(void *subnet, struct subnet_status *st)
{
	(void)subnet;
	*st = (struct subnet_status){ .role = "master", .state = "up", .up = true };
}

static bool
multicast(void *subnet, unsigned from, struct multicast_row *row)
{
	(void)subnet;
	*row = (struct multicast_row){
		.mlid = (uint16_t)(0xc000 + from), .slot = from, .members = 2,
	};
	return from < 0x400;
}

static bool
service(void *subnet, uint64_t from, struct service_row *row)
{
	(void)subnet;
	*row = (struct service_row){ .next = from + 1, .id = from, .name = "service" };
	return from < 0x400;
}

static bool
subscription(void *subnet, uint64_t from, struct subscription_row *row)
{
	(void)subnet;
	*row = (struct subscription_row){ .next = from + 1, .guid = from };
	return from < 0x400;
}

static const struct plan *
published(void *subnet)
{
	(void)subnet;
	return plan_ref(plan);
}

static int
change(void *subnet, const struct change *c, change_done_fn done, void *arg, struct error *e)
{
	static const struct change_report report = { .engine = "updn", .measured = true };

	(void)subnet;
	if (c->full)
		return error_set(e, ERR_BUSY, "busy");
	done(arg, 0, "done", &report);
	return 0;
}

static int
reload(void *arg, const struct ctl_reload *what, ctl_reload_fn done, void *done_arg,
       struct error *e)
{
	(void)arg;
	(void)e;
	done(done_arg, 0, "", what->dry_run ? NULL : "a: 1 -> 2\n");
	return 0;
}

static struct ctl_subnet subnets[] = {
	{ .name = "one", .status = status, .up = up, .plan = published, .change = change,
	  .multicast = multicast, .service = service, .subscription = subscription,
	  .partition = fake_partition, .partitions = fake_partitions },
};
static struct ctl_host host = { .subnets = subnets, .nsubnets = 1, .reload = reload };

static void
start(void)
{
	struct ibnet *net;
	struct fabric *f;
	struct plan *p;
	struct error e;

	log_open("stderr", LOG_L_ERROR, NULL);
	if (ibnet_parse(&net, fabric_text, strlen(fabric_text), "fabric", &e))
		abort();
	f = fabric_from_ibnet(net);
	ibnet_free(net);
	p = plan_new(f);
	fabric_unref(f);
	p->lids = plan_lids_from_fabric(f);
	p->rows[0] = plan_row_new(p->lids->top);
	for (uint8_t lid = 1; lid <= p->lids->top; lid++)
		plan_row_set(&p->rows[0], lid, (uint8_t)(lid - 1));
	fake_partitions_plan(p, 0x12, 0x13);
	plan = p;
	loop = loop_new_virtual(1);
	host.events = event_ring_new(16, 1);
	for (int i = 0; i < 20; i++)
		event_ring_add(host.events, &(struct event){ .type = EVENT_SWEEP, .text = "x" });
	ctl = ctl_new(loop, NULL, NULL, &host, &e);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf out = { 0 };

	if (!ctl)
		start();
	ctl_feed(ctl, (const char *)data, size, &out);
	loop_run(loop);
	if (out.len && (out.data[0] != '{' || out.data[out.len - 1] != '\n' ||
			memchr(out.data, '\n', out.len - 1)))
		abort();
	buf_free(&out);
	return 0;
}
