/* nsys_when.c - see nsys_when.h. */
#include "import/nsys_when.h"

#include "base/hash.h"
#include "base/map.h"
#include "import/nsys.h"

#define MOST_ROWS 10000	/* of what surrounds a recording: environment variables, properties of the machine */
#define SECOND_NS 1000000000
#define NEAR_S 10	/* clocks of machines differ, and launchers start ranks one after the other */
#define LATEST_NS (INT64_MAX / 4)

struct seen {
	struct ss_nsys_when when;
	int64_t first_ns, last_ns; /* since the start of the session */
	uint64_t slurm_job, slurm_step;
};

typedef bool row_fn(struct seen *s, const struct ss_db_rows *row); /* false: enough */

static void each(struct ss_db *db, const char *table, const char *const *cols, size_t ncols, row_fn *row, struct seen *s)
{
	struct ss_db_rows rows;
	struct ss_err ignored = { 0 };
	if (!ss_db_scan(db, table, cols, ncols, &rows, &ignored))
		return;
	for (int i = 0; i < MOST_ROWS && ss_db_next(&rows) && row(s, &rows); i++)
		;
	ss_db_end(&rows, &ignored);
}

static int64_t time_of(const struct ss_db_rows *row, int col)
{
	int64_t ns = ss_db_i64(row, col);
	return ns > 0 && ns < LATEST_NS ? ns : 0;
}

static bool take_start(struct seen *s, const struct ss_db_rows *row)
{
	s->when.begin_ns = time_of(row, 0);
	return false;
}

static bool take_span(struct seen *s, const struct ss_db_rows *row)
{
	s->first_ns = time_of(row, 0);
	s->last_ns = time_of(row, 1);
	return false;
}

static bool take_machine(struct seen *s, const struct ss_db_rows *row)
{
	struct ss_str name = ss_db_text(row, 1);
	if (ss_str_is(ss_db_text(row, 0), "Hostname") && name.n)
		s->when.machine = ss_str_hash(name) | 1;
	return !s->when.machine;
}

/* "SLURM_JOB_ID="4711"", one row for each variable. */
static bool take_variable(struct seen *s, const struct ss_db_rows *row)
{
	struct ss_str name = ss_db_text(row, 0), text = ss_db_text(row, 1);
	if (!ss_str_ends(name, SS_STR(":ENVIRONMENT_VARIABLE")))
		return true;
	uint64_t *to = ss_str_take(&text, SS_STR("SLURM_JOB_ID=\""))	? &s->slurm_job
		       : ss_str_take(&text, SS_STR("SLURM_STEP_ID=\"")) ? &s->slurm_step
									: NULL;
	uint64_t number;
	if (to && ss_str_take_u64(&text, &number) && ss_str_eq(text, SS_STR("\"")))
		*to = number + 1;
	return !s->slurm_job || !s->slurm_step;
}

#define EACH(db, table, row, s, ...) \
	each(db, table, (const char *const[]){ __VA_ARGS__ }, SS_COUNT(((const char *const[]){ __VA_ARGS__ })), row, s)

struct ss_nsys_when ss_nsys_when(const char *top, const char *path)
{
	struct ss_file f;
	struct ss_db db;
	struct seen s = { .first_ns = 0 };
	if (!ss_file_open_below(&f, top, path, NULL))
		return s.when;
	if (ss_db_open(&db, f.bytes, &f, NULL)) {
		EACH(&db, "TARGET_INFO_SESSION_START_TIME", take_start, &s, "utcEpochNs");
		EACH(&db, "ANALYSIS_DETAILS", take_span, &s, "startTime", "stopTime");
		EACH(&db, "TARGET_INFO_SYSTEM_ENV", take_machine, &s, "name", "value");
		EACH(&db, "META_DATA_CAPTURE", take_variable, &s, "name", "value");
		ss_db_close(&db);
	}
	ss_file_close(&f);
	if (s.when.begin_ns) {
		int64_t start_ns = s.when.begin_ns;
		s.when.begin_ns = start_ns + s.first_ns;
		/* Old versions do not tell the end. */
		s.when.end_ns = s.last_ns > s.first_ns ? start_ns + s.last_ns : s.when.begin_ns + (int64_t)NEAR_S * SECOND_NS;
	}
	if (s.slurm_job && s.slurm_step)
		s.when.job = ss_mix(s.slurm_job, s.slurm_step) | 1;
	return s.when;
}

bool ss_nsys_together(const struct ss_nsys_when *a, const struct ss_nsys_when *b)
{
	bool timed = a->begin_ns && b->begin_ns;
	if (a->job && b->job && a->job != b->job)
		return false;
	if (timed && a->begin_ns < b->end_ns && b->begin_ns < a->end_ns)
		return true;
	if (!a->machine || !b->machine || a->machine == b->machine)
		return false;
	int64_t apart_ns = a->begin_ns < b->begin_ns ? b->begin_ns - a->begin_ns : a->begin_ns - b->begin_ns;
	return (a->job && a->job == b->job) || (timed && apart_ns <= (int64_t)NEAR_S * SECOND_NS);
}
