/*
 * gen_hosts.c - write the recordings of a training job on many hosts, one of which is late.
 *
 *	gen_hosts DIR HOSTS DEVICES STEPS LAYERS OPS [LATE]	DIR/host<n>.xplane.pb
 *
 * Each step has LAYERS times OPS operations and an all-reduce over all devices; of every fourth
 * layer an asynchronous all-gather as well, which begins a layer ahead. A barrier makes all devices
 * go on together, and so the whole run follows from the latest arrival at each. Host LATE computes
 * 1.3 times as long. Clocks are up to 500 us apart. Events carry what a TPU's do: 39 bytes each.
 */
#include "xspace_out.h"

#include <errno.h>
#include <sys/stat.h>

enum { GATHER_EVERY = 4, PROGRAM_ID = 4242, FIRST_STEP = 10 };

enum { DEV_OFFSET, DEV_DUR, CATEGORY, PROGRAM, RUN, QUEUE, GLOBAL_CHIP, DEVICE_TYPE, GROUP };
static const char *const device_stats[] = { "device_offset_ps", "device_duration_ps", "hlo_category", "program_id", "run_id",
	"queue_id", "global_chip_id", "device_type_string", "group_id" };
enum { H_RUN, H_ORDINAL, H_STEP, H_ROOT };
static const char *const host_stats[] = { "run_id", "device_ordinal", "step_num", "_r" };

static const uint64_t us = 1000000, transfer_ps = 40000000, gap_ps = 5000000, start_ns = 1790000000000000000u;

struct job {
	unsigned hosts, devices, steps, layers, ops, late;
	uint64_t *layer_end;	/* of each layer of each step, on the true clock */
	uint64_t *step_begin, *step_end;
};

/* The same for the same place, whoever asks. */
static double noise(unsigned device, unsigned step, unsigned op)
{
	uint64_t state = ((uint64_t)device << 40) ^ ((uint64_t)step << 20) ^ op;

	return rnd_frac(&state) - 0.5;
}

static uint64_t duration(const struct job *j, unsigned device, unsigned step, unsigned op)
{
	double ps = (double)(8 + op % 7 * 3) * (double)us * (1 + 0.02 * noise(device, step, op));

	return (uint64_t)(device / j->devices == j->late ? 1.3 * ps : ps);
}

static uint64_t offset_ps(unsigned host)
{
	uint64_t state = host;

	return host ? (uint64_t)(rnd_frac(&state) * 500) * us : 0;
}

static void plan(struct job *j)
{
	uint64_t t = 1000 * us;

	for (unsigned s = 0; s < j->steps; s++) {
		j->step_begin[s] = t;
		for (unsigned l = 0; l < j->layers; l++) {
			uint64_t most = 0;

			for (unsigned d = 0; d < j->hosts * j->devices; d++) {
				uint64_t sum = 0;

				for (unsigned i = 0; i < j->ops; i++)
					sum += duration(j, d, s, l * j->ops + i);
				most = sum > most ? sum : most;
			}
			t += most + transfer_ps;
			j->layer_end[s * j->layers + l] = t;
		}
		j->step_end[s] = t;
		t += gap_ps;
	}
}

/* --- A device ---------------------------------------------------------------------------------- */

/* Metadata: operations, then all-reduces, starts and dones of all-gathers, the module, steps. */
struct ids {
	uint64_t reduce, start, done, module, step;
};

static struct ids ids_of(const struct job *j)
{
	uint64_t n = (uint64_t)j->layers * j->ops;

	return (struct ids){ n + 1, n + 1 + j->layers, n + 1 + 2 * j->layers, n + 1 + 3 * j->layers, n + 2 + 3 * j->layers };
}

static void op_meta(FILE *f, uint64_t id, const char *text, const char *shown, const char *category)
{
	struct buf m = { .n = 0 };

	put_u64(&m, META_ID, id);
	put_str(&m, META_NAME, text);
	put_str(&m, META_DISPLAY_NAME, shown);
	stat_str(&m, META_STAT, CATEGORY, category);
	stat_u64(&m, META_STAT, PROGRAM, STAT_U64, PROGRAM_ID);
	write_meta(f, PLANE_EVENT_META, id, &m);
}

static void write_metas(FILE *f, const struct job *j)
{
	struct ids id = ids_of(j);
	char text[256], shown[64];

	for (unsigned i = 0; i < j->layers * j->ops; i++) {
		snprintf(shown, sizeof(shown), "fusion.%u", i);
		snprintf(text, sizeof(text), "%%%s = bf16[8,1024,4096]{2,1,0:T(8,128)(2,1)} fusion(bf16[8,4096]{1,0} %%p.%u), "
			 "kind=kLoop, "
			"calls=%%fused_computation.%u", shown, i % 70, i);
		op_meta(f, i + 1, text, shown, "loop fusion");
	}
	for (unsigned l = 0; l < j->layers; l++) {
		snprintf(shown, sizeof(shown), "all-reduce.%u", l);
		snprintf(text, sizeof(text), "%%%s = f32[1024,1024]{1,0} all-reduce(f32[1024,1024]{1,0} %%g.%u), "
			 "replica_groups={}, "
			"to_apply=%%add", shown, l);
		op_meta(f, id.reduce + l, text, shown, "all-reduce");
		snprintf(shown, sizeof(shown), "all-gather-start.%u", l);
		snprintf(text, sizeof(text), "%%%s = (f32[64]{0}, f32[%u]{0}) all-gather-start(f32[64]{0} %%w.%u), "
			 "replica_groups={}",
			shown, 64 * j->hosts * j->devices, l);
		op_meta(f, id.start + l, text, shown, "all-gather-start");
		snprintf(shown, sizeof(shown), "all-gather-done.%u", l);
		snprintf(text, sizeof(text), "%%%s = f32[%u]{0} all-gather-done((f32[64]{0}, f32[%u]{0}) "
			 "%%all-gather-start.%u)", shown,
			64 * j->hosts * j->devices, 64 * j->hosts * j->devices, l);
		op_meta(f, id.done + l, text, shown, "all-gather-done");
	}
	write_named(f, PLANE_EVENT_META, id.module, "jit_train_step(4242)");
	for (unsigned s = 0; s < j->steps; s++) {
		snprintf(shown, sizeof(shown), "%u", s + FIRST_STEP);
		write_named(f, PLANE_EVENT_META, id.step + s, shown);
	}
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

static void write_step_ops(FILE *f, const struct job *j, unsigned device, unsigned s, uint64_t clock_ps)
{
	struct ids id = ids_of(j);
	uint64_t t = j->step_begin[s] + clock_ps;

	for (unsigned l = 0; l < j->layers; l++) {
		uint64_t end = j->layer_end[s * j->layers + l] + clock_ps;
		bool start = l % GATHER_EVERY == 0, done = l % GATHER_EVERY == 1;

		for (unsigned i = 0; i < j->ops; i++) {
			uint64_t dur = duration(j, device, s, l * j->ops + i);

			device_event(f, l * j->ops + i + 1, t, dur, s);
			t += dur;
		}
		device_event(f, id.reduce + l, t, end - t, s);
		t = end;
		if (start && l + 1 < j->layers)
			device_event(f, id.start + l, t, 1000, s);
		else if (done)
			device_event(f, id.done + l - 1, t, 1000, s);
		t += 1000;
	}
}

static void write_device(FILE *f, const struct job *j, unsigned device)
{
	struct ids id = ids_of(j);
	off_t plane = open_msg(f, SPACE_PLANE), line;
	uint64_t clock_ps = offset_ps(device / j->devices);
	struct buf b = { .n = 0 };
	char name[40];

	snprintf(name, sizeof(name), "/device:TPU:%u", device % j->devices);
	put_u64(&b, PLANE_ID, 2 + device % j->devices);
	put_str(&b, PLANE_NAME, name);
	stat_u64(&b, PLANE_STAT, GLOBAL_CHIP, STAT_U64, device);
	stat_str(&b, PLANE_STAT, DEVICE_TYPE, "TPU v5");
	flush(f, &b);
	write_metas(f, j);
	for (unsigned i = 0; i < COUNT(device_stats); i++)
		write_named(f, PLANE_STAT_META, i + 1, device_stats[i]);
	line = open_line(f, 1, "Steps");
	for (unsigned s = 0; s < j->steps; s++)
		device_event(f, id.step + s, j->step_begin[s] + clock_ps, j->step_end[s] - j->step_begin[s], s);
	close_msg(f, line);
	line = open_line(f, 2, "XLA Modules");
	for (unsigned s = 0; s < j->steps; s++) {
		struct buf e = { .n = 0 };

		put_u64(&e, EVENT_META, id.module);
		put_u64(&e, EVENT_OFFSET_PS, j->step_begin[s] + clock_ps);
		put_u64(&e, EVENT_DUR_PS, j->step_end[s] - j->step_begin[s]);
		stat_u64(&e, EVENT_STAT, RUN, STAT_U64, s + 7000);
		stat_u64(&e, EVENT_STAT, QUEUE, STAT_U64, 0);
		write_event(f, &e);
	}
	close_msg(f, line);
	line = open_line(f, 3, "XLA Ops");
	for (unsigned s = 0; s < j->steps; s++)
		write_step_ops(f, j, device, s, clock_ps);
	close_msg(f, line);
	close_msg(f, plane);
}

/* --- The host ---------------------------------------------------------------------------------- */

static void host_event(FILE *f, uint64_t meta, uint64_t begin_ps, uint64_t dur_ps, unsigned stat, uint64_t v,
		       unsigned other, uint64_t w)
{
	struct buf e = { .n = 0 };

	put_u64(&e, EVENT_META, meta);
	put_u64(&e, EVENT_OFFSET_PS, begin_ps);
	put_u64(&e, EVENT_DUR_PS, dur_ps);
	stat_u64(&e, EVENT_STAT, stat, STAT_I64, v);
	stat_u64(&e, EVENT_STAT, other, STAT_I64, w);
	write_event(f, &e);
}

static void write_threads(FILE *f, const struct job *j, unsigned host)
{
	off_t plane = open_msg(f, SPACE_PLANE), line;
	uint64_t clock_ps = offset_ps(host);
	struct buf b = { .n = 0 };

	put_u64(&b, PLANE_ID, 1);
	put_str(&b, PLANE_NAME, "/host:CPU");
	flush(f, &b);
	write_named(f, PLANE_EVENT_META, 1, "train");
	write_named(f, PLANE_EVENT_META, 2, "DoEnqueueProgram");
	for (unsigned i = 0; i < COUNT(host_stats); i++)
		write_named(f, PLANE_STAT_META, i + 1, host_stats[i]);
	line = open_line(f, 1001, "python");
	for (unsigned s = 0; s < j->steps; s++) {
		uint64_t begin = j->step_begin[s] - 300 * us + clock_ps;

		host_event(f, 1, begin, 200 * us, H_STEP, s + FIRST_STEP, H_ROOT, 1);
		for (unsigned d = 0; d < j->devices; d++)
			host_event(f, 2, begin + (20 + 10 * d) * us, 8 * us, H_RUN, s + 7000, H_ORDINAL, d);
	}
	close_msg(f, line);
	close_msg(f, plane);
	plane = open_msg(f, SPACE_PLANE);
	put_u64(&b, PLANE_ID, 800);
	put_str(&b, PLANE_NAME, "Task Environment");
	stat_u64(&b, PLANE_STAT, 0, STAT_U64, start_ns);
	flush(f, &b);
	write_named(f, PLANE_STAT_META, 1, "profile_start_time");
	close_msg(f, plane);
}

static void write_file(const struct job *j, const char *dir, unsigned host)
{
	char path[4096], name[32];
	struct buf b = { .n = 0 };
	FILE *f;

	snprintf(name, sizeof(name), "host%u", host);
	snprintf(path, sizeof(path), "%s/%s.xplane.pb", dir, name);
	f = fopen(path, "wb+");
	if (!f) {
		fprintf(stderr, "gen_hosts: cannot write '%s': %s\n", path, strerror(errno));
		exit(1);
	}
	for (unsigned d = 0; d < j->devices; d++)
		write_device(f, j, host * j->devices + d);
	write_threads(f, j, host);
	put_str(&b, SPACE_HOSTNAME, name);
	flush(f, &b);
	if (fclose(f) != 0) {
		fprintf(stderr, "gen_hosts: cannot write '%s': %s\n", path, strerror(errno));
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct job j = { .late = UINT32_MAX };
	unsigned *const numbers[] = { &j.hosts, &j.devices, &j.steps, &j.layers, &j.ops, &j.late };

	if (argc < 7 || argc > 8) {
		fprintf(stderr, "usage: gen_hosts DIR HOSTS DEVICES STEPS LAYERS OPS [LATE]\n");
		return 2;
	}
	for (int i = 2; i < argc; i++)
		*numbers[i - 2] = (unsigned)strtoul(argv[i], NULL, 10);
	j.layer_end = calloc((size_t)j.steps * j.layers + 1, sizeof(*j.layer_end));
	j.step_begin = calloc((size_t)j.steps + 1, sizeof(*j.step_begin));
	j.step_end = calloc((size_t)j.steps + 1, sizeof(*j.step_end));
	if (!j.layer_end || !j.step_begin || !j.step_end)
		return 1;
	plan(&j);
	for (unsigned h = 0; h < j.hosts; h++)
		write_file(&j, argv[1], h);
	return 0;
}
