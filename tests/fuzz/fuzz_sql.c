/*
 * fuzz_sql.c - any bytes as a question in SQL about a small profile: rows or a reason, and nothing
 * but reading. The first byte chooses the format.
 */
#include "model/host/host.h"
#include "model/model.h"
#include "sql/write.h"
#include "unit/build_pb.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_event(struct bytes *line, uint64_t name, uint64_t offset_ps, uint64_t ps)
{
	struct bytes event = { .n = 0 }, stat = { .n = 0 };

	put_num(&stat, 1, 1);
	put_num(&stat, 3, offset_ps / 100);
	put_num(&event, 1, name);
	put_num(&event, 2, offset_ps);
	put_num(&event, 3, ps);
	put_msg(&event, 4, &stat);
	put_msg(line, 4, &event);
}

/* Two planes with a line each, and some events of three names. */
static void build(struct bytes *space)
{
	static const char *const planes[] = { "/device:TPU:0", "/host:CPU" }, *const lines[] = { "XLA Ops", "main" };

	for (uint64_t i = 0; i < 2; i++) {
		struct bytes plane = { .n = 0 }, line = { .n = 0 };

		put_text(&line, 2, lines[i]);
		for (uint64_t k = 0; k < 12; k++)
			add_event(&line, 1 + k % 3, 1000 * k, k % 4 ? 900 : 2500);
		put_num(&plane, 1, i);
		put_text(&plane, 2, planes[i]);
		put_msg(&plane, 3, &line);
		put_meta(&plane, 4, 1, "fusion.1");
		put_meta(&plane, 4, 2, "all-reduce.7");
		put_meta(&plane, 4, 3, "a \"name\", with 'quotes'");
		put_meta(&plane, 5, 1, "correlation_id");
		put_msg(space, 1, &plane);
	}
}

static bool count(void *arg, const char *p, size_t n)
{
	size_t *sum = arg;

	(void)p;
	*sum += n;
	return *sum < 4 << 20;
}

static const struct ss_sql_value known[] = {
	{ .name = SS_STR_INIT("n"), .value = SS_STR_INIT("3") },
	{ .name = SS_STR_INIT("x"), .value = SS_STR_INIT("3"), .is_text = true },
	{ .name = SS_STR_INIT("f"), .value = SS_STR_INIT("2.5") },
};

/* Those that the query names: others are refused before it runs. */
static size_t choose(struct ss_str query, struct ss_sql_value *values)
{
	size_t n = 0;

	for (size_t i = 0; i < SS_COUNT(known); i++)
		if (ss_str_contains(query, (struct ss_str[]){ SS_STR(":n"), SS_STR(":x"), SS_STR(":f") }[i]))
			values[n++] = known[i];
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bytes space;
	static struct ss_host host;
	static struct ss_model model;
	struct ss_host *hosts[] = { &host };
	struct ss_err err = { 0 };
	size_t written = 0;

	if (!space.n) {
		build(&space);
		if (!ss_host_open_bytes(&host, bytes_str(&space), "fuzz.xplane.pb", &err) || !ss_model_init(&model, hosts, 1, &err))
			abort();
	}
	if (!size)
		return 0;
	const struct ss_str query = { (const char *)data + 1, size - 1 };
	struct ss_sql_value values[SS_COUNT(known)];
	const struct ss_sql_question q = { .model = &model, .query = query, .values = values, .nvalues = choose(query, values),
					   .timeout_ms = 200, .memory_bytes = 64 << 20, .value_bytes = 1 << 20 };
	const struct ss_sql_writing w = { .format = (enum ss_sql_format)(data[0] % SS_SQL_FORMATS), .most_rows = 100 };
	struct ss_sql_written done;
	struct ss_out out;
	struct ss_sql_rows *rows = ss_sql_ask(&q, &err);

	for (size_t i = 0; rows && i < ss_sql_ncols(rows); i++)
		if (ss_sql_col_type(rows, i) > SS_SQL_BLOB || !ss_sql_content_type(w.format))
			abort();
	ss_out_init(&out, count, &written);
	if ((!rows || !ss_sql_write(rows, &w, &out, &done, &err)) && (!err.code || !err.text[0]))
		abort();
	ss_out_finish(&out, NULL);
	ss_out_free(&out);
	ss_sql_close(rows);
	return 0;
}
