/* metrics.c - numbers for watching a job. */
#include "metrics.h"

#include "base/file.h"
#include "request/request.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void read_metrics(struct cli_metrics *f, const struct ss_result *r)
{
	const struct ss_prop *device = ss_result_find_prop(r, "device_type");
	cli_plain(f->device, sizeof(f->device), device ? device->text : SS_STR(""));
	bool tpu = ss_str_starts(ss_str_from(f->device), SS_STR("TPU"));
	cli_plain(f->finding, sizeof(f->finding), r->conclusion.text);
	f->cores = ss_result_number(r, "device_core_count");
	f->mxu_percent = tpu ? ss_result_number(r, "mxu_utilization_percent") : NAN;
	f->idle_percent = f->cores > 0 ? ss_result_number(r, "device_idle_time_percent") : NAN;
	f->step_ms_mean = ss_result_number(r, "step_time_mean_ms");
	f->step_ms_min = ss_result_number(r, "step_time_min_ms");
	f->step_ms_max = ss_result_number(r, "step_time_max_ms");
	f->infeed_percent_mean = ss_result_number(r, "infeed_percent_average");
	f->infeed_percent_min = ss_result_number(r, "infeed_percent_minimum");
	f->infeed_percent_max = ss_result_number(r, "infeed_percent_maximum");
	/* Off TPUs a step's input is a time. */
	double of_ms = ss_result_number(r, "steptime_ms_average");
	if (isnan(f->infeed_percent_mean) && of_ms > 0)
		f->infeed_percent_mean = 100 * ss_result_number(r, "infeed_time_ms_avg") / of_ms;
}

/* The metrics of one host of a run; `dir` is the run's directory. */
static bool metrics_of(struct cli_metrics *f, const char *dir, const char *host, struct ss_err *err)
{
	struct cli_profile p;
	bool ok = cli_profile_find(&p, dir, NULL, err) && cli_profile_open(&p, host, false, err);
	struct ss_tool_request ask = { .tool = ss_tool_find(SS_STR("overview_page")), .model = &p.model };
	ok = ok && ss_tool_request_run(&ask, err);
	if (ok)
		read_metrics(f, &ask.result);
	ss_tool_request_release(&ask);
	cli_profile_close(&p);
	return ok;
}

static void spread(const char *indent, const char *what, const char *unit, double avg, double min, double max)
{
	if (isnan(avg))
		return;
	printf("%s%s: %.4g%s (avg)", indent, what, avg, unit);
	if (!isnan(min) && !isnan(max))
		printf(", %.4g%s (min), %.4g%s (max)", min, unit, max, unit);
	putchar('\n');
}

void cli_metrics_print(const struct cli_metrics *f, unsigned level, const char *indent)
{
	bool tpu = strncmp(f->device, "TPU", 3) == 0;
	const char *kind = tpu ? "TPU" : "Device";
	printf("%s%s type: %s\n", indent, kind, f->device[0] ? f->device : "unknown");
	if (level > 1 && f->cores > 0)
		printf("%sNumber of %s Cores: %.0f\n", indent, kind, f->cores);
	if (level > 1 && !isnan(f->idle_percent))
		printf("%s%s idle time (lower is better): %.3g%%\n", indent, kind, f->idle_percent);
	if (!isnan(f->mxu_percent))
		printf("%sUtilization of TPU Matrix Units is (higher is better): %.3g%%\n", indent, f->mxu_percent);
	/* A device without matrix units would show nothing at level 1. */
	if (level > 1 || !tpu)
		spread(indent, "Step time", " ms", f->step_ms_mean, f->step_ms_min, f->step_ms_max);
	if (level > 1)
		spread(indent, "Infeed percentage", "%", f->infeed_percent_mean, f->infeed_percent_min, f->infeed_percent_max);
	if (f->finding[0])
		printf("%s%s\n", indent, f->finding);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void sample_host(const struct ss_capture *c, const struct ss_capture_host *h, struct cli_sample *sample)
{
	struct ss_err err = { 0 };
	char why[2 * sizeof(sample->why)] = "";
	*sample = (struct cli_sample){ .code = h->end == SS_CAPTURE_FAILED ? h->status.code : SS_GRPC_OK };
	snprintf(sample->target, sizeof(sample->target), "%s", h->target);
	if (h->end == SS_CAPTURE_KEPT && metrics_of(&sample->metrics, c->dir.path.p, h->stem.p, &err))
		sample->ok = true;
	else if (err.code)
		snprintf(why, sizeof(why), "%s", err.text);
	else if (h->end == SS_CAPTURE_FAILED)
		snprintf(why, sizeof(why), "%s: %s", ss_grpc_code_name(h->status.code), h->status.text);
	else
		snprintf(why, sizeof(why), "%s",
			 h->end == SS_CAPTURE_EMPTY ? "the program was idle" : "no profile was returned");
	cli_plain(sample->why, sizeof(sample->why), ss_str_from(why));
}

/* A whole file into a run, under the same name. */
static bool copy_file(const struct ss_capture *c, const char *name, const struct ss_run_dir *to, struct ss_err *err)
{
	char path[4096];
	struct ss_file in;
	struct ss_new_file out;
	snprintf(path, sizeof(path), "%s/%s", c->dir.path.p, name);
	if (!ss_file_open(&in, path, err))
		return false;
	bool ok = ss_new_file_open(&out, to, err);
	if (ok && !ss_new_file_write(&out, in.bytes, err)) {
		ss_new_file_drop(&out);
		ok = false;
	}
	ok = ok && ss_new_file_keep(&out, to, name, err);
	ss_file_close(&in);
	return ok;
}

static bool keep_run(const struct ss_capture *c, struct cli_keep *keep, struct ss_err *err)
{
	struct ss_run_dir to;
	if (!ss_run_dir_make(&to, keep->logdir, NULL, err))
		return false;
	bool ok = true;
	for (size_t i = 0; ok && i < c->nhosts; i++)
		for (size_t k = 0; ok && k < c->hosts[i].reply.kept.n; k++)
			ok = copy_file(c, c->hosts[i].reply.kept.path[k], &to, err);
	if (ok)
		snprintf(keep->run, sizeof(keep->run), SS_FMT, SS_ARG(to.run));
	ss_run_dir_release(&to);
	return ok;
}

/* The straggler of this sample, by the tool stragglers, as for any run. */
static void judge_hosts(const struct ss_capture *c, struct cli_sample *samples, size_t n, char verdict[CLI_VERDICT_BYTES])
{
	struct ss_err err = { 0 };
	struct cli_profile p;
	struct ss_tool_request ask = { .tool = ss_tool_find(SS_STR("stragglers")), .model = &p.model };
	bool ok = cli_profile_find(&p, c->dir.path.p, NULL, &err) && cli_profile_open_for(&p, ask.tool, NULL, &err) &&
		  p.hosts_asked.n > 1 && ss_tool_request_run(&ask, &err);
	const struct ss_table *t = ok && ask.result.ntables ? &ask.result.tables[0] : NULL;
	if (t && t->nrows) {
		bool one = ss_str_is(ss_cell_str(t, 0, "kind"), "straggler");
		cli_plain(verdict, CLI_VERDICT_BYTES, ask.result.conclusion.text);
		for (size_t i = 0; one && i < n; i++)
			samples[i].straggler = samples[i].ok && ss_str_eq(c->hosts[i].stem, ss_cell_str(t, 0, "host"));
	}
	ss_tool_request_release(&ask);
	cli_profile_close(&p);
}

bool cli_sample(const struct ss_capture_config *config, struct cli_sample *samples, size_t cap, size_t *n, struct cli_keep *keep,
	      char verdict[CLI_VERDICT_BYTES], struct ss_err *err)
{
	const char *tmp = getenv("TMPDIR");
	char dir[400];
	struct ss_capture_config mine = *config;
	struct ss_capture c;
	struct ss_err why = { 0 };
	*n = 0;
	snprintf(dir, sizeof(dir), "%.300s/stepscope-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		return ss_fail(err, SS_EIO, "'%s' has no space for a short profile", dir);
	mine.logdir = dir;
	mine.run = "look";
	/* The failure of a single host is shown with its figures; only a failure that concerns all hosts ends the command. */
	bool ok = ss_capture_run(&c, &mine, &why) || (why.code != SS_EINVAL && why.code != SS_EBUSY && why.code != SS_ENOMEM);
	if (!ok || c.cancelled)
		ok = ss_fail(err, why.code ? why.code : SS_EBUSY, "%s", why.code ? why.text : "cancelled");
	for (; ok && *n < c.nhosts && *n < cap; ++*n)
		sample_host(&c, &c.hosts[*n], &samples[*n]);
	if (verdict)
		verdict[0] = '\0';
	if (ok && verdict && *n > 1)
		judge_hosts(&c, samples, *n, verdict);
	if (keep)
		keep->run[0] = '\0';
	if (ok && keep && keep->wanted(keep->arg, samples, *n))
		ok = keep_run(&c, keep, err);
	ss_capture_release(&c);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return ok;
}
