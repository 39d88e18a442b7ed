/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_SA_I_H
#define WIRE_SA_I_H

#include <stddef.h>
#include "sm/wire/sa.h"

/*
 * How the tables of components are written. T is defined as the record's struct while its table
 * stands. A line is: member, first bit, width, bit of the component mask.
 */
#define SA_SIZEOF(member) sizeof(((struct T *)0)->member)
#define SA_ROW(kind_, member, at_, bits_, bit_, count_, step_, stride_, shift_) \
	{ .name = #member, .bit = bit_, .kind = kind_, .at = at_, .bits = bits_, \
	  .offset = offsetof(struct T, member), .size = SA_SIZEOF(member), \
	  .shift = shift_, .count = count_, .step = step_, .stride = stride_ }
#define NUMBER(member, at, bits, bit) SA_ROW(SA_NUMBER, member, at, bits, bit, 1, 0, 0, 0)
/* The bits of a member from `shift` upwards. */
#define PART(member, at, bits, bit, shift) SA_ROW(SA_NUMBER, member, at, bits, bit, 1, 0, 0, shift)
/* An array by its first member: so many, so many wire bits and struct bytes apart. */
#define NUMBERS(member, at, bits, count, step, stride) \
	SA_ROW(SA_NUMBER, member, at, bits, SA_NO_BIT, count, step, stride, 0)
#define GID(member, at, bit) SA_ROW(SA_GID, member, at, 128, bit, 1, 0, 0, 0)
#define BYTES(member, at, bits, bit) SA_ROW(SA_BYTES, member, at, bits, bit, 1, 0, 0, 0)
#define TEXT(member, at, bits, bit) SA_ROW(SA_TEXT, member, at, bits, bit, 1, 0, 0, 0)

/* A record of so many bytes. */
#define SA_TYPE(member_, name_, id_, size_) \
	const struct sa_type sa_##member_##_type = { \
		.name = name_, .id = id_, .size = size_, \
		.struct_size = sizeof(struct sa_##member_), \
		.len = sizeof(member_##_components) / sizeof(member_##_components[0]), \
		.components = member_##_components, \
	}

#endif
