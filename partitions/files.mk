partitions_src := partitions/change.c partitions/compile.c partitions/pins.c partitions/policy.c partitions/selected.c
partitions_public := partitions/change.h partitions/compile.h partitions/policy.h partitions/selected.h
partitions_pkgs :=
