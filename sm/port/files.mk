port_src :=
port_public :=
port_pkgs :=
