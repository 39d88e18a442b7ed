/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many MAD round trips a second a umad device carries, seen from a plain program.
 *
 * Usage: bench_window WINDOW [SECONDS [HOPS]], attached to a simulated or real fabric. NodeInfo of
 * the own node (HOPS 0) or of its neighbour (1) is asked for by directed route, WINDOW requests at
 * a time, through libibumad alone. Prints the rate.
 */
#include <infiniband/umad.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAD 256

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
fill(uint8_t *mad, uint32_t tid, unsigned hops)
{
	memset(mad, 0, MAD);
	memcpy(mad, "\x01\x81\x01\x01", 4);
	mad[7] = (uint8_t)hops;
	for (unsigned i = 0; i < 4; i++)
		mad[12 + i] = (uint8_t)(tid >> (24 - 8 * i));
	mad[17] = 0x11;
	memset(mad + 32, 0xff, 4);
	mad[129] = 1;
}

static void
must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench_window: %s failed\n", what);
	exit(1);
}

int
main(int argc, char **argv)
{
	unsigned window = argc > 1 ? (unsigned)atoi(argv[1]) : 1, out = 0;
	double seconds = argc > 2 ? atof(argv[2]) : 1, began, end;
	unsigned hops = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
	unsigned long sent = 0, got = 0, lost = 0;
	uint8_t *umad;
	int port, agent;

	must(umad_init() == 0, "umad_init");
	port = umad_open_port(NULL, 0);
	must(port >= 0, "umad_open_port");
	agent = umad_register(port, 0x81, 1, 0, NULL);
	must(agent >= 0, "umad_register");
	umad = calloc(1, umad_size() + MAD);
	must(umad != NULL, "calloc");
	began = now();
	end = began + seconds;
	while (now() < end || out) {
		int length = MAD;

		while (out < window && now() < end) {
			fill(umad_get_mad(umad), (uint32_t)++sent, hops);
			umad_set_addr(umad, 0xffff, 0, 0, 0);
			must(umad_send(port, agent, umad, MAD, 1000, 0) == 0, "umad_send");
			out++;
		}
		must(umad_recv(port, umad, &length, 2000) >= 0, "umad_recv");
		lost += umad_status(umad) != 0;
		got++;
		out--;
	}
	printf("%.0f round trips a second, window %u, %lu lost\n",
	       (double)got / (now() - began), window, lost);
	free(umad);
	umad_close_port(port);
	return 0;
}
