/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/serve/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sim/serve/scratch.h"
#include "sm/base/buf.h"
#include "sm/base/log.h"
#include "sm/base/mem.h"
#include "sm/base/text.h"

/*
 * Trees of hosts. A tree is made by the first program of its host and stays. A watch of the MAD
 * layer tells when a port may have changed; what is then different from what the files show is
 * written: a new file is renamed over the old one, so that no reader sees half of it. Most of a
 * tree has the same text as other trees, or other entries of a table: files of one text are hard
 * links to one in the folder `texts`, which is never written again. That saves memory and time.
 * Formats: drivers/infiniband/core/sysfs.c and user_mad.c of Linux.
 */
#define CAP_SM_DISABLED (1u << 10)	/* IsSMdisabled, IBA 14.2.5.6 */
#define MAX_GUIDS 128u
#define MAX_PKEYS 256u
#define PATH_SIZE 512
#define TEXT_SIZE 160		/* of a file */

/* What the files of a port show. */
struct shown {
	uint64_t prefix;		/* GidPrefix */
	uint64_t guids[MAX_GUIDS];	/* of the GUID table */
	uint32_t cap_mask;		/* CapabilityMask */
	uint16_t pkeys[MAX_PKEYS];	/* of the P_Key table */
	uint16_t lid, sm_lid;		/* base LID, LID of the SM */
	uint8_t sm_sl, lmc;		/* SL of the SM, LMC */
	uint8_t state, phys_state;	/* enum port_state, enum port_phys_state */
	uint8_t width, speed;		/* enum link_width, enum link_speed */
};

struct tree_port {
	struct tree *tree;		/* of which host */
	const struct host_port *where;	/* which port of it */
	struct kernel_watch *watch;	/* tells of changes */
	bool written;			/* there are files, which show: */
	struct shown shown;		/* this */
};

struct tree {
	struct list list;		/* of the trees of an owner */
	struct sysfs *owner;		/* whose it is */
	const struct host *host;	/* borrowed */
	char *root;			/* folder of the tree */
	struct tree_port *ports;	/* host->nports */
};

struct sysfs {
	struct model *model;		/* borrowed */
	struct kernel *kernel;		/* borrowed */
	struct scratch *folder;		/* in which the trees are */
	struct list trees;		/* of struct tree */
	struct log_limit limit;		/* of complaints about writing */
};

/* ---- Files ---- */

static int
cannot(struct error *e, const char *path)
{
	return error_set(e, ERR_IO, "%s cannot be written: %s", path, strerror(errno));
}

static int
write_file(const char *path, const char *text, struct error *e)
{
	size_t len = strlen(text);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), ret = 0;

	if (fd < 0)
		return cannot(e, path);
	if (write(fd, text, len) != (ssize_t)len)
		ret = cannot(e, path);
	close(fd);
	return ret;
}

/* Under the old name from one moment to the next. Two links to one file stay two: rename(2). */
static int
move(const char *new, const char *path, struct error *e)
{
	if (rename(new, path))
		return cannot(e, path);
	unlink(new);
	return 0;
}

/* The outcome of all that writes joins what *e holds already: a tree's files are written in a row,
 * and looked at once. This is for text that no other file has. */
static int
put_own(struct sysfs *s, struct error *e, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static int
put_own(struct sysfs *s, struct error *e, const char *path, const char *fmt, ...)
{
	char text[TEXT_SIZE], new[PATH_SIZE];
	va_list ap;

	if (e->code)
		return e->code;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(new, sizeof(new), "%s/new", scratch_path(s->folder));
	return write_file(new, text, e) ? e->code : move(new, path, e);
}

/* A text as the name of a file. */
static void
name_of(char name[PATH_SIZE], const struct sysfs *s, const char *text)
{
	size_t len = (size_t)snprintf(name, PATH_SIZE, "%s/texts/=", scratch_path(s->folder));

	for (; *text && *text != '\n' && len < PATH_SIZE - 4; text++) {
		bool plain = *text != '/' && *text != '%';

		len += (size_t)snprintf(name + len, PATH_SIZE - len, plain ? "%c" : "%%%02x",
					(unsigned char)*text);
	}
}

static int
put(struct sysfs *s, struct error *e, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Text that others have too. A file system that has no links left gets a file. */
static int
put(struct sysfs *s, struct error *e, const char *path, const char *fmt, ...)
{
	char text[TEXT_SIZE], name[PATH_SIZE], new[PATH_SIZE];
	va_list ap;

	if (e->code)
		return e->code;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	name_of(name, s, text);
	snprintf(new, sizeof(new), "%s/new", scratch_path(s->folder));
	if (!link(name, new))
		return move(new, path, e);
	if (errno == ENOENT && !write_file(name, text, e) && !link(name, new))
		return move(new, path, e);
	return e->code ? e->code : put_own(s, e, path, "%s", text);
}

static int
folder(struct error *e, const char *path)
{
	if (e->code)
		return e->code;
	if (mkdir(path, 0755) && errno != EEXIST)
		return error_set(e, ERR_IO, "the folder %s cannot be made: %s", path,
				 strerror(errno));
	return 0;
}

/* A path in a buffer of the caller's; good until the next call with the same buffer. */
static const char *
at(char buf[PATH_SIZE], const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static const char *
at(char buf[PATH_SIZE], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, PATH_SIZE, fmt, ap);
	va_end(ap);
	return buf;
}

/* ---- A port ---- */

static const struct host_device *
device_of(const struct tree_port *p)
{
	return &p->tree->host->devices[p->where->device];
}

static void
look(struct shown *now, const struct tree_port *p)
{
	const struct model *m = p->tree->owner->model;
	const struct host_device *d = device_of(p);
	const struct portinfo *i = model_portinfo(m, d->node, p->where->port);
	unsigned len = model_pkeys(m, d->node, p->where->port);

	memset(now, 0, sizeof(*now));
	now->prefix = i->gid_prefix;
	now->cap_mask = d->qps & HOST_QP0 ? i->cap_mask : i->cap_mask | CAP_SM_DISABLED;
	now->lid = i->lid;
	now->sm_lid = i->sm_lid;
	now->sm_sl = i->sm_sl;
	now->lmc = i->lmc;
	now->state = i->state;
	now->phys_state = i->phys_state;
	now->width = i->width_active;
	now->speed = (uint8_t)portinfo_speed(i);
	for (unsigned n = 0; n < MAX_GUIDS && n < i->guid_cap; n++)
		now->guids[n] = model_guid(m, d->node, p->where->port, n);
	for (unsigned n = 0; n < MAX_PKEYS && n < len; n++)
		now->pkeys[n] = model_pkey(m, d->node, p->where->port, n);
}

static const char *
state_name(unsigned state)
{
	static const char *const names[] = { "NOP", "DOWN", "INIT", "ARMED", "ACTIVE",
					     "ACTIVE_DEFER" };

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "UNKNOWN";
}

static const char *
phys_state_name(unsigned state)
{
	static const char *const names[] = { "<unknown>", "Sleep", "Polling", "Disabled",
					     "PortConfigurationTraining", "LinkUp",
					     "LinkErrorRecovery", "Phy Test" };

	return names[state < sizeof(names) / sizeof(names[0]) ? state : 0];
}

/* Linux prints nominal rates: FDR as 14 Gb/s a lane, HDR as 50, a link that never was up as SDR. */
static void
rate_show(char *text, size_t size, unsigned width, unsigned speed)
{
	static const unsigned lane[] = { 25, 25, 50, 100, 100, 140, 250, 500, 1000, 2000 };
	unsigned lanes = link_lanes(width) ? link_lanes(width) : 4, rate;

	if (speed >= sizeof(lane) / sizeof(lane[0]) || !speed)
		speed = SPEED_SDR;
	rate = lane[speed] * lanes;
	snprintf(text, size, "%u%s Gb/sec (%uX %s)\n", rate / 10, rate % 10 ? ".5" : "", lanes,
		 link_speed_name(speed));
}

static void
gid_show(char *text, size_t size, uint64_t prefix, uint64_t guid)
{
	uint64_t half[2] = { prefix, guid };
	size_t len = 0;

	for (unsigned i = 0; i < 8; i++)
		len += (size_t)snprintf(text + len, size - len, "%04x%c",
					(unsigned)(half[i / 4] >> (48 - i % 4 * 16) & 0xffff),
					i < 7 ? ':' : '\n');
}

static void
write_gids(struct tree_port *p, const char *dir, const struct shown *now, unsigned len,
	   struct error *e)
{
	struct sysfs *s = p->tree->owner;
	bool moved = p->shown.prefix != now->prefix;
	char path[PATH_SIZE], text[64];

	for (unsigned n = 0; n < len && n < MAX_GUIDS; n++) {
		if (p->written && p->shown.guids[n] == now->guids[n] &&
		    !(moved && now->guids[n]))
			continue;
		at(path, "%s/gids/%u", dir, n);
		gid_show(text, sizeof(text), now->guids[n] ? now->prefix : 0, now->guids[n]);
		if (now->guids[n])
			put_own(s, e, path, "%s", text);
		else
			put(s, e, path, "%s", text);
	}
}

static void
write_pkeys(struct tree_port *p, const char *dir, const struct shown *now, unsigned len,
	    struct error *e)
{
	struct sysfs *s = p->tree->owner;
	char path[PATH_SIZE];

	for (unsigned n = 0; n < len && n < MAX_PKEYS; n++) {
		if (p->written && p->shown.pkeys[n] == now->pkeys[n])
			continue;
		put(s, e, at(path, "%s/pkeys/%u", dir, n), "0x%04x\n", now->pkeys[n]);
	}
}

/* Write what is different, or all of it when there are no files. */
static void
write_port(struct tree_port *p, struct error *e)
{
	const struct host_device *d = device_of(p);
	struct sysfs *s = p->tree->owner;
	const struct shown *was = &p->shown;
	bool all = !p->written;
	char dir[PATH_SIZE - 64], b[PATH_SIZE], rate[64];
	struct shown now;

	look(&now, p);
	snprintf(dir, sizeof(dir), "%s/sys/class/infiniband/%s/ports/%u", p->tree->root, d->name,
		 p->where->port);
	if (all || was->lid != now.lid)
		put_own(s, e, at(b, "%s/lid", dir), "0x%x\n", now.lid);
	if (all || was->sm_lid != now.sm_lid)
		put(s, e, at(b, "%s/sm_lid", dir), "0x%x\n", now.sm_lid);
	if (all || was->sm_sl != now.sm_sl)
		put(s, e, at(b, "%s/sm_sl", dir), "%u\n", now.sm_sl);
	if (all || was->lmc != now.lmc)
		put(s, e, at(b, "%s/lid_mask_count", dir), "%u\n", now.lmc);
	if (all || was->cap_mask != now.cap_mask)
		put(s, e, at(b, "%s/cap_mask", dir), "0x%08x\n", now.cap_mask);
	if (all || was->state != now.state)
		put(s, e, at(b, "%s/state", dir), "%u: %s\n", now.state, state_name(now.state));
	if (all || was->phys_state != now.phys_state)
		put(s, e, at(b, "%s/phys_state", dir), "%u: %s\n", now.phys_state,
		    phys_state_name(now.phys_state));
	rate_show(rate, sizeof(rate), now.width, now.speed);
	if (all || was->width != now.width || was->speed != now.speed)
		put(s, e, at(b, "%s/rate", dir), "%s", rate);
	write_gids(p, dir, &now, model_portinfo(s->model, d->node, p->where->port)->guid_cap, e);
	write_pkeys(p, dir, &now, model_pkeys(s->model, d->node, p->where->port), e);
	p->shown = now;
	p->written = true;
}

static void
on_change(void *arg)
{
	struct tree_port *p = arg;
	struct error e = { 0 };

	write_port(p, &e);
	if (e.code)
		log_limited(&p->tree->owner->limit, LOG_L_ERROR, "files of a host: %s", e.text);
}

static void
make_port(struct tree_port *p, struct error *e)
{
	const struct host_device *d = device_of(p);
	struct sysfs *s = p->tree->owner;
	char dir[PATH_SIZE - 64], b[PATH_SIZE];

	snprintf(dir, sizeof(dir), "%s/sys/class/infiniband/%s/ports/%u", p->tree->root, d->name,
		 p->where->port);
	folder(e, dir);
	folder(e, at(b, "%s/gids", dir));
	folder(e, at(b, "%s/pkeys", dir));
	put(s, e, at(b, "%s/link_layer", dir), "InfiniBand\n");
	write_port(p, e);
	if (!e->code)
		p->watch = kernel_watch(s->kernel, d->node, p->where->port, on_change, p);
}

/* ---- A tree ---- */

static void
guid_show(char text[24], uint64_t guid)
{
	snprintf(text, 24, "%04x:%04x:%04x:%04x", (unsigned)(guid >> 48 & 0xffff),
		 (unsigned)(guid >> 32 & 0xffff), (unsigned)(guid >> 16 & 0xffff),
		 (unsigned)(guid & 0xffff));
}

static const char *
type_show(unsigned type)
{
	return type == IBNET_SWITCH ? "2: switch" : type == IBNET_ROUTER ? "3: router" : "1: CA";
}

static void
make_device(struct tree *t, const struct host_device *d, struct error *e)
{
	const struct ibnet_node *n = &model_ibnet(t->owner->model)->nodes[d->node];
	struct sysfs *s = t->owner;
	char dir[PATH_SIZE - 64], b[PATH_SIZE], guid[24];

	snprintf(dir, sizeof(dir), "%s/sys/class/infiniband/%s", t->root, d->name);
	folder(e, dir);
	folder(e, at(b, "%s/ports", dir));
	folder(e, at(b, "%s/device", dir));
	put(s, e, at(b, "%s/node_type", dir), "%s\n", type_show(n->type));
	guid_show(guid, n->guid);
	put_own(s, e, at(b, "%s/node_guid", dir), "%s\n", guid);
	guid_show(guid, n->system_guid ? n->system_guid : n->guid);
	put_own(s, e, at(b, "%s/sys_image_guid", dir), "%s\n", guid);
	put_own(s, e, at(b, "%s/node_desc", dir), "%.64s\n", n->desc);
	put(s, e, at(b, "%s/fw_ver", dir), "1.0.0\n");
	put(s, e, at(b, "%s/hw_rev", dir), "0\n");
	if (n->device_id)
		put(s, e, at(b, "%s/hca_type", dir), "MT%u\n", n->device_id);
	else
		put(s, e, at(b, "%s/hca_type", dir), "weftsim\n");
	put(s, e, at(b, "%s/board_id", dir), "WEFTSIM\n");
	put(s, e, at(b, "%s/device/vendor", dir), "0x%04x\n", n->vendor_id == 0x2c9 ? 0x15b3u :
	    n->vendor_id & 0xffff);
	put(s, e, at(b, "%s/device/device", dir), "0x%04x\n", n->device_id);
}

/* Numbers of devices are those of Linux for the first 64 ports. */
static void
make_files(struct tree *t, unsigned index, struct error *e)
{
	const struct host_port *p = &t->host->ports[index];
	const char *device = t->host->devices[p->device].name;
	struct sysfs *s = t->owner;
	char b[PATH_SIZE];

	for (unsigned issm = 0; issm <= (sysfs_has_issm(t->host, index) ? 1u : 0u); issm++) {
		const char *kind = issm ? "issm" : "umad";
		char dir[PATH_SIZE - 64];

		snprintf(dir, sizeof(dir), "%s/sys/class/infiniband_mad/%s%u", t->root, kind,
			 index);
		folder(e, dir);
		put(s, e, at(b, "%s/ibdev", dir), "%s\n", device);
		put(s, e, at(b, "%s/port", dir), "%u\n", p->port);
		put(s, e, at(b, "%s/dev", dir), "231:%u\n", index + issm * 64);
		put(s, e, at(b, "%s/dev/infiniband/%s%u", t->root, kind, index), "%s", "");
	}
}

static void
make_tree(struct tree *t, struct error *e)
{
	static const char *const folders[] = {
		"", "/sys", "/sys/class", "/sys/class/infiniband", "/sys/class/infiniband_mad",
		"/sys/class/infiniband_verbs", "/dev", "/dev/infiniband",
	};
	char b[PATH_SIZE];

	for (unsigned i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		folder(e, at(b, "%s%s", t->root, folders[i]));
	put(t->owner, e, at(b, "%s/sys/class/infiniband_mad/abi_version", t->root), "5\n");
	for (unsigned i = 0; i < t->host->ndevices; i++)
		make_device(t, &t->host->devices[i], e);
	for (unsigned i = 0; i < t->host->nports; i++) {
		t->ports[i].tree = t;
		t->ports[i].where = &t->host->ports[i];
		make_port(&t->ports[i], e);
		make_files(t, i, e);
	}
}

static void
free_tree(struct tree *t)
{
	list_remove(&t->list);
	for (unsigned i = 0; i < t->host->nports; i++)
		kernel_unwatch(t->ports[i].watch);
	mem_free(t->ports);
	mem_free(t->root);
	mem_free(t);
}

const char *
sysfs_root(struct sysfs *s, const struct host *h, struct error *e)
{
	struct tree *t;
	struct buf root = { 0 };

	list_each(it, &s->trees) {
		t = list_entry(it, struct tree, list);
		if (t->host == h)
			return t->root;
	}
	t = mem_zalloc(sizeof(*t));
	t->owner = s;
	t->host = h;
	t->ports = mem_array(h->nports, sizeof(t->ports[0]));
	buf_printf(&root, "%s/host-%u%s", scratch_path(s->folder), h->first,
		   h->layout ? "-pairs" : "");
	t->root = root.data;
	list_append(&s->trees, &t->list);
	e->code = 0;
	make_tree(t, e);
	if (!e->code)
		return t->root;
	free_tree(t);
	return NULL;
}

bool
sysfs_has_issm(const struct host *h, unsigned index)
{
	return h->devices[h->ports[index].device].qps & HOST_QP0;
}

int
sysfs_new(struct sysfs **out, struct model *m, struct kernel *k, struct error *e)
{
	struct sysfs *s = mem_zalloc(sizeof(*s));
	char b[PATH_SIZE];

	s->model = m;
	s->kernel = k;
	list_init(&s->trees);
	if (scratch_new(&s->folder, e)) {
		mem_free(s);
		return e->code;
	}
	e->code = 0;
	folder(e, at(b, "%s/texts", scratch_path(s->folder)));
	if (e->code) {
		sysfs_free(s);
		return e->code;
	}
	*out = s;
	return 0;
}

void
sysfs_free(struct sysfs *s)
{
	if (!s)
		return;
	list_each(it, &s->trees)
		free_tree(list_entry(it, struct tree, list));
	scratch_free(s->folder);
	mem_free(s);
}
