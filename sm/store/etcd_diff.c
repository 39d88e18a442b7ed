/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/store/etcd_diff.h"

#include <stdlib.h>
#include <string.h>

/*
 * A row on one side only: there it was made, or here it was deleted; or the reverse. An etcd that
 * is not the one it was knows nothing of deletions, and who leads has told hosts what the file has:
 * so his file is right in all. Who stands by gives nothing away on the word of an etcd that was
 * never known or is another one: he takes what it has and keeps the rest.
 */
enum etcd_verdict
etcd_judge(enum etcd_meeting meeting, bool leads, bool unsent, const char *there, const char *here)
{
	if (there && here && !strcmp(there, here))
		return ETCD_KEEP;
	if (meeting == ETCD_MEET_SAME) {
		if (unsent && (leads || !there))
			return ETCD_SEND;
		return ETCD_TAKE;
	}
	if (leads)
		return there && !here && meeting == ETCD_MEET_FIRST && !unsent ? ETCD_TAKE :
			ETCD_SEND;
	if (there)
		return ETCD_TAKE;
	return unsent ? ETCD_SEND : ETCD_KEEP;
}

static struct etcd_diff_row *
add(struct etcd_diff *d, const char *key)
{
	struct etcd_diff_row *r;

	if (!d->region)
		d->region = region_new();
	if (d->len == d->size) {
		d->size = d->size ? 2 * d->size : 256;
		d->rows = mem_realloc(d->rows, d->size, sizeof(*d->rows));
	}
	r = &d->rows[d->len++];
	*r = (struct etcd_diff_row){ .key = region_strdup(d->region, key) };
	return r;
}

void
diff_add(struct etcd_diff *d, const char *key, const char *value)
{
	struct etcd_diff_row *r = add(d, key);

	r->there = region_strdup(d->region, value);
}

struct reading {
	struct etcd_diff *d;
	enum store_table table;
};

static void
add_here(void *arg, const char *key, const char *value)
{
	struct reading *g = arg;
	struct etcd_diff_row *r;
	struct region *region;

	if (!store_is_shared(g->table, key))
		return;
	r = add(g->d, "");
	region = g->d->region;
	r->key = region_printf(region, "%s/%s", store_table_name(g->table), key);
	r->here = region_strdup(region, value);
}

static int
compare(const void *a, const void *b)
{
	return strcmp(((const struct etcd_diff_row *)a)->key,
		      ((const struct etcd_diff_row *)b)->key);
}

/* Two rows of one key become one; what is the same on both sides goes. */
static void
join(struct etcd_diff *d)
{
	unsigned len = 0;

	for (unsigned i = 0; i < d->len; i++) {
		struct etcd_diff_row r = d->rows[i];

		if (i + 1 < d->len && !strcmp(r.key, d->rows[i + 1].key)) {
			const struct etcd_diff_row *other = &d->rows[++i];

			r.there = r.there ? r.there : other->there;
			r.here = r.here ? r.here : other->here;
		}
		if (!r.there || !r.here || strcmp(r.there, r.here))
			d->rows[len++] = r;
	}
	d->len = len;
}

int
diff_make(struct etcd_diff *d, struct store *file, struct error *e)
{
	struct reading g = { d, 0 };
	int rc = 0;

	for (unsigned t = 0; t < STORE_TABLES && !rc; t++) {
		g.table = t;
		rc = store_scan(file, t, add_here, &g, e);
	}
	if (!rc && d->len) {
		qsort(d->rows, d->len, sizeof(*d->rows), compare);
		join(d);
	}
	return rc;
}

void
diff_clear(struct etcd_diff *d)
{
	region_free(d->region);
	mem_free(d->rows);
	*d = (struct etcd_diff){ 0 };
}
