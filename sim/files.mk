sim_src := \
	sim/generate.c \
	sim/rng.c
sim_public := sim/generate.h
sim_pkgs :=

programs += weftsim
weftsim_main := sim/main.c
weftsim_libs := sim text wire base
