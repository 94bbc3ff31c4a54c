/* export.c - stepscope export PATH --to FORMAT: a profile, or a part of it, for other viewers. */
#include "cli.h"
#include "export_html.h"

#include "export/export.h"
#include "sql/directory.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern const struct cli_command cli_command_export;

struct options {
	const char *run, *host, *to, *output, *start, *end, *plane, *clocks;
};

/* "12.5ms", "3s", "100us", "7ns", "9ps". */
static bool time_of(const char *text, int64_t *ps)
{
	static const struct {
		const char *unit;
		double ps;
	} units[] = { { "ms", 1e9 }, { "us", 1e6 }, { "ns", 1e3 }, { "ps", 1 }, { "s", 1e12 } };
	struct ss_str s = ss_str_from(text);
	double v;
	for (size_t i = 0; i < SS_COUNT(units); i++)
		if (ss_str_ends(s, ss_str_from(units[i].unit))) {
			if (!ss_str_to_f64(ss_str_sub(s, 0, s.n - strlen(units[i].unit)), &v) ||
			    !(v >= 0 && v * units[i].ps < 9e18))
				return false;
			*ps = (int64_t)(v * units[i].ps);
			return true;
		}
	return false;
}

static const char *format_word(const void *list, size_t i)
{
	(void)list;
	return ss_export_at(i) ? ss_export_at(i)->name : NULL;
}

static int no_format(const char *name)
{
	const char *meant = cli_closest(name, format_word, NULL);
	return cli_misuse(&cli_command_export, "there is no format '%s'%s%s%s", name,
			  meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
}

/* SQLite opens the file that it writes by its name, which is a hidden one until it is whole. */
static bool write_sink(struct ss_export *x, const struct ss_export_format *f, struct cli_profile *p,
		       const char *output, struct ss_err *err)
{
	struct cli_sink sink;
	if (!cli_profile_spared(p, output, err) || !cli_sink_open(&sink, output, err))
		return false;
	const char *name = f->write_file ? cli_sink_name(&sink) : NULL;
	bool ok = f->write_file ? name && f->write_file(x, name, err) : f->write(x, &sink.out, err);
	return cli_sink_close(&sink, ok && cli_profile_intact(p, err), err);
}

static bool write_format(struct ss_export *x, const struct ss_export_format *f,
			 struct cli_profile *p, const struct options *o, struct ss_err *err)
{
	struct ss_model *m = cli_profile_clocks(p, o->clocks, err);
	x->d = f->loads || !m ? NULL : ss_model_sql_directory(m, err);
	x->model = m;
	x->name = p->run->name;
	if (!m || (!x->d && !f->loads))
		return false;
	if (x->d && !ss_export_count(x))
		return ss_fail_mem(err);
	return write_sink(x, f, p, o->output, err);
}

static int check(const struct options *o, const struct ss_export_format *f, struct ss_export *x,
		 struct ss_err *err)
{
	if (!o->output && (f->write_file || (f->binary && isatty(STDOUT_FILENO))))
		return cli_misuse(&cli_command_export,
				  "%s is not text: write it to a file with --output FILE", f->name);
	if (!cli_clocks_known(o->clocks))
		return cli_misuse(&cli_command_export, "--clocks takes recorded or aligned, not '%s'", o->clocks);
	if ((o->start && !time_of(o->start, &x->start_ps)) ||
	    (o->end && !time_of(o->end, &x->end_ps)))
		return cli_misuse(&cli_command_export, "--start and --end take a time with its "
						       "unit, as 12.5ms (s, ms, us, ns, ps)");
	if (f->whole && (o->start || o->end || o->plane))
		return cli_misuse(&cli_command_export, "--start, --end and --plane do not apply to %s: %s",
				  f->name, f->whole);
	struct stat st;
	if (f->write_file && stat(o->output, &st) == 0 && !S_ISREG(st.st_mode))
		return cli_misuse(&cli_command_export,
				  "'%s' is not a regular file: %s cannot be written to a pipe or a device",
				  o->output, f->name);
	if (o->plane) {
		x->plane = ss_regex_new(ss_str_from(o->plane), err);
		if (!x->plane)
			return cli_misuse(&cli_command_export, "--plane: %s", err->text);
	}
	return -1;
}

/* Each event that is asked for is written, or counted among what is not. */
static void say(struct ss_export *x, const struct ss_export_format *f)
{
	uint64_t known = x->nevents;
	for (unsigned i = 0; i < x->nlosses; i++)
		known += x->losses[i].n;
	if (x->nasked > known)
		ss_export_lose(x, x->nasked - known, f->omits ? f->omits : "events");
	for (unsigned i = 0; i < x->nlosses; i++)
		cli_tell("%llu of %llu events %s not in the file: %s", (unsigned long long)x->losses[i].n,
			(unsigned long long)x->nasked, x->losses[i].n == 1 ? "is" : "are", x->losses[i].why);
	if (x->note)
		cli_tell("%s", x->note);
	if (!x->nevents && !x->nlosses)
		fputs("stepscope: no event is in the selected part\n", stderr);
}

/* All hosts of the run: the page chooses among them. */
static int write_html(const char *path, const struct options *o)
{
	struct cli_profile p = { 0 };
	struct cli_sink sink;
	struct ss_err err = { 0 };
	if (o->host || o->start || o->end || o->plane || o->clocks)
		return cli_misuse(&cli_command_export,
				  "--host, --start, --end, --plane and --clocks do not apply to html: it holds the whole run");
	if (!o->output && isatty(STDOUT_FILENO))
		return cli_misuse(&cli_command_export, "html needs a file for the browser: --output FILE");
	bool ok = cli_profile_find(&p, path, o->run, &err);
	struct stat st;
	const char *at = ok && stat(p.place.path, &st) == 0 && S_ISDIR(st.st_mode) ? p.run->dir.p : p.place.path;
	ok = ok && cli_profile_spared(&p, o->output, &err) && cli_sink_open(&sink, o->output, &err);
	if (ok)
		ok = cli_sink_close(&sink, cli_export_html(at, &sink.out, &err), &err);
	cli_profile_close(&p);
	return ok ? CLI_DONE : cli_fail(&err);
}

static int run(int argc, char **argv)
{
	struct options o = { .to = NULL };
	const struct cli_opt opts[] = {
		CLI_TEXT("to", 't', &o.to),	CLI_TEXT("run", 'r', &o.run),
		CLI_TEXT("host", 'H', &o.host), CLI_OUTPUT(&o.output),
		CLI_TEXT("start", 0, &o.start), CLI_TEXT("end", 0, &o.end),
		CLI_TEXT("plane", 0, &o.plane), CLI_TEXT("clocks", 0, &o.clocks),
		CLI_STRICT,
	};
	int status = cli_parse(&cli_command_export, argc, argv, opts, SS_COUNT(opts), 1, 1);
	if (status >= 0)
		return status;
	if (!o.to)
		return cli_misuse(&cli_command_export, "export needs a format: --to FORMAT");
	if (strcmp(o.to, "html") == 0)
		return write_html(argv[optind], &o);
	const struct ss_export_format *f = ss_export_find(ss_str_from(o.to));
	if (!f)
		return no_format(o.to);
	struct ss_export x = { .start_ps = INT64_MIN, .end_ps = INT64_MAX };
	struct cli_profile p = { 0 };
	struct ss_err err = { 0 };
	status = check(&o, f, &x, &err);
	if (status >= 0)
		return status;
	bool ok = cli_profile_find(&p, argv[optind], o.run, &err) &&
		  cli_profile_open(&p, o.host, true, &err);
	ok = ok && write_format(&x, f, &p, &o, &err);
	status = ok ? CLI_DONE : cli_fail(&err);
	if (ok)
		say(&x, f);
	cli_profile_close(&p);
	ss_regex_free(x.plane);
	return status;
}

const struct cli_command cli_command_export = {
	.name = "export",
	.args = "PATH --to FORMAT [--run R] [--host H] [--start T] [--end T] [--plane REGEX] "
		"[--clocks recorded|aligned] "
		"[--output FILE]",
	.summary = "write a profile for another viewer",
	.help = "Writes the profile at PATH, or a part of it, in the format of another viewer. "
		"docs/export.md says what each holds.\n\n"
		"  -t, --to FORMAT   perfetto    a trace for ui.perfetto.dev\n"
		"                    pprof       stacks for 'go tool pprof'\n"
		"                    folded      stacks as text, for flamegraph.pl\n"
		"                    speedscope  JSON for speedscope.app\n"
		"                    chrome      trace.json for chrome://tracing\n"
		"                    sqlite      the tables of 'stepscope sql' as a database\n"
		"                    parquet     the events, in XProf's columns\n"
		"                    arrow       the same as a stream of Arrow\n"
		"                    html        the page with its answers in one file, at most 10 MB\n"
		"  -r, --run R       the run to open (default: the newest)\n"
		"  -H, --host H      the host; several separated by commas (default: all)\n"
		"      --start T     events that begin at T or later, since the run's first event: "
		"12.5ms\n"
		"      --end T       events that begin before T\n"
		"      --plane REGEX planes whose name matches: '^/device:'\n"
		"      --clocks C    recorded (default), or aligned: several hosts' times on one clock\n"
		"      --strict      fail if anything of a profile is missing (default: a warning)\n"
		"  -o, --output FILE write to FILE instead of stdout\n\n"
		"  stepscope export logs/ --to perfetto -o trace.perfetto-trace\n"
		"  stepscope export logs/ --to folded --plane '^/device' | flamegraph.pl "
		">flames.svg\n",
	.run = run,
};
