wire_src :=
wire_public :=
wire_pkgs :=
