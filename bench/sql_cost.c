/*
 * sql_cost.c - what questions in SQL cost, beside a walk over every event.
 *
 *	sql_cost FILE
 *
 * Prints one JSON object: ms of CPU time for reading the file, for a walk over all events in memory, and for each question the
 * first time (which may make an order or a list of names) and the best of five more.
 */
#include "model/host/host.h"

#include "model/model.h"
#include "sql/directory.h"
#include "sql/sql.h"

#include <stdio.h>
#include <time.h>

static double cpu_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* All durations in a window: what a reader without an index does. */
static uint64_t walk(const struct ss_sql_directory *d, int64_t from_ps, int64_t to_ps)
{
	uint64_t sum = 0;
	for (uint32_t k = 0; k < d->nlines; k++)
		for (uint32_t i = 0; i < d->lines[k].l.ev.n; i++) {
			int64_t start = ss_sql_start_ps(&d->lines[k], i);
			if (start >= from_ps && start < to_ps)
				sum += d->lines[k].l.ev.dur_ps[i];
		}
	return sum;
}

static uint64_t ask(struct ss_model *m, const char *query)
{
	struct ss_err err = { 0 };
	struct ss_sql_question q = { .model = m, .query = ss_str_from(query) };
	struct ss_sql_rows *r = ss_sql_ask(&q, &err);
	uint64_t n = 0;
	while (r && ss_sql_next(r, &err))
		n++;
	ss_sql_close(r);
	if (err.code)
		fprintf(stderr, "%s\n", err.text);
	return n;
}

static void measure(struct ss_model *m, const char *name, const char *query)
{
	double begin = cpu_ms(), first, best = 1e30;
	uint64_t rows = ask(m, query);
	first = cpu_ms() - begin;
	for (int i = 0; i < 5; i++) {
		begin = cpu_ms();
		ask(m, query);
		best = cpu_ms() - begin < best ? cpu_ms() - begin : best;
	}
	printf(", \"%s\": {\"rows\": %llu, \"first_ms\": %.2f, \"ms\": %.3f}", name,
	       (unsigned long long)rows, first, best);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct ss_host h = { 0 }, *list = &h;
	struct ss_model m;
	struct ss_err err = { 0 };
	double begin = cpu_ms();
	char query[1000];
	if (argc < 2 || !ss_host_open(&h, argv[1], &err) || !ss_model_init(&m, &list, 1, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	struct ss_sql_directory *d = ss_model_sql_directory(&m, &err);
	if (!d) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	int64_t last = 0;
	for (uint32_t k = 0; k < d->nlines; k++)
		for (uint32_t i = 0; i < d->lines[k].l.ev.n; i++)
			last = ss_sql_end_ps(&d->lines[k], i) > last
				       ? ss_sql_end_ps(&d->lines[k], i)
				       : last;
	printf("{\"events\": %llu, \"read_ms\": %.1f", (unsigned long long)d->nevents,
	       cpu_ms() - begin);
	begin = cpu_ms();
	uint64_t sum = walk(d, last / 2, last / 2 + last / 1000);
	printf(", \"walk_ms\": %.2f, \"walk_ps\": %llu", cpu_ms() - begin, (unsigned long long)sum);
	snprintf(query, sizeof(query),
		 "SELECT SUM(dur_ps), COUNT(*) FROM events WHERE start_ps >= %lld AND start_ps < "
		 "%lld",
		 (long long)(last / 2), (long long)(last / 2 + last / 1000));
	measure(&m, "window", query);
	measure(&m, "name",
		"SELECT COUNT(*), SUM(dur_ps) FROM events WHERE name = (SELECT name FROM events "
		"WHERE event_id = 1000)");
	measure(&m, "group_by_name",
		"SELECT name, COUNT(*) AS n, SUM(dur_ps) AS ps FROM events GROUP BY name ORDER BY "
		"ps DESC");
	measure(&m, "group_by_line",
		"SELECT plane, line_id, COUNT(*), SUM(dur_ps) FROM events GROUP BY plane, line_id");
	snprintf(query, sizeof(query),
		 "SELECT COUNT(*) FROM (SELECT * FROM events WHERE plane = '/host:CPU' LIMIT "
		 "100000) AS c JOIN events AS k ON k.plane = "
		 "'/device:TPU:0' AND k.line = 'XLA Ops' AND k.start_ps < c.end_ps AND k.end_ps > "
		 "c.start_ps AND c.dur_ps < 100000000");
	measure(&m, "overlap_join", query);
	measure(&m, "step_join",
		"SELECT s.step, SUM(e.dur_ps) FROM steps AS s JOIN events AS e ON e.plane = "
		"s.plane AND e.line = 'XLA Ops' AND e.start_ps >= s.start_ps "
		"AND e.start_ps < s.end_ps WHERE s.step < 40 GROUP BY s.step");
	measure(&m, "parents",
		"SELECT p.name, COUNT(*) FROM (SELECT parent_id FROM events WHERE plane = "
		"'/host:CPU' LIMIT 100000) AS e JOIN events AS p ON "
		"p.event_id = e.parent_id GROUP BY p.name");
	printf("}\n");
	ss_model_release(&m);
	ss_host_close(&h);
	return 0;
}
