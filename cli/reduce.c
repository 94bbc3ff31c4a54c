/*
 * reduce.c - stepscope reduce PATH: what answers over many hosts need of some of them, as a part.
 */
#include "cli.h"
#include "base/natural.h"
#include "model/host/host.h"

#include "model/cluster/cluster.h"
#include "model/reduced/facts.h"
#include "parts.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct cli_command cli_command_reduce;

#define DEFAULT_OUT "stepscope-parts"

struct shard_number {
	uint64_t index, count;
	bool has_index, has_count;
	const char *from; /* where it was found, for people */
};

static bool number_of(const char *text, uint64_t *v)
{
	return text && *text && cli_number(text, UINT32_MAX, v);
}

/* "3/8", "/8". */
static bool read_option(const char *text, struct shard_number *s)
{
	const char *slash = strchr(text, '/');
	char index[24];
	if (!slash || (size_t)(slash - text) >= sizeof(index))
		return false;
	memcpy(index, text, (size_t)(slash - text));
	index[slash - text] = '\0';
	s->has_index = index[0] != '\0';
	s->has_count = true;
	s->from = "--shard";
	return (!s->has_index || number_of(index, &s->index)) && number_of(slash + 1, &s->count);
}

/* An index that an engine's environment has; the count is its, unless one was given. */
static bool from_env(const char *index, const char *count, struct shard_number *s)
{
	if (!number_of(getenv(index), &s->index))
		return false;
	s->has_index = true;
	s->from = index;
	if (!s->has_count && count && number_of(getenv(count), &s->count))
		s->has_count = true;
	return true;
}

/*
 * Tasks of an array may begin anywhere and leave out numbers; a part that runs again is its number
 * as it is.
 */
static bool from_slurm_array(struct shard_number *s)
{
	uint64_t least = 0, step = 1, tasks = 0;
	bool given = s->has_count;
	if (!from_env("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", s))
		return false;
	if (given && number_of(getenv("SLURM_ARRAY_TASK_COUNT"), &tasks) && tasks != s->count)
		return true;
	number_of(getenv("SLURM_ARRAY_TASK_MIN"), &least);
	number_of(getenv("SLURM_ARRAY_TASK_STEP"), &step);
	s->index = (s->index - (least < s->index ? least : s->index)) / (step ? step : 1);
	return true;
}

/* -1 to go on, else the exit status. */
static int find_shard(const char *option, struct shard_number *s)
{
	*s = (struct shard_number){ .count = 1 };
	if (option && !read_option(option, s))
		return cli_misuse(&cli_command_reduce, "'%s' is not a shard: give I/N, counted from 0, or /N", option);
	if (!s->has_count && number_of(getenv("STEPSCOPE_SHARDS"), &s->count))
		s->has_count = true;
	if (!s->has_index && !from_env("JOB_COMPLETION_INDEX", NULL, s) && !from_slurm_array(s) &&
	    !from_env("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", s) && !from_env("PMI_RANK", "PMI_SIZE", s) &&
	    !from_env("SLURM_PROCID", "SLURM_NTASKS", s) && s->has_count && s->count > 1)
		return cli_misuse(&cli_command_reduce,
				  "there are %llu shards, but the number of this one is not known: give --shard I/N",
				  (unsigned long long)s->count);
	if (s->has_index && !s->has_count)
		return cli_misuse(&cli_command_reduce,
				  "%s says shard %llu, but the number of shards is not known: give --shard /N, or set "
				  "STEPSCOPE_SHARDS",
				  s->from, (unsigned long long)s->index);
	if (!s->count || s->index >= s->count)
		return cli_misuse(&cli_command_reduce, "there is no shard %llu of %llu: shards are counted from 0",
				  (unsigned long long)s->index, (unsigned long long)s->count);
	return -1;
}

/* ---- the hosts ---- */

static int by_host_name(const void *a, const void *b)
{
	const struct ss_host_file *const *x = a, *const *y = b;
	return ss_natural_cmp((*x)->name, (*y)->name) ?: ss_str_cmp((*x)->path, (*y)->path);
}

static bool keep_notes(struct ss_shard *s, struct ss_part_host *to, const struct ss_host *h)
{
	to->nnotes = h->x.nnotes;
	to->notes = SS_NEW_N(&s->arena, struct ss_str, h->x.nnotes + 1);
	for (uint32_t i = 0; to->notes && i < h->x.nnotes; i++)
		if (!(to->notes[i] = ss_arena_str(&s->arena, h->x.notes[i])).p)
			return false;
	return to->notes;
}

/*
 * Last, for they load the host: events that are missing are counted by who needs them. A trace in another format that is
 * alone has tables that need its events.
 */
static bool keep_facts(struct ss_shard *s, struct ss_part_host *to, struct ss_host *h, const struct ss_err *why, struct ss_err *err)
{
	if (s->nhosts == 1 && h->imported.any)
		return true;
	return ss_facts_write(&to->facts, h, why, &s->arena, err);
}

static bool add_host(struct ss_shard *s, const struct ss_host_file *f, uint64_t index, bool alone, struct ss_err *err)
{
	struct ss_host h;
	struct ss_file bytes;
	struct ss_err why = { 0 };
	if (alone ? !ss_host_open_below(&h, f->top, f->path.p, err) : !ss_host_open_among(&h, f->top, f->path.p, &why, err))
		return false;
	struct ss_part_host p = { .index = index, .path = f->path, .file_bytes = f->bytes };
	const struct ss_buf *packed = ss_host_skeleton(&h, err);
	bool ok = packed && ss_file_open_below(&bytes, f->top, f->path.p, err);
	if (ok) {
		p.digest = ss_str_digest(bytes.bytes);
		p.ndropped = h.ndropped;
		p.packed = ss_arena_str(&s->arena, ss_buf_get(packed));
		ok = ((p.packed.p && keep_notes(s, &p, &h)) || ss_fail_mem(err)) && keep_facts(s, &p, &h, &why, err) &&
		     (ss_vec_push(&s->v, p) || ss_fail_mem(err));
		if (ok && (ss_file_torn(&h.x.file) || ss_file_torn(&bytes)))
			ok = ss_fail(err, SS_EIO, "'" SS_FMT "' was shortened while it was being read", SS_ARG(f->path));
		ss_file_close(&bytes);
	}
	ss_host_close(&h);
	return ok;
}

static bool reduce(struct cli_profile *p, const struct shard_number *n, const char *out, struct ss_err *err)
{
	size_t nhosts = p->hosts_asked.n;
	struct ss_shard s = {
		.index = n->index, .count = n->count, .run = p->run->name, .label = p->hosts_asked.name, .nhosts = nhosts
	};
	const struct ss_host_file **files = calloc(nhosts + 1, sizeof(*files));
	bool ok = (files && (s.hosts = SS_NEW_N(&s.arena, struct ss_str, nhosts + 1))) || ss_fail_mem(err);
	uint64_t in = 0;
	for (size_t i = 0; ok && i < nhosts; i++)
		files[i] = p->hosts_asked.files[i];
	if (ok && nhosts)
		qsort(files, nhosts, sizeof(*files), by_host_name);
	for (size_t i = 0; ok && i < nhosts; i++)
		s.hosts[i] = files[i]->name;
	for (size_t i = n->index; ok && i < nhosts; i += n->count) {
		ok = add_host(&s, files[i], i, nhosts == 1, err);
		in += files[i]->bytes;
	}
	char name[80];
	snprintf(name, sizeof(name), "part-%llu-of-%llu" CLI_PART_SUFFIX, (unsigned long long)n->index,
		 (unsigned long long)n->count);
	ok = ok && cli_parts_write(&s, out, name, err);
	if (ok)
		cli_tell("shard %llu/%llu%s%s: %zu of %zu hosts, %llu bytes read, %s/%s written",
			(unsigned long long)n->index, (unsigned long long)n->count, n->from ? " by " : "", n->from ? n->from : "",
			s.v.n, nhosts, (unsigned long long)in, out, name);
	ss_shard_free(&s);
	free(files);
	return ok;
}

static int run(int argc, char **argv)
{
	const char *run_name = NULL, *shard = NULL, *out = DEFAULT_OUT;
	bool alone = false;
	struct shard_number n;
	const struct cli_opt opts[] = {
		CLI_TEXT("run", 'r', &run_name),
		CLI_TEXT("shard", 0, &shard),
		CLI_TEXT("out", 'o', &out),
		CLI_FLAG("alone", 0, &alone),
		CLI_STRICT,
	};
	int status = cli_parse(&cli_command_reduce, argc, argv, opts, SS_COUNT(opts), 1, 1);
	if (status < 0)
		status = find_shard(shard, &n);
	if (status >= 0)
		return status;
	struct cli_profile p;
	struct ss_err err = { 0 };
	bool ok = cli_profile_find(&p, argv[optind], run_name, &err);
	p.alone = alone;
	if (ok && p.parts)
		ok = ss_fail(&err, SS_EINVAL, "'%s' holds parts already: 'stepscope merge' joins them", argv[optind]);
	ok = ok && cli_profile_select(&p, &err) && reduce(&p, &n, out, &err);
	cli_profile_close(&p);
	return ok ? CLI_DONE : cli_fail(&err);
}

const struct cli_command cli_command_reduce = {
	.name = "reduce",
	.args = "PATH [--run R] [--shard I/N] [--out DIR]",
	.summary = "reduce hosts to small parts, which 'stepscope merge' joins",
	.help = "Reads every N-th host of the run, from the I-th, and writes DIR/part-I-of-N.ssp: about 5 % of their bytes. "
		"'stepscope merge DIR'\n"
		"joins the parts of all shards, wherever they were made; 'stepscope summary DIR' and the tools that combine hosts\n"
		"(overview_page, input_pipeline_analyzer, pod_viewer, collectives, stragglers and others) answer from DIR as from "
		"the profiles.\n\n"
		"Without --shard the number of the shard comes from the engine that runs it: a Kubernetes Indexed Job "
		"(JOB_COMPLETION_INDEX),\n"
		"a Slurm array or step, Open MPI or PMI. The number of shards comes from there too, or from --shard /N or "
		"STEPSCOPE_SHARDS.\nA shard may run again.\n\n"
		"  -r, --run R       this run and what belongs to it; without it the newest\n"
		"      --alone       that run alone\n"
		"      --shard I/N   shard I of N, from 0\n"
		"      --strict      fail if anything of a profile is missing (default: a warning)\n"
		"  -o, --out DIR     directory of the parts (default: " DEFAULT_OUT ")\n\n"
		"  seq 0 4 | xargs -P2 -I{} stepscope reduce logs/ --shard {}/5 --out parts; stepscope merge parts\n",
	.run = run,
};
