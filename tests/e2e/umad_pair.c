/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client that finds its ports as rdma-core 56 and newer do: QP 0 and QP 1 of one port may be two
 * devices, an SMI and a GSI one. It looks for a pair by the rules that sim/attach.h tells, opens
 * both and exchanges a MAD on each: a directed Get(NodeInfo) on QP 0, and on QP 1 a
 * Get(ClassPortInfo) of performance management to its own LID.
 *
 * Usage: umad_pair [NAME [PORT]], a device and a port of it that must be in the pair. Prints a line
 * for each finding; exit status 0 if both MADs were answered.
 */
#include <endian.h>
#include <errno.h>
#include <infiniband/umad.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SMI_DISABLED 0x400	/* of cap_mask */
#define PORTS_MAX 64
#define STATE_DOWN 1
#define CLASS_DIRECTED 0x81
#define CLASS_PM 0x04
#define ATTR_CLASS_PORT_INFO 0x0001
#define ATTR_NODE_INFO 0x0011
#define QKEY 0x80010000u
#define MAD_SIZE 256
#define TIMEOUT 1000		/* ms */

struct port {
	char name[UMAD_CA_NAME_LEN];	/* of the device */
	unsigned number;		/* of the port */
	unsigned state;			/* 1: down */
	unsigned lid;			/* base LID */
	uint64_t guid;			/* of the port */
	bool smi_disabled;		/* QP 0 is another device's */
};

struct ports {
	struct port all[PORTS_MAX];	/* of all devices */
	unsigned len;			/* how many */
};

struct pair {
	const struct port *smi, *gsi;	/* NULL: not found */
};

/* ---- finding ---- */

static void
add_port(struct ports *ports, const umad_port_t *p)
{
	struct port *to = &ports->all[ports->len];

	if (ports->len == PORTS_MAX || p->port_guid == 0 ||
	    (strcmp(p->link_layer, "InfiniBand") != 0 && strcmp(p->link_layer, "IB") != 0))
		return;
	snprintf(to->name, sizeof(to->name), "%s", p->ca_name);
	to->number = (unsigned)p->portnum;
	to->state = p->state;
	to->lid = p->base_lid;
	to->guid = be64toh(p->port_guid);
	to->smi_disabled = be32toh(p->capmask) & SMI_DISABLED;
	ports->len++;
}

static void
list_ports(struct ports *ports)
{
	char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN];
	int n = umad_get_cas_names(names, UMAD_MAX_DEVICES);
	umad_ca_t ca;

	for (int i = 0; i < n; i++) {
		if (umad_get_ca(names[i], &ca) < 0)
			continue;
		for (int p = 0; p < UMAD_CA_MAX_PORTS; p++)
			if (ca.ports[p])
				add_port(ports, ca.ports[p]);
		umad_release_ca(&ca);
	}
}

static unsigned
count_guid(const struct ports *ports, uint64_t guid)
{
	unsigned n = 0;

	for (unsigned i = 0; i < ports->len; i++)
		n += ports->all[i].guid == guid;
	return n;
}

static bool
matches(const struct port *p, const char *name, unsigned number)
{
	return p && (!name || strcmp(p->name, name) == 0) && (!number || p->number == number);
}

/* The first port that is up takes the place of one that is down. */
static void
prefer(const struct port **have, const struct port *p)
{
	if (!*have || ((*have)->state <= STATE_DOWN && p->state > STATE_DOWN))
		*have = p;
}

static struct pair
pair_of(const struct ports *ports, uint64_t guid)
{
	bool alone = count_guid(ports, guid) == 1;
	struct pair pair = { 0 };

	for (unsigned i = 0; i < ports->len; i++) {
		const struct port *p = &ports->all[i];

		if (p->guid != guid)
			continue;
		if (alone || p->smi_disabled)
			prefer(&pair.gsi, p);
		if (!p->smi_disabled)
			prefer(&pair.smi, p);
	}
	return pair;
}

static bool
find_pair(const struct ports *ports, const char *name, unsigned number, struct pair *found)
{
	for (unsigned i = 0; i < ports->len; i++) {
		*found = pair_of(ports, ports->all[i].guid);
		if (!found->smi || !found->gsi || found->smi->state <= STATE_DOWN)
			continue;
		if (matches(found->smi, name, number) || matches(found->gsi, name, number))
			return true;
	}
	return false;
}

/* ---- asking ---- */

static void
make_request(uint8_t *mad, uint8_t mgmt_class, uint16_t attribute)
{
	memset(mad, 0, MAD_SIZE);
	mad[0] = 1;
	mad[1] = mgmt_class;
	mad[2] = 1;
	mad[3] = 1;
	mad[15] = 42;
	mad[16] = (uint8_t)(attribute >> 8);
	mad[17] = (uint8_t)attribute;
	if (mgmt_class == CLASS_DIRECTED)
		memset(mad + 32, 0xff, 4);	/* DrSLID, DrDLID: all by directed route */
}

/* One question on a port; prints what came of it. */
static bool
ask(const struct port *p, uint8_t mgmt_class, uint16_t attribute, unsigned lid)
{
	int fd = umad_open_port(p->name, (int)p->number);
	int agent = fd < 0 ? -1 : umad_register(fd, mgmt_class, 1, 0, NULL);
	void *umad = umad_alloc(1, umad_size() + MAD_SIZE);
	int length = MAD_SIZE, rc = -1;
	uint8_t *mad = umad_get_mad(umad);

	if (agent >= 0) {
		make_request(mad, mgmt_class, attribute);
		umad_set_addr(umad, (int)lid, mgmt_class == CLASS_DIRECTED ? 0 : 1, 0,
			      mgmt_class == CLASS_DIRECTED ? 0 : (int)QKEY);
		rc = umad_send(fd, agent, umad, MAD_SIZE, TIMEOUT, 1);
		if (rc == 0)
			rc = umad_recv(fd, umad, &length, 5 * TIMEOUT);
	}
	if (rc < 0 || umad_status(umad) != 0 || mad[3] != 0x81 || mad[15] != 42)
		printf("%s port %u class 0x%02x: no answer (open %d, agent %d, status %d)\n",
		       p->name, p->number, mgmt_class, fd, agent, umad_status(umad));
	else
		printf("%s port %u class 0x%02x: answered\n", p->name, p->number, mgmt_class);
	rc = rc < 0 || umad_status(umad) != 0 || mad[3] != 0x81 ? -1 : 0;
	if (fd >= 0)
		umad_close_port(fd);
	umad_free(umad);
	return rc == 0;
}

/* A device without QP 0 takes no agents for it. */
static bool
refuses_smi(const struct port *p)
{
	int fd = umad_open_port(p->name, (int)p->number);
	bool refused = fd >= 0 && umad_register(fd, CLASS_DIRECTED, 1, 0, NULL) < 0;

	printf("%s port %u %s agents of QP 0\n", p->name, p->number,
	       refused ? "refuses" : "takes");
	if (fd >= 0)
		umad_close_port(fd);
	return refused;
}

int
main(int argc, char **argv)
{
	static struct ports ports;
	struct pair pair;
	bool ok;

	umad_init();
	list_ports(&ports);
	if (!find_pair(&ports, argc > 1 ? argv[1] : NULL,
		       argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 0, &pair)) {
		printf("no SMI/GSI pair among %u ports\n", ports.len);
		return 1;
	}
	printf("pair of port GUID 0x%016llx: SMI %s port %u, GSI %s port %u\n",
	       (unsigned long long)pair.smi->guid, pair.smi->name, pair.smi->number,
	       pair.gsi->name, pair.gsi->number);
	ok = ask(pair.smi, CLASS_DIRECTED, ATTR_NODE_INFO, 0xffff);
	ok &= ask(pair.gsi, CLASS_PM, ATTR_CLASS_PORT_INFO, pair.gsi->lid);
	if (strcmp(pair.smi->name, pair.gsi->name) != 0)
		ok &= refuses_smi(pair.gsi);
	return ok ? 0 : 1;
}
