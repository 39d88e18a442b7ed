/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What another configuration would do to partitions, in words: `weft reload --dry-run` says who
 * would gain and lose access before anybody does, as commands on partitions do.
 */
#include "sm/core/subnet_i.h"

#include "sm/base/mem.h"
#include "sm/base/text.h"

#define LISTED 200u	/* ports; of the others the number is told */

struct rehearsal {
	struct subnet *s;
	struct buf *report;		/* borrowed */
	void (*done)(void *arg);
	void *arg;
};

static const char *
membership(unsigned bits)
{
	static const char *const names[] = { "none", "limited", "full", "both" };

	return names[bits & 3];
}

static void
put_access(const struct rehearsal *r, const struct partition_access *a)
{
	const struct fabric *f = r->s->plan->fabric;
	uint32_t port = fabric_port_by_guid(f, a->guid);
	char guid[GUID_TEXT_SIZE];

	buf_printf(r->report, "%s: P_Key 0x%04x ", r->s->conf->name, a->pkey);
	if (port == FABRIC_NONE)
		buf_printf(r->report, "%s", guid_text(guid, a->guid));
	else
		buf_printf(r->report, "%s/%u", f->nodes[f->ports[port].node].name,
			   f->ports[port].number);
	buf_printf(r->report, ": %s -> %s\n", membership(a->before), membership(a->after));
}

static void
put_report(const struct rehearsal *r, const struct partition_report *p)
{
	uint32_t all = p->gain + p->lose + p->other, listed = p->len < LISTED ? p->len : LISTED;

	for (uint32_t i = 0; i < listed; i++)
		put_access(r, &p->list[i]);
	if (all > listed)
		buf_printf(r->report, "%s: %u more changes of access\n", r->s->conf->name,
			   all - listed);
	buf_printf(r->report, "%s: partitions: access of ports to P_Keys: %u gained, %u lost, %u "
		   "of another kind; %u blocks of P_Keys to be written\n", r->s->conf->name,
		   p->gain, p->lose, p->other, p->blocks);
}

static void
compiled(void *arg, int error, const char *text, const struct partition_report *report)
{
	struct rehearsal *r = arg;

	if (error)
		buf_printf(r->report, "%s: partitions: %s\n", r->s->conf->name, text);
	else
		put_report(r, report);
	r->done(r->arg);
	mem_free(r);
}

void
subnet_rehearse(struct subnet *s, const struct config *conf, struct buf *report,
		void (*done)(void *arg), void *arg)
{
	const struct partition_change c = {
		.kind = PARTITION_RELOAD, .dry_run = true, .name = "", .conf = conf,
	};
	struct rehearsal *r = mem_zalloc(sizeof(*r));
	struct error e = { 0 };

	*r = (struct rehearsal){ .s = s, .report = report, .done = done, .arg = arg };
	if (!subnet_partition(s, &c, compiled, r, &e))
		return;
	buf_printf(report, "%s: what partitions would do is not known: %s\n", s->conf->name,
		   e.text);
	done(arg);
	mem_free(r);
}
