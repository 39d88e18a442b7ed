/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <string.h>
#include "sim/traffic/traffic_impl.h"

/*
 * How data split over the ports of a group, where a switch chooses by its queues.
 *
 * A queue grows with what its link has to carry, and with what those behind it have, for they give
 * no credits: the pressure on a branch is that of its link or that of the junction behind it,
 * whichever is more. Data leave the branches under more pressure than the mean for those under
 * less, a bit in each round, at all junctions at once, until this gains nothing more or enough
 * rounds are over; the best shares that were met stay. It is an optimum that real queues come near:
 * each destination has its own shares, and nobody waits behind others.
 *
 * What flows bring is what hosts' links leave them, where they start and where they end: a thousand
 * that meet at one host press on nothing else. What has only one way on brings all of that, too, so
 * that others leave the way to it.
 */
#define POWER 24	/* of load, for pressure, to begin with */
#define SHARPER 4	/* times as much, as long as some link has more to carry than it can */
#define POWER_MAX 400
#define ROUNDS 300u	/* with one power at most */
#define CALM 30u	/* rounds without a gain, and it is over */
#define GAIN 1e-4	/* of the sum of pressures, for a round to count */
#define STEP 0.5f	/* / power: power of (mean pressure / pressure) that a share grows by */
#define LEAST 1e-4	/* of a share that may still grow again */
#define NOTHING 2e-3	/* of a share that is none in the end */

struct splitting {
	struct trails *w;			/* whose shares are sought */
	const double *capacity;		/* by link */
	double *brought;		/* by junction: what begins there */
	double *flow;			/* by junction: what comes there */
	double *pressure;		/* by junction: of what is behind */
	double *load;			/* by link: what it has to carry */
	double *push;			/* by link: pressure of its own */
	float *best;			/* by branch: the best shares yet */
	int power;			/* of load, for pressure */
	double worst;			/* load of the worst link; pressures are in those of it */
};

/* ---- What flows bring ---- */

/* Of the steps of all ways those over the links to destinations. */
static void
keep_ends(struct trails *w)
{
	bool *ends = mem_array(w->nlinks, sizeof(*ends));
	size_t n = 0;

	for (size_t i = 0; i < w->nbranches; i++)
		ends[w->branches[i].link] |= w->branches[i].next == JUNCTION_HERE;

	for (uint32_t i = 0; i < w->nways; i++) {
		struct share_way *way = &w->shares[i];
		size_t first = n;

		for (uint32_t k = 0; k < way->len; k++)
			if (ends[w->steps[way->first + k].link])
				w->steps[n++] = w->steps[way->first + k];
		*way = (struct share_way){ first, (uint32_t)(n - first) };
	}
	w->nsteps = n;
	mem_free(ends);
}

static void
bring(struct splitting *s, const struct share_flow *flows, uint32_t nflows)
{
	struct trails *w = s->w;
	struct share_flow *own = mem_array(nflows, sizeof(*own));
	struct share ends = {
		.capacity = s->capacity, .flows = own, .nlinks = w->nlinks, .nflows = nflows,
	};

	memcpy(own, flows, nflows * sizeof(*own));
	trails_spell(w);
	keep_ends(w);
	ends.steps = w->steps;
	ends.ways = w->shares;
	ends.nways = w->nways;
	share_solve(&ends);
	for (uint32_t i = 0; i < nflows; i++) {
		uint32_t root = w->info[own[i].way].root;

		if (root != JUNCTION_HERE)
			s->brought[root] += own[i].rate;
	}
	mem_free(own);
}

/* ---- Rounds ---- */

/* Down all ways: what links have to carry. */
static void
load_up(struct splitting *s)
{
	const struct trails *w = s->w;

	memcpy(s->flow, s->brought, w->njunctions * sizeof(*s->flow));
	memset(s->load, 0, w->nlinks * sizeof(*s->load));
	for (uint32_t j = w->njunctions; j-- > 0;)
		for (unsigned i = 0; i < w->junctions[j].len; i++) {
			const struct branch *b = &w->branches[w->junctions[j].first + i];
			double part = s->flow[j] * (double)b->share;

			s->load[b->link] += part;
			if (b->next != JUNCTION_HERE)
				s->flow[b->next] += part;
		}
}

/* Pressures of links by themselves; returns what there is of it in all, as the load that one link
 * would have to have. */
static double
press(struct splitting *s)
{
	double sum = 0;

	s->worst = 0;
	for (uint32_t i = 0; i < s->w->nlinks; i++)
		if (s->load[i] > s->worst * s->capacity[i])
			s->worst = s->load[i] / s->capacity[i];
	for (uint32_t i = 0; i < s->w->nlinks; i++) {
		double load = s->load[i] > 0 ? s->load[i] / s->capacity[i] / s->worst : 0;

		s->push[i] = pow(load, s->power);
		sum += s->push[i] * load;
	}
	return s->worst * pow(sum, 1.0 / s->power);
}

/* Nothing can be done about the link to the destination. */
static double
pressure_on(const struct splitting *s, const struct branch *b)
{
	return b->next == JUNCTION_HERE ? 0 : s->push[b->link] + s->pressure[b->next];
}

static void
shift(struct splitting *s, const struct junction *j, double mean)
{
	struct branch *b = &s->w->branches[j->first];
	float step = STEP / (float)s->power;
	double sum = 0;

	for (unsigned i = 0; i < j->len; i++) {
		double on = pressure_on(s, &b[i]);
		double grows = on > 0 ? (double)powf((float)(mean / on), step) : 2;

		grows = grows > 2 ? 2 : grows < 0.5 ? 0.5 : grows;
		b[i].share = (float)fmax((double)b[i].share * grows, LEAST);
		sum += (double)b[i].share;
	}
	for (unsigned i = 0; i < j->len; i++)
		b[i].share = (float)((double)b[i].share / sum);
}

/* Up all ways: the pressure on each branch, and what follows from it. */
static void
adapt(struct splitting *s)
{
	const struct trails *w = s->w;

	for (uint32_t n = 0; n < w->njunctions; n++) {
		const struct junction *j = &w->junctions[n];
		double mean = 0;

		for (unsigned i = 0; i < j->len; i++) {
			const struct branch *b = &w->branches[j->first + i];

			mean += (double)b->share * pressure_on(s, b);
		}
		s->pressure[n] = mean;
		if (j->adapts && s->flow[n] > 0 && mean > 0)
			shift(s, j, mean);
	}
}

static void
save(struct splitting *s)
{
	for (size_t i = 0; i < s->w->nbranches; i++)
		s->best[i] = s->w->branches[i].share;
}

/* The best shares; those that came to next to nothing are none. */
static void
settle(struct splitting *s)
{
	struct trails *w = s->w;

	for (uint32_t n = 0; n < w->njunctions; n++) {
		const struct junction *j = &w->junctions[n];
		double sum = 0;

		for (unsigned i = 0; i < j->len; i++) {
			float *share = &s->best[j->first + i];

			if (j->adapts && (double)*share < NOTHING)
				*share = 0;
			sum += (double)*share;
		}
		for (unsigned i = 0; i < j->len; i++)
			w->branches[j->first + i].share =
				(float)((double)s->best[j->first + i] / sum);
	}
}

/* Rounds with one power, from the best shares on; returns the load of the worst link then. */
static double
play(struct splitting *s)
{
	double best = HUGE_VAL, worst = 0;

	for (unsigned round = 0, calm = 0; round < ROUNDS && calm < CALM; round++) {
		double sum;

		load_up(s);
		sum = press(s);
		calm = sum < best * (1 - GAIN / s->power) ? 0 : calm + 1;
		if (sum < best) {
			best = sum;
			worst = s->worst;
			save(s);
		}
		adapt(s);
	}
	for (size_t i = 0; i < s->w->nbranches; i++)
		s->w->branches[i].share = s->best[i];
	return worst;
}

void
splits_adapt(struct trails *w, const double *capacity, const struct share_flow *flows,
	     uint32_t nflows)
{
	struct splitting s = {
		.w = w, .capacity = capacity,
		.brought = mem_array(w->njunctions, sizeof(double)),
		.flow = mem_array(w->njunctions, sizeof(double)),
		.pressure = mem_array(w->njunctions, sizeof(double)),
		.load = mem_array(w->nlinks, sizeof(double)),
		.push = mem_array(w->nlinks, sizeof(double)),
		.best = mem_array(w->nbranches, sizeof(float)),
	};

	bring(&s, flows, nflows);
	for (s.power = POWER; s.power <= POWER_MAX; s.power *= SHARPER)
		if (play(&s) <= 1)
			break;
	settle(&s);
	mem_free(s.brought);
	mem_free(s.flow);
	mem_free(s.pressure);
	mem_free(s.load);
	mem_free(s.push);
	mem_free(s.best);
}
