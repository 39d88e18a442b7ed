programs += weft-gateway
gateway_src := \
	gateway/auth.c \
	gateway/control.c \
	gateway/gateway.c \
	gateway/http.c \
	gateway/options.c \
	gateway/server.c \
	gateway/stream.c \
	gateway/ufm.c
gateway_public :=
gateway_pkgs := jansson libssl libcrypto libcrypt
weft-gateway_main := gateway/main.c
weft-gateway_libs := gateway base
