routing_src :=
routing_public :=
routing_pkgs :=
