/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/import_policy.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/*
 * Lines of qos-ulps: a protocol, perhaps what of it, and a service level.
 *
 *	default : 0
 *	sdp, port-num 10000-20000 : 1
 *
 * OpenSM makes match rules of them, which come behind all others: of service IDs, which protocols
 * of the connection manager have by number of a TCP port, of P_Keys, and of GUIDs. Those of
 * source-target-port-guid must be at both ends.
 */
#define SDP_FIRST 0x10000u		/* service ID of port 0 */
#define TCP_FIRST 0x1060000u		/* likewise, of rds and iser */
#define ISER_PORT 3260u
#define DEFAULT_PKEY 0x7fffu

enum what {
	WHAT_USUAL, WHAT_APPLICATION, WHAT_ONE_SERVICE, WHAT_DEFAULT_PKEY, WHAT_SERVICES,
	WHAT_PKEYS, WHAT_TARGETS, WHAT_SOURCES, WHAT_BOTH_ENDS,
};

static const struct form {
	const char *protocol;	/* in either case */
	const char *criterion;	/* behind the comma; NULL: there is none */
	enum what what;		/* what the rule is about */
	uint64_t first;		/* what numbers are added to */
	uint64_t max;		/* greatest number */
} forms[] = {
	{ "default", NULL, WHAT_USUAL, 0, 0 },
	{ "sdp", NULL, WHAT_APPLICATION, 0, 0 },
	{ "sdp", "port-num", WHAT_SERVICES, SDP_FIRST, 0xffff },
	{ "rds", NULL, WHAT_APPLICATION, 0, 0 },
	{ "rds", "port-num", WHAT_SERVICES, TCP_FIRST, 0xffff },
	{ "iser", NULL, WHAT_ONE_SERVICE, TCP_FIRST + ISER_PORT, 0 },
	{ "iser", "port-num", WHAT_SERVICES, TCP_FIRST, 0xffff },
	{ "srp", "target-port-guid", WHAT_TARGETS, 0, UINT64_MAX },
	{ "ipoib", NULL, WHAT_DEFAULT_PKEY, 0, 0 },
	{ "ipoib", "pkey", WHAT_PKEYS, 0, 0xffff },
	{ "any", "service-id", WHAT_SERVICES, 0, UINT64_MAX },
	{ "any", "pkey", WHAT_PKEYS, 0, 0xffff },
	{ "any", "target-port-guid", WHAT_TARGETS, 0, UINT64_MAX },
	{ "any", "source-port-guid", WHAT_SOURCES, 0, UINT64_MAX },
	{ "any", "source-target-port-guid", WHAT_BOTH_ENDS, 0, UINT64_MAX },
};

static bool
is_protocol(struct import_word w, const char *protocol)
{
	return w.len == strlen(protocol) && strncasecmp(w.s, protocol, w.len) == 0;
}

static const struct form *
form_of(struct import_word protocol, bool has, struct import_word criterion)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (is_protocol(protocol, forms[i].protocol) && has == !!forms[i].criterion &&
		    (!has || import_is(criterion, forms[i].criterion)))
			return &forms[i];
	return NULL;
}

/* "port-num 1, 2" into "port-num" and the rest. */
static void
cut_criterion(struct import_word *from, struct import_word *criterion)
{
	size_t len = 0;

	*from = import_trim(*from);
	while (len < from->len && !isspace((unsigned char)from->s[len]))
		len++;
	*criterion = (struct import_word){ from->s, len };
	*from = import_trim((struct import_word){ from->s + len, from->len - len });
}

static struct import_ranges *
ranges_of(struct import_rule *rule, enum what what)
{
	switch (what) {
	case WHAT_PKEYS:
		return &rule->pkeys;
	case WHAT_TARGETS:
	case WHAT_BOTH_ENDS:
		return &rule->to;
	case WHAT_SOURCES:
		return &rule->from;
	default:
		return &rule->services;
	}
}

static bool
read_ranges(struct region *r, const struct form *f, struct import_word w, struct import_rule *rule)
{
	struct import_ranges all = { 0 }, *to = ranges_of(rule, f->what);

	if (!import_policy_ranges(r, w, f->max, &all))
		return false;
	for (unsigned i = 0; i < all.len; i++) {
		uint64_t a = all.list[i].from + f->first, b = all.list[i].to + f->first;

		if (f->what == WHAT_PKEYS) {
			a &= DEFAULT_PKEY;
			b &= DEFAULT_PKEY;
		}
		import_policy_add(r, to, a < b ? a : b, a < b ? b : a);
	}
	if (f->what == WHAT_BOTH_ENDS)
		rule->from = rule->to;
	return true;
}

static struct import_rule *
make_rule(struct region *r, const struct form *f, struct import_word rest, unsigned sl,
	  const char **why)
{
	struct import_rule *rule = region_alloc(r, sizeof(*rule));

	rule->sl = sl;
	switch (f->what) {
	case WHAT_APPLICATION:
		rule->application = f->protocol;
		break;
	case WHAT_ONE_SERVICE:
		import_policy_add(r, &rule->services, f->first, f->first);
		break;
	case WHAT_DEFAULT_PKEY:
		import_policy_add(r, &rule->pkeys, DEFAULT_PKEY, DEFAULT_PKEY);
		break;
	default:
		if (!read_ranges(r, f, rest, rule)) {
			*why = "its numbers are wrong";
			return NULL;
		}
	}
	return rule;
}

struct import_rule *
import_ulp_read(struct region *r, struct import_word line, unsigned *usual, const char **why)
{
	struct import_word rest = line, left, protocol, criterion = { NULL, 0 };
	bool colon = import_cut(&rest, ':', &left), has = import_cut(&left, ',', &protocol);
	const struct form *f;
	uint64_t sl;

	*why = NULL;
	if (has)
		cut_criterion(&left, &criterion);
	f = form_of(protocol, has, criterion);
	if (!f)
		*why = "it is no protocol with a criterion that OpenSM has";
	else if (!colon || !import_number(import_trim(rest), 15, &sl))
		*why = "there is no service level from 0 to 15 behind a colon";
	if (*why)
		return NULL;
	if (f->what == WHAT_USUAL) {
		*usual = (unsigned)sl;
		return NULL;
	}
	return make_rule(r, f, left, (unsigned)sl, why);
}
