routing_src := \
	routing/adaptive.c \
	routing/alternatives.c \
	routing/alternatives_ways.c \
	routing/auto.c \
	routing/balance.c \
	routing/chain.c \
	routing/channels.c \
	routing/check.c \
	routing/check_adaptive.c \
	routing/classes.c \
	routing/columns.c \
	routing/cuts.c \
	routing/depend.c \
	routing/depend_groups.c \
	routing/depend_lanes.c \
	routing/dfsssp.c \
	routing/dragonfly.c \
	routing/dragonfly_longer.c \
	routing/engines.c \
	routing/fatpaths.c \
	routing/fattree.c \
	routing/fattree_fill.c \
	routing/fattree_memo.c \
	routing/fattree_note.c \
	routing/fattree_repair.c \
	routing/fattree_silent.c \
	routing/fattree_spread.c \
	routing/fattree_uneven.c \
	routing/file.c \
	routing/grid.c \
	routing/grid_find.c routing/grid_complete.c \
	routing/groups.c \
	routing/hops.c \
	routing/hops_detour.c \
	routing/hops_lanes.c \
	routing/hops_shape.c \
	routing/hyperx.c \
	routing/ladder.c \
	routing/keep.c \
	routing/layered.c \
	routing/layers.c \
	routing/levels.c \
	routing/lineup.c \
	routing/links.c \
	routing/loads.c \
	routing/minhop.c \
	routing/mtree.c \
	routing/mtree_keep.c \
	routing/multicast.c \
	routing/nominal.c \
	routing/nue.c \
	routing/place.c \
	routing/quality.c \
	routing/ranks.c \
	routing/repair.c \
	routing/report.c \
	routing/roots.c \
	routing/rows.c \
	routing/shape.c \
	routing/shape_lost.c \
	routing/slim.c \
	routing/span.c \
	routing/torus.c \
	routing/torus_lanes.c \
	routing/tree.c \
	routing/tree_cost.c \
	routing/tree_number.c \
	routing/tree_order.c \
	routing/tree_state.c \
	routing/updn.c \
	routing/turns.c \
	routing/ways.c \
	routing/ways_around.c \
	routing/ways_find.c \
	routing/ways_grow.c \
	routing/ways_make.c \
	routing/walk.c
routing_public := routing/adaptive.h routing/alternatives.h routing/check.h routing/classes.h routing/engine.h routing/keep.h routing/links.h routing/mtree.h \
	routing/quality.h routing/ranks.h routing/report.h routing/roots.h routing/span.h
routing_pkgs :=

# Long loops over bytes, which gcc turns into vector instructions from this level on.
$(BUILD)/obj/routing/tree_cost.o $(BUILD)/obj/routing/fattree_fill.o: CFLAGS += -O3
