unit: $(unit_tests:%=$(BUILD)/%)
	@for t in $^; do echo "== $$t"; $$t || exit 1; done
.PHONY: unit
