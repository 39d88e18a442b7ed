/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/control/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "sim/model/model_impl.h"
#include "sm/base/map.h"
#include "sm/base/mem.h"

/*
 * Names of nodes, found by hash tables over the text of the file, which does not change; a hash
 * that two texts share hides the second one, which its GUID still names.
 */
#define SHARED (MAP_NONE - 1)	/* several nodes have this description */
#define WORD_SIZE 300u		/* of a node in NODE/NUMBER, with the NUL */

struct names {
	struct model *m;		/* the fabric, borrowed */
	const struct ibnet *net;	/* its text */
	struct map names;		/* hash of a name to node */
	struct map descs;		/* hash of a description to node, or SHARED */
	struct map guids;		/* node and port GUIDs to node */
};

static uint64_t
hash(const char *s)
{
	return map_text(s, strlen(s));
}

struct names *
names_new(struct model *m)
{
	struct names *n = mem_zalloc(sizeof(*n));

	n->m = m;
	n->net = model_ibnet(m);
	for (uint32_t i = 0; i < n->net->nnodes; i++) {
		const struct ibnet_node *ib = &n->net->nodes[i];
		uint64_t h = hash(ib->desc);

		map_set(&n->names, hash(ib->name), i);
		map_set(&n->descs, h, map_get(&n->descs, h) == MAP_NONE ? i : SHARED);
		for (unsigned p = 0; p <= ib->nports; p++)
			if (ib->ports[p].guid)
				map_set(&n->guids, ib->ports[p].guid, i);
	}
	for (uint32_t i = 0; i < n->net->nnodes; i++)
		map_set(&n->guids, n->net->nodes[i].guid, i);
	return n;
}

void
names_free(struct names *n)
{
	if (!n)
		return;
	map_free(&n->names);
	map_free(&n->descs);
	map_free(&n->guids);
	mem_free(n);
}

const char *
names_text(const struct names *n, uint32_t node)
{
	const struct ibnet_node *ib = &n->net->nodes[node];

	return map_get(&n->descs, hash(ib->desc)) == node ? ib->desc : ib->name;
}

static uint32_t
find_lid(const struct names *n, uint16_t lid)
{
	for (uint32_t i = 0; i < n->net->nnodes; i++) {
		const struct sim_node *s = &n->m->nodes[i];

		for (unsigned p = 0; p <= s->nports; p++)
			if (is_end_port(s, p) && has_lid(&s->ports[p].info, lid))
				return i;
	}
	return IBNET_NONE;
}

static uint32_t
find(const struct names *n, const char *word)
{
	uint32_t i = map_get(&n->names, hash(word));
	uint64_t number;

	if (i < n->net->nnodes && strcmp(n->net->nodes[i].name, word) == 0)
		return i;
	i = map_get(&n->descs, hash(word));
	if (i < n->net->nnodes && strcmp(n->net->nodes[i].desc, word) == 0)
		return i;
	if (guid_parse(word, &number) && (i = map_get(&n->guids, number)) != MAP_NONE)
		return i;
	if (number_parse(word, 1, LID_UNICAST_MAX, &number))
		return find_lid(n, (uint16_t)number);
	return IBNET_NONE;
}

/* The nearest name or description, or NULL. */
static const char *
nearest(const struct names *n, const char *word)
{
	const char **words = mem_array(2 * (size_t)n->net->nnodes + 1, sizeof(*words));
	const char *found;
	size_t len = 0;

	for (uint32_t i = 0; i < n->net->nnodes; i++) {
		words[len++] = n->net->nodes[i].desc;
		words[len++] = n->net->nodes[i].name;
	}
	found = nearest_word(word, words);
	mem_free(words);
	return found;
}

static int
no_node(const struct names *n, const char *word, struct error *e)
{
	const char *near;
	uint64_t lid;

	if (map_get(&n->descs, hash(word)) == SHARED)
		return error_set(e, ERR_NOT_FOUND,
				 "several nodes are described as \"%.100s\": name "
				 "one by its GUID", word);
	if (number_parse(word, 1, LID_UNICAST_MAX, &lid))
		return error_set(e, ERR_NOT_FOUND, "no node has LID %" PRIu64, lid);
	if ((near = nearest(n, word)))
		return error_set(e, ERR_NOT_FOUND, "there is no node \"%.100s\"; did you mean "
				 "\"%s\"?", word, near);
	return error_set(e, ERR_NOT_FOUND, "there is no node \"%.100s\": a node is named by its "
			 "description, its name in the file, a GUID or a LID", word);
}

int
names_node(const struct names *n, const char *word, uint32_t *node, struct error *e)
{
	*node = find(n, word);
	return *node == IBNET_NONE ? no_node(n, word, e) : 0;
}

/* The node before the last slash, if a number stands behind that; else false. */
static bool
split_port(const char *word, char node[WORD_SIZE], uint64_t *port)
{
	const char *slash = strrchr(word, '/');
	size_t len = slash ? (size_t)(slash - word) : 0;

	if (!len || len >= WORD_SIZE || !number_parse(slash + 1, 0, UINT32_MAX, port))
		return false;
	memcpy(node, word, len);
	node[len] = '\0';
	return true;
}

int
names_port(const struct names *n, const char *word, bool zero, uint32_t *node, unsigned *port,
	   struct error *e)
{
	char name[WORD_SIZE];
	const struct ibnet_node *ib;
	unsigned first;
	uint64_t number;
	int rc;

	if (!split_port(word, name, &number))
		return error_set(e, ERR_INVALID, "\"%.100s\" is no port: a port is NODE/NUMBER",
				 word);
	if ((rc = names_node(n, name, node, e)) < 0)
		return rc;
	ib = &n->net->nodes[*node];
	first = !(zero && ib->type == IBNET_SWITCH);
	if (number < first || number > ib->nports)
		return error_set(e, ERR_NOT_FOUND,
				 "%s has no port %" PRIu64 ": its ports are %u to %u",
				 names_text(n, *node), number, first, ib->nports);
	*port = (unsigned)number;
	return 0;
}

int
names_either(const struct names *n, const char *word, uint32_t *node, unsigned *port,
	     struct error *e)
{
	char name[WORD_SIZE];
	uint64_t number;

	*port = 0;
	*node = find(n, word);
	if (*node != IBNET_NONE)
		return 0;
	if (split_port(word, name, &number))
		return names_port(n, word, false, node, port, e);
	return no_node(n, word, e);
}
