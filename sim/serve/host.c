/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/serve/host.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/attach.h"
#include "sm/base/map.h"
#include "sm/base/mem.h"

/*
 * The index of hosts is made once: nodes that share a host word form a chain that begins at the
 * first of them, which a map finds by a hash of the word. What programs see of a host, a struct
 * host, is made when it is first asked for. All of it lives in one region.
 */
struct hosts {
	const struct ibnet *net;	/* borrowed */
	struct region *region;		/* owns all below but the map's arrays */
	struct map words;		/* hash of a host word -> first node of its chain */
	uint32_t *head;			/* of each node: first of its chain */
	uint32_t *next;			/* of each node: another of its chain, or IBNET_NONE */
	bool *strangers;		/* of a chain's first: two of it have the same words */
	struct list made;		/* of struct host */
};

/* The two words of a description, if the second looks like a device's. */
struct host_words {
	const char *host;		/* not terminated */
	size_t host_len;		/* its characters */
	const char *device;		/* up to the end of the description */
};

static bool
split(struct host_words *w, const char *desc)
{
	size_t len = strcspn(desc, " "), device_len;

	*w = (struct host_words){ desc, len, desc + len + strspn(desc + len, " ") };
	device_len = strlen(w->device);
	return len && device_len && isalpha((unsigned char)w->device[0]) &&
	       isdigit((unsigned char)w->device[device_len - 1]) && !strchr(w->device, ' ');
}

static uint32_t
find_word(const struct hosts *hs, const char *host, size_t len)
{
	uint32_t first = map_get(&hs->words, map_text(host, len));
	struct host_words w;

	if (first == MAP_NONE || !split(&w, hs->net->nodes[first].desc) || w.host_len != len ||
	    memcmp(w.host, host, len))
		return IBNET_NONE;
	return first;
}

static bool
has_device(const struct hosts *hs, uint32_t first, const char *device)
{
	struct host_words w;

	for (uint32_t n = first; n != IBNET_NONE; n = hs->next[n])
		if (split(&w, hs->net->nodes[n].desc) && !strcmp(w.device, device))
			return true;
	return false;
}

static void
index_node(struct hosts *hs, uint32_t node)
{
	const struct ibnet_node *n = &hs->net->nodes[node];
	struct host_words w;
	uint32_t first;

	hs->head[node] = node;
	hs->next[node] = IBNET_NONE;
	if (n->type != IBNET_CA || !split(&w, n->desc))
		return;
	first = find_word(hs, w.host, w.host_len);
	if (first == IBNET_NONE) {
		if (map_get(&hs->words, map_text(w.host, w.host_len)) == MAP_NONE)
			map_set(&hs->words, map_text(w.host, w.host_len), node);
		return;
	}
	if (!hs->strangers[first] && has_device(hs, first, w.device))
		hs->strangers[first] = true;
	hs->head[node] = first;
	hs->next[node] = hs->next[first];
	hs->next[first] = node;
}

struct hosts *
hosts_new(const struct ibnet *net)
{
	struct region *r = region_new();
	struct hosts *hs = region_alloc(r, sizeof(*hs));

	hs->net = net;
	hs->region = r;
	hs->head = region_array(r, net->nnodes, sizeof(hs->head[0]));
	hs->next = region_array(r, net->nnodes, sizeof(hs->next[0]));
	hs->strangers = region_array(r, net->nnodes, sizeof(hs->strangers[0]));
	list_init(&hs->made);
	for (uint32_t i = 0; i < net->nnodes; i++)
		index_node(hs, i);
	return hs;
}

void
hosts_free(struct hosts *hs)
{
	if (!hs)
		return;
	map_free(&hs->words);
	region_free(hs->region);
}

/* ---- One host ---- */

/* The number that a device's word ends in. */
static unsigned long
ordinal(const struct hosts *hs, uint32_t node)
{
	const char *desc = hs->net->nodes[node].desc, *end = desc + strlen(desc);

	while (end > desc && isdigit((unsigned char)end[-1]))
		end--;
	return strtoul(end, NULL, 10);
}

static bool
comes_before(const struct hosts *hs, uint32_t a, uint32_t b)
{
	unsigned long x = ordinal(hs, a), y = ordinal(hs, b);

	return x != y ? x < y : a < b;
}

/* The nodes of a chain in order of their devices' numbers; returns how many. */
static unsigned
members(const struct hosts *hs, uint32_t first, uint32_t **nodes)
{
	unsigned n = 0;

	for (uint32_t i = first; i != IBNET_NONE; i = hs->next[i])
		n++;
	*nodes = region_array(hs->region, n, sizeof((*nodes)[0]));
	n = 0;
	for (uint32_t i = first; i != IBNET_NONE; i = hs->next[i]) {
		unsigned at = n++;

		for (; at && comes_before(hs, i, (*nodes)[at - 1]); at--)
			(*nodes)[at] = (*nodes)[at - 1];
		(*nodes)[at] = i;
	}
	return n;
}

/* A device's word may name a device of Linux: "mlx5_0", "hfi1_0", "ibp12s0", but not "HCA-1". */
static bool
is_linux_name(const char *s)
{
	size_t len = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return !s[len] && len && len < HOST_NAME_SIZE;
}

static bool
is_taken(const struct host *h, const char *name)
{
	for (unsigned i = 0; i < h->ndevices; i++)
		if (!strcmp(h->devices[i].name, name))
			return true;
	return false;
}

static void
add_device(struct hosts *hs, struct host *h, uint32_t node, unsigned qps)
{
	const struct ibnet_node *n = &hs->net->nodes[node];
	bool smi = qps == HOST_QP0;
	struct host_device d = { .node = node, .qps = (uint8_t)qps };
	struct host_words w;

	if (!smi && n->type == IBNET_CA && split(&w, n->desc) && is_linux_name(w.device) &&
	    !is_taken(h, w.device))
		memcpy(d.name, w.device, strlen(w.device) + 1);
	for (unsigned i = smi ? 1 : 0; !d.name[0] || is_taken(h, d.name); i++)
		snprintf(d.name, sizeof(d.name), smi ? "smi%u" : "mlx5_%u", i);
	h->devices[h->ndevices++] = d;
}

static void
add_ports(struct hosts *hs, struct host *h)
{
	size_t n = 0;

	for (unsigned i = 0; i < h->ndevices; i++)
		n += hs->net->nodes[h->devices[i].node].nports;
	h->ports = region_array(hs->region, n, sizeof(h->ports[0]));
	for (unsigned i = 0; i < h->ndevices; i++) {
		const struct ibnet_node *node = &hs->net->nodes[h->devices[i].node];
		bool sw = node->type == IBNET_SWITCH;

		for (unsigned p = sw ? 0 : 1; p <= (sw ? 0u : node->nports); p++)
			h->ports[h->nports++] = (struct host_port){ (uint16_t)i, (uint8_t)p };
	}
}

/* The sub-devices for SMPs come after all others, as they are added later on real hosts. */
static struct host *
make(struct hosts *hs, uint32_t first, uint32_t layout)
{
	struct host *h = region_alloc(hs->region, sizeof(*h));
	uint32_t *nodes = &first;
	unsigned n = 1;

	h->first = first;
	h->layout = layout;
	if (!hs->strangers[hs->head[first]])
		n = members(hs, first, &nodes);
	h->devices = region_array(hs->region, 2 * (size_t)n, sizeof(h->devices[0]));
	for (unsigned i = 0; i < n; i++)
		add_device(hs, h, nodes[i], layout == ATTACH_PAIRS ? HOST_QP1 :
			   HOST_QP0 | HOST_QP1);
	for (unsigned i = 0; i < n && layout == ATTACH_PAIRS; i++)
		add_device(hs, h, nodes[i], HOST_QP0);
	add_ports(hs, h);
	list_append(&hs->made, &h->list);
	return h;
}

/* The node that a word names. */
static int
find_node(const struct hosts *hs, const char *word, uint32_t *node, struct error *e)
{
	*node = 0;
	for (uint32_t i = 0; !*word && i < hs->net->nnodes; i++) {
		if (hs->net->nodes[i].type == IBNET_CA) {
			*node = i;
			break;
		}
	}
	if (!*word)
		return 0;
	*node = find_word(hs, word, strlen(word));
	if (*node != IBNET_NONE && hs->strangers[*node])
		return error_set(e, ERR_INVALID, "several hosts are called \"%s\": name a node's "
				 "GUID", word);
	if (*node == IBNET_NONE)
		*node = ibnet_find(hs->net, word);
	if (*node == IBNET_NONE)
		return error_set(e, ERR_NOT_FOUND, "the fabric has no host \"%s\": name a host, or "
				 "a node's description, name or GUID (one that only it has)", word);
	return 0;
}

int
hosts_find(const struct host **h, struct hosts *hs, const char *word, uint32_t layout,
	   struct error *e)
{
	uint32_t node, first;
	int ret;

	if (layout > ATTACH_PAIRS)
		return error_set(e, ERR_INVALID, "layout %u of devices is not known", layout);
	if ((ret = find_node(hs, word, &node, e)))
		return ret;
	first = hs->head[node];
	if (hs->strangers[first])
		first = node;
	list_each(it, &hs->made) {
		*h = list_entry(it, struct host, list);
		if ((*h)->first == first && (*h)->layout == layout)
			return 0;
	}
	*h = make(hs, first, layout);
	return 0;
}
