/* main.c - choosing the command. */
#include "cli.h"

#include "over_ssh.h"

#include "base/file.h"
#include "base/heap.h"
#include "request/registry.h"
#include "rpc/fetch.h"
#include "rpc/loaded.h"
#include "rpc/tls.h"

#include <brotli/decode.h>
#include <libdeflate.h>
#include <microhttpd.h>
#include <nghttp2/nghttp2.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define COMMAND(name) extern const struct cli_command cli_command_##name;
#include "commands.def"
#undef COMMAND

static const struct cli_command *const commands[] = {
#define COMMAND(name) &cli_command_##name,
#include "commands.def"
#undef COMMAND
	NULL,
};

static void usage(FILE *to)
{
	fputs("usage: stepscope COMMAND ...\n\n"
	      "Where does a training step's time go? Reads the profiles that JAX, TensorFlow and PyTorch/XLA "
	      "write.\n\n",
	      to);
	for (size_t i = 0; cli_commands[i]; i++)
		if (!cli_commands[i]->hidden)
			fprintf(to, "  %-11s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
	fputs("\n'stepscope COMMAND --help' shows a command's options; 'stepscope --version' prints the version.\n", to);
}

static const char *command_name(const void *list, size_t i)
{
	(void)list;
	return cli_commands[i] ? cli_commands[i]->name : NULL;
}

/* A link of a command's name that scripts know: it is that command. */
static const struct cli_command *called_as(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	return strcmp(name, "capture_tpu_profile") == 0 || strcmp(name, "xprof") == 0 ? cli_command_find(name) : NULL;
}

/* The version in "OpenSSL 3.0.19 27 Jan 2026" or "libcurl/7.88.1 zlib/1.2". */
static const char *word_with_digit(char *text)
{
	char *begin = text + strcspn(text, "0123456789");
	begin[strcspn(begin, " ")] = '\0';
	return begin;
}

/* Print the versions of the loaded libraries, which may be newer than those of the build. */
static void say_libraries(void)
{
	char text[200];
	printf("libmicrohttpd %s\nnghttp2 %s\nzlib %s\nlibdeflate %s (built with)\n", MHD_get_version(),
	       nghttp2_version(0)->version_str, zlibVersion(), LIBDEFLATE_VERSION_STRING);
	printf("sqlite %s\nlibzstd %s\n", sqlite3_libversion(), ZSTD_versionString());
	uint32_t brotli = BrotliDecoderVersion();
	printf("libbrotlidec %u.%u.%u\n", brotli >> 24, brotli >> 12 & 0xfff, brotli & 0xfff);
	/* Loaded where they are needed. */
	const char *missing = ss_loads_libraries() ? "is not installed, or too old" : "is not loaded by a static build";
	bool tls = ss_openssl_version(text, sizeof(text));
	printf("openssl %s%s\n", tls ? word_with_digit(text) : missing, tls ? "" : ": TLS is not available");
	bool curl = ss_fetch_version(text, sizeof(text));
	printf("libcurl %s%s\n", curl ? word_with_digit(text) : missing,
	       curl ? "" : ": TPUs cannot be found by name, and files cannot be fetched");
}

int stepscope_main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	cli_commands = commands;
	const struct cli_command *link = argc > 0 ? called_as(argv[0]) : NULL;
	ss_file_guard();
	if (link)
		return link->run(argc, argv);
	ss_heap_for_program();
	if (!name) {
		usage(stderr);
		return CLI_MISUSE;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
		usage(stdout);
		return CLI_DONE;
	}
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
		puts("stepscope " SS_VERSION);
		if (argc > 2 && (strcmp(argv[2], "--verbose") == 0 || strcmp(argv[2], "-v") == 0))
			say_libraries();
		return CLI_DONE;
	}
	const struct cli_command *c = cli_command_find(name);
	int status;
	if (c && cli_over_ssh(argc - 1, argv + 1, &status))
		return status;
	if (c)
		return c->run(argc - 1, argv + 1);
	if (access(name, F_OK) == 0) {
		fprintf(stderr, "stepscope: '%s' is a path, not a command: 'stepscope summary %s' shows it\n", name, name);
		return CLI_MISUSE;
	}
	const char *meant = cli_closest(name, command_name, NULL);
	fprintf(stderr, "stepscope: there is no command '%s'", name);
	if (ss_tool_find(ss_str_from(name)))
		fprintf(stderr, "; it is a tool: stepscope tool %s PATH", name);
	else if (meant)
		fprintf(stderr, "; did you mean '%s'?", meant);
	fputs("\nstepscope: 'stepscope --help' lists them\n", stderr);
	return CLI_MISUSE;
}
