/*
 * gen_xspace.c - write a profile of any size, shaped like a training job on one TPU core.
 *
 *	gen_xspace OUT.xplane.pb EVENTS [SEED [recorded|grouped|python|marked]]
 *
 * Half of the events lie on /device:TPU:0: lines "Steps", "XLA Modules" and "XLA Ops", the same
 * 2500 ops in each step, whose metadata carry HLO text, category, cost, framework name and source,
 * and whose events carry three stats. The other half lie on 32 threads of /host:CPU, nested seven
 * deep, with two to three stats each. That is 39 bytes an event, as in recorded profiles.
 *
 * As a program records it, unless `grouped` is said: then events of the host name their step group
 * instead of a run, and readers have nothing to prepare. `python` has no device, and events without
 * stats on four threads, 16 bytes each, as Python's tracer records them; `marked` is the same with a
 * step's mark around 4 slots of the first thread.
 *
 * The file is written as a stream (xspace_out.h): 20 M events need no memory here.
 */
#include "xspace_out.h"

enum {
	OPS = 2500,		/* distinct ops, each once in a step */
	HOST_LINES = 32,
	SLOT = 128,		/* host events come in nested groups of so many */
	HOST_NAMES = 2048,
	DEPTH = 6,
};

/* Stat names; a stat's metadata id is its place in the list of its plane plus one. */
enum { DEV_OFFSET, DEV_DUR, CATEGORY, FLOPS, MODEL_FLOPS, BYTES, PROGRAM, SYMBOL, TF_OP, SOURCE, GROUP,
	RUN, PEAK_TFLOPS, PEAK_HBM, DEVICE_TYPE, MEGACORE, MERGED_VMEM };
static const char *const device_stats[] = { "device_offset_ps", "device_duration_ps", "hlo_category",
	"flops", "model_flops", "bytes_accessed", "program_id", "symbol_id", "tf_op", "source", "group_id",
	"run_id", "peak_teraflops_per_second", "peak_hbm_bw_gigabytes_per_second", "device_type_string",
	"has_megacore", "has_merged_vmem" };
enum { SRC, SIZE, HOST_RUN, ROOT, STEP_NUM, FIRST_FILE };
enum { FILES = 64, PYTHON_LINES = 4, PYTHON_STEP = 4, PYTHON_EVENT_PS = 200000 };
enum form { RECORDED, GROUPED, PYTHON, MARKED };
static const char *const host_stats[] = { "_src", "bytes", "run_id", "_r", "step_num" };

static const char *const categories[] = { "convolution fusion", "loop fusion", "non-fusion elementwise",
	"all-reduce", "data formatting", "custom-call", "copy", "reduce", "input fusion", "output fusion" };
static const char *const stems[] = { "convolution_fusion", "loop_fusion", "multiply", "all-reduce",
	"bitcast", "custom-call", "copy", "reduce", "input_fusion", "output_fusion" };

/* --- The device ---------------------------------------------------------------------------------- */

struct op {
	uint64_t begin_ps;	/* within the step */
	uint64_t dur_ps;
};

static void write_op_meta(FILE *f, unsigned i, uint64_t dur_ps, uint64_t *seed)
{
	static const unsigned rows[] = { 8, 16, 32 }, cols[] = { 512, 1024 };
	struct buf m = { .n = 0 };
	char name[64], hlo[256], scope[128], source[64];
	const char *stem = stems[i % COUNT(stems)];
	uint64_t flops = dur_ps * (1 + rnd(seed) % 199);

	snprintf(name, sizeof(name), "%s.%u", stem, i);
	snprintf(hlo, sizeof(hlo), "%%%s = bf16[%u,%u,4096]{2,1,0:T(8,128)(2,1)} fusion(bf16[%u,4096]{1,0} "
		"%%param.%u, f32[4096]{0} %%copy.%u), kind=kOutput, calls=%%fused_computation.%u", name,
		rows[rnd(seed) % COUNT(rows)], cols[rnd(seed) % COUNT(cols)],
		cols[rnd(seed) % COUNT(cols)], i % 700, i % 300, i);
	snprintf(scope, sizeof(scope), "jit(train_step)/transformer/layer_%u/%s:", i % 24, stem);
	snprintf(source, sizeof(source), "model/layers.py:%u", 100 + i % 400);
	put_u64(&m, META_ID, i + 1);
	put_str(&m, META_NAME, hlo);
	put_str(&m, META_DISPLAY_NAME, name);
	stat_str(&m, META_STAT, CATEGORY, categories[i % COUNT(categories)]);
	stat_u64(&m, META_STAT, FLOPS, STAT_U64, flops);
	stat_u64(&m, META_STAT, MODEL_FLOPS, STAT_U64, flops);
	stat_u64(&m, META_STAT, BYTES, STAT_U64, dur_ps * (1 + rnd(seed) % 11) / 10 + 64);
	stat_u64(&m, META_STAT, PROGRAM, STAT_U64, 4242);
	stat_u64(&m, META_STAT, SYMBOL, STAT_U64, i + 1);
	stat_str(&m, META_STAT, TF_OP, scope);
	stat_str(&m, META_STAT, SOURCE, source);
	write_meta(f, PLANE_EVENT_META, i + 1, &m);
}

static void write_device_caps(FILE *f)
{
	struct buf b = { .n = 0 };

	stat_double(&b, PLANE_STAT, PEAK_TFLOPS, 275.0);
	stat_double(&b, PLANE_STAT, PEAK_HBM, 1228.8);
	stat_str(&b, PLANE_STAT, DEVICE_TYPE, "TPU v4");
	stat_u64(&b, PLANE_STAT, MEGACORE, STAT_U64, 1);
	stat_u64(&b, PLANE_STAT, MERGED_VMEM, STAT_U64, 0);
	flush(f, &b);
}

static void device_event(FILE *f, uint64_t meta, uint64_t begin_ps, uint64_t dur_ps, uint64_t step)
{
	struct buf e = { .n = 0 };

	put_u64(&e, EVENT_META, meta);
	put_u64(&e, EVENT_OFFSET_PS, begin_ps);
	put_u64(&e, EVENT_DUR_PS, dur_ps);
	stat_u64(&e, EVENT_STAT, GROUP, STAT_I64, step);
	stat_u64(&e, EVENT_STAT, DEV_OFFSET, STAT_U64, begin_ps);
	stat_u64(&e, EVENT_STAT, DEV_DUR, STAT_U64, dur_ps);
	write_event(f, &e);
}

static void module_event(FILE *f, uint64_t begin_ps, uint64_t dur_ps, uint64_t step)
{
	struct buf e = { .n = 0 };

	put_u64(&e, EVENT_META, OPS + 1);
	put_u64(&e, EVENT_OFFSET_PS, begin_ps);
	put_u64(&e, EVENT_DUR_PS, dur_ps);
	stat_u64(&e, EVENT_STAT, GROUP, STAT_I64, step);
	stat_u64(&e, EVENT_STAT, RUN, STAT_U64, step + 1000);
	stat_u64(&e, EVENT_STAT, PROGRAM, STAT_U64, 4242);
	write_event(f, &e);
}

/* Lay out one step: log-normal durations around 1.2 us, 20 ns apart; returns its length. */
static uint64_t plan_step(struct op *ops, uint64_t *seed)
{
	uint64_t at = 0;

	for (unsigned i = 0; i < OPS; i++) {
		double u = rnd_frac(seed) + 0x1p-60, v = rnd_frac(seed);
		double ps = exp(14.0 + 1.2 * sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v));

		ops[i].dur_ps = (uint64_t)fmin(fmax(ps, 20e3), 400e6);
		ops[i].begin_ps = at;
		at += ops[i].dur_ps + 20000;
	}
	return at;
}

static void write_device_lines(FILE *f, const struct op *ops, uint64_t steps, uint64_t busy_ps,
	uint64_t step_ps, uint64_t *seed)
{
	off_t line = open_line(f, 1, "Steps");

	for (uint64_t s = 0; s < steps; s++)
		device_event(f, OPS + 2 + s, s * step_ps, busy_ps, s);
	close_msg(f, line);
	line = open_line(f, 2, "XLA Modules");
	for (uint64_t s = 0; s < steps; s++)
		module_event(f, s * step_ps, busy_ps, s);
	close_msg(f, line);
	line = open_line(f, 3, "XLA Ops");
	for (uint64_t s = 0; s < steps; s++)
		for (unsigned i = 0; i < OPS; i++) {
			uint64_t jitter = rnd(seed) % 15000;

			device_event(f, i + 1, s * step_ps + ops[i].begin_ps, ops[i].dur_ps - jitter, s);
		}
	close_msg(f, line);
}

/* Returns the length of the profile in picoseconds. */
static uint64_t write_device(FILE *f, uint64_t steps, uint64_t *seed)
{
	static struct op ops[OPS];
	uint64_t busy_ps = plan_step(ops, seed), step_ps = busy_ps + busy_ps / 20;
	off_t plane = open_msg(f, SPACE_PLANE);
	struct buf b = { .n = 0 };
	char name[24];

	put_u64(&b, PLANE_ID, 2);
	put_str(&b, PLANE_NAME, "/device:TPU:0");
	flush(f, &b);
	for (unsigned i = 0; i < OPS; i++)
		write_op_meta(f, i, ops[i].dur_ps, seed);
	write_named(f, PLANE_EVENT_META, OPS + 1, "jit_train_step(4242)");
	for (uint64_t s = 0; s < steps; s++) {
		snprintf(name, sizeof(name), "%" PRIu64, s);
		write_named(f, PLANE_EVENT_META, OPS + 2 + s, name);
	}
	for (unsigned i = 0; i < COUNT(device_stats); i++)
		write_named(f, PLANE_STAT_META, i + 1, device_stats[i]);
	write_device_caps(f);
	write_device_lines(f, ops, steps, busy_ps, step_ps, seed);
	close_msg(f, plane);
	return steps * step_ps;
}

/* --- The host ------------------------------------------------------------------------------------ */

struct span {
	double begin, len;	/* in [0, 1) of a slot */
};

/* Fill the slot depth first: a call holds two to four calls, each a part of its share. */
static unsigned nest(struct span *slot, unsigned n, double lo, double hi, int depth, uint64_t *seed)
{
	unsigned children = 2 + (unsigned)(rnd(seed) % 3);
	double share = (hi - lo) * 0.96 / children, x = lo + (hi - lo) * 0.02;

	if (n == SLOT)
		return n;
	slot[n++] = (struct span){ lo, hi - lo };
	if (depth == DEPTH)
		return n;
	for (unsigned k = 0; k < children; k++, x += share)
		n = nest(slot, n, x, x + share * (0.6 + 0.37 * rnd_frac(seed)), depth + 1, seed);
	return n;
}

static void write_host_names(FILE *f, enum form form)
{
	static const char *const names[] = { "PjitFunction(train_step_%u)", "ThunkExecutor::Execute#%u",
		"$core.py:%u bind", "ParseArguments_%u", "BufferFromHostBuffer:%u",
		"$interpreters/pxla.py:%u __call__", "dot_general.%u", "TfrtCpuExecutable::Execute_%u" };
	char name[64];

	for (unsigned i = 0; i < HOST_NAMES; i++) {
		const char *pattern = names[i % COUNT(names)], *mark = strstr(pattern, "%u");

		snprintf(name, sizeof(name), "%.*s%u%s", (int)(mark - pattern), pattern, i, mark + 2);
		write_named(f, PLANE_EVENT_META, i + 1, name);
	}
	write_named(f, PLANE_EVENT_META, HOST_NAMES + 1, "train");
	for (unsigned i = 0; i < COUNT(host_stats); i++)
		write_named(f, PLANE_STAT_META, i + 1, form == GROUPED && i == HOST_RUN ? "group_id" : host_stats[i]);
	for (unsigned i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "source_file_%u.cc:%u", i, i * 7);
		write_named(f, PLANE_STAT_META, FIRST_FILE + 1 + i, name);
	}
}

static void write_slot(FILE *f, const struct span *slot, unsigned line, uint64_t s, uint64_t slot_ps,
	uint64_t *seed, enum form form)
{
	double scale = (0.8 + 0.2 * rnd_frac(seed)) * (double)slot_ps;

	for (unsigned i = 0; i < SLOT; i++) {
		struct buf e = { .n = 0 };
		unsigned name = (i + SLOT * (unsigned)(s % 16) + line) % HOST_NAMES;
		uint64_t chance = rnd(seed);

		put_u64(&e, EVENT_META, name + 1);
		put_u64(&e, EVENT_OFFSET_PS, s * slot_ps + (uint64_t)(slot[i].begin * scale));
		put_u64(&e, EVENT_DUR_PS, (uint64_t)(slot[i].len * scale));
		if (form >= PYTHON) {
			write_event(f, &e);
			continue;
		}
		stat_u64(&e, EVENT_STAT, SRC, STAT_REF, FIRST_FILE + 1 + name % FILES);
		if (chance % 10 < 6)
			stat_u64(&e, EVENT_STAT, SIZE, STAT_I64, chance >> 40);
		stat_u64(&e, EVENT_STAT, HOST_RUN, STAT_I64, form == GROUPED ? s : s + 1000);
		write_event(f, &e);
	}
}

static void write_mark(FILE *f, uint64_t s, uint64_t slot_ps)
{
	struct buf e = { .n = 0 };

	put_u64(&e, EVENT_META, HOST_NAMES + 1);
	put_u64(&e, EVENT_OFFSET_PS, s * slot_ps);
	put_u64(&e, EVENT_DUR_PS, PYTHON_STEP * slot_ps);
	stat_u64(&e, EVENT_STAT, ROOT, STAT_I64, 1);
	stat_u64(&e, EVENT_STAT, STEP_NUM, STAT_I64, s / PYTHON_STEP);
	write_event(f, &e);
}

static void write_host(FILE *f, unsigned lines, uint64_t slots, uint64_t span_ps, uint64_t *seed, enum form form)
{
	struct span slot[SLOT];
	off_t plane = open_msg(f, SPACE_PLANE);
	struct buf b = { .n = 0 };
	char name[32];
	uint64_t slot_ps = span_ps / slots;

	while (nest(slot, 0, 0.02, 0.98, 0, seed) < SLOT)
		continue;
	put_u64(&b, PLANE_ID, 1);
	put_str(&b, PLANE_NAME, "/host:CPU");
	flush(f, &b);
	write_host_names(f, form);
	for (unsigned i = 0; i < lines; i++) {
		off_t line;

		snprintf(name, sizeof(name), i ? "tf_XLAEigen/%u" : "python", i);
		line = open_line(f, 1000 + i, name);
		for (uint64_t s = 0; s < slots; s++) {
			if (form == MARKED && !i && s % PYTHON_STEP == 0)
				write_mark(f, s, slot_ps);
			write_slot(f, slot, i, s, slot_ps, seed, form);
		}
		close_msg(f, line);
	}
	close_msg(f, plane);
}

/* When the profile was taken. */
static void write_environment(FILE *f, uint64_t span_ps)
{
	const uint64_t start_ns = 1700000000000000000u;
	off_t plane = open_msg(f, SPACE_PLANE);
	struct buf b = { .n = 0 };

	put_str(&b, PLANE_NAME, "Task Environment");
	flush(f, &b);
	write_named(f, PLANE_STAT_META, 1, "profile_start_time");
	write_named(f, PLANE_STAT_META, 2, "profile_stop_time");
	stat_u64(&b, PLANE_STAT, 0, STAT_U64, start_ns);
	stat_u64(&b, PLANE_STAT, 1, STAT_U64, start_ns + span_ps / 1000);
	flush(f, &b);
	close_msg(f, plane);
	put_str(&b, SPACE_HOSTNAME, "vm");
	flush(f, &b);
}

static bool form_named(const char *name, enum form *form)
{
	static const char *const names[] = { "recorded", "grouped", "python", "marked" };

	for (unsigned i = 0; i < COUNT(names); i++)
		if (strcmp(name, names[i]) == 0) {
			*form = (enum form)i;
			return true;
		}
	return false;
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	enum form form = RECORDED;
	bool known = argc < 5 || form_named(argv[4], &form), python = form >= PYTHON;
	unsigned lines = python ? PYTHON_LINES : HOST_LINES;
	uint64_t steps = python ? 0 : events / 2 / (OPS + 2), slots = (python ? events : events / 2) / lines / SLOT;
	uint64_t span_ps = slots * SLOT * PYTHON_EVENT_PS;
	FILE *f;

	if (argc < 3 || argc > 5 || !known || (!python && !steps) || !slots) {
		fprintf(stderr, "usage: gen_xspace OUT.xplane.pb EVENTS [SEED [recorded|grouped|python|marked]]\n"
			"EVENTS is %d or more\n", 2 * HOST_LINES * SLOT);
		return 2;
	}
	f = fopen(argv[1], "wb");
	if (!f) {
		perror(argv[1]);
		return 1;
	}
	setvbuf(f, NULL, _IOFBF, 1 << 20);
	if (!python)
		span_ps = write_device(f, steps, &seed);
	write_host(f, lines, slots, span_ps, &seed, form);
	write_environment(f, span_ps);
	if (ferror(f) | fclose(f)) {
		perror(argv[1]);
		return 1;
	}
	printf("%" PRIu64 " events, %" PRIu64 " steps, %.3f s\n",
		steps * (OPS + 2) + slots * SLOT * lines, steps, (double)span_ps * 1e-12);
	return 0;
}
