/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The choice of the local port. Pure but for umad_candidates(), which reads sysfs by libibumad.
 *
 * A host often has more RDMA devices than InfiniBand ones: a port whose link layer is Ethernet is
 * never taken, whatever its place in the alphabet, and is named in the reason when nothing is
 * left. A port that is down is not taken either; the caller looks again later.
 */
#include "sm/port/umad_select.h"

#include <ctype.h>
#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <infiniband/umad.h>
#include "sm/base/buf.h"
#include "sm/base/text.h"

_Static_assert(UMAD_NAME_SIZE == UMAD_CA_NAME_LEN, "device names have libibumad's size");

#define STATE_DOWN 1

/* PortInfo.PortPhysicalState as administrators know it from ibstat. */
static const char *
phys_state_name(unsigned phys)
{
	static const char *const names[] = {
		"no state", "sleep", "polling", "disabled", "training", "link up", "recovery",
	};

	return phys < sizeof(names) / sizeof(names[0]) ? names[phys] : "unknown";
}

static bool
is_name(const char *s, size_t len)
{
	if (len == 0 || len >= UMAD_NAME_SIZE)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("_-.", s[i]))
			return false;
	return true;
}

int
umad_selector_parse(struct umad_selector *s, const char *text, struct error *e)
{
	const char *colon = strchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : strlen(text);
	uint64_t number = 0;

	memset(s, 0, sizeof(*s));
	snprintf(s->text, sizeof(s->text), "%s", text);
	if (!strcmp(text, "auto") || (guid_parse(text, &s->guid) && s->guid))
		return 0;
	if (!is_name(text, len) || (colon && !number_parse(colon + 1, 1, 254, &number)))
		return error_set(e, ERR_INVALID, "\"%.60s\" names no port: expected \"auto\","
				 " a device (mlx5_0), a device and a port number (mlx5_0:1) or a"
				 " port GUID", text);
	memcpy(s->name, text, len);
	s->number = (unsigned)number;
	return 0;
}

static void
fill_candidate(struct umad_candidate *c, const umad_port_t *p)
{
	snprintf(c->name, sizeof(c->name), "%s", p->ca_name);
	c->number = (unsigned)p->portnum;
	c->guid = be64toh(p->port_guid);
	c->state = p->state;
	c->phys_state = p->phys_state;
	c->ethernet = !strcmp(p->link_layer, "Ethernet");
}

unsigned
umad_candidates(struct umad_candidate *c, unsigned max)
{
	char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN];
	int devices = umad_get_cas_names(names, UMAD_MAX_DEVICES);
	unsigned len = 0;

	for (int d = 0; d < devices; d++) {
		umad_ca_t ca;

		if (umad_get_ca(names[d], &ca))
			continue;
		for (int i = 0; i < UMAD_CA_MAX_PORTS; i++)
			if (ca.ports[i] && len < max)
				fill_candidate(&c[len++], ca.ports[i]);
		umad_release_ca(&ca);
	}
	return len;
}

static bool
is_meant(const struct umad_selector *s, const struct umad_candidate *c)
{
	return (!s->name[0] || !strcmp(s->name, c->name)) &&
	       (!s->number || s->number == c->number) && (!s->guid || s->guid == c->guid);
}

static void
add_name(struct buf *b, const struct umad_candidate *c, const char *what)
{
	buf_printf(b, "%s%s:%u%s", b->len ? ", " : "", c->name, c->number, what);
}

/* What was passed over: Ethernet ports, ports that are down, and ports not meant. */
static void
describe_others(struct buf *b, const struct umad_selector *s, const struct umad_candidate *c,
		unsigned len, int chosen)
{
	for (unsigned i = 0; i < len; i++) {
		char down[48];

		if ((int)i == chosen)
			continue;
		snprintf(down, sizeof(down), " (down, %s)", phys_state_name(c[i].phys_state));
		if (c[i].ethernet)
			add_name(b, &c[i], " (Ethernet)");
		else if (c[i].state <= STATE_DOWN)
			add_name(b, &c[i], down);
		else
			add_name(b, &c[i], is_meant(s, &c[i]) ? " (up)" : " (not asked for)");
	}
}

static void
explain_choice(const struct umad_selector *s, const struct umad_candidate *c, const char *others,
	       char *why, size_t size)
{
	char guid[GUID_TEXT_SIZE];
	bool given = s->name[0] || s->guid;

	snprintf(why, size, "GUID %s, %s%s%s%s%s", guid_text(guid, c->guid),
		 given ? "as configured by \"" : "the first InfiniBand port that is not down",
		 given ? s->text : "", given ? "\"" : "", *others ? "; passed over: " : "", others);
}

static int
explain_none(const struct umad_selector *s, const struct umad_candidate *c, unsigned len,
	     const char *others, char *why, size_t size)
{
	unsigned meant = 0, ethernet = 0, last = 0;

	for (unsigned i = 0; i < len; i++) {
		if (!is_meant(s, &c[i]))
			continue;
		meant++;
		ethernet += c[i].ethernet;
		last = i;
	}
	if (!len)
		snprintf(why, size, "there is no InfiniBand device: is its driver loaded?");
	else if (!meant)
		snprintf(why, size, "port \"%s\" does not exist; present: %s", s->text, others);
	else if (ethernet == meant)
		snprintf(why, size, "no port of InfiniBand link layer to use: %s", others);
	else if (meant == 1)
		snprintf(why, size, "port %s:%u is down (physical state: %s): is the cable plugged"
			 " in at both ends?", c[last].name, c[last].number,
			 phys_state_name(c[last].phys_state));
	else
		snprintf(why, size, "no InfiniBand port is up: %s", others);
	return ethernet == meant ? UMAD_ABSENT : UMAD_DOWN;
}

int
umad_select(const struct umad_selector *s, const struct umad_candidate *c, unsigned len,
	    char *why, size_t size)
{
	struct buf others = { 0 };
	int chosen = UMAD_DOWN;

	for (unsigned i = 0; i < len && chosen < 0; i++)
		if (is_meant(s, &c[i]) && !c[i].ethernet && c[i].state > STATE_DOWN)
			chosen = (int)i;
	describe_others(&others, s, c, len, chosen);
	if (chosen >= 0)
		explain_choice(s, &c[chosen], others.data ? others.data : "", why, size);
	else
		chosen = explain_none(s, c, len, others.data ? others.data : "", why, size);
	buf_free(&others);
	return chosen;
}
