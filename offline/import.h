/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OFFLINE_IMPORT_H
#define OFFLINE_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sm/base/error.h"
#include "sm/base/mem.h"
#include "sm/conf/config.h"

/*
 * What `weft import opensm` reads and makes. Each kind of file has a reader, from bytes to a plain
 * struct, and a writer, from there into a struct config. Whatever a reader does not understand, and
 * whatever a writer cannot say, becomes a note: nothing is left out in silence, and no reader
 * fails.
 */

/* What is said to the administrator, in order. */
struct import_note {
	struct import_note *next;	/* NULL: the last */
	const char *text;		/* "FILE:LINE: sentence" */
};

struct import_notes {
	struct region *region;		/* owns notes and all that readers return; borrowed */
	struct import_note *first;	/* NULL: none */
	struct import_note *last;	/* NULL: none */
	unsigned len;			/* how many */
};

/* `line` 0: of the whole file. Controls in the text become '?'. */
void
import_note(struct import_notes *n, const char *file, unsigned line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * import_text.c: lines and words.
 */
/* A file's text as it is walked through. Lines may be of any length. */
struct import_text {
	const char *file;	/* for notes */
	const char *at;		/* where the next line starts */
	const char *end;	/* behind the last byte */
	unsigned line;		/* of what was taken last, from 1; 0 at first */
	size_t len;		/* bytes of that, with comments */
};

/* A piece of it. */
struct import_word {
	const char *s;		/* not NUL-terminated */
	size_t len;		/* bytes; 0: nothing */
};

/* The next line without what follows a '#', and without blanks around; false: there is none. */
bool
import_line(struct import_text *t, struct import_word *line);
/* Take what stands before the first `c`, which goes too; all of it if there is none (false). Blanks
 * around it go. */
bool
import_cut(struct import_word *from, char c, struct import_word *piece);
struct import_word
import_trim(struct import_word w);
bool
import_is(struct import_word w, const char *word);
/* The word is not the whole of `word`, but its beginning, which is enough for OpenSM. */
bool
import_abbreviates(struct import_word w, const char *word);
/* As strtoull() with base 0 reads it, without signs: decimal, 0x, and octal after a 0. */
bool
import_number(struct import_word w, uint64_t max, uint64_t *value);
char *
import_copy(struct region *r, struct import_word w);
/* For notes: "%.*s". */
#define IMPORT_WORD(w) (int)((w).len < 80 ? (w).len : 80), (w).s

/*
 * import_conf.c: opensm.conf.
 */
struct import_option {
	struct import_option *next;	/* NULL: the last */
	const char *name;		/* the key */
	const char *value;		/* without quotes; "" for (null) */
	unsigned line;			/* where it stands */
};

/* All of them in order; a later one of a name counts. */
struct import_option *
import_conf_read(struct import_text *t, struct import_notes *n);

/* import_options.c: what it says of all but partitions and qos. */
struct import_said {
	const char *partitions;		/* file of partitions; NULL: not said */
	const char *qos_policy;		/* file; NULL: not said */
	const char *names;		/* file of node names */
	const char *roots;		/* file of GUIDs; likewise */
	const char *compute;		/* cn_guid_file */
	const char *io;			/* io_guid_file */
	bool qos;			/* FALSE */
	bool both;			/* allow_both_pkeys; FALSE */
	enum config_enforce enforce;	/* ENFORCE_BOTH */
	uint64_t guid;			/* of the port of the subnet manager; 0: unknown */
	const struct import_option *options;	/* all */
};

void
import_options(const struct import_option *list, const char *file, struct config *c,
	       struct import_said *said, struct import_notes *n);
/* The last one of that name, or NULL. */
const struct import_option *
import_option_of(const struct import_option *list, const char *name);

/*
 * import_partitions.c: partitions.conf.
 */
enum import_whom {
	IMPORT_PORT,
	IMPORT_SELF,
	IMPORT_ALL,
	IMPORT_CAS,
	IMPORT_SWITCHES,
	IMPORT_ROUTERS,
};

struct import_member {
	struct import_member *next;	/* NULL: the last */
	enum import_whom whom;		/* which ports */
	uint64_t guid;			/* IMPORT_PORT: its GUID */
	enum config_membership membership;	/* as said, or as defmember says */
	unsigned line;			/* where it stands */
};

/* Values of multicast groups, as in PathRecord. */
struct import_flags {
	unsigned mtu;		/* code, 1..5 */
	unsigned rate;		/* code, 2..24 */
	unsigned sl;		/* 0..15 */
	unsigned scopes;	/* bit by scope; 0: none is said */
	uint32_t qkey;		/* 0: none is said */
	unsigned tclass;	/* 0..255 */
	unsigned flow_label;	/* 0..0xfffff */
};

struct import_mgid {
	struct import_mgid *next;	/* NULL: the last */
	uint8_t gid[16];		/* as written */
	struct import_flags flags;	/* those of the statement, and its own */
	unsigned line;			/* where it stands */
};

/* NAME=KEY, FLAGS : MEMBERS ; */
struct import_partition {
	struct import_partition *next;	/* NULL: the last */
	const char *name;		/* "" if there is none */
	unsigned pkey;			/* 1..0x7fff; 0: none is said */
	bool ipoib;			/* a broadcast group */
	bool index0;			/* of those members */
	struct import_flags flags;	/* of the broadcast group, and inherited */
	struct import_member *members;	/* in order */
	struct import_mgid *groups;	/* in order */
	unsigned line;			/* where it starts */
};

struct import_partition *
import_partitions_read(struct import_text *t, struct import_notes *n);

/* import_members.c: the same as partitions of `c`. `list` with file NULL: there is no such file. */
void
import_partitions(const struct import_partition *list, const char *file,
		  const struct import_said *said, struct config *c, struct import_notes *n);

/*
 * import_guids.c: files of GUIDs, one a line (roots, I/O nodes).
 */
struct import_guid {
	struct import_guid *next;	/* NULL: the last */
	uint64_t guid;			/* not 0 */
};

struct import_guid *
import_guids_read(struct import_text *t, struct import_notes *n);

/*
 * import_lids.c: guid2lid, LIDs of ports.
 */
struct import_lid {
	struct import_lid *next;	/* NULL: the last */
	uint64_t guid;			/* of the port, not 0; none is twice */
	uint16_t lid;			/* the lowest, from 1 to 0xbfff; none is twice */
	uint8_t lmc;			/* 0..7 */
};

/* Lines that cannot be, or that say what another has said, are left out, which is noted. */
struct import_lid *
import_lids_read(struct import_text *t, struct import_notes *n);
/* Into the state file of weftd, which is made if it is not there, as LIDs of a subnet. ERR_EXISTS:
 * weftd runs with it, or it has LIDs of that subnet; else why it cannot be written. */
int
import_lids_save(const struct import_lid *list, const char *subnet, const char *path,
		 struct error *e);

#endif
