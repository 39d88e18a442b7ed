/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/dump.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "sm/text/ibnet.h"
#include "sm/text/lines.h"

/*
 * A folder of dumps. Each file is read, and its first telling line says what it is. What tells
 * nothing is passed over: logs and other dumps lie beside them where OpenSM writes. Of two files of
 * one kind none can be preferred, so that is an error; of two kinds that say the same, the one that
 * the devices said goes first.
 */
enum kind {
	OTHER,
	TOPOLOGY,
	TABLES_DUMP,		/* the three forms of tables, the best first */
	TABLES_OPENSM,
	TABLES_FDBS,
	TREES_DUMP,		/* the two forms of multicast tables */
	TREES_OPENSM,
	PATHS,
	LANES,
	KINDS,
};

struct scan {
	struct dump *d;				/* what is being filled */
	const char *files[KINDS];		/* the file of each kind; NULL */
	const char **lanes;			/* files of LANES */
	unsigned nlanes;			/* how many */
};

static bool
starts(const char *line, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len >= n && !memcmp(line, word, n);
}

/* Switch 36 "S-...", or with tabs, or Ca, Hca, Rt; or the lines before it. */
static bool
is_topology(const char *line, size_t len)
{
	static const char *const words[] = { "Switch", "Ca", "Hca", "Rt" };
	const char *end = line + len, *p;

	if (starts(line, len, "vendid=0x") || starts(line, len, "switchguid=0x"))
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!starts(line, len, words[i]))
			continue;
		p = line + strlen(words[i]);
		while (p < end && isblank((unsigned char)*p))
			p++;
		if (p == line + strlen(words[i]) || p == end || !isdigit((unsigned char)*p))
			continue;
		while (p < end && isdigit((unsigned char)*p))
			p++;
		while (p < end && isblank((unsigned char)*p))
			p++;
		if (p < end && *p == '"')
			return true;
	}
	return false;
}

static enum kind
kind_of_line(const char *line, size_t len)
{
	if (starts(line, len, "Unicast lids ["))
		return memmem(line, len, " ('", 3) ? TABLES_OPENSM : TABLES_DUMP;
	if (starts(line, len, "dump_ucast_routes: "))
		return TABLES_FDBS;
	if (starts(line, len, "Multicast mlids ["))
		return TREES_DUMP;
	if (starts(line, len, "LID    : Out Port(s)"))
		return TREES_OPENSM;
	if (starts(line, len, "PathRecord dump:"))
		return PATHS;
	if (starts(line, len, "# SL2VL table:") || starts(line, len, "#in out :"))
		return LANES;
	return is_topology(line, len) ? TOPOLOGY : OTHER;
}

static enum kind
kind_of(const struct buf *b)
{
	const char *p = b->data, *end = p + b->len;
	enum kind kind = OTHER;

	while (p < end && kind == OTHER) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));

		nl = nl ? nl : end;
		kind = kind_of_line(p, (size_t)(nl - p));
		p = nl + 1;
	}
	return kind;
}

static int
note_file(struct scan *s, enum kind kind, const char *path, struct error *e)
{
	static const char *const names[KINDS] = {
		[TOPOLOGY] = "a topology", [TABLES_DUMP] = "forwarding tables",
		[TABLES_OPENSM] = "forwarding tables", [TABLES_FDBS] = "forwarding tables",
		[TREES_DUMP] = "multicast tables", [TREES_OPENSM] = "multicast tables",
		[PATHS] = "path records",
	};

	if (kind == OTHER)
		return 0;
	if (kind == LANES) {
		s->lanes[s->nlanes++] = path;
		return 0;
	}
	if (s->files[kind])
		return error_set(e, ERR_EXISTS, "%s and %s both hold %s: which one is meant?",
				 s->files[kind], path, names[kind]);
	s->files[kind] = path;
	return 0;
}

static int
scan_file(struct scan *s, const char *path, struct error *e)
{
	struct buf b = { 0 };
	struct stat st;
	int rc;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return 0;
	rc = text_load(&b, path, e);
	if (!rc && b.len)
		rc = note_file(s, kind_of(&b), path, e);
	buf_free(&b);
	return rc;
}

static int
not_hidden(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static int
scan_folder(struct scan *s, const char *folder, struct error *e)
{
	struct dirent **list;
	int n = scandir(folder, &list, not_hidden, alphasort), rc = 0;

	if (n < 0)
		return error_set(e, ERR_IO, "cannot read the folder %s: %s", folder,
				 strerror(errno));
	s->lanes = region_array(s->d->region, (size_t)n + 1, sizeof(*s->lanes));
	for (int i = 0; i < n; i++) {
		if (!rc)
			rc = scan_file(s, region_printf(s->d->region, "%s/%s", folder,
							list[i]->d_name), e);
		free(list[i]);
	}
	free(list);
	return rc;
}

static const char *
best(const struct scan *s, enum kind first, enum kind last)
{
	for (unsigned k = first; k <= last; k++)
		if (s->files[k])
			return s->files[k];
	return NULL;
}

static int
load_topology(struct dump *d, const char *folder, struct error *e)
{
	struct ibnet *net;
	int rc;

	if (!d->topology)
		return error_set(e, ERR_NOT_FOUND, "%s holds no topology: ibnetdiscover prints "
				 "one", folder);
	rc = ibnet_read(&net, d->topology, e);
	if (rc)
		return rc;
	d->fabric = fabric_from_ibnet(net);
	ibnet_free(net);
	return 0;
}

int
dump_load(struct dump *d, const char *folder, struct error *e)
{
	struct scan s = { .d = d };
	const char *tables, *trees;
	int rc;

	*d = (struct dump){ .region = region_new() };
	rc = scan_folder(&s, folder, e);
	if (rc)
		return rc;
	d->topology = s.files[TOPOLOGY];
	tables = best(&s, TABLES_DUMP, TABLES_FDBS);
	trees = best(&s, TREES_DUMP, TREES_OPENSM);
	if ((rc = load_topology(d, folder, e)))
		return rc;
	if (!tables)
		return error_set(e, ERR_NOT_FOUND, "%s holds no forwarding tables: dump_lfts "
				 "prints them", folder);
	if ((rc = lfts_read(&d->lfts, tables, e)))
		return rc;
	if (trees && (rc = mfts_read(&d->mfts, trees, e)))
		return rc;
	if (s.files[PATHS] && (rc = paths_read(&d->paths, s.files[PATHS], e)))
		return rc;
	d->sl2vl = region_array(d->region, s.nlanes + 1, sizeof(struct sl2vl *));
	for (; d->nsl2vl < s.nlanes && !rc; d->nsl2vl += !rc)
		rc = sl2vl_read(&d->sl2vl[d->nsl2vl], s.lanes[d->nsl2vl], e);
	return rc;
}

void
dump_free(struct dump *d)
{
	fabric_unref(d->fabric);
	lfts_free(d->lfts);
	mfts_free(d->mfts);
	paths_free(d->paths);
	for (unsigned i = 0; i < d->nsl2vl; i++)
		sl2vl_free(d->sl2vl[i]);
	region_free(d->region);
}
