sim_src :=
sim_public :=
sim_pkgs :=
