fuzz_targets += fuzz_plugin
fuzz_plugin_libs := plugins routing fabric sim text wire base
