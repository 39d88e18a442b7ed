qos_src := qos/compose.c qos/configured.c qos/arbitrate.c qos/congestion.c qos/rules.c
qos_public := qos/compose.h qos/configured.h qos/arbitrate.h qos/congestion.h qos/rules.h
qos_pkgs :=
