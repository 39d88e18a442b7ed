/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weftd: the only file that knows every part. It loads the configuration, opens the state, makes a
 * subnet for each entry and the control socket, and lends them to each other.
 *
 * Exit status: 0 done, 1 refused (one line on standard error), 2 wrong usage or configuration, 3
 * with --once if there is no such InfiniBand port.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "plugins/consumer.h"
#include "plugins/set.h"
#include "sm/base/folder.h"
#include "sm/base/json.h"
#include "sm/base/log.h"
#include "sm/base/loop.h"
#include "sm/base/mem.h"
#include "sm/base/text.h"
#include "sm/base/version.h"
#include "sm/conf/config.h"
#include "sm/core/adaptive_show.h"
#include "sm/core/beyond.h"
#include "sm/core/daemon.h"
#include "sm/core/history.h"
#include "sm/core/named.h"
#include "sm/core/plugged_show.h"
#include "sm/core/reload.h"
#include "sm/core/simulate.h"
#include "sm/core/subnet.h"
#include "sm/ctl/ctl.h"
#include "sm/port/umad.h"
#include "sm/store/store.h"

#define END_PATIENCE MSEC(500)	/* for outstanding answers, when ending, */
#define END_CONSUMERS MSEC(1200)	/* and for consumers of events */
#define END_TURN MSEC(5)
#define EXIT_NO_PORT 3

struct weftd {
	const char *file;		/* configuration, NULL: built-in defaults */
	bool once;			/* bring up, verify, exit */
	const char *socket;		/* control socket instead of the configuration's, or NULL */
	struct simulate_options sim_options;	/* .fabric is NULL without --sim */
	monotime sim_for;		/* so much virtual time; 0: in real time */
	struct simulate *sim;		/* the fabric of --sim, or NULL */
	struct loop *loop;
	struct reloaded now;		/* configuration, and what it names */
	struct store *store;
	struct beyond *beyond;		/* others that share the store; NULL */
	struct history *history;
	struct event_ring *events;	/* of it */
	struct subnet **subnets;	/* conf->nsubnets */
	struct ctl_subnet *ctl_subnets;
	struct ctl_host host;
	struct ctl *ctl;
	struct reload *reload;		/* reads the files again */
	struct reloaded old;		/* jobs under way may borrow it until the next reload */
	struct consumers *consumers;	/* of events; NULL */
	int lock;			/* descriptor of the socket's lock file; -1 */
	int state_lock;			/* of the state file's; -1 */
	int exit_status;
	bool stopping;
	monotime end_by;		/* when answers are waited for no longer, */
	monotime consumers_by;		/* and consumers */
	struct loop_timer *end_timer;	/* end_turn() */
	struct loop_timer *watchdog;	/* word to the service manager that the loop turns */
	bool judged;			/* --once: the outcome is known */
	bool *settled;			/* by subnet: was up, or known not to be; for ready_told */
	bool ready_told;		/* to the service manager */
};

static void
usage(FILE *out)
{
	fputs("usage: weftd [-c FILE] [--once] [--check-config] [--socket PATH]\n"
	      "       weftd --sim FABRIC [-c FILE] [--once] [--socket PATH] [--sim-script FILE]\n"
	      "             [--sim-for TIME] [--sim-seed N]\n"
	      "\n"
	      "  -c, --config FILE  configuration, default /etc/weft/weft.yaml if it exists;\n"
	      "                     else one subnet on the first InfiniBand port\n"
	      "      --once         bring the subnet up, verify it, exit: 0 up, 1 not (and why),\n"
	      "                     3 this machine has no such InfiniBand port\n"
	      "      --check-config read the configuration, print it in full, exit: 0 good, 2 not\n"
	      "      --socket PATH  control socket, in place of control.socket\n"
	      "      --sim FABRIC   manage a simulated fabric in this process, not a real one:\n"
	      "                     a file as ibnetdiscover prints it, or a recipe (ft3:8; see\n"
	      "                     weftsim(1)); nothing is kept in the state file\n"
	      "      --sim-script FILE  timed commands that break and mend it\n"
	      "      --sim-for TIME     run so much virtual time (1d), print the events, exit\n"
	      "      --sim-seed N       of all that is left to chance\n"
	      "  -h, --help         this text\n"
	      "  -V, --version      the version\n"
	      "\n"
	      "Signals: HUP reads the configuration again and sweeps, USR1 reopens the log file,\n"
	      "TERM and INT end it (the fabric keeps forwarding).\n"
	      "See weftd(8), weft.yaml(5), weft(1).\n",
	      out);
}

static int
complain(const char *text, int status)
{
	fprintf(stderr, "weftd: %s\n", text);
	return status;
}

/* What happens under virtual time, printed: "0.123456 what" in seconds since the start. */
static void
print_event(void *arg, const struct event *ev)
{
	const struct weftd *w = arg;
	monotime now = loop_now(w->loop);

	printf("%lld.%06lld %s: %s\n", (long long)(now / SEC(1)),
	       (long long)(now % SEC(1) / USEC(1)), event_type_name(ev->type), ev->text);
}

static void
print_fabric(void *arg, const char *line)
{
	(void)arg;
	puts(line);
}

/*
 * Outcomes, for --once and the service manager.
 */
/* --once: end when the outcome of every subnet is known. */
static void
judge(void *arg)
{
	struct weftd *w = arg;
	struct error why = {0};

	if (w->judged || w->stopping)
		return;
	for (unsigned i = 0; i < w->now.conf->nsubnets; i++)
		if (!subnet_outcome(w->subnets[i], &why))
			return;
	w->judged = true;
	for (unsigned i = 0; i < w->now.conf->nsubnets; i++) {
		if (subnet_outcome(w->subnets[i], &why) > 0)
			continue;
		if (w->exit_status != 1)
			w->exit_status = why.code == ERR_NOT_FOUND ? EXIT_NO_PORT : 1;
		fprintf(stderr, "weftd: subnet %s is not up: %s\n", w->now.conf->subnets[i].name,
			why.text);
	}
	loop_stop(w->loop);
}

/* `refuse_if_master`: leave the fabric to the subnet manager that is in charge. */
static void
yield(void *arg)
{
	struct weftd *w = arg;
	struct error why = {0};

	for (unsigned i = 0; i < w->now.conf->nsubnets && !w->stopping; i++) {
		if (!subnet_must_yield(w->subnets[i]))
			continue;
		subnet_outcome(w->subnets[i], &why);
		fprintf(stderr, "weftd: subnet %s: %s; ending, as `refuse_if_master` says\n",
			w->now.conf->subnets[i].name, why.text);
		w->exit_status = 1;
		w->stopping = true;
		loop_stop(w->loop);
	}
}

/* Ready is who has been up, or is known not to be, with every subnet: what waits for the daemon
 * need not wait for a cable. */
static bool
becomes_ready(struct weftd *w, const struct subnet *s)
{
	bool all = true;
	struct error why;

	for (unsigned i = 0; i < w->now.conf->nsubnets; i++) {
		if (w->subnets[i] == s && subnet_outcome(s, &why))
			w->settled[i] = true;
		all &= w->settled[i];
	}
	return all && !w->ready_told;
}

static void
notify(struct weftd *w, struct subnet *s)
{
	struct subnet_status *st = mem_zalloc(sizeof(*st));
	bool ready = becomes_ready(w, s);

	subnet_status(s, st);
	daemon_notify("%sSTATUS=subnet %s: %s, %s, %u hosts, %u switches%s%s",
		      ready ? "READY=1\n" : "", st->name, st->role, st->state, st->hosts,
		      st->switches, st->nwarnings ? "; " : "",
		      st->nwarnings ? st->warnings[0] : "");
	w->ready_told |= ready;
	mem_free(st);
}

static void
on_changed(void *arg, struct subnet *s)
{
	struct weftd *w = arg;

	if (w->once)
		loop_post(w->loop, judge, w);
	else if (subnet_must_yield(s))
		loop_post(w->loop, yield, w);
	else if (getenv("NOTIFY_SOCKET"))
		notify(w, s);
}

/*
 * What the control socket may ask.
 */
static void
ctl_status(void *subnet, struct subnet_status *st)
{
	subnet_status(subnet, st);
}

static bool
ctl_up(void *subnet)
{
	return subnet_is_up(subnet);
}

static void
ctl_ha(void *subnet, struct ha_status *h)
{
	subnet_ha(subnet, h);
}

static const struct plan *
ctl_plan(void *subnet)
{
	return subnet_plan(subnet);
}

static bool
ctl_multicast(void *subnet, unsigned from, struct multicast_row *row)
{
	return subnet_multicast(subnet, from, row);
}

static bool
ctl_health(void *subnet, uint32_t from, struct health_row *row)
{
	return subnet_health(subnet, from, row);
}

static bool
ctl_service(void *subnet, uint64_t from, struct service_row *row)
{
	return subnet_service(subnet, from, row);
}

static void
ctl_congestion(void *subnet, struct congestion_view *v)
{
	subnet_congestion(subnet, v);
}

static void
ctl_adaptive(void *subnet, struct adaptive_view *v)
{
	subnet_adaptive(subnet, v);
}

static bool
ctl_adaptive_row(void *subnet, uint64_t from, struct adaptive_row *row)
{
	return subnet_adaptive_row(subnet, from, row);
}

static bool
ctl_congestion_row(void *subnet, uint64_t from, struct congestion_row *row)
{
	return subnet_congestion_row(subnet, from, row);
}

static void
ctl_counters(void *subnet, struct counters_view *v)
{
	subnet_counters(subnet, v);
}

static bool
ctl_counters_row(void *subnet, uint64_t from, struct counters_row *row)
{
	return subnet_counters_row(subnet, from, row);
}

static bool
ctl_subscription(void *subnet, uint64_t from, struct subscription_row *row)
{
	return subnet_subscription(subnet, from, row);
}

static int
ctl_change(void *subnet, const struct change *c, change_done_fn done, void *arg, struct error *e)
{
	return subnet_change(subnet, c, done, arg, e);
}

static int
ctl_partition(void *subnet, const struct partition_change *c, partition_done_fn done, void *arg,
	      struct error *e)
{
	return subnet_partition(subnet, c, done, arg, e);
}

static void
ctl_partitions(void *subnet, struct partition_view *v)
{
	subnet_partitions(subnet, v);
}

static void
tell(const struct weftd *w, enum event_type type, enum log_level level, const char *text)
{
	struct event ev = { .type = type, .level = level, .wall = loop_wall(w->loop) };

	snprintf(ev.text, sizeof(ev.text), "%s", text);
	event_ring_add(w->events, &ev);
}

static void
config_event(void *arg, enum log_level level, const char *text)
{
	tell(arg, EVENT_CONFIG, level, text);
}

/* Files that were refused, one event each. */
static void
tell_refused(struct weftd *w, const struct plugin_set *old, const struct plugin_set *fresh)
{
	for (unsigned i = 0; i < fresh->len; i++) {
		const struct plugin_entry *x = &fresh->entries[i];
		const struct plugin_entry *was = plugin_set_find(old, x->conf->name);

		if (x->why.code && !(was && strcmp(was->why.text, x->why.text) == 0))
			tell(w, EVENT_PLUGIN, LOG_L_WARNING, x->why.text);
	}
}

/* Swap in what was checked; what jobs under way may still borrow goes with the next reload. */
static void
take_config(struct weftd *w, const struct reloaded *fresh, enum config_stage stage)
{
	const struct config *conf = fresh->conf;

	for (unsigned i = 0; i < conf->nsubnets; i++) {
		bool other = subnet_set_plugins(w->subnets[i], fresh->plugins);

		subnet_set_tables(w->subnets[i], fresh->named->tables[i]);
		subnet_set_policy(w->subnets[i], conf);
		subnet_configure(w->subnets[i], &conf->subnets[i], fresh->named->names,
				 other && stage > STAGE_ROUTING ? STAGE_ROUTING : stage);
		w->ctl_subnets[i].name = conf->subnets[i].name;
	}
	history_set_days(w->history, conf->events.days);
	consumers_take(w->consumers, fresh->plugins);
	reload_discard(w->reload, &w->old);
	w->old = w->now;
	w->now = *fresh;
}

/* The configuration stays; jobs under way have references to what they need of the old set. */
static void
take_plugins(struct weftd *w, const struct plugin_set *fresh)
{
	const struct config *conf = w->now.conf;

	for (unsigned i = 0; i < conf->nsubnets; i++)
		if (subnet_set_plugins(w->subnets[i], fresh))
			subnet_configure(w->subnets[i], &conf->subnets[i], w->now.named->names,
					 STAGE_ROUTING);
	consumers_take(w->consumers, fresh);
	reload_discard(w->reload, &(struct reloaded){ .plugins = w->now.plugins });
	w->now.plugins = fresh;
}

static int
take_reloaded(void *arg, const struct reloaded *fresh, enum config_stage stage, struct error *e)
{
	struct weftd *w = arg;

	if (fresh->conf && log_open(fresh->conf->log.to, fresh->conf->log.level, e))
		return e->code;
	tell_refused(w, w->now.plugins, fresh->plugins);
	if (fresh->conf)
		take_config(w, fresh, stage);
	else
		take_plugins(w, fresh->plugins);
	return 0;
}

static void
running(void *arg, struct reloaded *now)
{
	const struct weftd *w = arg;

	*now = w->now;
}

static void
rehearse(void *arg, const struct config *conf, unsigned i, struct buf *report,
	 void (*done)(void *done_arg), void *done_arg)
{
	const struct weftd *w = arg;

	subnet_rehearse(w->subnets[i], conf, report, done, done_arg);
}

static int
ctl_reload(void *arg, const struct ctl_reload *what, ctl_reload_fn done, void *done_arg,
	   struct error *e)
{
	const struct weftd *w = arg;
	struct reload_order o = {
		.dry_run = what->dry_run, .plugins = what->plugins, .done = done, .arg = done_arg,
	};

	snprintf(o.plugin, sizeof(o.plugin), "%s", what->plugin ? what->plugin : "");
	return reload_start(w->reload, &o, e);
}

static bool
ctl_plugin(void *arg, unsigned i, struct plugin_row *row)
{
	const struct weftd *w = arg;

	return plugged_row(w->now.plugins, w->consumers, i, row);
}

static bool
ctl_plugin_option(void *arg, unsigned i, unsigned n, struct plugin_option_row *row)
{
	const struct weftd *w = arg;

	return plugged_option(w->now.plugins, i, n, row);
}

/*
 * Signals.
 */
static void
hup_done(void *arg, int error, const char *text, const char *report)
{
	const struct weftd *w = arg;

	(void)report;
	if (error)
		log_error("%s; the running configuration stays", text);
	for (unsigned i = 0; i < w->now.conf->nsubnets && !w->stopping; i++)
		subnet_sweep(w->subnets[i]);
}

static void
on_hup(void *arg)
{
	struct weftd *w = arg;
	const struct reload_order o = { .signalled = true, .done = hup_done, .arg = w };
	struct error e;
	int rc = reload_start(w->reload, &o, &e);

	if (rc)
		hup_done(w, rc, e.text, NULL);
}

static void
on_watchdog(void *arg)
{
	struct weftd *w = arg;

	daemon_notify("WATCHDOG=1");
	loop_timer_set(w->watchdog, daemon_watchdog());
}

/* Answers to what was asked come in first, for a moment: a Set is not left half known, and a port
 * is not closed under its traffic (packaged ibsim's preload library crashes then). */
static void
end_turn(void *arg)
{
	struct weftd *w = arg;
	bool quiet = true;

	for (unsigned i = 0; i < w->now.conf->nsubnets; i++)
		quiet &= subnet_end(w->subnets[i]);
	quiet |= loop_now(w->loop) >= w->end_by;
	quiet &= consumers_end(w->consumers) || loop_now(w->loop) >= w->consumers_by;
	if (quiet)
		loop_stop(w->loop);
	else
		loop_timer_set(w->end_timer, END_TURN);
}

static void
on_term(void *arg)
{
	struct weftd *w = arg;

	if (w->stopping)
		return;
	log_notice("ending; the fabric keeps forwarding");
	daemon_notify("STOPPING=1");
	w->stopping = true;
	reload_end(w->reload);
	w->end_by = loop_now(w->loop) + END_PATIENCE;
	w->consumers_by = loop_now(w->loop) + END_CONSUMERS;
	end_turn(w);
}

static void
on_usr1(void *arg)
{
	(void)arg;
	log_reopen();
}

/*
 * Start and end.
 */
static struct port *
open_umad(void *arg, struct loop *l, const char *selector, const struct port_events *events,
	  struct error *e)
{
	(void)arg;
	return umad_port_new(l, selector, events, e);
}

static int
open_state(struct weftd *w, struct error *e)
{
	/* What is learnt from a simulated fabric must never reach the real one's state. */
	if (w->sim || !strcmp(w->now.conf->state, ":memory:")) {
		w->store = store_open_memory(w->loop);
	} else {
		if (folder_make(w->now.conf->state, e))
			return e->code;
		w->state_lock = daemon_lock(w->now.conf->state, "state", e);
		if (w->state_lock < 0)
			return w->state_lock;
		w->store = beyond_store(w->loop, w->now.conf, e);
		if (!w->store)
			return e->code;
	}
	w->history = history_new(w->loop, w->store, w->now.conf->events.keep,
				 w->now.conf->events.days);
	w->events = history_events(w->history);
	if (w->sim_for)
		event_ring_sink(w->events, print_event, w);
	w->consumers = consumers_new(w->loop, w->events);
	return 0;
}

static int
open_subnets(struct weftd *w, struct error *e)
{
	struct subnet_env env = {
		.loop = w->loop, .store = w->store, .events = w->events,
		.names = w->now.named->names,
		.consumers = w->consumers,
		.threads = w->now.conf->threads, .changed = on_changed, .arg = w,
	};

	w->subnets = mem_array(w->now.conf->nsubnets, sizeof(struct subnet *));
	w->settled = mem_array(w->now.conf->nsubnets, sizeof(bool));
	w->ctl_subnets = mem_array(w->now.conf->nsubnets, sizeof(*w->ctl_subnets));
	for (unsigned i = 0; i < w->now.conf->nsubnets; i++) {
		w->subnets[i] = subnet_new(&env, &w->now.conf->subnets[i],
					   w->sim ? simulate_port : open_umad, w->sim, e);
		if (!w->subnets[i])
			return e->code;
		subnet_set_tables(w->subnets[i], w->now.named->tables[i]);
		subnet_set_plugins(w->subnets[i], w->now.plugins);
		subnet_set_policy(w->subnets[i], w->now.conf);
		w->ctl_subnets[i] = (struct ctl_subnet){
			.name = w->now.conf->subnets[i].name, .subnet = w->subnets[i],
			.status = ctl_status, .up = ctl_up, .ha = ctl_ha, .plan = ctl_plan,
			.change = ctl_change, .multicast = ctl_multicast, .health = ctl_health,
			.service = ctl_service,
			.subscription = ctl_subscription, .partition = ctl_partition,
			.partitions = ctl_partitions, .congestion = ctl_congestion,
			.adaptive = ctl_adaptive, .adaptive_row = ctl_adaptive_row,
			.congestion_row = ctl_congestion_row, .counters = ctl_counters,
			.counters_row = ctl_counters_row,
		};
	}
	w->beyond = beyond_new(w->store, w->loop, w->events, w->subnets, w->now.conf->nsubnets);
	return 0;
}

static const char *
control_socket(const struct weftd *w)
{
	return w->socket ? w->socket : w->now.conf->control.socket;
}

static int
open_control(struct weftd *w, struct error *e)
{
	w->host = (struct ctl_host){
		.subnets = w->ctl_subnets, .nsubnets = w->now.conf->nsubnets, .events = w->events,
		.reload = ctl_reload, .plugin = ctl_plugin, .plugin_option = ctl_plugin_option,
		.arg = w,
	};
	if (w->once || w->sim_for)
		return 0;
	w->ctl = ctl_new(w->loop, control_socket(w), w->now.conf->control.group, &w->host, e);
	return w->ctl ? 0 : e->code;
}

/* The script's last word. */
static void
end_simulation(void *arg)
{
	struct weftd *w = arg;

	if (w->sim_for)
		loop_stop(w->loop);
	else
		on_term(w);
}

static int
start(struct weftd *w, struct error *e)
{
	w->loop = w->sim_for ? loop_new_virtual(w->sim_options.seed) : loop_new_event();
	w->end_timer = loop_timer_new(w->loop, end_turn, w);
	w->reload = reload_new(&(struct reload_host){
		.loop = w->loop, .file = w->file, .running = running, .take = take_reloaded,
		.rehearse = rehearse,
		.tell = config_event, .arg = w,
	});
	if (!w->once && !w->sim_for) {
		if (folder_make(control_socket(w), e))
			return e->code;
		w->lock = daemon_lock(control_socket(w), "control.socket", e);
		if (w->lock < 0)
			return w->lock;
	}
	if (w->sim_options.fabric) {
		w->sim_options.log = w->sim_for ? print_fabric : NULL;
		w->sim_options.quit = end_simulation;
		w->sim_options.arg = w;
		w->sim = simulate_new(w->loop, &w->sim_options, e);
		if (!w->sim)
			return e->code;
	}
	if (!(w->now.named = named_load(w->now.conf, e)))
		return e->code;
	if (open_state(w, e) || open_subnets(w, e) || open_control(w, e))
		return e->code;
	tell_refused(w, NULL, w->now.plugins);
	if (w->sim_for)
		return 0;
	if (!w->once)
		consumers_take(w->consumers, w->now.plugins);
	w->watchdog = loop_timer_new(w->loop, on_watchdog, w);
	if (daemon_watchdog())
		on_watchdog(w);
	loop_signal(w->loop, SIGHUP, on_hup, w);
	loop_signal(w->loop, SIGUSR1, on_usr1, w);
	loop_signal(w->loop, SIGTERM, on_term, w);
	loop_signal(w->loop, SIGINT, on_term, w);
	config_event(w, LOG_L_NOTICE, "weftd " WEFT_VERSION " started");
	return 0;
}

static void
stop(struct weftd *w)
{
	w->stopping = true;
	reload_end(w->reload);
	ctl_free(w->ctl);
	beyond_free(w->beyond);
	for (unsigned i = 0; w->subnets && i < w->now.conf->nsubnets; i++)
		subnet_free(w->subnets[i]);
	mem_free(w->subnets);
	mem_free(w->settled);
	mem_free(w->ctl_subnets);
	simulate_free(w->sim);
	consumers_free(w->consumers);
	store_close(w->store);
	history_free(w->history);
	loop_timer_free(w->end_timer);
	loop_timer_free(w->watchdog);
	if (w->loop)
		loop_free(w->loop);
	reload_free(w->reload);
	reloaded_free(&w->old);
	reloaded_free(&w->now);
	if (w->lock >= 0)
		close(w->lock);
	if (w->state_lock >= 0)
		close(w->state_lock);
}

/* All that is wrong with plugins, and what is said of them. */
static int
check_plugins(const struct plugin_set *set)
{
	int status = 0;

	for (unsigned i = 0; i < set->len; i++) {
		const struct plugin_entry *x = &set->entries[i];

		if (x->why.code)
			status = complain(x->why.text, 2);
		if (x->wrong.code)
			status = complain(x->wrong.text, 2);
	}
	return status;
}

static int
check_config(struct weftd *w)
{
	struct buf b = {0};
	struct error e;
	int status;

	/* What the start would read too. */
	w->now.named = named_load(w->now.conf, &e);
	w->now.plugins = plugin_set_load(w->now.conf, NULL, NULL);
	status = w->now.named ? 0 : complain(e.text, 2);
	if (check_plugins(w->now.plugins))
		status = 2;
	if (!status) {
		config_print(w->now.conf, &b);
		fwrite(b.data, 1, b.len, stdout);
		buf_free(&b);
	}
	reloaded_free(&w->now);
	return status;
}

/* Under virtual time the events are what is printed: the log, which has them too, is kept only
 * where it does not come to the same terminal. */
static int
open_log(const struct weftd *w, struct error *e)
{
	const char *to = w->now.conf->log.to;

	if (w->sim_for && (!strcmp(to, "stderr") || !strcmp(to, "journal")))
		to = "/dev/null";
	return log_open(to, w->now.conf->log.level, e);
}

/* The options that simulate; false and a sentence if the value is none. */
static bool
sim_option(struct weftd *w, int c, const char *arg)
{
	switch (c) {
	case 'S':
		w->sim_options.fabric = arg;
		return true;
	case 'C':
		w->sim_options.script = arg;
		return true;
	case 'F':
		if (duration_parse(arg, &w->sim_for) && w->sim_for > 0)
			return true;
		fprintf(stderr, "weftd: --sim-for takes a time such as 90s or 1d, not %s\n", arg);
		return false;
	case 'R':
		if (number_parse(arg, 0, UINT64_MAX, &w->sim_options.seed))
			return true;
		fprintf(stderr, "weftd: --sim-seed takes a number, not %s\n", arg);
		return false;
	default:
		fputs("weftd: see weftd --help\n", stderr);
		return false;
	}
}

static bool
options_agree(const struct weftd *w)
{
	const char *why = NULL;

	if (!w->sim_options.fabric &&
	    (w->sim_options.script || w->sim_for || w->sim_options.seed))
		why = "--sim-script, --sim-for and --sim-seed go with --sim FABRIC";
	else if (w->sim_for && w->once)
		why = "--once and --sim-for both say when to end: give one of them";
	if (why)
		fprintf(stderr, "weftd: %s\n", why);
	return !why;
}

/* 0: go on; else the exit status + 1. */
static int
options(struct weftd *w, int argc, char **argv, bool *check)
{
	static const struct option longs[] = {
		{"config", required_argument, NULL, 'c'}, {"once", no_argument, NULL, 'o'},
		{"check-config", no_argument, NULL, 'n'}, {"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'}, {"socket", required_argument, NULL, 's'},
		{"sim", required_argument, NULL, 'S'},
		{"sim-script", required_argument, NULL, 'C'},
		{"sim-for", required_argument, NULL, 'F'},
		{"sim-seed", required_argument, NULL, 'R'}, {0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "c:hV", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			w->file = optarg;
			break;
		case 'o':
			w->once = true;
			break;
		case 'n':
			*check = true;
			break;
		case 's':
			w->socket = optarg;
			break;
		case 'h':
			usage(stdout);
			return 1;
		case 'V':
			puts("weftd " WEFT_VERSION);
			return 1;
		default:
			if (!sim_option(w, c, optarg))
				return 3;
		}
	}
	if (optind == argc)
		return options_agree(w) ? 0 : 3;
	fprintf(stderr, "weftd: unexpected argument \"%s\": see weftd --help\n", argv[optind]);
	return 3;
}

int
main(int argc, char **argv)
{
	static const char standard_file[] = "/etc/weft/weft.yaml";
	struct weftd w = {.lock = -1, .state_lock = -1};
	struct error e = {0};
	bool check = false;
	int rc = options(&w, argc, argv, &check);

	if (rc)
		return rc - 1;
	if (!w.file && !access(standard_file, F_OK))
		w.file = standard_file;
	w.now.conf = config_load(w.file, &e);
	if (!w.now.conf)
		return complain(e.text, 2);
	if (check)
		return check_config(&w);
	daemon_journal();
	if (open_log(&w, &e)) {
		reloaded_free(&w.now);
		return complain(e.text, 1);
	}
	signal(SIGPIPE, SIG_IGN);
	w.now.plugins = plugin_set_load(w.now.conf, NULL, NULL);
	if (plugin_set_wrong(w.now.plugins, &e)) {
		reloaded_free(&w.now);
		return complain(e.text, 2);
	}
	if (start(&w, &e)) {
		stop(&w);
		return complain(e.text, 1);
	}
	if (w.sim_for)
		loop_run_until(w.loop, loop_now(w.loop) + w.sim_for, NULL);
	else
		loop_run(w.loop);
	if (w.once && !w.judged)
		w.exit_status = 1;
	stop(&w);
	return w.exit_status;
}
