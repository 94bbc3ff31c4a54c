/* merge.c - stepscope merge DIR: are all parts there? Then one file of them. */
#include "cli.h"

#include "parts.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

extern const struct cli_command cli_command_merge;

static bool say_lost(struct cli_parts *p, struct ss_err *err)
{
	for (size_t i = 0; i < p->lost.n; i++) {
		struct ss_str text = cli_parts_name_lost(p, p->lost.v[i]);
		if (!text.p)
			return ss_fail_mem(err);
		cli_tell("shard " SS_FMT " is lost", SS_ARG(text));
	}
	return true;
}

static bool write_merged(const struct cli_parts *p, const char *dir, const char *output, struct ss_err *err)
{
	struct ss_arena a = { 0 };
	const char *slash = output ? strrchr(output, '/') : NULL;
	struct ss_str to =
		output ? ss_arena_printf(&a, "%.*s", slash ? (int)(slash - output) : 1, slash ? output : ".") : ss_str_from(dir);
	bool ok = to.p || ss_fail_mem(err);
	ok = ok && cli_parts_write(&p->all, slash == output && slash ? "/" : to.p,
				   output ? slash ? slash + 1 : output : CLI_MERGED_NAME, err);
	ss_arena_release(&a);
	return ok;
}

static int run(int argc, char **argv)
{
	const char *output = NULL;
	bool partial = false;
	const struct cli_opt opts[] = {
		CLI_TEXT("output", 'o', &output),
		CLI_FLAG("partial", 0, &partial),
		CLI_STRICT,
	};
	int status = cli_parse(&cli_command_merge, argc, argv, opts, SS_COUNT(opts), 1, 1);
	if (status >= 0)
		return status;
	if (partial && cli_strict)
		return cli_misuse(&cli_command_merge, "--partial and --strict contradict each other");
	struct cli_parts p = { .count = 0 };
	struct ss_location place;
	struct ss_err err = { 0 };
	bool ok = cli_location_open(&place, argv[optind], &err);
	if (ok && ss_location_is_made(&place) && !output)
		ok = ss_fail(&err, SS_EINVAL, "'%s' is %s: name the file to be written with --output", place.named,
			     place.requests || place.tree	? "an address"
			     : strcmp(place.named, "-") == 0	? "standard input"
								: "an archive");
	ok = ok && cli_parts_read(&p, place.path, false, &err) && cli_parts_whole(&p, &err) && say_lost(&p, &err);
	if (ok && p.lost.n && !partial)
		ok = ss_fail(&err, SS_ENOTFOUND,
			     "%zu of %llu parts are missing: make them again ('stepscope reduce PATH --shard I/N'), or go on "
			     "without "
			     "their hosts (--partial)",
			     p.lost.n, (unsigned long long)p.count);
	ok = ok && write_merged(&p, argv[optind], output, &err);
	if (ok)
		cli_tell("%zu of %llu hosts in %s%s%s", p.all.v.n, (unsigned long long)p.all.nhosts,
			output ? output : argv[optind], output ? "" : "/", output ? "" : CLI_MERGED_NAME);
	cli_parts_close(&p);
	cli_location_close(&place);
	return ok ? CLI_DONE : cli_fail(&err);
}

const struct cli_command cli_command_merge = {
	.name = "merge",
	.args = "DIR [--output FILE] [--partial]",
	.summary = "join the parts that 'stepscope reduce' made",
	.help = "Checks that the parts of all shards are in DIR, undamaged and of one run, and writes them as one file. Shards "
		"that are missing are named\n"
		"with their hosts, and the status is 1. 'stepscope tool stragglers DIR', or FILE, gives exactly the answer "
		"that the profiles give.\n\n"
		"  -o, --output FILE there instead of to DIR/" CLI_MERGED_NAME "\n"
		"      --partial     go on without lost shards: their hosts are then missing in every answer\n"
		"      --strict      fail if anything of a profile was missing when it was reduced\n",
	.run = run,
};
