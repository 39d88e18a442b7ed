store_src :=
store_public :=
store_pkgs :=
