/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/classes.h"
#include "sm/base/mem.h"
#include "sm/conf/config.h"
#include "sm/fabric/fabric.h"

/*
 * Hosts by what they are for, as `routing.classes` selects them by name or GUID. Each selection is
 * compiled, tried on every host that has no class yet, and thrown away, so a worker can do it from
 * texts alone. Classes come in order of precedence.
 */
static void
mark(const char *text, uint8_t class, const struct fabric *f, uint8_t *of)
{
	struct error e = { 0 };
	struct selection *s = selection_new(text, &e);

	for (uint32_t n = 0; s && n < f->nnodes; n++)
		if (f->nodes[n].sw == FABRIC_NONE && of[n] == CLASS_COMPUTE &&
		    selection_match(s, f->nodes[n].name, f->nodes[n].guid))
			of[n] = class;
	selection_free(s);
}

uint8_t *
classes_of(const struct classes *c, const struct fabric *f)
{
	uint8_t *of;

	if (!(c->storage && c->storage[0]) && !(c->other && c->other[0]))
		return NULL;
	of = mem_array(f->nnodes, sizeof(*of));
	for (const char *const *s = c->storage; s && *s; s++)
		mark(*s, CLASS_STORAGE, f, of);
	for (const char *const *s = c->other; s && *s; s++)
		mark(*s, CLASS_OTHER, f, of);
	return of;
}
