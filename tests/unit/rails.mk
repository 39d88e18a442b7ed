unit_tests += test_rails
test_rails_libs := fabric text wire base
test_rails_extra := -lcmocka
