/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/subnet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/partition_bed.h"
#include "tests/unit/sa_bed.h"

/*
 * Isolation does not widen by what goes wrong: a configuration that cannot be had, a host that does
 * not answer, faults all along. Judged in the devices.
 */
#define LIMITED_FILE "partitions:\n" \
	"  - {name: default, pkey: 0x7fff, members: [{nodes: all, membership: limited}]}\n" \
	"  - {name: red, pkey: %u, members: [{nodes: H1_0_0}]}\n"

/* The switch's port at a host's cable. */
static const struct portinfo *
facing(const struct bed *b, const char *host)
{
	const struct ibnet_port *cable = &b->net->nodes[bed_node(b, host)].ports[1];

	return model_portinfo(b->m, cable->peer, cable->peer_port);
}

static unsigned
facing_key(const struct bed *b, const char *host, unsigned index)
{
	const struct ibnet_port *cable = &b->net->nodes[bed_node(b, host)].ports[1];

	return model_pkey(b->m, cable->peer, cable->peer_port, index);
}

/* What is said cannot be had from the start: nobody's access changes, not even by the default
 * partition; and what is in the way can be taken away. */
static void
test_refused_at_start(void **state)
{
	char file[300];
	struct bed_sm *sm;
	struct bed *b;
	struct part_member m;
	struct outcome o;

	(void)state;
	snprintf(file, sizeof(file), LIMITED_FILE, 8);
	sm = live("ft3 4", file);
	b = sm->bed;
	m = member(b, "H0_0_1", MEMBERSHIP_FULL);
	change(sm, CHANGE(ADD, "blue", .pkey = 9, .members = &m, .nmembers = 1), 0, &o);
	bed_stop(sm);
	model_count_reset(b->m);
	snprintf(file, sizeof(file), LIMITED_FILE, 9);
	start(sm, file);
	assert_true(warnings(sm, "blue") > 0);
	assert_int_equal(key_at(b, "H0_0_1", 0), 0x7fff);
	assert_int_equal(key_at(b, "H0_0_1", 1), 0x8009);
	assert_int_equal(key_at(b, "H1_0_0", 0), 0x7fff);
	assert_int_equal(key_at(b, "H1_0_0", 1), 0x8008);
	assert_int_equal(key_at(b, "H1_1_1", 0), 0x7fff);
	assert_true(facing(b, "H1_1_1")->enforce_in && facing(b, "H1_1_1")->enforce_out);
	subnet_sweep(sm->s);
	assert_true(bed_quiet(sm, BOUND));
	assert_int_equal(key_at(b, "H1_1_1", 0), 0x7fff);
	change(sm, CHANGE(REMOVE, "blue"), 0, &o);
	assert_false(has_key(b, "H0_0_1", 0x8009));
	assert_true(has_key(b, "H1_0_0", 0x8009));
	assert_false(has_key(b, "H1_0_0", 0x8008));
	bed_free(b);
}

/* A host whose agent does not answer, known before or never seen, is held back as it was. */
static void
test_silent_host(void **state)
{
	char file[300];
	struct bed_sm *sm;
	struct bed *b;
	struct outcome o;
	struct part_member m;

	(void)state;
	snprintf(file, sizeof(file), LIMITED_FILE, 8);
	sm = live("ft3 4", file);
	b = sm->bed;
	m = member(b, "H0_0_1", MEMBERSHIP_FULL);
	for (unsigned again = 0; again < 2; again++) {
		model_silence(b->m, bed_node(b, "H1_0_0"), MODEL_SILENT);
		subnet_sweep(sm->s);
		bed_wait(b, SEC(30));
		change(sm, CHANGE(ADD, "blue", .pkey = 9, .idempotent = true, .members = &m,
				  .nmembers = 1), 0, &o);
		assert_true(facing(b, "H1_0_0")->enforce_in && facing(b, "H1_0_0")->enforce_out);
		assert_int_equal(facing_key(b, "H1_0_0", 0), 0x7fff);
		assert_int_equal(facing_key(b, "H1_0_0", 1), 0x8008);
		/* The second time it is silent from the start. */
		bed_stop(sm);
		start(sm, file);
		bed_wait(b, SEC(30));
		assert_true(facing(b, "H1_0_0")->enforce_in && facing(b, "H1_0_0")->enforce_out);
	}
	bed_free(b);
}

/* A tenant calls his host as others are called: nothing but an event; where names are trusted he is
 * a member, and no longer when he is called otherwise. */
static void
test_renamed(void **state)
{
	struct bed_sm *sm = live("ft3 4", "partitions:\n"
		"  - {name: blue, pkey: 5, members: [{nodes: [/^H0_0/]}]}\n"
		"  - {name: red, pkey: 6, trust_names: true, members: [{nodes: [/^H0_0/]}]}\n"
		"  - {name: grey, pkey: 7, members: [{nodes: all-hosts}], except: [/^X/]}\n");
	struct bed *b = sm->bed;
	uint32_t node = bed_node(b, "H1_1_1");
	struct outcome o;

	(void)state;
	assert_true(has_key(b, "H0_0_1", 0x8005) && has_key(b, "H0_0_1", 0x8006));
	assert_true(has_key(b, "H1_1_1", 0x8007));
	bed_forget(sm);
	model_set_description(b->m, node, "H0_0_9");
	bed_wait(b, SEC(2));
	assert_false(has_key(b, "H1_1_1", 0x8005));
	assert_true(has_key(b, "H1_1_1", 0x8006));
	assert_non_null(bed_event(sm, EVENT_CONFIG, "H0_0_9"));
	model_set_description(b->m, node, "X");
	bed_wait(b, SEC(2));
	assert_false(has_key(b, "H1_1_1", 0x8006) || has_key(b, "H1_1_1", 0x8007));
	model_set_description(b->m, node, "H0_0_9");
	bed_wait(b, SEC(2));
	assert_true(has_key(b, "H1_1_1", 0x8006) && !has_key(b, "H1_1_1", 0x8007));
	change(sm, CHANGE(APPLY, "blue", .dry_run = true), 0, &o);
	assert_int_equal(o.report.gain, 1);
	assert_false(has_key(b, "H1_1_1", 0x8005));
	change(sm, CHANGE(APPLY, "blue"), 0, &o);
	assert_true(has_key(b, "H1_1_1", 0x8005) && !has_key(b, "H1_1_1", 0x8007));
	change(sm, CHANGE(APPLY, "grey"), 0, &o);
	assert_true(has_key(b, "H1_1_1", 0x8007));
	bed_free(b);
}

/* The client's port asks for an alias in its first place, or lets go of it. True: it has it. */
static bool
alias(struct sa_bed *b, uint8_t method, uint64_t guid)
{
	struct sa_guids r = { .lid = sa_bed_lid(b, "H1_0_0", 1) };

	r.guids[1] = guid;
	assert_true(sa_bed_ask(b, method, &sa_guids_type, &r,
			       SA_BIT(SA_GUIDS_LID) | SA_BIT(SA_GUIDS_BLOCK) |
				       SA_BIT(SA_GUIDS_FIRST + 1)));
	assert_int_equal(b->h.h.status, 0);
	assert_int_equal(sa_decode(&sa_guids_type, &r, b->data, b->size), 0);
	return r.guids[1] == guid;
}

/* An alias is its port, from when it is set until it is not any more. No host gets in by the GUID
 * of another device, be that there or not. */
static void
test_alias(void **state)
{
	struct config *conf = parse_ok("");
	struct sa_bed b;
	struct bed *bed;
	struct outcome o;
	uint32_t other;

	(void)state;
	sa_bed_up(&b, "ft3 4", "H1_0_0");
	bed = b.sm->bed;
	other = bed_node(bed, "H1_1_1");
	subnet_set_policy(b.sm->s, conf);
	config_free(conf);
	{
		struct part_member m[] = {
			{ .guid = NOBODY, .membership = MEMBERSHIP_FULL },
			{ .guid = bed->net->nodes[other].guid, .membership = MEMBERSHIP_FULL },
			member(bed, "H0_1_0", MEMBERSHIP_FULL),
		};

		change(b.sm, CHANGE(ADD, "blue", .pkey = 5, .members = m, .nmembers = 3), 0, &o);
	}
	assert_int_equal(o.report.pending, 1);
	for (unsigned again = 0; again < 2; again++) {
		assert_true(alias(&b, MAD_SET, NOBODY));
		bed_wait(bed, SEC(2));
		assert_true(has_key(bed, "H1_0_0", 0x8005));
		assert_true(alias(&b, MAD_DELETE, 0));
		bed_wait(bed, SEC(2));
		assert_false(has_key(bed, "H1_0_0", 0x8005));
	}
	model_power(bed->m, bed_node(bed, "H0_1_0"), false);
	bed_wait(bed, SEC(2));
	assert_false(alias(&b, MAD_SET, bed->net->nodes[other].guid));
	assert_false(alias(&b, MAD_SET, port_guid(bed, "H1_1_1")));
	assert_false(alias(&b, MAD_SET, port_guid(bed, "H0_1_0")));
	bed_wait(bed, SEC(2));
	assert_false(has_key(bed, "H1_0_0", 0x8005));
	assert_true(has_key(bed, "H1_1_1", 0x8005));
	sa_bed_free(&b);
}

/* A tenant's key at index 0, also said of the subnet manager's port, which keeps the default key
 * there while it is that; a restart and another subnet manager leave all others as they are. */
static void
test_index0(void **state)
{
	static const char file[] = "partitions:\n"
		"  - {name: default, pkey: 0x7fff, members: [{nodes: all}]}\n"
		"  - {name: red, pkey: 6, members:\n"
		"      [{nodes: [H0_0_0, H0_0_1, H1_0_0], index0: true}]}\n";
	struct bed_sm *sm = live("ft3 4", file);
	struct bed *b = sm->bed;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(key_at(b, "H0_0_0", 0), i < 2 ? 0xffff : 0x8006);
		assert_int_equal(key_at(b, "H1_1_1", 0), 0xffff);
		assert_int_equal(key_at(b, "H0_0_1", 0), 0x8006);
		assert_int_equal(key_at(b, "H0_0_1", 1), 0xffff);
		assert_int_equal(key_at(b, "H1_0_0", 0), 0x8006);
		bed_stop(sm);
		model_count_reset(b->m);
		if (i == 1)
			sm = bed_sm(b, bed_node(b, "H1_1_1"), 1);
		start(sm, file);
		/* Where the first one was the key has its place now: host and switch. */
		assert_int_equal(written(b), i == 1 ? 2 : 0);
	}
	bed_free(b);
}

static void
add_row(void *arg, const char *key, const char *value)
{
	unsigned *n = arg;

	(void)value;
	*n += strstr(key, "/names/") != NULL;
}

static void
damage_row(void *arg, const char *key, const char *value)
{
	struct bed_sm *sm = arg;

	(void)value;
	if (strstr(key, "/names/"))
		store_put(sm->store, STORE_PARTITIONS, key, "0x1 what is this?");
}

/* What a name was found to mean outlasts a restart, however long the name; and where it cannot be
 * read any more nobody gets in by having the name at that moment. */
static void
test_names_over_restart(void **state)
{
	char file[3000], name[1000] = "";
	struct bed_sm *sm;
	struct bed *b;
	unsigned rows = 0;

	(void)state;
	for (unsigned i = 0; i < 70; i++)
		strcat(name, "^no-such-name|");
	snprintf(file, sizeof(file), "partitions:\n"
		 "  - {name: blue, pkey: 5, members: [{nodes: [\"/%s^H0_0/\"]}]}\n"
		 "  - {name: red, pkey: 6, members: [{nodes: [\"/%s^H0_1/\"]}]}\n", name, name);
	sm = live("ft3 4", file);
	b = sm->bed;
	assert_true(has_key(b, "H0_0_1", 0x8005) && !has_key(b, "H0_0_1", 0x8006));
	assert_true(has_key(b, "H0_1_1", 0x8006) && !has_key(b, "H0_1_1", 0x8005));
	assert_int_equal(store_scan(sm->store, STORE_PARTITIONS, add_row, &rows, NULL), 0);
	assert_int_equal(rows, 2);
	bed_stop(sm);
	model_set_description(b->m, bed_node(b, "H1_1_1"), "H0_0_9");
	model_set_description(b->m, bed_node(b, "H1_1_0"), "H0_1_9");
	start(sm, file);
	assert_true(has_key(b, "H0_0_1", 0x8005) && has_key(b, "H0_1_1", 0x8006));
	assert_false(has_key(b, "H1_1_1", 0x8005) || has_key(b, "H1_1_0", 0x8006));
	bed_stop(sm);
	assert_int_equal(store_scan(sm->store, STORE_PARTITIONS, damage_row, sm, NULL), 0);
	store_commit(sm->store, NULL, NULL);
	bed_wait(b, MSEC(1));
	start(sm, file);
	assert_false(has_key(b, "H1_1_1", 0x8005) || has_key(b, "H1_1_0", 0x8006));
	bed_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused_at_start),
		cmocka_unit_test(test_silent_host),
		cmocka_unit_test(test_renamed),
		cmocka_unit_test(test_alias),
		cmocka_unit_test(test_index0),
		cmocka_unit_test(test_names_over_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
