partitions_src := partitions/change.c partitions/compile.c partitions/layout.c partitions/pins.c partitions/policy.c partitions/recompile.c partitions/selected.c
partitions_public := partitions/change.h partitions/compile.h partitions/policy.h partitions/selected.h
partitions_pkgs :=
