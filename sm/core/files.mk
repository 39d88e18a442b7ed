core_src :=
core_public :=
core_pkgs :=
programs += weftd
weftd_main := sm/core/main.c
weftd_libs := ctl core routing port fabric store conf text wire base
