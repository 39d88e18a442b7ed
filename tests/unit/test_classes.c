/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "routing/classes.h"
#include "routing/engine.h"
#include "tests/unit/route_help.h"

/* Classes of nodes: who is selected, and that each class has the tree to itself. */
#define STORAGE "/_0$/"		/* the first host of each leaf */

static struct fabric *
whole_tree(void)
{
	return help_generate("ft3 8", false, 1);
}

static struct plan *
route(struct fabric *f, const uint8_t *class)
{
	static const char *const names[] = { "fattree", NULL };
	struct chain_options o = {
		.engines = names, .engine = { .threads = 1, .node_class = class },
	};
	struct plan *p = plan_new(f);
	struct error e = { 0 };

	p->lids = help_lids(f, 0);
	if (engine_chain(p, NULL, NULL, &o, &e))
		fail_msg("%s", e.text);
	return p;
}

/* LIDs of the hosts of a class; LIDs follow the tree here. */
static uint32_t
members(const struct plan *p, const uint8_t *class, uint8_t which, uint16_t *lids)
{
	uint32_t len = 0;

	for (uint32_t lid = 1; lid <= p->lids->top; lid++) {
		const struct plan_dest *d = &p->lids->dest[lid];

		if (d->port != FABRIC_NONE && d->out &&
		    class[p->fabric->ports[d->port].node] == which)
			lids[len++] = (uint16_t)lid;
	}
	return len;
}

/* Count a flow, on its way up or on all of it; returns the highest load of a link that it meets. */
static uint32_t
add_flow(const struct plan *p, uint16_t from, uint16_t to, bool up, uint32_t *load)
{
	struct plan_path path;
	struct error e = { 0 };
	uint32_t most = 0;

	assert_int_equal(plan_path(p, from, to, &path, &e), 0);
	for (unsigned i = 0; i + 1 < path.len && (!up || 2 * i + 1 < path.len); i++) {
		uint32_t *l = &load[p->fabric->nodes[path.hops[i].node].first_port +
				    path.hops[i].out];

		most = ++*l > most ? *l : most;
	}
	return most;
}

/* The highest load of a link by any shift permutation among the hosts of a class. */
static uint32_t
shift_load(const struct plan *p, const uint8_t *class, uint8_t which)
{
	uint32_t *load = mem_array(p->fabric->nports, sizeof(*load)), most = 0;
	uint16_t *lids = mem_array(p->lids->top, sizeof(*lids));
	uint32_t len = members(p, class, which, lids);

	assert_true(len > 1);
	for (uint32_t k = 1; k < len; k++) {
		memset(load, 0, p->fabric->nports * sizeof(*load));
		for (uint32_t i = 0; i < len; i++) {
			uint32_t n = add_flow(p, lids[i], lids[(i + k) % len], false, load);

			most = n > most ? n : most;
		}
	}
	mem_free(load);
	mem_free(lids);
	return most;
}

/* The highest load on the way up when all compute nodes write to storage, each k hosts further. */
static uint32_t
write_load(const struct plan *p, const uint8_t *class)
{
	uint32_t *load = mem_array(p->fabric->nports, sizeof(*load)), most = 0;
	uint16_t *from = mem_array(p->lids->top, sizeof(*from));
	uint16_t *to = mem_array(p->lids->top, sizeof(*to));
	uint32_t nfrom = members(p, class, CLASS_COMPUTE, from);
	uint32_t nto = members(p, class, CLASS_STORAGE, to);

	for (uint32_t k = 0; k < nto; k++) {
		memset(load, 0, p->fabric->nports * sizeof(*load));
		for (uint32_t i = 0; i < nfrom; i++) {
			uint32_t n = add_flow(p, from[i], to[(i + k) % nto], true, load);

			most = n > most ? n : most;
		}
	}
	mem_free(load);
	mem_free(from);
	mem_free(to);
	return most;
}

/* A whole tree of three levels; one host of each leaf is storage. Numbered with the others these
 * have one lowest digit, so all that goes to them leaves each leaf by one link: that of its three
 * compute nodes, and in the middle likewise. */
static void
test_stride(void **state)
{
	static const char *const storage[] = { STORAGE, NULL };
	struct fabric *f = whole_tree();
	uint8_t *class = classes_of(&(struct classes){ .storage = storage }, f);
	struct plan *with = route(f, class), *without = route(f, NULL);

	(void)state;
	assert_int_equal(shift_load(with, class, CLASS_STORAGE), 1);
	assert_int_equal(shift_load(with, class, CLASS_COMPUTE), 1);
	assert_int_equal(write_load(with, class), 1);
	assert_int_equal(write_load(without, class), 3);
	mem_free(class);
	plan_unref(with);
	plan_unref(without);
	fabric_unref(f);
}

/* By name, by GUID, by expression; storage goes first, switches are nothing; what names nobody
 * selects nobody. */
static void
test_selections(void **state)
{
	static const char *const other[] = { STORAGE, "L0", "/^L/", "/(/", NULL };
	struct fabric *f = whole_tree();
	const char *storage[] = { NULL, NULL, "nobody", NULL };
	char guid[32];
	uint32_t first = FABRIC_NONE, second = FABRIC_NONE, chosen = 0;
	uint8_t *class;

	(void)state;
	for (uint32_t n = 0; n < f->nnodes; n++)
		if (f->nodes[n].sw == FABRIC_NONE) {
			second = first;
			first = n;
		}
	snprintf(guid, sizeof(guid), "0x%016llx", (unsigned long long)f->nodes[second].guid);
	storage[0] = f->nodes[first].name;
	storage[1] = guid;
	class = classes_of(&(struct classes){ .storage = storage, .other = other }, f);
	for (uint32_t n = 0; n < f->nnodes; n++) {
		const char *name = f->nodes[n].name;
		bool is_first = strcmp(name + strlen(name) - 2, "_0") == 0;

		if (n == first || n == second)
			assert_int_equal(class[n], CLASS_STORAGE);
		else if (f->nodes[n].sw != FABRIC_NONE)
			assert_int_equal(class[n], CLASS_COMPUTE);
		else
			assert_int_equal(class[n], is_first ? CLASS_OTHER : CLASS_COMPUTE);
		chosen += class[n] != CLASS_COMPUTE;
	}
	assert_true(chosen >= 33 && chosen <= 34);
	mem_free(class);
	assert_null(classes_of(&(struct classes){ .storage = storage + 3 }, f));
	fabric_unref(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stride), cmocka_unit_test(test_selections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
