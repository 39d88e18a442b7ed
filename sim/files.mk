sim_src := \
	sim/ar.c \
	sim/ar_options.c \
	sim/capture.c \
	sim/command.c \
	sim/command_ar.c \
	sim/command_fault.c \
	sim/command_load.c \
	sim/command_other.c \
	sim/command_show.c \
	sim/counters.c \
	sim/device.c \
	sim/direct.c \
	sim/fault.c \
	sim/flight.c \
	sim/generate.c \
	sim/generate_graph.c \
	sim/generate_grid.c \
	sim/generate_tree.c \
	sim/host.c \
	sim/kernel.c \
	sim/kernel_grh.c \
	sim/kernel_reg.c \
	sim/kernel_rmpp.c \
	sim/kernel_sent.c \
	sim/kernel_tids.c \
	sim/model.c \
	sim/model_fault.c \
	sim/names.c \
	sim/pma.c \
	sim/rmpp.c \
	sim/rng.c \
	sim/scratch.c \
	sim/script.c \
	sim/select.c \
	sim/server.c \
	sim/share.c \
	sim/sim.c \
	sim/sma.c \
	sim/sma_ar.c \
	sim/sma_extended.c \
	sim/sma_port.c \
	sim/sma_table.c \
	sim/sysfs.c \
	sim/traffic.c \
	sim/traffic_load.c \
	sim/traffic_way.c \
	sim/trap.c \
	sim/umad_file.c \
	sim/watch.c \
	sim/way.c \
	sim/words.c \
	sim/wrong.c \
	sim/wrong_routes.c
sim_public := sim/ar.h sim/direct.h sim/generate.h sim/model.h sim/server.h sim/sim.h
sim_pkgs :=

programs += weftsim
weftsim_main := sim/main.c sim/client.c sim/cmd_ctl.c sim/cmd_exec.c sim/cmd_generate.c \
	sim/cmd_rehearse.c sim/cmd_run.c sim/cmd_serve.c sim/console.c sim/stage.c
weftsim_extra := -ledit
weftsim_libs := sim text wire base
