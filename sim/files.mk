sim_src := \
	sim/counters.c \
	sim/direct.c \
	sim/flight.c \
	sim/generate.c \
	sim/generate_graph.c \
	sim/generate_grid.c \
	sim/generate_tree.c \
	sim/kernel.c \
	sim/kernel_reg.c \
	sim/kernel_sent.c \
	sim/kernel_tids.c \
	sim/model.c \
	sim/pma.c \
	sim/rng.c \
	sim/sma.c \
	sim/sma_ar.c \
	sim/sma_port.c \
	sim/trap.c \
	sim/watch.c \
	sim/way.c
sim_public := sim/direct.h sim/generate.h sim/model.h
sim_pkgs :=

programs += weftsim
weftsim_main := sim/main.c sim/cmd_generate.c
weftsim_libs := sim text wire base
