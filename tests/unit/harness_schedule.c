/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Schedules from seeds, and as text.
 *
 * A seed chooses a fabric, one half of them with 20 switches or more, and then faults in rounds:
 * each begins with some that set managers to work, goes on with others that come at a moment by
 * chance or when a manager is in a certain stage, and ends with a rest. Every number that a fault
 * needs is drawn here, so that those that are left when others are taken away stay what they are.
 */
#include "tests/unit/harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sm/base/mem.h"

static const struct {
	const char *name;		/* in text */
	unsigned weight;		/* how often */
} kinds[HARNESS_KINDS] = {
	[HARNESS_LINK_DOWN] = { "link-down", 12 },
	[HARNESS_LINK_UP] = { "link-up", 6 },
	[HARNESS_LINK_FLAP] = { "link-flap", 6 },
	[HARNESS_LINK_SLOW] = { "link-slow", 2 },
	[HARNESS_HOST_DOWN] = { "host-down", 4 },
	[HARNESS_HOST_UP] = { "host-up", 3 },
	[HARNESS_HOST_FLAP] = { "host-flap", 3 },
	[HARNESS_HOST_REBOOT] = { "host-reboot", 3 },
	[HARNESS_SWITCH_OFF] = { "switch-off", 4 },
	[HARNESS_SWITCH_ON] = { "switch-on", 3 },
	[HARNESS_SWITCH_REBOOT] = { "switch-reboot", 5 },
	[HARNESS_CABLE_MOVED] = { "cable-moved", 4 },
	[HARNESS_HOST_MOVED] = { "host-moved", 4 },
	[HARNESS_CUT] = { "cut", 3 },
	[HARNESS_REJOIN] = { "rejoin", 3 },
	[HARNESS_LOSS] = { "loss", 3 },
	[HARNESS_LINK_LOSS] = { "link-loss", 3 },
	[HARNESS_DELAY] = { "delay", 3 },
	[HARNESS_REORDER] = { "reorder", 3 },
	[HARNESS_SLOW] = { "slow", 2 },
	[HARNESS_SILENT] = { "silent", 3 },
	[HARNESS_HUNG] = { "hung", 2 },
	[HARNESS_MUTE] = { "mute", 3 },
	[HARNESS_REFUSED] = { "refused", 3 },
	[HARNESS_WITHHELD] = { "withheld", 2 },
	[HARNESS_KEPT] = { "kept", 2 },
	[HARNESS_DAMAGED] = { "damaged", 2 },
	[HARNESS_NODE_GUID_TWICE] = { "node-guid-twice", 1 },
	[HARNESS_PORT_GUID_TWICE] = { "port-guid-twice", 1 },
	[HARNESS_LID_TWICE] = { "lid-twice", 1 },
	[HARNESS_TRAP_STORM] = { "trap-storm", 2 },
	[HARNESS_BABBLE] = { "babble", 2 },
	[HARNESS_TRAPS_LOST] = { "traps-lost", 2 },
	[HARNESS_DESCRIPTION] = { "description", 1 },
	[HARNESS_SM_RESTART] = { "sm-restart", 4 },
	[HARNESS_SM_AMNESIA] = { "sm-amnesia", 2 },
	[HARNESS_SM_KILLED] = { "sm-killed", 3 },
	[HARNESS_SM_STARTED] = { "sm-started", 3 },
	[HARNESS_SM_PORT_LOST] = { "sm-port-lost", 2 },
	[HARNESS_SM_DEAF] = { "sm-deaf", 1 },
	[HARNESS_JOIN] = { "join", 5 },
	[HARNESS_LEAVE] = { "leave", 2 },
	[HARNESS_SERVICE] = { "service", 2 },
	[HARNESS_SERVICE_ENDS] = { "service-ends", 1 },
	[HARNESS_SUBSCRIBE] = { "subscribe", 2 },
	[HARNESS_UNSUBSCRIBE] = { "unsubscribe", 1 },
	[HARNESS_ALIAS] = { "alias", 2 },
	[HARNESS_ALIAS_ENDS] = { "alias-ends", 1 },
	[HARNESS_RELOAD] = { "reload", 2 },
	[HARNESS_RELOAD_LMC] = { "reload-lmc", 1 },
	[HARNESS_RELOAD_ENGINE] = { "reload-engine", 2 },
	[HARNESS_RELOAD_QOS] = { "reload-qos", 1 },
	[HARNESS_PARTITION] = { "partition", 3 },
	[HARNESS_PARTITION_COMMAND] = { "partition-command", 2 },
	[HARNESS_DRAIN] = { "drain", 3 },
	[HARNESS_UNDRAIN] = { "undrain", 2 },
	[HARNESS_REROUTE] = { "reroute", 2 },
	[HARNESS_SWEEP] = { "sweep", 2 },
	/* Adaptive schedules alone have them: draw_adaptive(). */
	[HARNESS_AR_REFUSED] = { "ar-refused", 0 },
	[HARNESS_AR_WITHHELD] = { "ar-withheld", 0 },
	[HARNESS_AR_MUTE] = { "ar-mute", 0 },
	[HARNESS_AR_LOST] = { "ar-lost", 0 },
	[HARNESS_AR_LATE] = { "ar-late", 0 },
	[HARNESS_AR_KEPT] = { "ar-kept", 0 },
	[HARNESS_AR_REBOOT] = { "ar-reboot", 0 },
	[HARNESS_AR_CLEARED] = { "ar-cleared", 0 },
	[HARNESS_SETTLE] = { "settle", 0 },
};

static const char *const places[HARNESS_ALL_PLACES] = {
	[SUBNET_WAITING] = "waiting", [SUBNET_IDLE] = "idle", [SUBNET_SWEEP] = "sweep",
	[SUBNET_ROUTE] = "route", [SUBNET_PUSH] = "push", [SUBNET_POLL] = "poll",
	[SUBNET_MULTICAST] = "multicast", [SUBNET_GUIDS] = "guids", [SUBNET_PORTS] = "ports",
	[SUBNET_PARTITIONS] = "partitions",
	[HARNESS_STEP(PUSH_READ_TABLES)] = "read-tables",
	[HARNESS_STEP(PUSH_READ_LANES)] = "read-lanes",
	[HARNESS_STEP(PUSH_OWN_PORT)] = "own-port",
	[HARNESS_STEP(PUSH_PKEYS_SWITCHES)] = "pkeys-switches",
	[HARNESS_STEP(PUSH_PKEYS_HOSTS)] = "pkeys-hosts",
	[HARNESS_STEP(PUSH_DROP)] = "drop",
	[HARNESS_STEP(PUSH_LANES)] = "lanes",
	[HARNESS_STEP(PUSH_ARBITRATION)] = "arbitration",
	[HARNESS_STEP(PUSH_NEW)] = "new",
	[HARNESS_STEP(PUSH_LINKS)] = "links",
	[HARNESS_STEP(PUSH_LINKS_PROVE)] = "links-prove",
	[HARNESS_STEP(PUSH_LINKS_UP)] = "links-up",
	[HARNESS_STEP(PUSH_STAGE)] = "stage",
	[HARNESS_STEP(PUSH_DRAIN_WAIT)] = "drain-wait",
	[HARNESS_STEP(PUSH_CONFIG)] = "config",
	[HARNESS_STEP(PUSH_PROVE)] = "prove",
	[HARNESS_STEP(PUSH_PROVE_CABLES)] = "prove-cables",
	[HARNESS_STEP(PUSH_ACTIVATE)] = "activate",
	[SUBNET_ADAPTIVE] = "adaptive",
	[HARNESS_STEP(PUSH_GROUPS_LESS)] = "groups-less",
	[HARNESS_STEP(PUSH_NUMBERS)] = "numbers",
	[HARNESS_STEP(PUSH_GROUPS)] = "groups",
	[HARNESS_AR(HARNESS_AR_ASK)] = "ar-ask",
	[HARNESS_AR(HARNESS_AR_READ)] = "ar-read",
	[HARNESS_AR(HARNESS_AR_SET_UP)] = "ar-set-up",
	[HARNESS_AR(HARNESS_AR_GROUPS)] = "ar-groups",
	[HARNESS_AR(HARNESS_AR_TABLE)] = "ar-table",
	[HARNESS_AR(HARNESS_AR_ENABLE)] = "ar-enable",
	[HARNESS_AR(HARNESS_AR_LESS)] = "ar-less",
	[HARNESS_AR(HARNESS_AR_ROWS)] = "ar-rows",
	[HARNESS_AR(HARNESS_AR_MORE)] = "ar-more",
	[HARNESS_AR(HARNESS_AR_READ_BACK)] = "ar-read-back",
	[HARNESS_AR(HARNESS_AR_LEAVE)] = "ar-leave",
};

static const char *const engines[] = {
	"auto", "updn", "nue", "fattree", "torus", "dfsssp", "dragonfly", "minhop", "hyperx",
	"fatpaths",
};
#define ENGINES (sizeof(engines) / sizeof(engines[0]))

/* Shapes, and engines that are for them. */
struct shape {
	const char *recipe;		/* "%u" at its end: a random graph's seed */
	unsigned weight;		/* how often */
	uint8_t engines[6];		/* indexes, 0 ("auto") behind the last */
};

static const struct shape large[] = {
	{ "ft3 4", 5, { 3, 1, 2, 3 } },
	{ "ft2 14 6 1", 4, { 3, 1, 5, 3 } },
	{ "xgft 3 2 3 2 1 2 2", 3, { 3, 1, 3, 2 } },
	{ "torus 5 4 1", 4, { 4, 4, 2, 1 } },
	{ "torus 3 3 3 1", 1, { 4, 4, 2, 1 } },
	{ "mesh 5 4 1", 2, { 4, 4, 2, 1 } },
	{ "dragonfly 4 1 1 5", 4, { 6, 6, 2, 1 } },
	{ "hyperx 5 4 1", 2, { 8, 9, 2, 1 } },
	{ "random 20 3 1 %u", 4, { 2, 1, 5, 9 } },
};

static const struct shape small[] = {
	{ "ft2 3 2 2", 4, { 3, 1, 5, 7 } },
	{ "ft2 4 2 2 2", 3, { 3, 1, 3, 2 } },
	{ "xgft 2 2 3 1 2", 2, { 3, 1, 3, 2 } },
	{ "torus 3 3 1", 3, { 4, 4, 2, 1 } },
	{ "torus 6 1", 2, { 4, 4, 2, 1 } },
	{ "hypercube 3 1", 2, { 4, 1, 2, 5 } },
	{ "dragonfly 2 1 1 3", 2, { 6, 6, 2, 1 } },
	{ "random 6 3 2 %u", 3, { 2, 1, 5, 9 } },
	{ "random 10 3 1 %u", 3, { 2, 1, 5, 9 } },
};

struct draws {
	uint64_t state;		/* of the generator */
};

uint64_t
harness_mix(uint64_t a, uint64_t b)
{
	uint64_t z = a + (b + 1) * 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static uint32_t
draw(struct draws *d, uint32_t below)
{
	d->state += 0x9e3779b97f4a7c15u;
	return (uint32_t)(harness_mix(d->state, 0) >> 16) % below;
}

const char *
harness_kind_name(unsigned kind)
{
	return kind < HARNESS_KINDS ? kinds[kind].name : "?";
}

const char *
harness_place_name(unsigned place)
{
	return place < HARNESS_ALL_PLACES && places[place] ? places[place] : "any";
}

const char *
harness_engine(unsigned i)
{
	return engines[i % ENGINES];
}

/* ---- From a seed ---- */

static const struct shape *
draw_shape(struct draws *d, const struct shape *list, size_t len)
{
	unsigned sum = 0, at;

	for (size_t i = 0; i < len; i++)
		sum += list[i].weight;
	at = draw(d, sum);
	while (at >= list->weight)
		at -= list++->weight;
	return list;
}

static void
draw_fabric(struct harness_schedule *s, struct draws *d)
{
	const struct shape *p = draw(d, 20) < 13 ?
		draw_shape(d, large, sizeof(large) / sizeof(large[0])) :
		draw_shape(d, small, sizeof(small) / sizeof(small[0]));
	const char *mark = strchr(p->recipe, '%');

	if (mark)
		snprintf(s->recipe, sizeof(s->recipe), "%.*s%u", (int)(mark - p->recipe), p->recipe,
			 1 + draw(d, 1000));
	else
		snprintf(s->recipe, sizeof(s->recipe), "%s", p->recipe);
	s->engine = p->engines[draw(d, 6)];
}

static uint8_t
draw_kind(struct draws *d)
{
	unsigned sum = 0, at, kind = 0;

	for (unsigned i = 0; i < HARNESS_KINDS; i++)
		sum += kinds[i].weight;
	at = draw(d, sum);
	while (at >= kinds[kind].weight)
		at -= kinds[kind++].weight;
	return (uint8_t)kind;
}

/* From nothing to seconds, each order of magnitude as often as the others. */
static uint32_t
draw_gap(struct draws *d)
{
	static const uint32_t scale[] = { 10, 100, 1000, 10000, 100000, 1000000, 4000000 };

	return draw(d, scale[draw(d, 7)]);
}

static void
draw_fault(struct harness_fault *f, struct draws *d)
{
	f->kind = draw_kind(d);
	f->gap = draw_gap(d);
	f->a = draw(d, 100000);
	f->b = draw(d, 100000);
	f->place = HARNESS_ANYWHERE;
	if (!draw(d, 2))
		return;
	f->place = (uint8_t)draw(d, HARNESS_PLACES);
	f->mads = draw(d, 2) ? 0 : (uint8_t)draw(d, 30);
	if (draw(d, 2))
		f->gap = draw(d, 3000);
}

/* How a step of adaptive routing comes about. */
static uint8_t
trigger_of(unsigned step, struct draws *d)
{
	static const uint8_t changes[] = {
		HARNESS_LINK_DOWN, HARNESS_LINK_DOWN, HARNESS_LINK_UP, HARNESS_SWITCH_OFF,
		HARNESS_SWITCH_ON, HARNESS_CUT, HARNESS_REJOIN, HARNESS_REROUTE,
	};

	if (step <= HARNESS_AR_ENABLE)
		return HARNESS_SWITCH_REBOOT;
	if (step == HARNESS_AR_READ_BACK)
		return draw(d, 3) ? HARNESS_SM_RESTART : HARNESS_SM_AMNESIA;
	return changes[draw(d, sizeof(changes))];
}

static void
draw_step(struct harness_fault *f, unsigned step, struct draws *d)
{
	*f = (struct harness_fault){
		.kind = (uint8_t)(HARNESS_AR_REFUSED +
				  draw(d, HARNESS_AR_CLEARED - HARNESS_AR_REFUSED + 1)),
		.gap = draw(d, 300), .a = draw(d, 100000), .b = draw(d, 100000),
		.place = (uint8_t)HARNESS_AR(step),
		.mads = draw(d, 2) ? 0 : (uint8_t)draw(d, 30),
	};
}

/* Steps are met after what brings them about; leaving, after what fails in one of the others. All
 * is drawn from a seed of its own: other schedules are what they are without. */
static void
draw_adaptive(struct harness_schedule *s, uint64_t seed)
{
	struct draws d = { harness_mix(seed, 0x6172) };

	if (seed % 3)
		return;
	s->adaptive = (uint8_t)(1 | draw(&d, 8) << 1);
	for (unsigned i = 0; i + 3 < s->nfaults; i += 1 + draw(&d, 3)) {
		unsigned step = draw(&d, HARNESS_AR_STEPS);
		struct harness_fault *f = &s->faults[i];

		if (f[0].kind == HARNESS_SETTLE || f[1].kind == HARNESS_SETTLE ||
		    f[2].kind == HARNESS_SETTLE || draw(&d, 3) == 0)
			continue;
		if (i || step > HARNESS_AR_ENABLE || draw(&d, 2)) {
			f->kind = trigger_of(step, &d);
			f->place = HARNESS_ANYWHERE;
			f->gap = draw(&d, 2) ? 2000000 : draw(&d, 1000000);
			f++;
		}
		if (step == HARNESS_AR_LEAVE) {
			draw_step(f, draw(&d, 2) ? HARNESS_AR_MORE : HARNESS_AR_ROWS, &d);
			f->kind = draw(&d, 2) ? HARNESS_AR_REFUSED : HARNESS_AR_KEPT;
			f->mads = 0;
			f++;
		}
		draw_step(f, step, &d);
	}
}

void
harness_draw(struct harness_schedule *s, uint64_t seed)
{
	struct draws d = { harness_mix(seed, 0x77656674) };
	unsigned rounds;

	memset(s, 0, sizeof(*s));
	draw_fabric(s, &d);
	s->seed = draw(&d, 1000000);
	s->sms = (uint8_t)(draw(&d, 2) ? 1 : 2 + draw(&d, 2));
	s->lmc = (uint8_t)(draw(&d, 4) ? 0 : 1 + draw(&d, 2));
	s->levels = (uint8_t)(draw(&d, 4) ? 0 : 1 + draw(&d, 2));
	s->tenants = (uint8_t)(draw(&d, 3) == 0);
	s->sweep = (uint8_t)(draw(&d, 4) ? 10 : 1 + draw(&d, 5));
	rounds = 1 + draw(&d, 3);
	for (unsigned i = 0; i < rounds; i++) {
		unsigned n = (10 + draw(&d, 6)) / rounds + 1;

		while (n-- && s->nfaults < HARNESS_FAULTS - 1) {
			struct harness_fault *f = &s->faults[s->nfaults];

			draw_fault(f, &d);
			/* What a port comes to that babbles is short. */
			if (s->nfaults++ && f[-1].kind == HARNESS_BABBLE && draw(&d, 2))
				f->place = SUBNET_PORTS;
		}
		if (i + 1 < rounds)
			s->faults[s->nfaults++] = (struct harness_fault){
				.kind = HARNESS_SETTLE, .place = HARNESS_ANYWHERE,
			};
	}
	draw_adaptive(s, seed);
}

/* ---- Text ---- */

void
harness_print(const struct harness_schedule *s, char *text, size_t size)
{
	int at = snprintf(text, size, "%s; seed=%" PRIu32 " sms=%u lmc=%u engine=%u levels=%u "
			  "tenants=%u sweep=%u", s->recipe, s->seed, s->sms, s->lmc, s->engine,
			  s->levels, s->tenants, s->sweep);

	if (s->adaptive && (size_t)at < size)
		at += snprintf(text + at, size - (size_t)at, " adaptive=%u", s->adaptive);
	for (unsigned i = 0; i < s->nfaults && (size_t)at < size; i++) {
		const struct harness_fault *f = &s->faults[i];

		at += snprintf(text + at, size - (size_t)at, "; %s +%" PRIu32 " %s/%u %" PRIu32
			       " %" PRIu32, kinds[f->kind].name, f->gap,
			       harness_place_name(f->place), f->mads, f->a, f->b);
	}
}

static unsigned
kind_of(const char *name)
{
	unsigned k = 0;

	while (k < HARNESS_KINDS && strcmp(kinds[k].name, name))
		k++;
	return k;
}

static unsigned
place_of(const char *name)
{
	for (unsigned p = 0; p < HARNESS_ALL_PLACES; p++)
		if (places[p] && !strcmp(places[p], name))
			return p;
	return HARNESS_ANYWHERE;
}

static bool
parse_fault(struct harness_fault *f, const char *text)
{
	char kind[40], place[40];
	unsigned mads;

	if (sscanf(text, " %39s +%" SCNu32 " %39[^/]/%u %" SCNu32 " %" SCNu32, kind, &f->gap, place,
		   &mads, &f->a, &f->b) != 6)
		return false;
	f->kind = (uint8_t)kind_of(kind);
	f->place = (uint8_t)place_of(place);
	f->mads = (uint8_t)mads;
	return f->kind < HARNESS_KINDS;
}

bool
harness_parse(struct harness_schedule *s, const char *text)
{
	unsigned sms, lmc, engine, levels, tenants, sweep, adaptive = 0;
	char *copy = mem_strdup(text), *save = NULL;
	char *head = strtok_r(copy, ";", &save), *options = strtok_r(NULL, ";", &save);
	bool good = options != NULL;

	memset(s, 0, sizeof(*s));
	if (good)
		good = sscanf(options, " seed=%" SCNu32 " sms=%u lmc=%u engine=%u levels=%u "
			      "tenants=%u sweep=%u adaptive=%u", &s->seed, &sms, &lmc, &engine,
			      &levels, &tenants, &sweep, &adaptive) >= 7;
	if (good) {
		snprintf(s->recipe, sizeof(s->recipe), "%s", head);
		s->sms = (uint8_t)sms;
		s->lmc = (uint8_t)lmc;
		s->engine = (uint8_t)engine;
		s->levels = (uint8_t)levels;
		s->tenants = (uint8_t)tenants;
		s->sweep = (uint8_t)sweep;
		s->adaptive = (uint8_t)adaptive;
	}
	for (char *f; good && (f = strtok_r(NULL, ";", &save));)
		good = s->nfaults < HARNESS_FAULTS && parse_fault(&s->faults[s->nfaults++], f);
	mem_free(copy);
	return good;
}
