/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/auto.h"
#include <string.h>
#include "routing/shape.h"

/*
 * Engine auto: looks what the fabric is (shape.h) and leaves it to the engine for that. Behind it
 * stand those that route anything, for what the first cannot, and for service levels and lanes that
 * it would need more of than there are.
 *
 * The choice follows from the shape alone, and a fabric keeps its shape as long as it fits; so what
 * is lost never makes another engine run while the one that runs can go on.
 */
static const char *const by_shape[][ENGINE_CHOICES] = {
	[SHAPE_NONE] = { "fattree", "updn" },
	[SHAPE_TREE] = { "fattree", "updn", "nue" },
	[SHAPE_LOOSE] = { "updn", "minhop" },
	[SHAPE_GRID] = { "torus", "nue", "updn" },
	[SHAPE_ROWS] = { "hyperx", "nue", "updn" },
	[SHAPE_SLIM] = { "fatpaths", "nue", "updn" },
	[SHAPE_GROUPS] = { "dragonfly", "nue", "updn" },
	[SHAPE_IRREGULAR] = { "nue", "updn" },
};

static void
auto_choose(const struct engine_input *in, struct engine_choice *c)
{
	struct shape s;

	shape_find(in, &s);
	memcpy(c->name, s.name, sizeof(c->name));
	memcpy(c->lost, s.lost, sizeof(c->lost));
	for (unsigned i = 0; i < ENGINE_CHOICES && by_shape[s.kind][i]; i++) {
		const struct engine *engine = engine_find(by_shape[s.kind][i]);

		if (engine)
			c->engine[c->n++] = engine;
	}
}

const struct engine engine_auto = {
	.name = "auto",
	.help = "finds out what the fabric is, leaves it to the engine for that, and says so",
	.topologies = "any",
	.deadlock_free = true,
	.choose = auto_choose,
};
