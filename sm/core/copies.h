/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_COPIES_H
#define CORE_COPIES_H

#include "sm/base/clock.h"
#include "sm/port/port.h"
#include "sm/sa/copy.h"
#include "sm/wire/attr.h"

/* What clients left with the master's subnet administrator, copied by a standby; see copies.c. */
struct ha_copy;
struct ha_status;
struct peer_sm;
struct subnet;
struct transact_request;
struct transact_result;

enum copies_step {
	COPIES_OFF,		/* no standby */
	COPIES_WAIT,		/* until the next time */
	COPIES_LOOK,		/* our own port says where the administrator is */
	COPIES_ASKED,		/* the answer is awaited */
	COPIES_TAKE,		/* all answers are there, and are taken on a bit at a time */
};

/* The answer to one question. */
struct copies_table {
	uint8_t *records;	/* owned */
	uint32_t len;		/* how many, */
	uint32_t stride;	/* so many bytes apart */
};

/* As standby. */
struct copies {
	enum copies_step step;
	struct loop_timer *timer;	/* the end of the step, or the next bit */
	uint64_t master;		/* GUID of who is copied; 0: nobody */
	bool want_port;			/* our own port is to be read with the next poll */
	enum sa_copied kind;		/* asked for, or taken on */
	bool guids;			/* alias GUIDs too, this time */
	unsigned rounds;		/* of this master that were begun */
	uint32_t tid;			/* of the last question */
	uint16_t lid;			/* where it went, */
	uint8_t sl;			/* and how */
	monotime began;			/* this time */
	struct copies_table tables[SA_COPIED_KINDS];
	bool ending;			/* all records of the kind are taken on */
	uint32_t at;			/* so many of them are */
	uint32_t left_out;		/* of all kinds */
	unsigned failures;		/* in a row */
	char why[160];			/* of the last one; "": none since the last whole copy */
	struct {
		int64_t wall;		/* when it was begun; 0: there is none */
		monotime began;		/* the same */
		monotime took;		/* how long it took */
		uint32_t len[SA_COPIED_KINDS];	/* records */
		uint32_t left_out;	/* of them that were absurd, or for which was no room */
	} last;				/* the last whole one of this master */
};

/* As master: what another manager was told, as a copy. */
struct copies_told {
	monotime at[SA_COPIED_KINDS];	/* when; 0: never */
	uint32_t len[SA_COPIED_KINDS];	/* records */
	monotime gap;			/* between the last two times; 0: there was one at most */
};

void
copies_init(struct subnet *s);
void
copies_free(struct subnet *s);
/* We stand by, for s->master. */
void
copies_stand_by(struct subnet *s);
/* And do not any more. */
void
copies_stop(struct subnet *s);
/* A poll begins: our own port is to be read, too. */
bool
copies_want_port(const struct subnet *s);
/* That question; false: it is not wanted. */
bool
copies_next(struct subnet *s, struct transact_request *r);
void
copies_port(struct subnet *s, const struct transact_result *res);
/* A message of subnet administration; false: it is no answer to ours. */
bool
copies_answer(struct subnet *s, const struct port_mad *m);
/* As master: somebody whom we trust was told all records of a kind. */
void
copies_told(struct subnet *s, const struct port_mad *in, uint16_t attr_id, uint32_t len);
/* How often, and the key, may have changed. */
void
copies_configured(struct subnet *s);
/* What we have copied of another manager, or it of us. */
void
copies_status(const struct subnet *s, const struct peer_sm *p, struct ha_copy *to);
/* Why what clients left would be lost if the office passed now. */
void
copies_reasons(const struct subnet *s, struct ha_status *h);

#endif
