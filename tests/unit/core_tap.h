/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_CORE_TAP_H
#define TESTS_CORE_TAP_H

#include <stdlib.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/wire/attr.h"
#include "sm/wire/mad.h"
#include "tests/unit/core_bed.h"

/*
 * A tap at the port of a subnet manager: every SMP in the order in which it left or came, and a
 * filter that loses some. And a subnet manager by script: what answers SMInfo at a node's port.
 */
struct tap_mad {
	monotime at;		/* when it passed */
	bool in;		/* it came; else it was sent */
	struct smp smp;		/* the MAD */
};

struct tap {
	struct bed_sm *sm;	/* at whose port */
	struct tap_mad *log;	/* len of size */
	size_t len, size;
	bool drop_traps;	/* traps do not arrive */
	bool (*lose)(void *arg, const struct smp *smp, bool in);	/* or NULL */
	void (*saw)(void *arg, const struct smp *smp, bool in);		/* or NULL */
	void *arg;		/* of both */
};

static inline bool
tap_passes(struct tap *t, const uint8_t *mad, bool in)
{
	struct tap_mad *e;

	if (t->len == t->size) {
		t->size = t->size ? t->size * 2 : 1024;
		t->log = mem_realloc(t->log, t->size, sizeof(*t->log));
	}
	e = &t->log[t->len];
	e->at = loop_now(t->sm->bed->loop);
	e->in = in;
	if (smp_decode(&e->smp, mad, MAD_SIZE))
		return true;
	if (in && t->drop_traps && e->smp.h.method == MAD_TRAP)
		return false;
	if (t->lose && t->lose(t->arg, &e->smp, in))
		return false;
	t->len++;
	if (t->saw)
		t->saw(t->arg, &t->log[t->len - 1].smp, in);
	return true;
}

static inline bool
tap_out(struct bed_sm *sm, struct port_mad *m)
{
	return tap_passes(sm->arg, m->mad, false);
}

static inline bool
tap_in(struct bed_sm *sm, struct port_mad *m)
{
	return tap_passes(sm->arg, m->mad, true);
}

static inline struct tap *
tap_new(struct bed_sm *sm)
{
	struct tap *t = mem_zalloc(sizeof(*t));

	t->sm = sm;
	sm->arg = t;
	sm->out = tap_out;
	sm->in = tap_in;
	sm->conf.read_tables = false;	/* of what is counted nothing waits for it */
	return t;
}

static inline void
tap_clear(struct tap *t)
{
	t->len = 0;
}

/* A fabric that is up, without light sweeps: what is noticed now is noticed by traps. Counts,
 * events and the tap begin anew. */
static inline struct bed_sm *
tap_live(const char *fabric, struct tap **tap)
{
	struct bed *b = bed_new(fabric, 1);
	struct bed_sm *sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);

	*tap = tap_new(sm);
	sm->conf.sweep_interval = 0;
	bed_start(sm);
	assert_int_equal(bed_run(sm, SEC(20)), 1);
	assert_true(bed_quiet(sm, SEC(20)));
	bed_check(sm);
	model_count_reset(b->m);
	bed_forget(sm);
	tap_clear(*tap);
	return sm;
}

/* After the bed has gone. */
static inline void
tap_free(struct tap *t)
{
	mem_free(t->log);
	mem_free(t);
}

/* How many of these were sent (or, with MAD_RESPONSE in the method, came). */
static inline unsigned
tap_count(const struct tap *t, uint8_t method, uint16_t attr_id)
{
	unsigned n = 0;

	for (size_t i = 0; i < t->len; i++)
		n += t->log[i].smp.h.method == method && t->log[i].smp.h.attr_id == attr_id;
	return n;
}

static inline unsigned
tap_sets(const struct tap *t)
{
	unsigned n = 0;

	for (size_t i = 0; i < t->len; i++)
		n += t->log[i].smp.h.method == MAD_SET && !t->log[i].in;
	return n;
}

/* Requests of ours: all that was sent but responses and represses. */
static inline unsigned
tap_requests(const struct tap *t)
{
	unsigned n = 0;

	for (size_t i = 0; i < t->len; i++)
		n += !t->log[i].in && (t->log[i].smp.h.method == MAD_SET ||
				       t->log[i].smp.h.method == MAD_GET);
	return n;
}

/*
 * The scripted subnet manager.
 */
struct script_sm {
	struct model_client *client;	/* its port */
	struct sminfo info;		/* what it answers */
	bool mute;			/* nothing */
	unsigned asked;			/* Get(SMInfo), and Set, that came */
	unsigned set[SM_DISCOVER + 1];	/* Set(SMInfo) by modifier */
	uint16_t refuses;		/* the status that Sets are answered with */
	bool obeys;			/* a HANDOVER that is not refused makes it master */
	struct sminfo got;		/* answer to its own question */
	unsigned answers;		/* of these */
	uint16_t answer_status;		/* MAD status of the last */
};

static inline void
script_receive(void *arg, const struct model_mad *in)
{
	struct script_sm *sm = arg;
	struct model_mad out = { .lid = in->lid };
	struct smp smp;

	if (smp_decode(&smp, in->mad, MAD_SIZE) || smp.h.attr_id != ATTR_SM_INFO)
		return;
	if (smp.h.method == MAD_GET_RESP) {
		sminfo_decode(&sm->got, smp.data);
		sm->answer_status = smp.h.status;
		sm->answers++;
		return;
	}
	sm->asked++;
	if (sm->mute)
		return;
	if (smp.h.method == MAD_SET) {
		sm->set[smp.h.attr_mod <= SM_DISCOVER ? smp.h.attr_mod : 0]++;
		smp.h.status = sm->refuses;
		if (sm->obeys && !sm->refuses && smp.h.attr_mod == SM_HANDOVER)
			sm->info.state = SM_MASTER;
	}
	smp.h.method = MAD_GET_RESP;
	smp.direction = smp.h.mgmt_class == MAD_CLASS_SUBN_DIRECT;
	sminfo_encode(&sm->info, smp.data);
	smp_encode(&smp, out.mad);
	model_send(sm->client, &out);
}

static inline void
script_attach(struct script_sm *sm, struct model *m, uint32_t node, unsigned port,
	      unsigned priority, enum sm_state state)
{
	struct model_client_events ev = { .receive = script_receive, .arg = sm };

	sm->info.guid = model_port_guid(m, node, port);
	sm->info.priority = (uint8_t)priority;
	sm->info.state = (uint8_t)state;
	sm->client = model_attach(m, node, port, &ev);
	model_set_issm(sm->client, true);
}

/* It asks another for SMInfo: by LID, or by a directed route of `hops` ports path[1..]. */
static inline void
script_ask(struct script_sm *sm, uint8_t method, uint16_t lid, const uint8_t *path, unsigned hops)
{
	struct smp smp = {
		.h = { .base_version = 1, .class_version = 1, .method = method, .tid = 0x77,
		       .mgmt_class = path ? MAD_CLASS_SUBN_DIRECT : MAD_CLASS_SUBN_LID,
		       .attr_id = ATTR_SM_INFO },
		.dr_slid = LID_PERMISSIVE, .dr_dlid = LID_PERMISSIVE,
	};
	struct model_mad out = { .lid = path ? LID_PERMISSIVE : lid };

	if (path) {
		smp.hop_count = (uint8_t)hops;
		memcpy(smp.path + 1, path + 1, hops);
	}
	smp_encode(&smp, out.mad);
	model_send(sm->client, &out);
}

/* ---- what several tests ask ---- */

static inline void
end(struct bed_sm *sm, struct tap *tap)
{
	bed_free(sm->bed);
	tap_free(tap);
}

/* Warnings of the status that have a word in them. */
static inline unsigned
warnings(struct bed_sm *sm, const char *word)
{
	struct subnet_status st;
	unsigned n = 0;

	subnet_status(sm->s, &st);
	for (unsigned i = 0; i < st.nwarnings; i++)
		n += strstr(st.warnings[i], word) != NULL;
	return n;
}

/* What `weft show health` has; 0: nothing. */
static inline unsigned
health_rows(const struct bed_sm *sm, struct health_row *first)
{
	struct health_row row = { 0 };
	unsigned n = 0;

	while (subnet_health(sm->s, row.next, &row))
		if (!n++ && first)
			*first = row;
	return n;
}

/* How often hosts were asked to register again, in all. */
static inline unsigned
reregisters(const struct bed *b)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < b->net->nnodes; i++)
		if (b->net->nodes[i].type == IBNET_CA)
			n += model_reregisters(b->m, i, 1);
	return n;
}

static inline uint64_t
all_sets(const struct bed *b)
{
	return bed_count(b, MAD_SET, ATTR_PORT_INFO) + bed_count(b, MAD_SET, ATTR_SWITCH_INFO) +
	       bed_count(b, MAD_SET, ATTR_LINEAR_FDB) + bed_count(b, MAD_SET, ATTR_P_KEY_TABLE);
}

#endif
