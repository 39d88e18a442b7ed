qos_src := qos/compose.c qos/configured.c qos/arbitrate.c
qos_public := qos/compose.h qos/configured.h qos/arbitrate.h
qos_pkgs :=
