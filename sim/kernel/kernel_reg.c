/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stddef.h>
#include "sim/kernel/kernel_impl.h"
#include "sm/base/mem.h"

/*
 * Registration: which agent of a port gets the requests of which class, version and method.
 *
 * A port has one struct kernel_class for each class and version (and vendor, where the class needs
 * one) that somebody registered; it goes when the last of its methods does. What is refused, and
 * how, follows Linux's ib_register_mad_agent(). Management classes: IBA volume 1, 13.4.4; vendors'
 * classes and where their OUI is: 16.5.
 */
#define CLASSES 0x50		/* those that may be registered, but for directed SMPs */
#define VERSIONS 8
#define VENDORS 8u		/* of one class and version */
#define OUI_OFFSET 37

/* With an OUI. */
static bool
is_vendor(uint8_t mgmt_class)
{
	return mgmt_class >= 0x30 && mgmt_class <= 0x4f;
}

bool
kernel_is_rmpp(uint8_t mgmt_class)
{
	return rmpp_data_offset(mgmt_class) > MAD_HEADER_SIZE;
}

bool
kernel_is_smp(uint8_t mgmt_class)
{
	return mgmt_class == MAD_CLASS_SUBN_LID || mgmt_class == MAD_CLASS_SUBN_DIRECT;
}

int
kernel_reg_check(const struct kernel_registration *r)
{
	uint8_t c = r->mgmt_class;

	if (r->qp > 1 || r->rmpp_version > 1)
		return EINVAL;
	if (!c)
		return r->user_rmpp ? EINVAL : 0;
	if (r->class_version >= VERSIONS || (c >= CLASSES && c != MAD_CLASS_SUBN_DIRECT))
		return EINVAL;
	if (is_vendor(c) && (!r->oui || r->oui > 0xffffff))
		return EINVAL;
	if (r->rmpp_version && !kernel_is_rmpp(c))
		return EINVAL;
	return kernel_is_smp(c) == (r->qp == 0) ? 0 : EINVAL;
}

static struct kernel_class *
find_class(const struct kernel_port *p, uint8_t mgmt_class, uint8_t version, uint32_t oui)
{
	list_each(it, &p->classes) {
		struct kernel_class *c = list_entry(it, struct kernel_class, link);

		if (c->mgmt_class == mgmt_class && c->version == version && c->oui == oui)
			return c;
	}
	return NULL;
}

static bool
wants(const struct kernel_registration *r, unsigned method)
{
	return r->methods[method / 32] >> method % 32 & 1;
}

static uint32_t
oui_of(const struct kernel_registration *r)
{
	return is_vendor(r->mgmt_class) ? r->oui : 0;
}

static unsigned
count_vendors(const struct kernel_port *p, const struct kernel_registration *r)
{
	unsigned n = 0;

	list_each(it, &p->classes) {
		struct kernel_class *c = list_entry(it, struct kernel_class, link);

		n += c->mgmt_class == r->mgmt_class && c->version == r->class_version;
	}
	return n;
}

static struct kernel_class *
add_class(struct kernel_port *p, const struct kernel_registration *r)
{
	struct kernel_class *c = mem_zalloc(sizeof(*c));

	c->mgmt_class = r->mgmt_class;
	c->version = r->class_version;
	c->oui = oui_of(r);
	list_append(&p->classes, &c->link);
	return c;
}

static bool
wants_any(const struct kernel_registration *r)
{
	return r->methods[0] | r->methods[1] | r->methods[2] | r->methods[3];
}

int
kernel_reg_add(struct kernel_agent *a)
{
	const struct kernel_registration *r = &a->reg;
	struct kernel_class *c;

	if (!r->mgmt_class || !wants_any(r))
		return 0;
	c = find_class(a->p, r->mgmt_class, r->class_version, oui_of(r));
	if (!c && count_vendors(a->p, r) >= VENDORS)
		return EINVAL;
	for (unsigned m = 0; c && m < METHODS; m++)
		if (wants(r, m) && c->methods[m])
			return EINVAL;
	if (!c)
		c = add_class(a->p, r);
	for (unsigned m = 0; m < METHODS; m++)
		if (wants(r, m))
			c->methods[m] = a;
	return 0;
}

void
kernel_reg_remove(struct kernel_agent *a)
{
	struct kernel_class *c = find_class(a->p, a->reg.mgmt_class, a->reg.class_version,
					    oui_of(&a->reg));
	unsigned left = 0;

	if (!c)
		return;
	for (unsigned m = 0; m < METHODS; m++) {
		if (c->methods[m] == a)
			c->methods[m] = NULL;
		left += c->methods[m] != NULL;
	}
	if (left)
		return;
	list_remove(&c->link);
	mem_free(c);
}

struct kernel_agent *
kernel_reg_find(const struct kernel_port *p, const uint8_t mad[MAD_SIZE])
{
	const uint8_t *v = mad + OUI_OFFSET;
	uint32_t oui = (uint32_t)v[0] << 16 | (uint32_t)v[1] << 8 | v[2];
	const struct kernel_class *c = find_class(p, mad[1], mad[2],
						  is_vendor(mad[1]) ? oui : 0);

	return c ? c->methods[mad[3] & ~MAD_RESPONSE] : NULL;
}
