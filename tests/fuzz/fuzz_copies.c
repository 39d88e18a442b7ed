/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fuzz/admin_bed.h"

#include "sm/sa/copy.h"

/*
 * Any bytes as records of another subnet administrator, taken on as a copy, twice: what the first
 * one left is there when the second begins. A byte says of which kind the next record is, and
 * whether a copy ends before it; the rest is the record. Then an administrator that reads the same
 * store has the same: what was copied is in it, and can be read.
 */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
lend_send(void *arg, const struct port_mad *m)
{
	(void)arg;
	(void)m;
	abort();
}

static void
end_copy(struct sa *sa, struct store *store)
{
	for (enum sa_copied kind = 0; kind < SA_COPIED_KINDS; kind++)
		while (sa_copy_end(sa, kind, 1))
			;
	store_commit(store, NULL, NULL);
}

static void
take_on(struct sa *sa, struct store *store, const uint8_t *data, size_t size)
{
	sa_copy_begin(sa);
	while (size) {
		enum sa_copied kind = data[0] % SA_COPIED_KINDS;
		size_t len = sa_copied_type(kind)->size;
		uint8_t record[SA_DATA_SIZE] = { 0 };

		if (data[0] & 128) {
			end_copy(sa, store);
			sa_copy_begin(sa);
		}
		data++;
		size--;
		len = len < size ? len : size;
		memcpy(record, data, len);
		sa_copy_add(sa, kind, record);
		data += len;
		size -= len;
	}
	end_copy(sa, store);
}

/* Members and groups, each group by its MGID in the other. */
static void
same_groups(const struct sa_groups *a, const struct sa_groups *b)
{
	must(sa_groups_len(a) == sa_groups_len(b));
	for (uint32_t i = 0; i < sa_groups_slots(a); i++) {
		const struct sa_group *x = sa_groups_slot(a, i), *y;

		if (!x)
			continue;
		y = sa_groups_find(b, &x->r.mgid);
		must(y && y->len == x->len && y->full == x->full && y->r.mlid == x->r.mlid);
		for (uint32_t k = 0; k < x->len; k++) {
			const struct sa_join *j = sa_group_join_of(y, x->joins[k].gid.guid);

			must(j && j->state == x->joins[k].state);
		}
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct loop *loop = loop_new_virtual(1);
	struct store *store = store_open_memory(loop);
	struct admin_bed f = { .plan = admin_plan(2) };
	struct sa_env env = admin_env(&f, loop, store);
	struct sa *sa, *other;

	env.send = lend_send;
	sa = sa_new(&env);
	take_on(sa, store, data, size);
	loop_run_until(loop, loop_now(loop) + SEC(1), NULL);
	other = sa_new(&env);
	same_groups(sa_groups(sa), sa_groups(other));
	must(sa_services(sa) == sa_services(other));
	must(sa_subscriptions(sa) == sa_subscriptions(other));
	sa_free(other);
	sa_free(sa);
	plan_unref(f.plan);
	store_close(store);
	loop_free(loop);
	return 0;
}
