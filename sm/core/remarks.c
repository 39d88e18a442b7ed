/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which devices status has something to warn of, known without a look at every port.
 *
 * Whoever asks for status waits no longer in a large fabric than in a small one. So a device is put
 * on a list when it comes to be worth a remark; whether it still is, status sees when it walks over
 * that list. Of ports that keep another value than was set there may be as many as there are ports
 * (one firmware, one field): these are counted, field by field.
 */
#include "sm/core/remarks.h"

#define PORT_FLAGS (LIVE_PORT_UNANSWERED | LIVE_PORT_DUPLICATE | LIVE_PORT_TOO_FAR | \
		    LIVE_PORT_FEW_ENTRIES)

void
remarks_add(struct topo *t, struct device *d)
{
	if (list_empty(&d->remarked))
		list_append(&t->remarked, &d->remarked);
}

static bool
is_remarkable(const struct device *d)
{
	bool is = d->silent || d->mft.failures || d->lft_refused || d->lft_refuses;

	for (unsigned n = 1; n <= d->info.num_ports && !is; n++)
		is = (d->ports[n].flags & PORT_FLAGS) != 0;
	return is;
}

void
remarks_settle(struct topo *t)
{
	struct list *next;

	for (struct list *it = t->remarked.next; it != &t->remarked; it = next) {
		struct device *d = list_entry(it, struct device, remarked);

		next = it->next;
		if (!is_remarkable(d))
			list_remove(it);
	}
}

/* A device that may be the first that has such a port. */
static void
note_first(struct topo *t, const struct device *d, unsigned bit)
{
	if (t->stubborn[bit].ports++ == 0)
		t->stubborn[bit].first = d->guid;
}

void
remarks_stubborn(struct topo *t, struct live_port *p, uint32_t fields)
{
	uint32_t changed = p->stubborn ^ fields;

	for (unsigned bit = 0; changed >> bit; bit++) {
		if (!(changed >> bit & 1))
			continue;
		if (fields >> bit & 1)
			note_first(t, p->device, bit);
		else
			t->stubborn[bit].ports--;
	}
	p->stubborn = fields;
}

uint32_t
remarks_stubborn_ports(const struct topo *t, unsigned bit)
{
	return t->stubborn[bit].ports;
}

static bool
has_stubborn(const struct device *d, unsigned bit)
{
	for (unsigned n = 0; n <= d->info.num_ports; n++)
		if (d->ports[n].stubborn >> bit & 1)
			return true;
	return false;
}

/* The one that was first, or whichever is found if it has no such port any more. */
const struct device *
remarks_stubborn_device(struct topo *t, unsigned bit)
{
	const struct device *first = topo_find(t, t->stubborn[bit].first);

	if (first && has_stubborn(first, bit))
		return first;
	list_each(it, &t->devices) {
		const struct device *d = list_entry(it, struct device, all);

		if (!has_stubborn(d, bit))
			continue;
		t->stubborn[bit].first = d->guid;
		return d;
	}
	return NULL;
}

void
remarks_forget(struct topo *t, struct device *d)
{
	list_remove(&d->remarked);
	for (unsigned n = 0; n <= d->info.num_ports; n++)
		remarks_stubborn(t, &d->ports[n], 0);
}
