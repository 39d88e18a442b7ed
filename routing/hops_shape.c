/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/hops.h"
#include "routing/nominal.h"
#include "sm/base/mem.h"

/*
 * The shape of a fabric, from run to run. Where something is lost it is that of the whole, so that
 * who is at which place stays, and with it what hosts keep of their paths. It is the engine's memo
 * in the plan.
 */
struct shape_memo {
	void *shape;			/* reference held */
	void (*unref)(void *shape);	/* gives it back */
};

static void
memo_free(struct plan_memo *m)
{
	struct shape_memo *s = m->state;

	s->unref(s->shape);
	mem_free(s);
	mem_free(m);
}

struct plan_memo *
hops_memo(const struct engine *owner, void *shape, void (*unref)(void *shape))
{
	struct plan_memo *m = mem_zalloc(sizeof(*m));
	struct shape_memo *s = mem_zalloc(sizeof(*s));

	*s = (struct shape_memo){ shape, unref };
	*m = (struct plan_memo){ .refs = 1, .owner = owner, .free = memo_free, .state = s };
	return m;
}

void *
hops_shape_of(const struct plan_memo *m, const struct engine *owner)
{
	return m && m->owner == owner ? ((const struct shape_memo *)m->state)->shape : NULL;
}

void *
hops_last_shape(const struct engine_input *in, const struct engine *owner)
{
	return hops_shape_of(in->previous ? in->previous->memo : NULL, owner);
}

/* One that is found in these links. */
static int
take_found(const struct hops_shape *s, const struct links *l, struct error *e)
{
	void *shape = NULL;
	int rc = s->find(l, &shape, e);

	if (rc)
		return rc;
	rc = s->take(s->arg, shape, e);
	s->unref(shape);
	return rc;
}

int
hops_take_shape(const struct hops_shape *s, const struct engine_input *in,
		const struct links *links, struct error *e)
{
	void *last = hops_last_shape(in, s->owner);
	const struct fabric *whole;
	struct links all;
	bool lost;
	int rc;

	if (last && !s->take(s->arg, last, e))
		return 0;
	whole = nominal_fabric(in->fabric);
	lost = whole != in->fabric;
	links_init(&all, whole);
	rc = take_found(s, &all, e);
	links_free(&all);
	fabric_unref(whole);
	return rc && lost ? take_found(s, links, e) : rc;
}
