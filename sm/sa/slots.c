/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/slots.h"

#include <string.h>
#include "sm/base/mem.h"

/*
 * Numbered places: an array that doubles when none is free. The search for a free one starts where
 * there may be one.
 */
uint32_t
sa_slots_take(struct sa_slots *s, void *what)
{
	uint32_t i = s->low;

	while (i < s->room && s->at[i])
		i++;
	if (i == s->room) {
		s->room = s->room ? 2 * s->room : 16;
		s->at = mem_realloc(s->at, s->room, sizeof(*s->at));
		memset(s->at + i, 0, (s->room - i) * sizeof(*s->at));
	}
	s->low = i + 1;
	s->at[i] = what;
	return i;
}

void
sa_slots_give(struct sa_slots *s, uint32_t number)
{
	s->at[number] = NULL;
	if (number < s->low)
		s->low = number;
}

void
sa_slots_end(struct sa_slots *s)
{
	mem_free(s->at);
	*s = (struct sa_slots){ 0 };
}
