/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/fabric/rails.h"

/*
 * show rails: which device of the hosts of each unit sits on which leaf, over all subnets or one,
 * and the cables that are not where the others say that they should be. A worker finds them in the
 * published snapshots; the answer is streamed.
 */
#define ROWS 100u			/* of a step of the stream */

struct show_rails {
	unsigned len;			/* of both: subnets that have a plan */
	const struct plan **plans;	/* references */
	const struct fabric **fabrics;	/* theirs */
	const char **names;		/* of the subnets, in memory of our own */
	struct rails *rails;		/* NULL until the worker has found them */
	uint32_t at;			/* rows that are out */
	bool mistakes;			/* those are listed now, else the rails */
};

static void
show_rails_free(void *state)
{
	struct show_rails *s = state;

	for (unsigned i = 0; i < s->len; i++) {
		plan_unref(s->plans[i]);
		mem_free((char *)s->names[i]);
	}
	rails_free(s->rails);
	mem_free(s->plans);
	mem_free(s->fabrics);
	mem_free(s->names);
	mem_free(s);
}

static const struct fabric_node *
leaf_node(const struct show_rails *s, uint32_t leaf)
{
	const struct rails_leaf *l = &s->rails->leaves[leaf];

	return fabric_switch_node(s->fabrics[l->plane], l->sw);
}

static void
put_leaf(struct json *j, const char *key, const struct show_rails *s, uint32_t leaf, uint8_t port)
{
	if (leaf == RAILS_NONE) {
		jw_str(j, key, NULL);
		return;
	}
	jw_object(j, key);
	jw_str(j, "subnet", s->names[s->rails->leaves[leaf].plane]);
	jw_str(j, "leaf", leaf_node(s, leaf)->name);
	jw_guid(j, "guid", leaf_node(s, leaf)->guid);
	if (port)
		jw_uint(j, "port", port);
	jw_end(j);
}

static void
put_rail(struct json *j, const struct show_rails *s, const struct rails_rail *r)
{
	jw_object(j, NULL);
	jw_uint(j, "unit", r->unit + 1);
	jw_str(j, "device", s->rails->devices[r->device]);
	put_leaf(j, "place", s, r->leaf, 0);
	jw_uint(j, "there", r->leaf == RAILS_NONE ? 0 : r->here);
	jw_uint(j, "devices", r->all);
	jw_end(j);
}

/* "L3 port 9", with the subnet where there are several. */
static const char *
place_text(char text[300], const struct show_rails *s, uint32_t leaf, uint8_t port)
{
	char number[16] = "";

	if (port)
		snprintf(number, sizeof(number), " port %u", port);
	snprintf(text, 300, "%s%.60s%s%.160s%s", s->len > 1 ? "subnet " : "",
		 s->len > 1 ? s->names[s->rails->leaves[leaf].plane] : "",
		 s->len > 1 ? ", " : "", leaf_node(s, leaf)->name, number);
	return text;
}

/* One sentence: where it is, and where the others say that it belongs. */
static const char *
mistake_text(char text[900], const struct show_rails *s, const struct rails_finding *f)
{
	static const char *const why[RAILS_MISTAKES] = {
		[RAILS_WRONG_RAIL] = "the leaf of another device",
		[RAILS_WRONG_UNIT] = "a leaf of other hosts",
		[RAILS_WRONG_PLANE] = "a leaf of another plane",
		[RAILS_WRONG_PORT] = "the right leaf but not the port of its other devices",
	};
	const struct rails *r = s->rails;
	const struct rails_nic *n = f->nic == RAILS_NONE ? NULL : &r->nics[f->nic];
	const char *host = r->hosts[f->host].name, *device = r->devices[f->device];
	char is[300], belongs[300];

	place_text(belongs, s, f->leaf, f->port);
	if (f->what == RAILS_MISSING)
		snprintf(text, 900, "%.80s has no %.40s that is up; it belongs on %s", host, device,
			 belongs);
	else if (f->what == RAILS_SWAPPED)
		snprintf(text, 900, "%.80s: %.40s and %.40s have changed places; %.40s belongs on "
			 "%s", host, device, r->devices[r->nics[f->other].device], device, belongs);
	else
		snprintf(text, 900, "%.80s %.40s is on %s, %s; it belongs on %s", host, device,
			 place_text(is, s, n->leaf, n->leaf_port), why[f->what], belongs);
	return text;
}

static void
put_mistake(struct json *j, const struct show_rails *s, const struct rails_finding *f)
{
	const struct rails *r = s->rails;
	const struct rails_nic *n = f->nic == RAILS_NONE ? NULL : &r->nics[f->nic];
	char text[900];

	jw_object(j, NULL);
	jw_str(j, "mistake", rails_mistake_name(f->what));
	jw_str(j, "host", r->hosts[f->host].name);
	jw_str(j, "device", r->devices[f->device]);
	if (f->other != RAILS_NONE)
		jw_str(j, "other_device", r->devices[r->nics[f->other].device]);
	put_leaf(j, "is", s, n ? n->leaf : RAILS_NONE, n ? n->leaf_port : 0);
	put_leaf(j, "belongs", s, f->leaf, f->port);
	jw_str(j, "text", mistake_text(text, s, f));
	jw_end(j);
}

static enum ctl_step
rails_step(struct ctl_req *r)
{
	struct show_rails *s = r->state;
	const struct rails *found = s->rails;
	uint32_t len = s->mistakes ? found->nfindings : found->nrails;

	for (unsigned i = 0; i < ROWS && s->at < len; i++, s->at++) {
		if (s->mistakes)
			put_mistake(&r->json, s, &found->findings[s->at]);
		else
			put_rail(&r->json, s, &found->rails[s->at]);
	}
	if (s->at < len)
		return STEP_MORE;
	jw_end(&r->json);
	if (s->mistakes)
		return STEP_DONE;
	s->mistakes = true;
	s->at = 0;
	jw_array(&r->json, "mistakes");
	return STEP_MORE;
}

static void
rails_run(struct ctl_req *r)
{
	struct show_rails *s = r->state;

	s->rails = rails_find(s->fabrics, s->len);
}

static void
rails_answer(struct ctl_req *r)
{
	struct show_rails *s = r->state;
	const struct rails *found = s->rails;
	struct json *j = req_begin(r);

	jw_array(j, "subnets");
	for (unsigned i = 0; i < s->len; i++)
		jw_str(j, NULL, s->names[i]);
	jw_end(j);
	jw_uint(j, "hosts", found->nhosts);
	jw_uint(j, "devices", found->nnics);
	jw_uint(j, "unnamed", found->unnamed);
	jw_uint(j, "leaves", found->nleaves);
	jw_uint(j, "units", found->nunits);
	jw_bool(j, "regular_ports", found->regular_ports);
	jw_array(j, "rails");
	req_stream(r, rails_step);
}

static void
show_rails(struct ctl_req *r)
{
	const struct ctl_host *host = r->host;
	struct show_rails *s = mem_zalloc(sizeof(*s));

	r->state = s;
	r->state_free = show_rails_free;
	s->plans = mem_array(host->nsubnets + 1, sizeof(*s->plans));
	s->fabrics = mem_array(host->nsubnets + 1, sizeof(*s->fabrics));
	s->names = mem_array(host->nsubnets + 1, sizeof(*s->names));
	for (unsigned i = 0; i < host->nsubnets; i++) {
		const struct ctl_subnet *subnet = &host->subnets[i];
		const struct plan *p = r->subnet && r->subnet != subnet ? NULL :
				       subnet->plan(subnet->subnet);

		if (!p)
			continue;
		s->plans[s->len] = p;
		s->fabrics[s->len] = p->fabric;
		s->names[s->len++] = mem_strdup(subnet->name);
	}
	if (!s->len)
		req_fail(r, EXIT_REFUSED, "no subnet has been routed yet");
	else
		req_job(r, rails_run, rails_answer, MSEC(50));
}

static const struct ctl_arg rails_args[] = {
	{ .name = "all", .kind = ARG_FLAG },	/* for the client: the answer is always whole */
	{ 0 },
};

const struct ctl_command ctl_cmd_rails[] = {
	{ .name = "show rails", .args = rails_args, .scope = SCOPE_ALL, .run = show_rails },
	{ 0 },
};
