/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include <string.h>
#include "sm/base/mem.h"

/*
 * All forwarding tables in the form of dump_lfts, from an answer that has whose each LID is, and a
 * row of hexadecimal digits a switch. There may be a hundred million lines: what is said of a LID
 * is put together once.
 */
#define LIDS 0xc000u	/* unicast LIDs, 0 included */

static const char *
type_name(const json_t *owner)
{
	const char *type = field_str(owner, "type");

	return strcmp(type, "switch") == 0 ? "Switch" :
		strcmp(type, "router") == 0 ? "Router" : "Channel Adapter";
}

static char *
describe(const json_t *owner)
{
	struct buf b = { 0 };

	buf_printf(&b, "(%s portguid %s: '%s')", type_name(owner), field_str(owner, "guid"),
		   field_str(owner, "name"));
	for (size_t i = 0; i < b.len; i++)
		if ((unsigned char)b.data[i] < ' ' || b.data[i] == 0x7f)
			b.data[i] = '?';
	return b.data;
}

static void
describe_all(const json_t *owners, char **text)
{
	json_t *owner;
	size_t i;

	json_array_foreach(owners, i, owner) {
		uint64_t lid = field_uint(owner, "lid"), lids = field_uint(owner, "lids");

		for (uint64_t k = 0; k < lids && lid + k < LIDS; k++)
			if (!text[lid + k])
				text[lid + k] = describe(owner);
	}
}

static unsigned
digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10) & 15;
}

static void
print_table(const json_t *table, char *const *text)
{
	const char *ports = field_str(table, "ports");
	size_t len = strlen(ports) / 2;
	unsigned valid = 0;

	if (!len || len > LIDS)
		return;
	emit(stdout, "Unicast lids [0x0-0x%zx] of switch Lid %llu guid %s (%s):\n", len - 1,
	     (unsigned long long)field_uint(table, "lid"), field_str(table, "guid"),
	     field_str(table, "switch"));
	printf("  Lid  Out   Destination\n       Port     Info \n");
	for (size_t lid = 0; lid < len; lid++) {
		unsigned port = digit(ports[lid * 2]) << 4 | digit(ports[lid * 2 + 1]);

		if (port == 255)
			continue;
		printf("0x%04zx %03u : %s\n", lid, port, text[lid] ? text[lid] : "(unknown node)");
		valid++;
	}
	printf("%u valid lids dumped \n", valid);
}

void
print_tables(const json_t *data)
{
	char **text = mem_array(LIDS, sizeof(*text));
	json_t *table;
	size_t i;

	describe_all(json_object_get(data, "owners"), text);
	json_array_foreach(json_object_get(data, "tables"), i, table)
		print_table(table, text);
	for (size_t lid = 0; lid < LIDS; lid++)
		mem_free(text[lid]);
	mem_free(text);
}
