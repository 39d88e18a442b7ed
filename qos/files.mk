qos_src := qos/compose.c
qos_public := qos/compose.h
qos_pkgs :=
