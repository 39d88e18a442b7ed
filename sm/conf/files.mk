conf_src :=
conf_public :=
conf_pkgs :=
