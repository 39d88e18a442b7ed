programs += weft
weft_main :=
weft_libs := base
