sim_src := \
	sim/control/capture.c \
	sim/control/command.c \
	sim/control/command_ar.c \
	sim/control/command_fault.c \
	sim/control/command_load.c \
	sim/control/command_other.c \
	sim/control/command_show.c \
	sim/control/fault.c \
	sim/control/names.c \
	sim/control/script.c \
	sim/control/select.c \
	sim/control/sim.c \
	sim/control/words.c \
	sim/control/wrong.c \
	sim/control/wrong_routes.c \
	sim/direct.c \
	sim/generate/generate.c \
	sim/generate/generate_graph.c \
	sim/generate/generate_grid.c \
	sim/generate/generate_tree.c \
	sim/kernel/kernel.c \
	sim/kernel/kernel_grh.c \
	sim/kernel/kernel_reg.c \
	sim/kernel/kernel_rmpp.c \
	sim/kernel/kernel_sent.c \
	sim/kernel/kernel_tids.c \
	sim/kernel/rmpp.c \
	sim/model/ar.c \
	sim/model/ar_options.c \
	sim/model/cca.c \
	sim/model/counters.c \
	sim/model/device.c \
	sim/model/flight.c \
	sim/model/model.c \
	sim/model/model_fault.c \
	sim/model/pma.c \
	sim/model/rng.c \
	sim/model/sma.c \
	sim/model/sma_ar.c \
	sim/model/sma_extended.c \
	sim/model/sma_port.c \
	sim/model/sma_table.c \
	sim/model/trap.c \
	sim/model/watch.c \
	sim/model/way.c \
	sim/serve/holders.c \
	sim/serve/host.c \
	sim/serve/scratch.c \
	sim/serve/server.c \
	sim/serve/sysfs.c \
	sim/serve/umad_file.c \
	sim/traffic/share.c \
	sim/traffic/traffic.c \
	sim/traffic/traffic_load.c \
	sim/traffic/traffic_split.c \
	sim/traffic/traffic_way.c
sim_public := sim/direct.h sim/control/sim.h sim/generate/generate.h sim/model/ar.h \
	sim/model/model.h sim/serve/server.h
sim_pkgs :=

programs += weftsim
weftsim_main := \
	sim/program/client.c \
	sim/program/cmd_ctl.c \
	sim/program/cmd_exec.c \
	sim/program/cmd_generate.c \
	sim/program/cmd_rehearse.c \
	sim/program/cmd_run.c \
	sim/program/cmd_serve.c \
	sim/program/console.c \
	sim/program/main.c \
	sim/program/stage.c
weftsim_extra := -ledit
weftsim_libs := sim text wire base
