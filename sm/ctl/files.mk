ctl_src :=
ctl_public :=
ctl_pkgs :=
