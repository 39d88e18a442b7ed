text_src :=
text_public :=
text_pkgs :=
