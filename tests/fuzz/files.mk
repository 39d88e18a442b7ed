# A fuzz target is tests/fuzz/fuzz_x.c with LLVMFuzzerTestOneInput(). Built with SAN=fuzzer (clang)
# libFuzzer drives it; in every other build replay.c runs it over the files of its corpus.
include $(sort $(filter-out tests/fuzz/files.mk,$(wildcard tests/fuzz/*.mk)))
fuzz_driver := $(if $(filter fuzzer,$(SAN)),,tests/fuzz/replay.c)
$(foreach t,$(fuzz_targets),$(eval $(t)_main := tests/fuzz/$(t).c $(fuzz_driver)))
