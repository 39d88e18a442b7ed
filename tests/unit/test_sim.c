/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "sim/direct.h"
#include "sim/model.h"

/*
 * The simulated fabric, driven by hand-built SMPs from host h1 (and h2) over a virtual loop:
 *
 *   h1[1] --- [1]A[2] --- [1]B[4] --- [1]h2      A[3] --- [2]B as well; A-B are NDR, hosts SDR
 */
enum { A, B, H1, H2 };

static const char fabric[] =
	"switchguid=0xa0(a0)\nSwitch 4 \"A\"  # \"A\" enhanced port 0 lid 0 lmc 0\n"
	"[1] \"h1\"[1]\n"
	"[2] \"B\"[1]  # \"B\" lid 0 4xNDR\n"
	"[3] \"B\"[2]  # \"B\" lid 0 4xNDR\n\n"
	"switchguid=0xb0\nSwitch 4 \"B\"\n[4] \"h2\"[1]\n\n"
	"vendid=0x2c9\ndevid=0x1021\nsysimgguid=0x15\ncaguid=0x10\nCa 2 \"h1\"\n\n"
	"caguid=0x20\nCa 1 \"h2\"\n";

#define INBOX 64

struct box {
	struct smp smp[INBOX];		/* what came */
	uint16_t lid[INBOX];		/* from where */
	unsigned n;			/* how many */
	int links;			/* link reports: +1 up, -1 down */
};

struct rig {
	struct ibnet *net;
	struct loop *loop;
	struct model *m;
	struct model_client *c1, *c2;	/* on h1 and h2 */
	struct box in1, in2;		/* what they got */
	uint64_t tid;			/* of the last request */
};

static void
on_receive(void *arg, const struct model_mad *mad)
{
	struct box *b = arg;

	assert_true(b->n < INBOX);
	assert_int_equal(smp_decode(&b->smp[b->n], mad->mad, MAD_SIZE), 0);
	b->lid[b->n++] = mad->lid;
}

static void
on_link(void *arg, bool up)
{
	((struct box *)arg)->links += up ? 1 : -1;
}

static int
setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct model_client_events ev = { on_receive, on_link, NULL };
	struct model_options o = { .seed = 1, .hop_time = USEC(1), .sma_time = USEC(10) };
	struct error e = { 0 };

	assert_non_null(r);
	if (ibnet_parse(&r->net, fabric, strlen(fabric), "net", &e) < 0)
		fail_msg("%s", e.text);
	r->loop = loop_new_virtual(1);
	r->m = model_new(r->loop, r->net, &o);
	ev.arg = &r->in1;
	r->c1 = model_attach(r->m, H1, 1, &ev);
	ev.arg = &r->in2;
	r->c2 = model_attach(r->m, H2, 1, &ev);
	assert_non_null(r->c1);
	assert_non_null(r->c2);
	assert_null(model_attach(r->m, H2, 1, &ev));
	assert_null(model_attach(r->m, A, 1, &ev));
	*state = r;
	return 0;
}

static int
teardown(void **state)
{
	struct rig *r = *state;

	model_free(r->m);
	loop_free(r->loop);
	ibnet_free(r->net);
	free(r);
	return 0;
}

static void
run(struct rig *r, monotime time)
{
	loop_run_until(r->loop, loop_now(r->loop) + time, NULL);
}

struct ask {
	const char *path;	/* out ports as digits, "12"; NULL: by LID */
	uint16_t lid;		/* destination */
	uint8_t method;		/* 0: Get */
	uint16_t attr;		/* enum mad_attr */
	uint32_t mod;		/* modifier */
	uint64_t m_key;		/* in the header */
	const void *data;	/* SMP_DATA_SIZE bytes, NULL: zero */
};

static void
send_from(struct rig *r, struct model_client *c, const struct ask *a)
{
	struct model_mad mad = { .lid = a->path ? LID_PERMISSIVE : a->lid };
	struct smp s = {
		.h = { .base_version = 1, .class_version = 1, .tid = ++r->tid,
		       .method = a->method ? a->method : MAD_GET, .attr_id = a->attr,
		       .attr_mod = a->mod,
		       .mgmt_class = a->path ? MAD_CLASS_SUBN_DIRECT : MAD_CLASS_SUBN_LID },
		.m_key = a->m_key, .dr_slid = LID_PERMISSIVE, .dr_dlid = LID_PERMISSIVE,
	};

	for (; a->path && a->path[s.hop_count]; s.hop_count++)
		s.path[s.hop_count + 1] = (uint8_t)(a->path[s.hop_count] - '0');
	if (a->data)
		memcpy(s.data, a->data, sizeof(s.data));
	smp_encode(&s, mad.mad);
	model_send(c, &mad);
}

/* Ask from h1; the answer, or NULL if it is lost. Other MADs are left in in1 behind it. */
static const struct smp *
ask(struct rig *r, struct ask a)
{
	r->in1.n = 0;
	send_from(r, r->c1, &a);
	run(r, USEC(400));
	for (unsigned i = 0; i < r->in1.n; i++) {
		const struct smp *s = &r->in1.smp[i];

		if (s->h.tid == r->tid && s->h.method == MAD_GET_RESP)
			return s;
	}
	return NULL;
}

static const struct smp *
must(const struct smp *s)
{
	assert_non_null(s);
	assert_int_equal(s->h.status, 0);
	return s;
}

static struct portinfo
get_port(struct rig *r, const char *path, uint32_t mod)
{
	struct portinfo p;

	portinfo_decode(&p, must(ask(r, (struct ask){ .path = path, .attr = ATTR_PORT_INFO,
						     .mod = mod }))->data);
	return p;
}

/* Set, and the status of the answer. */
static unsigned
set_port(struct rig *r, const char *path, uint32_t mod, const struct portinfo *p)
{
	uint8_t data[SMP_DATA_SIZE];
	const struct smp *s;

	portinfo_encode(p, data);
	s = ask(r, (struct ask){ .path = path, .method = MAD_SET, .attr = ATTR_PORT_INFO,
				 .mod = mod, .data = data });
	assert_non_null(s);
	return s->h.status;
}

static unsigned
set_state(struct rig *r, const char *path, uint32_t mod, unsigned state)
{
	struct portinfo p = get_port(r, path, mod);

	p.state = (uint8_t)state;
	p.phys_state = 0;
	if (!p.lid)
		p.lid = p.sm_lid = 1;
	return set_port(r, path, mod, &p);
}

static void
give_lid(struct rig *r, const char *path, uint32_t mod, uint16_t lid)
{
	struct portinfo p = get_port(r, path, mod);

	p.lid = lid;
	p.sm_lid = 1;
	p.state = p.phys_state = 0;
	p.subnet_timeout = 10;	/* 4.2 ms; the simulator repeats traps every 10 ms at most */
	assert_int_equal(set_port(r, path, mod, &p), 0);
}

static unsigned
set_lft(struct rig *r, const char *path, uint16_t top, const char *ports)
{
	struct switchinfo sw;
	uint8_t data[SMP_DATA_SIZE];

	switchinfo_decode(&sw, must(ask(r, (struct ask){ .path = path,
							.attr = ATTR_SWITCH_INFO }))->data);
	sw.linear_fdb_top = top;
	sw.port_state_change = false;
	switchinfo_encode(&sw, data);
	must(ask(r, (struct ask){ .path = path, .method = MAD_SET, .attr = ATTR_SWITCH_INFO,
				  .data = data }));
	memset(data, LFT_NO_PORT, sizeof(data));
	memcpy(data, ports, 5);
	return ask(r, (struct ask){ .path = path, .method = MAD_SET, .attr = ATTR_LINEAR_FDB,
				    .data = data })->h.status;
}

/* h1 1, h2 2, A 3, B 4; all by A[2]-B[1]. */
static void
bring_up(struct rig *r)
{
	give_lid(r, "", 0, 1);
	give_lid(r, "124", 0, 2);
	give_lid(r, "1", 0, 3);
	give_lid(r, "12", 0, 4);
	assert_int_equal(set_lft(r, "1", 4, "\xff\x01\x02\x00\x02"), 0);
	assert_int_equal(set_lft(r, "12", 4, "\xff\x01\x04\x01\x00"), 0);
}

static void
test_node_info(void **state)
{
	struct rig *r = *state;
	struct nodeinfo n;
	char desc[NODEDESC_SIZE];

	nodeinfo_decode(&n, must(ask(r, (struct ask){ .path = "", .attr = ATTR_NODE_INFO }))->data);
	assert_int_equal(n.node_type, NODE_CA);
	assert_int_equal(n.num_ports, 2);
	assert_int_equal(n.node_guid, 0x10);
	assert_int_equal(n.system_guid, 0x15);
	assert_int_equal(n.port_guid, 0x11);
	assert_int_equal(n.local_port, 1);
	assert_int_equal(n.vendor_id, 0x2c9);
	assert_int_equal(n.device_id, 0x1021);
	assert_int_equal(n.partition_cap, 64);
	nodeinfo_decode(&n, must(ask(r, (struct ask){ .path = "13",
						     .attr = ATTR_NODE_INFO }))->data);
	assert_int_equal(n.node_type, NODE_SWITCH);
	assert_int_equal(n.node_guid, 0xb0);
	assert_int_equal(n.port_guid, 0xb0);
	assert_int_equal(n.local_port, 2);
	assert_int_equal(n.num_ports, 4);
	/* Back and forth: out by A[2], back by B[2] and A[3], out by A[1] to h1 itself. */
	nodeinfo_decode(&n, must(ask(r, (struct ask){ .path = "1221",
						     .attr = ATTR_NODE_INFO }))->data);
	assert_int_equal(n.node_guid, 0x10);
	nodedesc_decode(desc, must(ask(r, (struct ask){ .path = "124",
						       .attr = ATTR_NODE_DESCRIPTION }))->data);
	assert_string_equal(desc, "h2");
	assert_int_equal(r->in1.smp[0].hop_pointer, 0);
	assert_true(r->in1.smp[0].direction);
	assert_int_equal(r->in1.lid[0], LID_PERMISSIVE);
}

static void
test_lost(void **state)
{
	struct rig *r = *state;
	uint64_t lost = model_lost(r->m);

	/* No cable; no port; not the client's port; and a CA passes nothing on. */
	assert_null(ask(r, (struct ask){ .path = "14", .attr = ATTR_NODE_INFO }));
	assert_null(ask(r, (struct ask){ .path = "15", .attr = ATTR_NODE_INFO }));
	assert_null(ask(r, (struct ask){ .path = "2", .attr = ATTR_NODE_INFO }));
	assert_null(ask(r, (struct ask){ .path = "1241", .attr = ATTR_NODE_INFO }));
	assert_null(ask(r, (struct ask){ .lid = 2, .attr = ATTR_NODE_INFO }));
	assert_null(ask(r, (struct ask){ .path = "124", .attr = ATTR_SM_INFO, .m_key = 1 }));
	assert_int_equal(model_lost(r->m) - lost, 5);
	assert_int_equal(r->in2.n, 1);		/* the SMInfo went to h2's manager */
	assert_int_equal(ask(r, (struct ask){ .path = "1", .attr = 0x7777 })->h.status,
			 MAD_STATUS_BAD_ATTR);
	assert_int_equal(ask(r, (struct ask){ .path = "1", .method = MAD_SET,
					      .attr = ATTR_NODE_INFO })->h.status,
			 MAD_STATUS_BAD_ATTR);
	assert_int_equal(ask(r, (struct ask){ .path = "", .attr = ATTR_SWITCH_INFO })->h.status,
			 MAD_STATUS_BAD_ATTR);
	assert_int_equal(ask(r, (struct ask){ .path = "1", .mod = 5,
					      .attr = ATTR_PORT_INFO })->h.status,
			 MAD_STATUS_BAD_FIELD);
}

static void
test_states(void **state)
{
	struct rig *r = *state;

	assert_int_equal(get_port(r, "1", 2).state, PORT_INIT);
	assert_int_equal(get_port(r, "1", 2).phys_state, PHYS_LINK_UP);
	assert_int_equal(get_port(r, "1", 4).state, PORT_DOWN);
	assert_int_equal(get_port(r, "1", 4).phys_state, PHYS_POLLING);
	assert_int_equal(get_port(r, "1", 0).state, PORT_ACTIVE);
	assert_int_equal(set_state(r, "1", 2, PORT_ACTIVE), 0x1c);
	assert_int_equal(get_port(r, "1", 2).state, PORT_INIT);
	assert_int_equal(set_state(r, "1", 4, PORT_ARMED), 0x1c);
	assert_int_equal(set_state(r, "1", 2, PORT_INIT), 0x1c);
	assert_int_equal(set_state(r, "1", 2, PORT_ARMED), 0);
	assert_int_equal(set_state(r, "1", 2, PORT_ACTIVE), 0);
	assert_int_equal(set_state(r, "1", 2, PORT_ACTIVE), 0x1c);
	assert_int_equal(set_state(r, "1", 2, PORT_ARMED), 0x1c);
	assert_int_equal(get_port(r, "1", 2).state, PORT_ACTIVE);
	assert_int_equal(get_port(r, "13", 1).state, PORT_INIT);
	/* Down takes both ends along, and both train again. */
	assert_int_equal(set_state(r, "13", 1, PORT_DOWN), 0);
	assert_int_equal(get_port(r, "1", 2).state, PORT_DOWN);
	assert_int_equal(get_port(r, "13", 1).state, PORT_DOWN);
	run(r, MSEC(2));
	assert_int_equal(get_port(r, "1", 2).state, PORT_INIT);
	assert_int_equal(get_port(r, "13", 1).state, PORT_INIT);
}

static void
test_disable(void **state)
{
	struct rig *r = *state;
	struct portinfo p = get_port(r, "1", 2);

	p.state = PORT_NO_CHANGE;
	p.phys_state = PHYS_DISABLED;
	assert_int_equal(set_port(r, "1", 2, &p), 0);
	run(r, MSEC(5));
	assert_int_equal(get_port(r, "1", 2).phys_state, PHYS_DISABLED);
	assert_int_equal(get_port(r, "13", 1).state, PORT_DOWN);
	p.phys_state = PHYS_POLLING;
	p.width_enabled = LINK_1X;
	assert_int_equal(set_port(r, "1", 2, &p), 0);
	run(r, MSEC(5));
	p = get_port(r, "13", 1);
	assert_int_equal(p.state, PORT_INIT);
	assert_int_equal(p.width_active, LINK_1X);
	p.phys_state = PHYS_TRAINING;
	assert_int_equal(set_port(r, "13", 1, &p), 0x1c);
}

static void
test_speeds(void **state)
{
	struct rig *r = *state;
	struct portinfo p;

	assert_true(get_port(r, "1", 0).cap_mask & CAP_EXTENDED_SPEEDS);
	p = get_port(r, "1", 2);
	assert_int_equal(p.speed_ext_active, 0);
	assert_int_equal(p.speed_ext_supported, 0);
	assert_int_equal(p.speed_active, 4);
	p = get_port(r, "1", 2 | PORTINFO_MOD_EXTENDED);
	assert_int_equal(p.speed_ext_active, 8);
	assert_int_equal(p.speed_ext_supported, 15);
	assert_int_equal(portinfo_speed(&p), SPEED_NDR);
	assert_int_equal(p.width_active, LINK_4X);
	p = get_port(r, "1", 1 | PORTINFO_MOD_EXTENDED);
	assert_int_equal(portinfo_speed(&p), SPEED_SDR);
	/* h1 has no extended speeds: it does not know the bit. */
	assert_false(get_port(r, "", 1).cap_mask & CAP_EXTENDED_SPEEDS);
	assert_int_equal(ask(r, (struct ask){ .path = "", .mod = 1 | PORTINFO_MOD_EXTENDED,
					      .attr = ATTR_PORT_INFO })->h.status, 0x1c);
	/* A Set without the bit leaves the extended fields alone. */
	p = get_port(r, "1", 2);
	p.state = 0;
	p.phys_state = 0;
	assert_int_equal(set_port(r, "1", 2, &p), 0);
	assert_int_equal(get_port(r, "1", 2 | PORTINFO_MOD_EXTENDED).speed_ext_enabled, 15);
	p.speed_ext_enabled = 16;
	assert_int_equal(set_port(r, "1", 2 | PORTINFO_MOD_EXTENDED, &p), 0x1c);
}

static void
test_fields(void **state)
{
	struct rig *r = *state;
	struct portinfo p = get_port(r, "124", 0), q;

	p.state = p.phys_state = 0;
	p.lid = 8;
	p.lmc = 2;
	p.sm_lid = 1;
	p.sm_sl = 3;
	p.neighbor_mtu = 5;
	p.op_vls = 3;
	p.m_key_lease = 60;
	p.subnet_timeout = 12;
	p.client_reregister = true;
	assert_int_equal(set_port(r, "124", 0, &p), 0);
	portinfo_decode(&q, r->in1.smp[0].data);
	assert_true(q.client_reregister);
	q = get_port(r, "124", 0);
	assert_int_equal(q.lid, 8);
	assert_int_equal(q.lmc, 2);
	assert_int_equal(q.sm_lid, 1);
	assert_int_equal(q.sm_sl, 3);
	assert_int_equal(q.neighbor_mtu, 5);
	assert_int_equal(q.op_vls, 3);
	assert_int_equal(q.subnet_timeout, 12);
	assert_false(q.client_reregister);
	assert_int_equal(model_reregisters(r->m, H2, 1), 1);
	p.lid = 9;			/* not aligned for LMC 2 */
	assert_int_equal(set_port(r, "124", 0, &p), 0x1c);
	p.lid = 0xc000;
	assert_int_equal(set_port(r, "124", 0, &p), 0x1c);
	p.lid = 8;
	p.op_vls = 5;			/* VLCap is 4 */
	assert_int_equal(set_port(r, "124", 0, &p), 0x1c);
	p.op_vls = 4;
	p.neighbor_mtu = 0;
	assert_int_equal(set_port(r, "124", 0, &p), 0x1c);
	assert_int_equal(get_port(r, "124", 0).op_vls, 3);
}

static void
test_lid_routing(void **state)
{
	struct rig *r = *state;
	struct nodeinfo n;
	uint32_t end;

	bring_up(r);
	nodeinfo_decode(&n, must(ask(r, (struct ask){ .lid = 2, .attr = ATTR_NODE_INFO }))->data);
	assert_int_equal(n.node_guid, 0x20);
	assert_int_equal(r->in1.lid[0], 2);
	nodeinfo_decode(&n, must(ask(r, (struct ask){ .lid = 4, .attr = ATTR_NODE_INFO }))->data);
	assert_int_equal(n.node_guid, 0xb0);
	assert_int_equal(n.local_port, 1);
	nodeinfo_decode(&n, must(ask(r, (struct ask){ .lid = 1, .attr = ATTR_NODE_INFO }))->data);
	assert_int_equal(n.node_guid, 0x10);
	assert_null(ask(r, (struct ask){ .lid = 5, .attr = ATTR_NODE_INFO }));
	/* Data needs ACTIVE links. */
	assert_int_equal(model_trace(r->m, H1, 1, 2, &end), ERR_CLOSED);
	for (unsigned s = PORT_ARMED; s <= PORT_ACTIVE; s++) {
		assert_int_equal(set_state(r, "", 1, s), 0);
		assert_int_equal(set_state(r, "1", 1, s), 0);
		assert_int_equal(set_state(r, "1", 2, s), 0);
		assert_int_equal(set_state(r, "12", 1, s), 0);
		assert_int_equal(set_state(r, "12", 4, s), 0);
		assert_int_equal(set_state(r, "124", 1, s), 0);
	}
	assert_int_equal(model_trace(r->m, H1, 1, 2, &end), 2);
	assert_int_equal(end, H2);
	assert_int_equal(model_trace(r->m, H1, 1, 4, &end), 2);
	assert_int_equal(model_trace(r->m, H1, 1, 3, &end), 1);
	/* A table that points past LinearFDBTop is not looked at; one with a loop ends. */
	assert_int_equal(set_lft(r, "1", 1, "\xff\x01\x02\x00\x02"), 0);
	assert_int_equal(model_trace(r->m, H1, 1, 2, &end), ERR_NOT_FOUND);
	assert_int_equal(set_lft(r, "1", 4, "\xff\x01\x02\x00\x02"), 0);
	assert_int_equal(set_lft(r, "12", 4, "\xff\x01\x01\x01\x00"), 0);
	assert_int_equal(model_trace(r->m, H1, 1, 2, &end), ERR_FULL);
	assert_null(ask(r, (struct ask){ .lid = 2, .attr = ATTR_NODE_INFO }));
}

static struct switchinfo
get_switch(struct rig *r, const char *path)
{
	struct switchinfo sw;

	switchinfo_decode(&sw, must(ask(r, (struct ask){ .path = path,
							.attr = ATTR_SWITCH_INFO }))->data);
	return sw;
}

static void
test_switch_info(void **state)
{
	struct rig *r = *state;
	struct switchinfo sw = get_switch(r, "1");
	uint8_t data[SMP_DATA_SIZE];

	assert_int_equal(sw.linear_fdb_cap, 49152);
	assert_true(sw.enhanced_port0);
	assert_true(sw.port_state_change);
	sw.life_time = 20;
	sw.linear_fdb_top = 77;
	sw.port_state_change = false;
	switchinfo_encode(&sw, data);
	must(ask(r, (struct ask){ .path = "1", .method = MAD_SET, .attr = ATTR_SWITCH_INFO,
				  .data = data }));
	sw = get_switch(r, "1");
	assert_int_equal(sw.life_time, 20);
	assert_int_equal(sw.linear_fdb_top, 77);
	assert_true(sw.port_state_change);	/* 0 does not clear it */
	switchinfo_encode(&sw, data);
	must(ask(r, (struct ask){ .path = "1", .method = MAD_SET, .attr = ATTR_SWITCH_INFO,
				  .data = data }));
	assert_false(get_switch(r, "1").port_state_change);
	assert_int_equal(set_state(r, "1", 2, PORT_ARMED), 0);
	assert_false(get_switch(r, "1").port_state_change);	/* a Set does not set it */
	model_link_set(r->m, B, 2, false);
	assert_true(get_switch(r, "1").port_state_change);
	sw.linear_fdb_top = 0xc000;
	switchinfo_encode(&sw, data);
	assert_int_equal(ask(r, (struct ask){ .path = "1", .method = MAD_SET, .data = data,
					      .attr = ATTR_SWITCH_INFO })->h.status, 0x1c);
}

static void
test_lft(void **state)
{
	struct rig *r = *state;
	uint8_t data[SMP_DATA_SIZE];

	for (unsigned i = 0; i < 64; i++)
		data[i] = (uint8_t)(i % 5);
	must(ask(r, (struct ask){ .path = "1", .method = MAD_SET, .attr = ATTR_LINEAR_FDB,
				  .mod = 767, .data = data }));
	assert_int_equal(model_lft(r->m, A, 0xbfff), 63 % 5);
	assert_int_equal(model_lft(r->m, A, 0xbfc0), 0);
	assert_int_equal(model_lft(r->m, A, 0xbfbf), LFT_NO_PORT);
	assert_memory_equal(must(ask(r, (struct ask){ .path = "1", .attr = ATTR_LINEAR_FDB,
						      .mod = 767 }))->data, data, 64);
	memset(data, LFT_NO_PORT, sizeof(data));
	assert_memory_equal(must(ask(r, (struct ask){ .path = "1", .attr = ATTR_LINEAR_FDB,
						      .mod = 3 }))->data, data, 64);
	assert_int_equal(ask(r, (struct ask){ .path = "1", .attr = ATTR_LINEAR_FDB,
					      .mod = 768 })->h.status, 0x1c);
}

/* What is written comes back, at the place where it was written alone. */
static void
check_table(struct rig *r, const char *path, uint16_t attr, uint32_t mod, uint32_t other,
	    uint32_t bad, size_t size)
{
	uint8_t data[SMP_DATA_SIZE] = { 0 }, before[SMP_DATA_SIZE];

	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(7 * i + 1) & 0x7f;
	memcpy(before, must(ask(r, (struct ask){ .path = path, .attr = attr,
						 .mod = other }))->data, sizeof(before));
	must(ask(r, (struct ask){ .path = path, .method = MAD_SET, .attr = attr, .mod = mod,
				  .data = data }));
	assert_memory_equal(must(ask(r, (struct ask){ .path = path, .attr = attr,
						      .mod = mod }))->data, data, 64);
	assert_memory_equal(must(ask(r, (struct ask){ .path = path, .attr = attr,
						      .mod = other }))->data, before, 64);
	assert_int_equal(ask(r, (struct ask){ .path = path, .attr = attr, .mod = bad })->h.status,
			 0x1c);
}

static void
test_tables(void **state)
{
	struct rig *r = *state;
	uint64_t guids[8];
	const struct smp *s;

	assert_int_equal(model_pkey(r->m, H1, 1, 0), 0xffff);
	check_table(r, "", ATTR_P_KEY_TABLE, 1, 0, 2, 64);
	check_table(r, "1", ATTR_P_KEY_TABLE, 3 << 16 | 1, 2 << 16 | 1, 5 << 16, 64);
	check_table(r, "1", ATTR_SL_TO_VL, 1 << 8 | 2, 2 << 8 | 1, 1 << 8 | 5, 8);
	assert_int_equal(model_sl2vl(r->m, A, 1, 2, 0), 0);	/* first byte is 0x01 */
	assert_int_equal(model_sl2vl(r->m, A, 1, 2, 1), 1);
	assert_int_equal(model_sl2vl(r->m, A, 2, 1, 9), 1);
	check_table(r, "1", ATTR_VL_ARBITRATION, 1 << 16 | 2, 3 << 16 | 2, 5 << 16 | 2, 0);
	check_table(r, "1", ATTR_MULTICAST_FDB, 31, 30, 32, 64);
	assert_int_equal(ask(r, (struct ask){ .path = "1", .attr = ATTR_MULTICAST_FDB,
					      .mod = 1u << 28 })->h.status, 0x1c);
	memset(guids, 0x11, sizeof(guids));
	s = must(ask(r, (struct ask){ .path = "", .method = MAD_SET, .attr = ATTR_GUID_INFO,
				      .data = guids }));
	guidinfo_decode(guids, s->data);
	assert_int_equal(guids[0], 0x11);	/* the port GUID, not what was sent */
	assert_int_equal(guids[7], 0x1111111111111111u);
}

static void
test_m_key(void **state)
{
	struct rig *r = *state;
	struct portinfo p = get_port(r, "12", 0);
	struct ask get = { .path = "12", .attr = ATTR_PORT_INFO };
	struct ask set = { .path = "12", .attr = ATTR_LINEAR_FDB, .method = MAD_SET };

	p.m_key = 0x77;
	p.m_key_protect = 1;
	p.m_key_lease = 2;
	p.lid = 4;
	p.sm_lid = 1;
	p.state = p.phys_state = 0;
	assert_int_equal(set_port(r, "12", 0, &p), 0);
	assert_int_equal(get_port(r, "12", 0).m_key, 0);	/* hidden from who has it not */
	assert_null(ask(r, set));
	set.m_key = 0x77;
	must(ask(r, set));
	get.m_key = 0x77;
	portinfo_decode(&p, must(ask(r, get))->data);
	assert_int_equal(p.m_key, 0x77);
	assert_int_equal(p.m_key_violations, 1);
	p.m_key_protect = 2;
	p.state = p.phys_state = 0;
	{
		uint8_t data[SMP_DATA_SIZE];

		portinfo_encode(&p, data);
		must(ask(r, (struct ask){ .path = "12", .attr = ATTR_PORT_INFO, .m_key = 0x77,
					  .method = MAD_SET, .data = data }));
	}
	get.m_key = 0x78;
	assert_null(ask(r, get));
	must(ask(r, (struct ask){ .path = "1", .attr = ATTR_PORT_INFO }));
	/* The lease that the wrong key began ends after 2 s, and with it the protection. */
	run(r, MSEC(1900));
	assert_null(ask(r, get));
	run(r, MSEC(200));
	must(ask(r, get));
}

static unsigned
count_traps(const struct box *b, unsigned trap, struct notice *last, const struct smp **smp)
{
	unsigned n = 0;

	for (unsigned i = 0; i < b->n; i++) {
		struct notice notice;

		if (b->smp[i].h.method != MAD_TRAP)
			continue;
		notice_decode(&notice, b->smp[i].data);
		if (notice.trap != trap)
			continue;
		n++;
		*last = notice;
		*smp = &b->smp[i];
	}
	return n;
}

static void
test_traps(void **state)
{
	struct rig *r = *state;
	struct notice n;
	const struct smp *s = NULL;
	struct smp repress;
	struct model_mad mad = { .lid = 4 };

	bring_up(r);
	r->in1.n = 0;
	model_link_set(r->m, B, 2, false);	/* A[3]-B[2] */
	run(r, MSEC(35));
	/* Both switches, at once and three times more at 10 ms. */
	assert_int_equal(count_traps(&r->in1, TRAP_LINK_STATE, &n, &s), 8);
	assert_true(n.generic);
	assert_int_equal(n.producer, NODE_SWITCH);
	for (unsigned i = 0; i < 2; i++) {
		notice_decode(&n, r->in1.smp[i].data);
		assert_int_equal(notice_subject_lid(&n), r->in1.lid[i]);
		assert_int_equal(n.issuer_lid, r->in1.lid[i]);
		if (r->in1.lid[i] == 4)
			s = &r->in1.smp[i];
	}
	repress = *s;
	repress.h.method = MAD_TRAP_REPRESS;
	smp_encode(&repress, mad.mad);
	model_send(r->c1, &mad);
	run(r, MSEC(1));
	r->in1.n = 0;
	run(r, MSEC(30));
	assert_int_equal(count_traps(&r->in1, TRAP_LINK_STATE, &n, &s), 3);	/* A alone */
	assert_int_equal(notice_subject_lid(&n), 3);
}

static void
test_description(void **state)
{
	struct rig *r = *state;
	struct notice n;
	const struct smp *s;
	char desc[NODEDESC_SIZE];

	bring_up(r);
	r->in1.n = 0;
	model_set_description(r->m, H2, "h2 mlx5_0");
	run(r, MSEC(5));
	assert_int_equal(count_traps(&r->in1, TRAP_CAPABILITY, &n, &s), 1);
	assert_int_equal(notice_subject_lid(&n), 2);
	assert_int_equal(notice_144_flags(&n), NOTICE_144_NODE_DESCRIPTION);
	assert_int_equal(n.producer, NODE_CA);
	nodedesc_decode(desc, must(ask(r, (struct ask){ .lid = 2,
						       .attr = ATTR_NODE_DESCRIPTION }))->data);
	assert_string_equal(desc, "h2 mlx5_0");
}

/* h2's manager answers an SMInfo that came by directed route; the way back is in the MAD. */
static void
test_sm_info(void **state)
{
	struct rig *r = *state;
	struct sminfo sm = { .guid = 0x21, .priority = 3, .state = SM_MASTER };
	struct model_mad mad = { .lid = LID_PERMISSIVE };
	struct smp s;

	model_set_issm(r->c2, true);
	assert_true(get_port(r, "124", 0).cap_mask & CAP_IS_SM);
	assert_null(ask(r, (struct ask){ .path = "124", .attr = ATTR_SM_INFO }));
	assert_int_equal(r->in2.n, 1);
	s = r->in2.smp[0];
	assert_int_equal(s.hop_pointer, 4);
	assert_int_equal(s.return_path[3], 1);
	s.h.method = MAD_GET_RESP;
	s.direction = true;
	sminfo_encode(&sm, s.data);
	smp_encode(&s, mad.mad);
	r->in1.n = 0;
	model_send(r->c2, &mad);
	run(r, MSEC(1));
	assert_int_equal(r->in1.n, 1);
	assert_int_equal(r->in1.smp[0].h.tid, r->tid);
	sminfo_decode(&sm, r->in1.smp[0].data);
	assert_int_equal(sm.priority, 3);
	model_set_issm(r->c2, false);
	assert_false(get_port(r, "124", 0).cap_mask & CAP_IS_SM);
}

static void
test_silence(void **state)
{
	struct rig *r = *state;
	struct ask info = { .path = "1", .attr = ATTR_NODE_INFO };
	struct ask beyond = { .path = "12", .attr = ATTR_NODE_INFO };

	model_silence(r->m, A, MODEL_SILENT);
	assert_null(ask(r, info));
	must(ask(r, beyond));
	model_silence(r->m, A, MODEL_HUNG);
	assert_null(ask(r, beyond));
	model_silence(r->m, A, MODEL_ANSWERS);
	must(ask(r, info));
	model_mute(r->m, A, ATTR_NODE_INFO, true);
	assert_null(ask(r, info));
	must(ask(r, (struct ask){ .path = "1", .attr = ATTR_SWITCH_INFO }));
	model_mute(r->m, A, ATTR_NODE_INFO, false);
	must(ask(r, info));
	assert_int_equal(model_count(r->m, A, MAD_GET, ATTR_NODE_INFO), 4);
	assert_int_equal(model_count(r->m, MODEL_ALL, MAD_GET, ATTR_NODE_INFO), 5);
	assert_int_equal(model_sent(r->m), 7);
	model_count_reset(r->m);
	assert_int_equal(model_count(r->m, A, MAD_GET, ATTR_NODE_INFO), 0);
}

static void
test_lies(void **state)
{
	struct rig *r = *state;
	struct nodeinfo n;
	struct portinfo p;
	uint8_t data[SMP_DATA_SIZE] = { 0 };
	struct ask lft = { .path = "1", .method = MAD_SET, .attr = ATTR_LINEAR_FDB, .data = data };

	model_refuse(r->m, A, ATTR_LINEAR_FDB, MAD_STATUS_BAD_FIELD);
	assert_int_equal(ask(r, lft)->h.status, MAD_STATUS_BAD_FIELD);
	assert_int_equal(model_lft(r->m, A, 1), LFT_NO_PORT);
	model_refuse(r->m, A, ATTR_LINEAR_FDB, 0);
	model_keep(r->m, A, MODEL_KEEP_LFT);
	assert_int_equal(must(ask(r, lft))->data[1], LFT_NO_PORT);
	model_keep(r->m, A, 0);
	assert_int_equal(must(ask(r, lft))->data[1], 0);
	model_keep(r->m, H2, MODEL_KEEP_SM_SL | MODEL_KEEP_SUBNET_TIMEOUT);
	p = get_port(r, "124", 0);
	p.lid = p.sm_lid = 1;
	p.sm_sl = 5;
	p.subnet_timeout = 3;
	p.state = p.phys_state = 0;
	assert_int_equal(set_port(r, "124", 0, &p), 0);
	p = get_port(r, "124", 0);
	assert_int_equal(p.sm_sl, 0);
	assert_int_equal(p.subnet_timeout, 18);
	assert_int_equal(p.lid, 1);
	model_lie_local_port(r->m, A, 9);
	nodeinfo_decode(&n, must(ask(r, (struct ask){ .path = "1",
						     .attr = ATTR_NODE_INFO }))->data);
	assert_int_equal(n.local_port, 9);
	model_set_node_guid(r->m, B, 0xa0);
	model_set_port_guid(r->m, B, 0, 0xa1);
	nodeinfo_decode(&n, must(ask(r, (struct ask){ .path = "12",
						     .attr = ATTR_NODE_INFO }))->data);
	assert_int_equal(n.node_guid, 0xa0);
	assert_int_equal(n.port_guid, 0xa1);
}

static void
test_time(void **state)
{
	struct rig *r = *state;
	struct ask info = { .path = "12", .attr = ATTR_NODE_INFO };

	/* Two hops out at 1 us, 10 us in the SMA, two hops back. */
	send_from(r, r->c1, &info);
	run(r, USEC(13));
	assert_int_equal(r->in1.n, 0);
	run(r, USEC(1));
	assert_int_equal(r->in1.n, 1);
	/* The SMA does one after the other. */
	send_from(r, r->c1, &info);
	send_from(r, r->c1, &info);
	run(r, USEC(23));
	assert_int_equal(r->in1.n, 2);
	run(r, USEC(1));
	assert_int_equal(r->in1.n, 3);
	model_delay(r->m, B, MSEC(300));
	send_from(r, r->c1, &info);
	run(r, MSEC(300));
	assert_int_equal(r->in1.n, 3);
	run(r, USEC(14));
	assert_int_equal(r->in1.n, 4);
}

static void
test_drop(void **state)
{
	struct rig *r = *state;
	unsigned answers = 0;

	model_drop(r->m, A, 500000);
	for (unsigned i = 0; i < 400; i++)
		answers += ask(r, (struct ask){ .path = "1", .attr = ATTR_NODE_INFO }) != NULL;
	/* Half of the requests times half of the answers: 100, standard deviation 8.7. */
	assert_in_range(answers, 60, 140);
	model_drop(r->m, MODEL_ALL, 1000000);
	assert_null(ask(r, (struct ask){ .path = "", .attr = ATTR_NODE_INFO }));
	model_drop(r->m, MODEL_ALL, 0);
	must(ask(r, (struct ask){ .path = "1", .attr = ATTR_NODE_INFO }));
}

static void
test_links(void **state)
{
	struct rig *r = *state;
	struct nodeinfo n;

	model_link_set(r->m, H1, 1, false);
	assert_null(ask(r, (struct ask){ .path = "1", .attr = ATTR_NODE_INFO }));
	assert_int_equal(r->in1.links, -1);
	assert_int_equal(get_port(r, "", 1).state, PORT_DOWN);
	model_link_set(r->m, H1, 1, true);
	run(r, MSEC(2));
	assert_int_equal(r->in1.links, 0);
	must(ask(r, (struct ask){ .path = "1", .attr = ATTR_NODE_INFO }));
	/* h2 moves from B[4] to A[4]; then A[2] and A[3] change places. */
	model_recable(r->m, H2, 1, A, 4);
	run(r, MSEC(2));
	nodeinfo_decode(&n, must(ask(r, (struct ask){ .path = "14",
						     .attr = ATTR_NODE_INFO }))->data);
	assert_int_equal(n.node_guid, 0x20);
	assert_false(model_link_is_up(r->m, B, 4));
	model_recable(r->m, A, 2, B, 2);
	model_recable(r->m, A, 3, B, 1);
	run(r, MSEC(2));
	nodeinfo_decode(&n, must(ask(r, (struct ask){ .path = "12",
						     .attr = ATTR_NODE_INFO }))->data);
	assert_int_equal(n.local_port, 2);
}

static void
test_reboot(void **state)
{
	struct rig *r = *state;

	bring_up(r);
	assert_int_equal(set_state(r, "1", 2, PORT_ARMED), 0);
	model_reboot(r->m, B);
	assert_null(ask(r, (struct ask){ .path = "12", .attr = ATTR_NODE_INFO }));
	run(r, MSEC(5));
	assert_int_equal(get_port(r, "1", 2).state, PORT_INIT);
	assert_int_equal(get_port(r, "12", 0).lid, 0);
	assert_int_equal(get_port(r, "12", 4).state, PORT_INIT);
	assert_int_equal(get_switch(r, "12").linear_fdb_top, 0);
	assert_true(get_switch(r, "12").port_state_change);
	assert_int_equal(model_lft(r->m, B, 2), LFT_NO_PORT);
	assert_int_equal(model_lft(r->m, A, 2), 2);
}

/* ---- The transport ---- */

struct user {
	struct port *port;	/* closed when `close_at` MADs have come */
	unsigned answers, timeouts, close_at;
	int state;		/* +1 up, -1 down, by the last report */
};

static void
user_receive(void *arg, const struct port_mad *m)
{
	struct user *u = arg;

	if (m->status == ERR_TIMEOUT)
		u->timeouts++;
	else
		u->answers++;
	if (u->answers + u->timeouts == u->close_at) {
		port_close(u->port);
		u->port = NULL;
	}
}

static void
user_state(void *arg, bool up, const char *why)
{
	assert_true(strlen(why) > 0);
	((struct user *)arg)->state = up ? 1 : -1;
}

static int
user_send(struct user *u, uint64_t tid, uint8_t out, uint32_t timeout_ms)
{
	struct port_mad mad = { .lid = LID_PERMISSIVE, .timeout_ms = timeout_ms };
	struct smp s = {
		.h = { .base_version = 1, .class_version = 1, .tid = tid, .method = MAD_GET,
		       .attr_id = ATTR_NODE_INFO, .mgmt_class = MAD_CLASS_SUBN_DIRECT },
		.dr_slid = LID_PERMISSIVE, .dr_dlid = LID_PERMISSIVE, .hop_count = 2,
		.path = { 0, 1, out },
	};

	smp_encode(&s, mad.mad);
	return port_send(u->port, &mad);
}

static void
test_direct(void **state)
{
	struct rig *r = *state;
	struct user u = { 0 };
	struct port_events ev = { user_receive, user_state, &u };
	struct error e;

	assert_int_equal(direct_open(&u.port, r->m, H1, 1, &ev, &e), ERR_NOT_FOUND);
	model_detach(r->c1);
	assert_int_equal(direct_open(&u.port, r->m, H1, 1, &ev, &e), 0);
	assert_int_equal(u.port->id.guid, 0x11);
	assert_int_equal(u.port->id.number, 1);
	assert_string_equal(u.port->id.name, "h1:1");
	assert_int_equal(user_send(&u, 1, 2, 100), ERR_CLOSED);
	run(r, MSEC(1));
	assert_int_equal(u.state, 1);
	assert_int_equal(user_send(&u, 1, 2, 100), 0);
	assert_int_equal(user_send(&u, 2, 4, 100), 0);		/* lost */
	assert_int_equal(user_send(&u, 2, 4, 100), ERR_BUSY);
	assert_int_equal(user_send(&u, 3, 4, 20), 0);		/* lost, and sooner given up */
	run(r, MSEC(10));
	assert_int_equal(u.answers, 1);
	run(r, MSEC(50));
	assert_int_equal(u.timeouts, 1);
	run(r, MSEC(100));
	assert_int_equal(u.timeouts, 2);
	assert_int_equal(user_send(&u, 4, 2, 0), 0);		/* nobody waits for this answer */
	run(r, MSEC(1));
	assert_int_equal(u.answers, 1);
	assert_int_equal(direct_unsolicited(u.port), 1);
	assert_int_equal(port_set_issm(u.port, true, &e), 0);
	assert_true(model_portinfo(r->m, H1, 1)->cap_mask & CAP_IS_SM);
	model_link_set(r->m, A, 1, false);
	run(r, MSEC(1));
	assert_int_equal(u.state, -1);
	assert_false(u.port->up);
	model_link_set(r->m, A, 1, true);
	run(r, MSEC(5));
	assert_int_equal(u.state, 1);
	/* Closing inside a callback, with more to come. */
	assert_int_equal(user_send(&u, 5, 4, 10), 0);
	assert_int_equal(user_send(&u, 6, 4, 10), 0);
	u.close_at = 4;
	run(r, MSEC(50));
	assert_null(u.port);
	assert_int_equal(u.timeouts, 3);
	assert_false(model_portinfo(r->m, H1, 1)->cap_mask & CAP_IS_SM);
	r->c1 = NULL;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_node_info), TEST(test_lost), TEST(test_states), TEST(test_disable),
		TEST(test_speeds), TEST(test_fields), TEST(test_lid_routing),
		TEST(test_switch_info), TEST(test_lft), TEST(test_tables), TEST(test_m_key),
		TEST(test_traps), TEST(test_description), TEST(test_sm_info), TEST(test_silence),
		TEST(test_lies), TEST(test_time), TEST(test_drop), TEST(test_links),
		TEST(test_reboot), TEST(test_direct),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
