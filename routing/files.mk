routing_src := \
	routing/chain.c \
	routing/check.c \
	routing/engines.c \
	routing/minhop.c \
	routing/quality.c \
	routing/updn.c
routing_public := routing/check.h routing/engine.h
routing_pkgs :=
