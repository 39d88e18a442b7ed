/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A table for people: cells are collected, aligned by display width (UTF-8), then printed. */
struct table;

struct table_column {
	const char *title;
	bool right;		/* right-aligned (numbers) */
};

struct table *
table_new(const struct table_column *columns, unsigned ncolumns);	/* columns stay borrowed */
void
table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints header (unless there are no rows) and rows; a missing cell prints as "-". */
void
table_print(const struct table *t, FILE *out);
size_t
table_rows(const struct table *t);
void
table_free(struct table *t);

#endif
