unit_tests += test_nue
test_nue_libs := qos routing fabric sim text wire base
test_nue_extra := -lcmocka

unit_tests += test_fatpaths
test_fatpaths_libs := qos routing fabric sim text wire base
test_fatpaths_extra := -lcmocka
