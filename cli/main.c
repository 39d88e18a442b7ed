/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include "sm/base/version.h"

/* The `weft` program: the administrator's end of the control socket. */
static int
act(struct cli *c, int argc, char **argv)
{
	int ret = options_parse(c, argc, argv);

	if (ret)
		return ret;
	if (c->version)
		printf("weft %s\n", WEFT_VERSION);
	else if (c->help)
		options_help(c, stdout);
	else
		ret = c->command->run ? c->command->run(c) : cli_run(c);
	return ret;
}

int
main(int argc, char **argv)
{
	struct cli c = { .fd = -1, .timeout_ms = -1, .args = json_object() };
	int ret = act(&c, argc, argv);

	connection_close(&c);
	json_decref(c.args);
	if ((fflush(stdout) || ferror(stdout)) && ret == 0) {
		emit(stderr, "weft: the output cannot be written\n");
		ret = CLI_REFUSED;
	}
	return ret;
}
