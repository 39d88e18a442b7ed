fabric_src :=
fabric_public :=
fabric_pkgs :=
