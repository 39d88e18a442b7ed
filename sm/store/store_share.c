/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/store/store.h"

#include <string.h>

/*
 * What managers of a subnet have in common. Addresses, what clients left, groups and what commands
 * say of partitions are the subnet's; so is, of the odds and ends, what traffic is kept off and
 * which service levels hosts were told of. Who led last, events, and what is known of etcd are each
 * manager's own.
 */
static const char *const shared_meta[] = { "sls ", "drained " };

static const char *
meta_subnet(const char *key)
{
	for (unsigned i = 0; i < sizeof(shared_meta) / sizeof(*shared_meta); i++)
		if (!strncmp(key, shared_meta[i], strlen(shared_meta[i])))
			return key + strlen(shared_meta[i]);
	return NULL;
}

bool
store_is_shared(enum store_table table, const char *key)
{
	switch (table) {
	case STORE_LIDS:
	case STORE_CLIENTS:
	case STORE_GROUPS:
	case STORE_PARTITIONS:
		return true;
	case STORE_META:
		return meta_subnet(key) != NULL;
	default:
		return false;
	}
}

bool
store_is_of(enum store_table table, const char *key, const char *subnet)
{
	const char *name = table == STORE_META ? meta_subnet(key) : key;
	char end = table == STORE_META ? '\0' : table == STORE_PARTITIONS ? '/' : ' ';
	size_t len = strlen(subnet);

	return name && !strncmp(name, subnet, len) && name[len] == end;
}
