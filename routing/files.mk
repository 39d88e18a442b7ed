routing_src := \
	routing/balance.c \
	routing/chain.c \
	routing/channels.c \
	routing/check.c \
	routing/depend.c \
	routing/engines.c \
	routing/ladder.c \
	routing/levels.c \
	routing/minhop.c \
	routing/place.c \
	routing/quality.c \
	routing/ranks.c \
	routing/repair.c \
	routing/report.c \
	routing/roots.c \
	routing/updn.c \
	routing/walk.c
routing_public := routing/check.h routing/engine.h routing/report.h
routing_pkgs :=
