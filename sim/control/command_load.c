/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/control/command.h"
#include "sim/control/names.h"
#include "sim/control/words.h"
#include "sim/model/model_impl.h"
#include "sim/traffic/traffic.h"

/*
 * Commands about what links carry and count: traffic, port counters.
 */
#define BUSY_LINKS 5u		/* that are shown */

/* ---- Port counters ---- */

static int
arg_any_port(const struct call *c, unsigned i, uint32_t *node, unsigned *port)
{
	return names_port(c->s->names, c->args[i], true, node, port, c->e);
}

/* "17" sets, "+17" counts, "17/s" lets it grow. */
static int
run_errors(const struct call *c)
{
	const char *text = c->args[2], *name = c->args[1];
	size_t len = strlen(text);
	bool rate = len > 2 && strcmp(text + len - 2, "/s") == 0;
	char number[32];
	uint64_t value = 0;
	double grow = 0;
	uint32_t node;
	unsigned port;
	int rc;

	if ((rc = arg_any_port(c, 0, &node, &port)) < 0 ||
	    (rc = model_counter_known(name, c->e)) < 0)
		return rc;
	snprintf(number, sizeof(number), "%.*s", rate ? (int)len - 2 : 31, text);
	if (rate ? !decimal_parse(number, 0, MODEL_COUNTER_RATE_MAX, &grow) :
	    !number_parse(text + (*text == '+'), 0, UINT64_MAX, &value))
		return error_set(c->e, ERR_INVALID, "\"%.60s\" is neither a number, nor +NUMBER to "
				 "count, nor NUMBER/s to grow", text);
	if (c->check)
		return 0;
	if (rate)
		return model_counter_rate(c->s->model, node, port, name, grow, c->e);
	if (*text == '+')
		return model_counter_add(c->s->model, node, port, name, value, c->e);
	return model_counter_set(c->s->model, node, port, name, value, c->e);
}

static int
run_counters(const struct call *c)
{
	static const char *const words[] = { "all", NULL };
	unsigned port, which, shown = 0;
	const char *name;
	uint64_t value;
	uint32_t node;
	int rc;

	if ((rc = arg_any_port(c, 0, &node, &port)) < 0 ||
	    (c->nargs > 1 && (rc = arg_word(c, 1, words, &which)) < 0) || c->check)
		return rc;
	for (unsigned i = 0; (name = model_counter_name(i)); i++) {
		rc = model_counter_get(c->s->model, node, port, name, &value, c->e);
		if (rc < 0)
			return rc;
		if (!value && c->nargs == 1)
			continue;
		buf_printf(c->out, "%-28s %" PRIu64 "\n", name, value);
		shown++;
	}
	if (!shown)
		buf_str(c->out, "all counters are 0\n");
	return 0;
}

/* ---- Traffic ---- */

/* Bytes a second: 12.5GB, 800MB/s, 100Gb, 250kB; "max" is all that the link can. */
static bool
rate_parse(const char *s, double *rate)
{
	static const struct {
		const char *unit;	/* behind the number */
		double bytes;		/* a second */
	} units[] = {
		{ "B", 1 }, { "kB", 1e3 }, { "MB", 1e6 }, { "GB", 1e9 }, { "kb", 1e3 / 8 },
		{ "Mb", 1e6 / 8 }, { "Gb", 1e9 / 8 },
	};
	size_t digits = strspn(s, "0123456789."), len = strlen(s);
	char number[24];

	*rate = 0;
	if (strcmp(s, "max") == 0)
		return true;
	if (len > 2 && strcmp(s + len - 2, "/s") == 0)
		len -= 2;
	if (digits >= sizeof(number))
		return false;
	snprintf(number, sizeof(number), "%.*s", (int)digits, s);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (len - digits != strlen(units[i].unit) ||
		    strncmp(s + digits, units[i].unit, len - digits) != 0)
			continue;
		if (!decimal_parse(number, 0, 1e15, rate) || *rate <= 0)
			return false;
		*rate *= units[i].bytes;
		return true;
	}
	return false;
}

/* What follows the pattern's own words: a rate, and "sl N". */
static int
read_rate(const struct call *c, unsigned i, struct traffic_spec *t)
{
	uint64_t sl;
	int rc;

	if (i < c->nargs && strcmp(c->args[i], "sl") != 0 && !rate_parse(c->args[i++], &t->rate))
		return error_set(c->e, ERR_INVALID, "\"%.60s\" is no rate: name bytes or bits a "
				 "second as in 12.5GB or 100Gb, or max", c->args[i - 1]);
	if (i == c->nargs)
		return 0;
	if (strcmp(c->args[i], "sl") != 0 || i + 2 != c->nargs)
		return error_set(c->e, ERR_INVALID, "behind the rate stands nothing but: sl "
				 "NUMBER");
	if ((rc = arg_number(c, i + 1, "a service level", 0, 15, &sl)) < 0)
		return rc;
	t->sl = (uint8_t)sl;
	return 0;
}

static int
read_pattern(const struct call *c, struct traffic_spec *t)
{
	static const char *const words[] = {
		"flow", "all-to-all", "ring", "shift", "incast", NULL,
	};
	static const unsigned need[] = { 4, 2, 2, 3, 3 };
	unsigned pattern;
	uint64_t shift;
	int rc;

	if (c->nargs < 2)
		return error_set(c->e, ERR_INVALID, "usage: traffic start flow SRC DST|all-to-all|"
				 "ring|shift N|incast DST [RATE] [sl N]");
	if ((rc = arg_word(c, 1, words, &pattern)) < 0)
		return rc;
	t->pattern = (enum traffic_pattern)pattern;
	if (c->nargs < need[pattern])
		return error_set(c->e, ERR_INVALID, "usage: traffic start %s %s [RATE] [sl N]",
				 words[pattern], pattern == TRAFFIC_FLOW ? "SRC DST" :
				 pattern == TRAFFIC_SHIFT ? "N" : "DST");
	if (pattern == TRAFFIC_FLOW && (rc = arg_node(c, 2, &t->src)) < 0)
		return rc;
	if ((pattern == TRAFFIC_FLOW || pattern == TRAFFIC_INCAST) &&
	    (rc = arg_node(c, need[pattern] - 1, &t->dst)) < 0)
		return rc;
	if (pattern == TRAFFIC_SHIFT) {
		if ((rc = arg_number(c, 2, "a shift", 1, UINT32_MAX, &shift)) < 0)
			return rc;
		t->shift = (uint32_t)shift;
	}
	return read_rate(c, need[pattern], t);
}

static int
traffic_begin(const struct call *c)
{
	struct traffic_spec t = { 0 };
	int rc = read_pattern(c, &t);

	if (rc < 0 || c->check)
		return rc;
	if ((rc = traffic_start(c->s->traffic, &t, c->e)) < 0)
		return rc;
	buf_printf(c->out, "traffic %d\n", rc);
	return 0;
}

static int
traffic_end(const struct call *c)
{
	uint64_t id = 0;
	int rc = 0;

	if (c->nargs > 2)
		return error_set(c->e, ERR_INVALID, "usage: traffic stop [ID]");
	if (c->nargs == 2)
		rc = arg_number(c, 1, "the id of a pattern", 1, INT32_MAX, &id);
	if (rc < 0 || c->check)
		return rc;
	return traffic_stop(c->s->traffic, (int)id, c->e);
}

static void
traffic_show(const struct call *c)
{
	struct traffic_link busy[BUSY_LINKS];
	struct traffic_report r;
	unsigned n;

	traffic_list(c->s->traffic, c->out);
	traffic_report(c->s->traffic, &r);
	buf_printf(c->out, "%" PRIu64 " flow%s, %" PRIu64 " of them without a path\n", r.flows,
		   r.flows == 1 ? "" : "s", r.broken);
	if (!r.flows)
		return;
	buf_printf(c->out, "offered %.4g GB/s, delivered %.4g GB/s; a flow gets %.3f of what it "
		   "offers, at worst %.3f\n", r.offered / 1e9, r.delivered / 1e9, r.mean_share,
		   r.min_share);
	n = traffic_busiest(c->s->traffic, busy, BUSY_LINKS);
	for (unsigned i = 0; i < n; i++)
		buf_printf(c->out, "%s/%u: %.3f of what it can carry is offered, %.3f carried\n",
			   names_text(c->s->names, busy[i].node), busy[i].port,
			   busy[i].offered / busy[i].capacity, busy[i].carried / busy[i].capacity);
}

static int
run_traffic(const struct call *c)
{
	static const char *const words[] = { "start", "stop", "show", NULL };
	unsigned what;
	int rc = arg_word(c, 0, words, &what);

	if (rc < 0)
		return rc;
	if (what < 2)
		return what ? traffic_end(c) : traffic_begin(c);
	if (c->nargs > 1)
		return error_set(c->e, ERR_INVALID, "usage: traffic show");
	if (!c->check)
		traffic_show(c);
	return 0;
}

const struct command command_loads[] = {
	{ "traffic", "start PATTERN... [RATE]|stop [ID]|show", "data between hosts", 1, 7,
	  run_traffic },
	{ "counters", "NODE/PORT [all]", "port counters that are not 0", 1, 2, run_counters },
	{ "errors", "NODE/PORT COUNTER N|+N|N/s", "set a port counter, or let it grow", 3, 3,
	  run_errors },
	{ 0 },
};
