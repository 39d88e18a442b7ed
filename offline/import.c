/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "offline/import_policy.h"
#include "offline/offline.h"
#include "sm/base/buf.h"
#include "sm/base/text.h"
#include "sm/text/lines.h"

/*
 * `weft import opensm DIR`: the files of an OpenSM become a configuration on standard output.
 *
 * Files go through their readers to plain structs, these into the defaults of a configuration. Of
 * that is printed what is not initial, below the notes of what could not be said. The text is read
 * back as a daemon would: what it would refuse is never handed out.
 *
 * DIR is /etc/opensm or a copy of it: a file that opensm.conf names is looked for by its last name
 * in DIR, else where it is said to be. A file of partitions that is named and not there is an
 * error, for without it every port would be a full member of the default partition.
 */
struct import {
	const struct offline *o;	/* the command */
	struct config *c;		/* grows */
	struct import_notes notes;	/* grow */
	struct import_said said;	/* of opensm.conf */
	const struct import_lid *lids;	/* for the state file */
	struct error e;			/* why nothing can be imported */
};

/* Where a file is: `path` said in opensm.conf (NULL: nothing is), or `usual` in DIR; or NULL. */
static char *
find_file(struct import *im, const char *path, const char *usual)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *last = slash ? slash + 1 : path ? path : usual;
	char *found = region_printf(im->notes.region, "%s/%s", im->o->path, last);

	if (access(found, R_OK) == 0)
		return found;
	return slash && access(path, R_OK) == 0 ? region_strdup(im->notes.region, path) : NULL;
}

/* Its text, kept until the end; false: im->e says why. */
static bool
open_text(struct import *im, const char *path, struct import_text *t)
{
	struct buf b = { 0 };
	const char *slash = strrchr(path, '/');

	if (text_load(&b, path, &im->e)) {
		buf_free(&b);
		return false;
	}
	t->file = slash ? slash + 1 : path;
	t->at = region_alloc(im->notes.region, b.len + 1);
	if (b.len)
		memcpy((char *)t->at, b.data, b.len);
	t->end = t->at + b.len;
	t->line = 0;
	t->len = 0;
	buf_free(&b);
	return true;
}

/* A file that opensm.conf names, or that has its usual name. *found: it is there. */
static bool
open_named(struct import *im, const char *said, const char *usual, struct import_text *t,
	   bool *found)
{
	const char *path = said || usual ? find_file(im, said, usual) : NULL;

	*found = path;
	if (said && !path)
		import_note(&im->notes, "opensm.conf", 0, "%s is named, but there is no such file "
			    "in %s or where it should be: what it says is missing here", said,
			    im->o->path);
	return !path || open_text(im, path, t);
}

static bool
read_options(struct import *im)
{
	struct import_text t;
	bool found;

	if (!open_named(im, NULL, "opensm.conf", &t, &found))
		return false;
	if (!found) {
		import_note(&im->notes, "opensm.conf", 0, "there is none in %s: defaults are taken",
			    im->o->path);
		t.file = "opensm.conf";
	}
	import_options(found ? import_conf_read(&t, &im->notes) : NULL, t.file, im->c, &im->said,
		       &im->notes);
	return true;
}

/* The path that OpenSM has built in says nothing. */
static bool
is_built_in(const char *path)
{
	return !path || strcmp(path, "/etc/opensm/partitions.conf") == 0;
}

static bool
read_partitions(struct import *im)
{
	const char *said = im->said.partitions;
	const char *path = find_file(im, said, "partitions.conf");
	struct import_partition *list;
	struct import_text t;
	unsigned before;
	bool empty;

	if (!path && !is_built_in(said)) {
		error_set(&im->e, ERR_NOT_FOUND, "opensm.conf names %s, and there is no such file: "
			  "without it every port would be a full member of the default partition",
			  said);
		return false;
	}
	if (!path) {
		import_note(&im->notes, "partitions.conf", 0, "there is none in %s: every port is "
			    "a full member of the default partition, as in OpenSM", im->o->path);
		import_partitions(NULL, NULL, &im->said, im->c, &im->notes);
		return true;
	}
	if (!open_text(im, path, &t))
		return false;
	before = im->notes.len;
	list = import_partitions_read(&t, &im->notes);
	empty = !list && im->notes.len == before;
	if (empty)
		import_note(&im->notes, t.file, 0, "it says nothing: every port is a full member "
			    "of the default partition, as in OpenSM (its manual says otherwise)");
	import_partitions(list, empty ? NULL : t.file, &im->said, im->c, &im->notes);
	return true;
}

/* Without qos TRUE OpenSM reads nothing of it. */
static bool
read_qos(struct import *im)
{
	const char *said = im->said.qos_policy;
	struct import_policy *policy;
	struct import_text t;
	bool found;

	if (said && strcmp(said, "/etc/opensm/qos-policy.conf") == 0)
		said = NULL;
	if (!im->said.qos) {
		if (find_file(im, said, "qos-policy.conf"))
			import_note(&im->notes, "opensm.conf", 0, "there is a policy of qos, but "
				    "qos is not TRUE: nothing is carried over of it. If opensm is "
				    "started with -Q, say qos TRUE in a copy, and import that");
		return true;
	}
	if (!open_named(im, said, "qos-policy.conf", &t, &found))
		return false;
	policy = found ? import_policy_read(&t, &im->notes) : NULL;
	import_qos(policy, found ? t.file : "opensm.conf", &im->said, im->c, &im->notes);
	return true;
}

static unsigned
length(const struct import_guid *g)
{
	unsigned len = 0;

	for (; g; g = g->next)
		len++;
	return len;
}

static bool
has_guid(const struct import_guid *g, const struct import_guid *end, uint64_t guid)
{
	while (g != end && g->guid != guid)
		g = g->next;
	return g != end;
}

static bool
read_roots(struct import *im)
{
	struct config_subnet *s = im->c->subnets;
	struct import_guid *list;
	struct import_text t;
	bool found;

	if (!open_named(im, im->said.roots, NULL, &t, &found))
		return false;
	list = found ? import_guids_read(&t, &im->notes) : NULL;
	s->routing.roots = region_array(im->c->region, length(list) + 1u, sizeof(uint64_t));
	for (const struct import_guid *g = list; g; g = g->next)
		if (!has_guid(list, g, g->guid))
			s->routing.roots[s->routing.nroots++] = g->guid;
	return true;
}

/* I/O nodes are storage; compute nodes are all that nothing selects, so their list is not needed,
 * but whoever is in neither was of a class of its own. */
static bool
read_classes(struct import *im)
{
	struct config_subnet *s = im->c->subnets;
	struct import_guid *list;
	struct import_text t;
	bool found;
	unsigned len = 0;

	if (im->said.compute)
		import_note(&im->notes, "opensm.conf", 0, "cn_guid_file %s is left out: in Weft "
			    "all hosts are compute nodes that no class selects; name those that "
			    "are in neither file in routing.classes.other", im->said.compute);
	if (!open_named(im, im->said.io, NULL, &t, &found))
		return false;
	list = found ? import_guids_read(&t, &im->notes) : NULL;
	if (!list)
		return true;
	s->routing.classes.storage = region_array(im->c->region, length(list) + 1u, sizeof(char *));
	for (const struct import_guid *g = list; g; g = g->next) {
		char text[GUID_TEXT_SIZE];

		if (!has_guid(list, g, g->guid))
			s->routing.classes.storage[len++] =
				region_strdup(im->c->region, guid_text(text, g->guid));
	}
	return true;
}

static bool
read_names(struct import *im)
{
	char *path = find_file(im, im->said.names, "ib-node-name-map"), *whole;
	struct name_map *m;

	if (!path)
		return true;
	m = name_map_load(path, &im->e);
	if (!m) {
		import_note(&im->notes, "opensm.conf", 0, "names are left out: %s", im->e.text);
		return true;
	}
	name_map_free(m);
	whole = realpath(path, NULL);
	im->c->names = region_strdup(im->c->region, whole ? whole : path);
	free(whole);
	return true;
}

/* LIDs are for a state file, and there for none. */
static bool
read_lids(struct import *im)
{
	struct import_text t;
	const char *path;

	if (!im->o->state)
		return true;
	path = find_file(im, "/var/cache/opensm/guid2lid", "guid2lid");
	if (!path) {
		error_set(&im->e, ERR_NOT_FOUND, "there is no guid2lid in %s or /var/cache/opensm, "
			  "whose LIDs the state file is to get", im->o->path);
		return false;
	}
	if (!open_text(im, path, &t))
		return false;
	im->lids = import_lids_read(&t, &im->notes);
	im->c->state = region_strdup(im->c->region, im->o->state);
	return true;
}

static void
print_notes(const struct import_notes *n, const char *folder, struct buf *out)
{
	buf_printf(out, "# Configuration of Weft, made from OpenSM's in %s by weft import.\n#\n",
		   folder);
	if (!n->len)
		buf_str(out, "# All of it could be carried over.\n");
	else
		buf_str(out, "# What is not as it was, or deserves a look:\n");
	for (const struct import_note *note = n->first; note; note = note->next)
		buf_printf(out, "# - %s\n", note->text);
	buf_char(out, '\n');
}

/* What a daemon would refuse is not handed out. */
static int
print_checked(struct import *im)
{
	struct config *again;
	struct buf out = { 0 };
	int status = OFFLINE_REFUSED;

	print_notes(&im->notes, im->o->path, &out);
	config_print_changed(im->c, &out);
	again = config_parse(out.data, out.len, "the configuration that was made", &im->e);
	if (again && (!im->o->state || !import_lids_save(im->lids, im->c->subnets->name,
							 im->o->state, &im->e)))
		status = offline_answer(&out, OFFLINE_DONE);
	else
		offline_refuse(&im->e);
	config_free(again);
	buf_free(&out);
	if (!status && im->notes.len)
		fprintf(stderr, "weft: %u comment%s at the top say%s what is not as it was\n",
			im->notes.len, im->notes.len == 1 ? "" : "s",
			im->notes.len == 1 ? "s" : "");
	return status;
}

int
offline_import(const struct offline *o)
{
	struct import im = { .o = o, .said = { .enforce = ENFORCE_BOTH } };
	int status;

	if (access(o->path, R_OK | X_OK)) {
		error_set(&im.e, ERR_NOT_FOUND, "%s is no folder that can be read", o->path);
		return offline_refuse(&im.e);
	}
	im.c = config_load(NULL, &im.e);
	if (!im.c)
		return offline_refuse(&im.e);
	im.notes.region = region_new();
	if (read_options(&im) && read_partitions(&im) && read_qos(&im) && read_roots(&im) &&
	    read_classes(&im) && read_names(&im) && read_lids(&im))
		status = print_checked(&im);
	else
		status = offline_refuse(&im.e);
	region_free(im.notes.region);
	config_free(im.c);
	return status;
}
