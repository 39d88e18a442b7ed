/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OFFLINE_IMPORT_POLICY_H
#define OFFLINE_IMPORT_POLICY_H

#include "offline/import.h"

/*
 * Quality of service of OpenSM: what its policy file says (import_policy.c, import_ulps.c), what
 * keys of opensm.conf say of tables (import_tables.c), and both as `qos` of a configuration
 * (import_qos.c, import_ports.c).
 */
#define IMPORT_NO_SL 255u	/* none is said */

/* Ranges in the order in which they are written; all memory is the notes' region. */
struct import_ranges {
	struct config_range *list;	/* both ends included */
	unsigned len;			/* how many; 0: nothing is said */
	unsigned room;			/* for so many */
};

struct import_list {
	const char **list;	/* texts, without quotes */
	unsigned len;		/* how many */
	unsigned room;		/* for so many */
};

/* Kinds of nodes, as bits. */
enum import_kinds {
	IMPORT_KIND_CA = 1,
	IMPORT_KIND_SWITCH = 2,
	IMPORT_KIND_ROUTER = 4,
	IMPORT_KIND_SELF = 8,
	IMPORT_KIND_ALL = 16,
};

struct import_group {
	struct import_group *next;	/* NULL: the last */
	const char *name;		/* without blanks, in upper or lower case */
	struct import_ranges guids;	/* of ports */
	struct import_list ports;	/* NODE/Pn */
	struct import_ranges pkeys;	/* members of these partitions, without membership bit */
	struct import_list partitions;	/* likewise, by name */
	unsigned kinds;			/* enum import_kinds */
	unsigned line;			/* where it starts */
};

struct import_level {
	struct import_level *next;	/* NULL: the last */
	const char *name;		/* as a group's */
	unsigned sl;			/* 0..15; IMPORT_NO_SL */
	unsigned mtu;			/* most, code 1..5; 0: any */
	unsigned rate;			/* likewise, code 2..24 */
	unsigned life;			/* code 1..63; 0: as all others */
	struct import_ranges path_bits;	/* OpenSM does nothing with them */
	struct import_ranges pkeys;	/* paths are of these partitions */
	unsigned line;			/* where it starts */
};

struct import_rule {
	struct import_rule *next;	/* NULL: the last */
	const char *level;		/* its name; NULL: one of no limits, of `sl` */
	unsigned sl;			/* 0..15, if `level` is NULL */
	const char *application;	/* word of Weft for a protocol; NULL: none */
	struct import_list source;	/* names of groups; none: whoever */
	struct import_list destination;	/* likewise */
	struct import_ranges from;	/* GUIDs of ports, likewise */
	struct import_ranges to;	/* likewise */
	struct import_ranges services;	/* service IDs */
	struct import_ranges classes;	/* QoS classes, 0..4095 */
	struct import_ranges pkeys;	/* without membership bit */
	bool broken;			/* something of it could not be read */
	unsigned line;			/* where it starts */
};

struct import_policy {
	struct import_group *groups;	/* in order */
	struct import_level *levels;	/* in order */
	struct import_rule *rules;	/* in order: match rules, then those of protocols */
	unsigned usual;			/* SL of `default` among protocols; IMPORT_NO_SL */
};

struct import_policy *
import_policy_read(struct import_text *t, struct import_notes *n);

/* For both parts of the reader. A word without blanks around and quotes. */
const char *
import_policy_word(struct region *r, struct import_word w);
/* "1,3-5": false: some of it is no range, or above `max`; all that is right is added. */
bool
import_policy_ranges(struct region *r, struct import_word w, uint64_t max,
		     struct import_ranges *to);
void
import_policy_add(struct region *r, struct import_ranges *to, uint64_t from, uint64_t last);

/* import_ulps.c: "PROTOCOL, CRITERION RANGES : SL". NULL: *why says what is wrong; or *usual was
 * set. */
struct import_rule *
import_ulp_read(struct region *r, struct import_word line, unsigned *usual, const char **why);

/*
 * import_ports.c: groups of ports.
 */
struct import_picker {
	const struct import_policy *p;	/* has the groups */
	const char *file;		/* for notes */
	struct config *c;		/* has the partitions; its region gets the selections */
	struct import_notes *n;		/* what cannot be said */
	unsigned guids;			/* that were written out so far, of ranges */
};

/* The ports of one side of a rule, by groups and GUIDs; *ports NULL: nothing is said of them.
 * False: it would be for nobody, which is noted. */
bool
import_ports(struct import_picker *w, const struct import_rule *r, const struct import_list *groups,
	     const struct import_ranges *guids, const char ***ports);

/*
 * import_tables.c: keys of opensm.conf.
 */
/* Of one kind of port, as OpenSM writes them. */
struct import_tables {
	uint8_t vl[16];		/* by SL; 15: dropped */
	const char *high;	/* VL arbitration, "VL:WEIGHT, ..." */
	const char *low;	/* likewise */
	unsigned limit;		/* VLHighLimit, 0..255 */
};

enum import_ports {
	IMPORT_HOSTS,
	IMPORT_PORT0,		/* of switches */
	IMPORT_EXTERNAL,	/* the other ports of switches */
	IMPORT_ROUTER_PORTS,
	IMPORT_PORTS,		/* how many kinds */
};

/* `lanes` is what links run, 1..15: numbers of lanes are folded as OpenSM does. */
void
import_tables(const struct import_option *list, const char *file, unsigned lanes,
	      struct import_tables tables[IMPORT_PORTS], struct import_notes *n);
/* Into arbitration of `c`. */
void
import_arbitration(const struct import_tables tables[IMPORT_PORTS], struct config *c);

/* import_qos.c: levels, rules and tables. `policy` NULL: there is none, and partitions tell the SL.
 * After the partitions, of which it changes the SL. */
void
import_qos(const struct import_policy *policy, const char *file, const struct import_said *said,
	   struct config *c, struct import_notes *n);

#endif
