/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_GMP_H
#define CORE_GMP_H

#include <stdint.h>

/* Requests by GMPs to end ports of the published plan; see gmp.c. */
struct live_port;
struct subnet;
struct transact_request;

/* The end port's index in the plan, if its LID is there and data get to it; FABRIC_NONE. */
uint32_t
gmp_port(const struct subnet *s, const struct live_port *p);
/* Where our own port has the default P_Key, which all ports are members of. */
uint16_t
gmp_pkey_index(const struct subnet *s);
/* Fill in the way of a request to this port of the plan: by its LID, on the service level that
 * leads there. */
void
gmp_address(const struct subnet *s, uint32_t port, uint16_t pkey_index,
	    struct transact_request *r);

#endif
