/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between the transaction engine (sm/port/transact.h) and the stages of a subnet. The engine asks
 * for the next request of a device, tells what became of it, and when nothing is under way any
 * more; each is handed to the file whose stage runs. The reader of tables is the exception: it is
 * told by its own agents, whatever the stage. Requests under way are led around cables that are
 * gone.
 */
#include "sm/core/subnet_i.h"

bool
subnet_address(struct subnet *s, struct device *d, unsigned port, struct transact_request *r)
{
	int hops = 0;

	if (d && !topo_mend_path(&s->topo, d, port))
		return false;
	if (d)
		hops = topo_path(&s->topo, d, port, s->scratch_path);
	if (hops < 0)
		return false;
	r->port = (uint8_t)port;
	r->path = s->scratch_path;
	r->hops = (uint8_t)hops;
	r->m_key = s->conf->m_key;
	return true;
}

bool
subnet_address_behind(struct transact_request *r, unsigned port)
{
	if (r->hops == SMP_MAX_HOPS)
		return false;
	/* The path lies in the subnet's scratch space. */
	((uint8_t *)(uintptr_t)r->path)[++r->hops] = (uint8_t)port;
	return true;
}

static bool
on_next(void *arg, struct transact_target *t, struct transact_request *r)
{
	struct subnet *s = arg;

	if (s->ending)
		return false;
	if (agent_of(t)->kind == AGENT_READER)
		return reader_next(s, agent_of(t), r);
	switch (s->stage) {
	case SUBNET_SWEEP:
		return sweep_next(s, agent_of(t), r);
	case SUBNET_PUSH:
		return push_next(s, agent_of(t), r);
	case SUBNET_POLL:
		return peers_next(s, agent_of(t), r);
	case SUBNET_MULTICAST:
		return mft_next(s, agent_of(t), r);
	case SUBNET_GUIDS:
		return guids_next(s, agent_of(t), r);
	case SUBNET_CONGESTION:
		return congestion_next(s, agent_of(t), r);
	case SUBNET_ADAPTIVE:
		return adaptive_next(s, agent_of(t), r);
	case SUBNET_PORTS:
		return disable_next(s, agent_of(t), r);
	default:
		return false;
	}
}

/* A request is under way to port `port` of the device behind path[], or one hop past it. */
static enum transact_way
on_route(void *arg, struct transact_target *t, uint8_t port, uint8_t path[SMP_MAX_HOPS + 1],
	 uint8_t *hops)
{
	struct subnet *s = arg;
	struct agent *a = agent_of(t);
	bool probe = a->kind == AGENT_PROBE;
	struct device *d;
	int len;

	if (a->kind == AGENT_OWN)
		return TRANSACT_KEEP;
	d = agent_device(a);
	if (topo_path_leads(&s->topo, d, path, *hops - probe))
		return TRANSACT_KEEP;
	if (!topo_mend_path(&s->topo, d, port))
		return TRANSACT_LOST;
	len = topo_path(&s->topo, d, port, path);
	if (len < 0 || len + probe > SMP_MAX_HOPS)
		return TRANSACT_LOST;
	if (probe)
		path[++len] = port;
	else
		d->tried_path = topo_path_hash(d);
	*hops = (uint8_t)len;
	return TRANSACT_AGAIN;
}

/* The stage has learnt that cables are gone: what was sent across them is sent another way. */
static void
follow_cables(struct subnet *s)
{
	if (s->routes_version == s->topo.path_version)
		return;
	s->routes_version = s->topo.path_version;
	transact_reroute(s->transact);
}

static void
on_late(void *arg, struct transact_target *t)
{
	struct subnet *s = arg;

	if (s->stage == SUBNET_SWEEP && !s->ending)
		sweep_late(s, agent_of(t));
}

static void
on_done(void *arg, struct transact_target *t, const struct transact_result *res)
{
	struct subnet *s = arg;

	if (agent_of(t)->kind == AGENT_READER) {
		reader_done(s, agent_of(t), res);
		return;
	}
	switch (s->stage) {
	case SUBNET_SWEEP:
		sweep_done(s, agent_of(t), res);
		break;
	case SUBNET_PUSH:
		push_done(s, agent_of(t), res);
		break;
	case SUBNET_POLL:
		peers_done(s, agent_of(t), res);
		break;
	case SUBNET_MULTICAST:
		mft_done(s, agent_of(t), res);
		break;
	case SUBNET_GUIDS:
		guids_done(s, agent_of(t), res);
		break;
	case SUBNET_CONGESTION:
		congestion_done(s, agent_of(t), res);
		break;
	case SUBNET_ADAPTIVE:
		adaptive_done(s, agent_of(t), res);
		break;
	case SUBNET_PORTS:
		disable_done(s, agent_of(t), res);
		break;
	default:
		if (agent_of(t)->kind == AGENT_DEVICE)
			list_entry(agent_of(t), struct device, agent)->inflight = 0;
	}
	follow_cables(s);
}

static void
on_idle(void *arg)
{
	struct subnet *s = arg;

	if (s->ending)
		return;
	switch (s->stage) {
	case SUBNET_SWEEP:
		sweep_idle(s);
		break;
	case SUBNET_PUSH:
		push_idle(s);
		break;
	case SUBNET_POLL:
		subnet_poll_done(s);
		break;
	case SUBNET_MULTICAST:
		mft_idle(s);
		break;
	case SUBNET_GUIDS:
		guids_idle(s);
		break;
	case SUBNET_CONGESTION:
		congestion_idle(s);
		break;
	case SUBNET_ADAPTIVE:
		adaptive_idle(s);
		break;
	case SUBNET_PORTS:
		disable_idle(s);
		break;
	default:
		break;
	}
}

/* ---- Life ---- */

void
dispatch_start(struct subnet *s)
{
	struct transact_options o = {
		.window_start = s->conf->max_smps < 64 ? s->conf->max_smps : 64,
		.window_max = s->conf->max_smps,
		.target_max = s->conf->max_smps_per_device,
		.retries = s->conf->retries,
		.timeout = s->conf->timeout,
		.timeout_min = s->conf->timeout < MSEC(50) ? s->conf->timeout : MSEC(50),
	};
	struct transact_ops ops = {
		.next = on_next, .done = on_done, .idle = on_idle, .request = notice_request,
		.route = on_route, .late = on_late, .arg = s,
	};

	s->transact = transact_new(s->env.loop, s->port, &o, &ops);
}
