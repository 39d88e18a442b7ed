/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_SA_RATE_H
#define WIRE_SA_RATE_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/text.h"

/*
 * Rates, MTUs and packet lifetimes as PathRecord, MultiPathRecord and MCMemberRecord have them (IBA
 * volume 1, 15.2.5.16): 6 bits of code, and a selector that says how the value of a request is to
 * be understood.
 *
 * Rate codes are in no order; all that compares rates here goes by their speed. MTU codes (1..5,
 * mtu_bytes() of text.h) and lifetimes (4.096 us times 2^code) are in order.
 */
#define SA_RATE_MIN 2		/* 2.5 Gb/s */
#define SA_RATE_MAX 24		/* 1200 Gb/s */
#define SA_RATE_MAX_BASE 10	/* up to here any client knows them */
#define SA_RATE_MAX_FIRST_EXTENDED 18	/* 300 Gb/s: up to here those that know extended speeds */
#define SA_LIFE_MAX 63

enum sa_selector {
	SA_GREATER = 0,
	SA_LESS = 1,
	SA_EXACTLY = 2,
	SA_BEST = 3,		/* largest available MTU and rate, smallest lifetime: no value */
};

enum sa_quantity {
	SA_OF_MTU,
	SA_OF_RATE,
	SA_OF_LIFE,
};

/* Mb/s of the links that the code is named for (2500, 14062, 50000, 800000, ...); 0 for a code
 * that is none. */
uint32_t
sa_rate_mbps(unsigned code);
/* The code of a link: the fastest that is not faster than the link. 0 if width or speed is none. */
uint8_t
sa_rate_of(enum link_width width, enum link_speed speed);
/* The fastest rate with a code up to `code_max` that is not faster than `code`: for clients that
 * do not know the newer ones. 0 if there is none. */
uint8_t
sa_rate_cap(unsigned code, unsigned code_max);
/* The rate to tell to whom no rate above, and no code after, `max` may be told: as sa_rate_cap(),
 * and not faster than that. */
uint8_t
sa_rate_told(unsigned code, unsigned max);
/* Nanoseconds of a lifetime code; 0 for a code above SA_LIFE_MAX. Saturates at INT64_MAX. */
int64_t
sa_life_ns(unsigned code);

/* The value below or above, 0 if there is none or `code` is no value of the quantity. */
uint8_t
sa_lower(enum sa_quantity q, unsigned code);
uint8_t
sa_higher(enum sa_quantity q, unsigned code);
/* Is it a value at all? */
bool
sa_is_value(enum sa_quantity q, unsigned code);
/* < 0, 0, > 0 as a is less than, equal to or more than b; of codes that are no values by number. */
int
sa_compare(enum sa_quantity q, unsigned a, unsigned b);

/* Does `have` satisfy the request? What is selected by SA_BEST does, always. */
bool
sa_fits(enum sa_quantity q, unsigned selector, unsigned wanted, unsigned have);
/*
 * The value to answer with, by a path or group that can do `have` and everything below it (MTU,
 * rate), or `have` and everything above (lifetime): the best of them that the request allows, which
 * is `have` unless something worse was asked for. 0 with *found false if there is none, or if
 * `wanted` is no value.
 */
uint8_t
sa_choose(enum sa_quantity q, unsigned selector, unsigned wanted, unsigned have, bool *found);

#endif
