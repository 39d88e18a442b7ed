fabric_src := \
	sm/fabric/adaptive.c \
	sm/fabric/event.c \
	sm/fabric/event_read.c \
	sm/fabric/fabric.c \
	sm/fabric/fabric_ibnet.c \
	sm/fabric/path.c \
	sm/fabric/pkeys.c \
	sm/fabric/plan.c \
	sm/fabric/plan_row.c \
	sm/fabric/plan_text.c \
	sm/fabric/rails.c \
	sm/fabric/rails_judge.c \
	sm/fabric/levels.c \
	sm/fabric/sls.c
fabric_public := $(addprefix sm/fabric/,adaptive.h adaptive_view.h change.h event.h fabric.h levels.h pkeys.h plan.h plan_row.h plan_text.h \
	plugin_view.h rails.h sls.h status.h)
fabric_pkgs := jansson
