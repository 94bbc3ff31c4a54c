/*
 * capture_tpu_profile.c - the command of cloud-tpu-profiler with its flags, for scripts that have
 * them. It runs when the program is called by this name, through a link.
 *
 * Its flags are written in more ways than ours: with one dash or two, booleans bare or with "no"
 * before them. Differences: what fails ends with status 1 (the old one left with 0 when nobody was
 * there), and the summary is printed at the end.
 */
#include "capture/tpu_name.h"
#include "watch.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct cli_command cli_command_capture_tpu_profile;

#define TRACE_MS 2000
#define MONITOR_MS 1000

struct flags {
	struct ss_capture_config config;
	const char *service_addr, *project, *zone, *tpu, *workers;
	uint64_t attempts, level, queries;
	bool timestamp;
};

/*
 * "-logdir", "--noinclude_dataset_ops", "--include_dataset_ops" in the one form that our parser
 * knows.
 */
static char *plain_flag(const char *arg)
{
	static const char *const booleans[] = { "include_dataset_ops", "display_timestamp", "timestamp" };
	const char *name = arg + (arg[0] == '-') + (arg[0] == '-' && arg[1] == '-');
	char *out = NULL;
	if (name == arg || !*name)
		return strdup(arg);
	for (size_t i = 0; i < SS_COUNT(booleans); i++) {
		if (strcmp(name, booleans[i]) == 0)
			return asprintf(&out, "--%s=true", booleans[i]) < 0 ? NULL : out;
		if (strncmp(name, "no", 2) == 0 && strcmp(name + 2, booleans[i]) == 0)
			return asprintf(&out, "--%s=false", booleans[i]) < 0 ? NULL : out;
	}
	return asprintf(&out, "--%s", name) < 0 ? NULL : out;
}

/* The addresses of the profilers: given, or found by the name of the TPU. */
static bool find_addresses(const struct flags *f, struct ss_arena *a, struct ss_str *master, struct ss_str *workers,
			   struct ss_err *err)
{
	struct ss_tpu tpu;
	*workers = f->workers && *f->workers ? ss_profiler_addresses(a, f->workers) : SS_STR("");
	if (f->service_addr && *f->service_addr) {
		if (f->tpu && *f->tpu)
			cli_say("warning", SS_STR("both --service_addr and --tpu are given: --service_addr is used"));
		*master = ss_profiler_addresses(a, f->service_addr);
		return (master->p && workers->p) || ss_fail_mem(err);
	}
	if (!ss_tpu_find(f->tpu, f->zone, f->project, a, &tpu, err))
		return false;
	cli_tell("TPU '%s' has %zu worker%s, the first at " SS_FMT, f->tpu, tpu.nworkers,
		tpu.nworkers == 1 ? "" : "s", SS_ARG(tpu.master));
	*master = tpu.master;
	/* A pod's master takes the profile of all; of a single worker we take it. */
	if (!workers->n && tpu.nworkers > 1)
		*workers = tpu.workers;
	return workers->p || ss_fail_mem(err);
}

static int work(struct flags *f)
{
	struct ss_capture_config *config = &f->config;
	struct ss_arena a = { 0 };
	struct ss_err err = { 0 };
	struct ss_str master, workers;
	int status = -1;
	if (!find_addresses(f, &a, &master, &workers, &err)) {
		ss_arena_release(&a);
		return cli_fail(&err);
	}
	config->targets = workers.n ? workers.p : master.p;
	if (f->level) {
		/* One who answers for all is asked for all. */
		config->targets = master.p;
		fprintf(stderr,
			"stepscope: since a monitoring level is given, " SS_FMT " is profiled for %llu ms and its figures are "
			"shown, %llu time%s\n",
			SS_ARG(master), (unsigned long long)config->options.duration_ms, (unsigned long long)f->queries,
			f->queries == 1 ? "" : "s");
		status = cli_watch_lines(&(struct cli_watch){ .capture = *config, .level = (unsigned)f->level,
							      .queries = f->queries, .timestamp = f->timestamp });
	} else if (workers.n) {
		status = cli_capture_pod(config, master.p, true);
	}
	if (status < 0) {
		fprintf(stderr, "stepscope: profiling for %llu ms, at most %u time%s\n",
			(unsigned long long)config->options.duration_ms, config->attempts, config->attempts == 1 ? "" : "s");
		status = cli_capture_take(config, true);
	}
	ss_arena_release(&a);
	return status;
}

static int check_and_work(struct flags *f)
{
	const struct cli_command *c = &cli_command_capture_tpu_profile;
	struct ss_capture_config *config = &f->config;
	char logdir[4096];
	if ((!f->service_addr || !*f->service_addr) && (!f->tpu || !*f->tpu))
		return cli_misuse(c, "either --service_addr or --tpu must be given");
	if (!f->level && (!config->logdir || !*config->logdir))
		return cli_misuse(c, "either --logdir or --monitoring_level must be given");
	if (!config->options.duration_ms)
		config->options.duration_ms = f->level ? MONITOR_MS : TRACE_MS;
	config->attempts = (unsigned)f->attempts;
	/* The shell does not expand the ~ of --logdir=~/logs. */
	const char *home = getenv("HOME");
	const char *given = config->logdir;
	if (given && given[0] == '~' && (given[1] == '/' || !given[1]) && home) {
		snprintf(logdir, sizeof(logdir), "%s%s", home, given + 1);
		config->logdir = logdir;
	}
	return work(f);
}

static int run(int argc, char **argv)
{
	struct flags f = { .config = { .options = ss_profile_defaults, .wake_fd = -1 }, .attempts = 3, .queries = 100,
			   .timestamp = true };
	struct ss_profile_options *o = &f.config.options;
	const struct cli_opt opts[] = {
		CLI_TEXT("service_addr", 0, &f.service_addr),
		CLI_TEXT("logdir", 0, &f.config.logdir),
		CLI_NUMBER("duration_ms", 0, 86400000, &o->duration_ms),
		CLI_NUMBER("num_tracing_attempts", 0, 1000, &f.attempts),
		CLI_BOOL("include_dataset_ops", 0, &o->include_dataset_ops),
		CLI_TEXT("gcp_project", 0, &f.project),
		CLI_TEXT("tpu_zone", 0, &f.zone),
		CLI_TEXT("tpu", 0, &f.tpu),
		CLI_TEXT("tpu_name", 0, &f.tpu),
		CLI_TEXT("workers_list", 0, &f.workers),
		CLI_NUMBER("monitoring_level", 0, 2, &f.level),
		CLI_NUMBER("num_queries", 0, INT64_MAX, &f.queries),
		CLI_BOOL("display_timestamp", 0, &f.timestamp),
		CLI_BOOL("timestamp", 0, &f.timestamp),
		CLI_NUMBER("host_tracer_level", 0, 3, &o->host_level),
	};
	o->duration_ms = 0;
	char **plain = calloc((size_t)argc + 1, sizeof(*plain));
	int status = plain ? -1 : CLI_FAILED;
	for (int i = 0; plain && i < argc; i++)
		if (!(plain[i] = i ? plain_flag(argv[i]) : strdup(argv[i])))
			status = CLI_FAILED;
	if (status < 0)
		status = cli_parse(&cli_command_capture_tpu_profile, argc, plain, opts, SS_COUNT(opts), 0, 0);
	if (status < 0)
		status = check_and_work(&f);
	for (int i = 0; plain && i < argc; i++)
		free(plain[i]);
	free(plain);
	return status;
}

const struct cli_command cli_command_capture_tpu_profile = {
	.name = "capture_tpu_profile",
	.args = "--service_addr HOST:PORT | --tpu NAME, --logdir DIR",
	.summary = "take a profile with the flags of cloud-tpu-profiler",
	.help = "For scripts written for cloud-tpu-profiler: create a link of this name to stepscope.\n\n"
		"  --service_addr ADDR         address of the profiler; port 8470 of a worker is replaced by 8466\n"
		"  --tpu NAME                  name of a Cloud TPU, looked up with the Cloud TPU API\n"
		"  --tpu_zone Z, --gcp_project P  location of the TPU (default: this machine's)\n"
		"  --workers_list LIST         workers of the TPU (default: all)\n"
		"  --logdir DIR                log directory for the run\n"
		"  --duration_ms N             length of the profile (default: 2000; 1000 when monitoring)\n"
		"  --num_tracing_attempts N    attempts while no event is traced (default: 3)\n"
		"  --host_tracer_level N       default: 2\n"
		"  --[no]include_dataset_ops   no: allows longer device traces of old programs\n"
		"  --monitoring_level N        1 or 2: print live figures instead of writing a profile\n"
		"  --num_queries N             number of figures to print (default: 100)\n"
		"  --[no]display_timestamp     print the time of day\n",
	.hidden = true,
	.run = run,
};
