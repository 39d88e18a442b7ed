/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Agents of umad files: the ioctls of Linux's user_mad.c, with its checks. What they register is
 * the simulator's business; which there are is known here too, for write() must refuse others.
 */
#include "sim/preload/umad_impl.h"

#include <rdma/ib_user_mad.h>
#include <string.h>
#include "sim/preload/cancel.h"
#include "sim/preload/link.h"

/* With the connection's lock held. */
static int
register_agent(struct umad *u, const struct attach_registration *r, uint32_t *id)
{
	struct attach_request q;
	struct attach_reply reply;
	unsigned n = 0;

	if (atomic_load(&u->own->dead))
		return fail(EPIPE);
	for (unsigned i = 0; i < ATTACH_AGENTS; i++)
		n += atomic_load(&u->own->agents[i]) != 0;
	if (n == ATTACH_AGENTS)
		return fail(ENOMEM);
	link_request(&q, ATTACH_REGISTER, 0);
	q.reg = *r;
	if (umad_ask(u, &q, -1, &reply, NULL) < 0)
		return errno == EIO ? umad_die(u, EPIPE) : -1;
	if (reply.id >= ATTACH_AGENTS)
		return umad_die(u, EPIPE);
	*id = reply.id;
	atomic_store(&u->own->agents[*id], (uint8_t)(AGENT_THERE |
		     (r->rmpp_version ? AGENT_RMPP : 0) | (r->user_rmpp ? AGENT_USER_RMPP : 0)));
	return 0;
}

static int
enroll(struct umad *u, const struct attach_registration *r, bool with_pkey, uint32_t *id)
{
	int rc;

	umad_lock(u, &u->own->ask_lock);
	rc = register_agent(u, r, id);
	if (rc == 0 && !u->own->used) {
		u->own->used = true;
		if (with_pkey)
			atomic_store(&u->own->pkey, true);
	}
	unlock(&u->own->ask_lock);
	return rc;
}

static int
ioctl_register(struct umad *u, struct ib_user_mad_reg_req *a)
{
	struct attach_registration r = {
		.qpn = a->qpn, .mgmt_class = a->mgmt_class, .class_version = a->mgmt_class_version,
		.rmpp_version = a->rmpp_version,
		.oui = (uint32_t)a->oui[0] << 16 | (uint32_t)a->oui[1] << 8 | a->oui[2],
	};

	if (a->qpn > 1)
		return fail(EINVAL);
	memcpy(r.methods, a->method_mask, sizeof(r.methods));
	return enroll(u, &r, false, &a->id);
}

static int
ioctl_register2(struct umad *u, struct ib_user_mad_reg_req2 *a)
{
	const uint32_t known = IB_USER_MAD_REG_FLAGS_CAP;
	struct attach_registration r = {
		.qpn = a->qpn, .mgmt_class = a->mgmt_class, .class_version = a->mgmt_class_version,
		.rmpp_version = a->rmpp_version, .oui = a->oui,
		.user_rmpp = a->flags & IB_USER_MAD_USER_RMPP,
	};

	if (a->qpn > 1)
		return fail(EINVAL);
	if (a->flags & ~known) {
		a->flags = known;
		return fail(EINVAL);
	}
	if (a->mgmt_class && (a->oui & 0xff000000))
		return fail(EINVAL);
	memcpy(r.methods, a->method_mask, sizeof(r.methods));
	return enroll(u, &r, true, &a->id);
}

/* Requests of an agent that is gone are not heard of again; with the last they are forgotten. */
static void
forget_agent(struct umad *u, uint32_t id)
{
	atomic_store(&u->own->agents[id], 0);
	for (unsigned i = 0; i < ATTACH_AGENTS; i++)
		if (atomic_load(&u->own->agents[i]))
			return;
	for (unsigned i = 0; i < HASH_SIZE; i++)
		atomic_store_explicit(&u->own->sent[i], 0, memory_order_relaxed);
}

static int
ioctl_unregister(struct umad *u, uint32_t id)
{
	struct attach_request q;
	struct attach_reply r;
	int rc = -1;

	if (id >= ATTACH_AGENTS)
		return fail(EINVAL);
	link_request(&q, ATTACH_UNREGISTER, id);
	umad_lock(u, &u->own->ask_lock);
	if (atomic_load(&u->own->dead) || !atomic_load(&u->own->agents[id])) {
		errno = EINVAL;
	} else {
		rc = umad_ask(u, &q, -1, &r, NULL);
		forget_agent(u, id);
		if (rc < 0)
			umad_die(u, EINVAL);
	}
	unlock(&u->own->ask_lock);
	return rc;
}

static int
ioctl_enable_pkey(struct umad *u)
{
	int rc = 0;

	umad_lock(u, &u->own->ask_lock);
	if (u->own->used)
		rc = fail(EINVAL);
	else
		atomic_store(&u->own->pkey, true);
	unlock(&u->own->ask_lock);
	return rc;
}

static int
do_ioctl(struct umad *u, unsigned long request, void *arg)
{
	switch (request) {
	case IB_USER_MAD_REGISTER_AGENT:
		return arg ? ioctl_register(u, arg) : fail(EFAULT);
	case IB_USER_MAD_REGISTER_AGENT2:
		return arg ? ioctl_register2(u, arg) : fail(EFAULT);
	case IB_USER_MAD_UNREGISTER_AGENT:
		return arg ? ioctl_unregister(u, *(uint32_t *)arg) : fail(EFAULT);
	case IB_USER_MAD_ENABLE_PKEY:
		return ioctl_enable_pkey(u);
	default:
		return fail(ENOTTY);
	}
}

int
umad_ioctl(struct umad *u, unsigned long request, void *arg)
{
	int cancel = cancel_off();
	int rc = do_ioctl(u, request, arg);

	cancel_back(cancel);
	return rc;
}
