/* test_tfgraph.c - event files, graphs in every form, what a TPU runs, and where a program's time went. */
#include "model/host/host.h"
#include "unit/build_pb.h"
#include "unit/unit.h"

#include "legacy/files/event_file.h"
#include "legacy/files/graph_text.h"
#include "legacy/model/end_to_end.h"
#include "legacy/model/tfgraph.h"

#include <math.h>
#include <stdio.h>

/* --- TFRecord --------------------------------------------------------------------------------- */

static void put_fixed(struct bytes *b, uint64_t v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		b->p[b->n++] = (char)(v >> 8 * i);
}

static uint32_t masked_crc(struct ss_str s)
{
	uint32_t crc = ss_crc32c(s);
	return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void put_record(struct bytes *b, struct ss_str s)
{
	put_fixed(b, s.n, 8);
	put_fixed(b, masked_crc((struct ss_str){ b->p + b->n - 8, 8 }), 4);
	memcpy(b->p + b->n, s.p, s.n);
	b->n += s.n;
	put_fixed(b, masked_crc(s), 4);
}

static void sums_as_the_standard_does(void **state)
{
	(void)state;
	assert_int_equal(ss_crc32c(SS_STR("123456789")), 0xe3069283);	/* the check value of CRC-32C */
	assert_int_equal(ss_crc32c(SS_STR("")), 0);
}

static void reads_records(void **state)
{
	struct bytes b = { .n = 0 };
	struct ss_str record;
	(void)state;
	put_record(&b, SS_STR("first"));
	put_record(&b, SS_STR(""));
	put_record(&b, SS_STR("third"));
	struct ss_tfrecord r = ss_tfrecord_of(bytes_str(&b));
	assert_true(ss_tfrecord_next(&r, &record));
	assert_str(record, "first");
	assert_true(ss_tfrecord_intact(record));
	assert_true(ss_tfrecord_next(&r, &record));
	assert_int_equal(record.n, 0);
	assert_true(ss_tfrecord_next(&r, &record));
	assert_str(record, "third");
	assert_false(ss_tfrecord_next(&r, &record));
	assert_false(r.cut || r.bad);
	assert_int_equal(r.nrecords, 3);
}

/* Cut anywhere: whole records before the cut, `cut` unless it lies between two. */
static void tolerates_cuts(void **state)
{
	struct bytes b = { .n = 0 };
	size_t ends[3] = { 0 };
	(void)state;
	put_record(&b, SS_STR("first"));
	ends[1] = b.n;
	put_record(&b, SS_STR("second"));
	ends[2] = b.n;
	for (size_t n = 0; n <= b.n; n++) {
		struct ss_tfrecord r = ss_tfrecord_of(ss_str_sub(bytes_str(&b), 0, n));
		struct ss_str record;
		size_t want = n >= ends[2] ? 2 : n >= ends[1] ? 1 : 0, got = 0;
		while (ss_tfrecord_next(&r, &record))
			got++;
		assert_int_equal(got, want);
		assert_int_equal(r.cut, n != ends[want]);
		assert_false(r.bad);
	}
}

static void tells_damage(void **state)
{
	(void)state;
	for (size_t at = 0; at < 21; at++) {
		struct bytes b = { .n = 0 };
		struct ss_str record;
		put_record(&b, SS_STR("first"));
		put_record(&b, SS_STR("second"));
		b.p[at] = (char)(b.p[at] ^ 4);
		struct ss_tfrecord r = ss_tfrecord_of(bytes_str(&b));
		bool first = ss_tfrecord_next(&r, &record);
		assert_int_equal(first, at >= 12);	/* the length and its sum */
		assert_int_equal(r.bad, at < 12);
		if (first) {
			assert_false(ss_tfrecord_intact(record));
			assert_true(ss_tfrecord_next(&r, &record));	/* the next is found all the same */
			assert_true(ss_tfrecord_intact(record));
		}
	}
}

/* --- Graphs ----------------------------------------------------------------------------------- */

/* An event {wall_time, field: bytes} as a record. */
static void put_event_record(struct bytes *file, double wall_time_s, unsigned field, struct ss_str value)
{
	struct bytes e = { .n = 0 };
	uint64_t bits;
	memcpy(&bits, &wall_time_s, sizeof(bits));
	put_varint(&e, 1 << 3 | 1);
	put_fixed(&e, bits, 8);
	put_raw(&e, field, value);
	put_record(file, bytes_str(&e));
}

/* GraphDef of one node. */
static void graph_of(struct bytes *g, const char *name, const char *op)
{
	struct bytes n = { .n = 0 };
	put_text(&n, 1, name);
	put_text(&n, 2, op);
	put_msg(g, 1, &n);
}

static struct ss_str name_of_first(struct ss_str graph)
{
	struct ss_arena a = { 0 };
	struct ss_graphdef g;
	struct ss_str name = { NULL, 0 };
	if (ss_graphdef_read(&g, &graph, 1, NULL, &a, NULL) && g.nnodes)
		name = g.nodes[0].name;
	ss_arena_release(&a);
	return name;
}

static void takes_the_newest_graph(void **state)
{
	struct bytes file = { .n = 0 }, old = { .n = 0 }, new = { .n = 0 }, in_meta = { .n = 0 }, meta = { .n = 0 };
	struct ss_event_graph found;
	struct ss_event_tally tally;
	(void)state;
	graph_of(&old, "old", "NoOp");
	graph_of(&new, "new", "NoOp");
	graph_of(&in_meta, "meta", "NoOp");
	put_msg(&meta, 2, &in_meta);
	put_event_record(&file, 1, 3, SS_STR("brain.Event:2"));
	put_event_record(&file, 2, 9, bytes_str(&meta));
	ss_event_file_graph(bytes_str(&file), &found, &tally);
	assert_str(name_of_first(found.graph), "meta");
	put_event_record(&file, 3, 4, bytes_str(&old));
	put_event_record(&file, 4, 4, bytes_str(&new));
	put_event_record(&file, 5, 9, bytes_str(&meta));	/* newer, but second choice */
	ss_event_file_graph(bytes_str(&file), &found, &tally);
	assert_str(name_of_first(found.graph), "new");
	assert_int_equal(found.n, 2);
	assert_int_equal(tally.nrecords, 5);
	/* A damaged graph is none. */
	char *last = memmem(file.p, file.n, "new", 3);
	*last = 'N';
	ss_event_file_graph(bytes_str(&file), &found, &tally);
	assert_str(name_of_first(found.graph), "old");
	assert_int_equal(tally.ndamaged, 1);
}

static void judges_by_name_and_device(void **state)
{
	static const struct {
		const char *op, *device;
		enum ss_tf_verdict want;
	} cases[] = {
		{ "MatMul", "", SS_TF_COMPATIBLE },
		{ "AsString", "", SS_TF_INCOMPATIBLE },
		{ "AsString", "/job:worker/replica:0/task:0/device:CPU:0", SS_TF_PLACED },
		{ "AsString", "/device:gpu:1", SS_TF_PLACED },
		{ "AsString", "/job:worker", SS_TF_PLACED },	/* names no TPU */
		{ "AsString", "/device:TPU:0", SS_TF_INCOMPATIBLE },
		{ "AsString", "/job:tpu_worker/device:CPU:0", SS_TF_PLACED },
		{ "AsString", "/job:worker/device:TPU_SYSTEM:0", SS_TF_PLACED },
		{ "MatMul", "/device:TPU:0", SS_TF_COMPATIBLE },
		{ "Switch", "", SS_TF_COMPATIBLE },
		{ "AddV2", "", SS_TF_COMPATIBLE },
		{ "matmul", "", SS_TF_INCOMPATIBLE },
		{ "MatMu", "", SS_TF_INCOMPATIBLE },
		{ "MatMulX", "", SS_TF_INCOMPATIBLE },
		{ "", "/device:TPU:0", SS_TF_UNTYPED },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++)
		assert_int_equal(ss_tf_judge(ss_str_from(cases[i].op), ss_str_from(cases[i].device)), cases[i].want);
}

/* The list is searched by halves. */
static void has_its_operators_in_order(void **state)
{
	static const char *const names[] = {
#define TPU_OP(name) #name,
#define TPU_ASIDE(name) #name,
#define TPU_LATER(name) #name,
#include "legacy/model/tpu_ops.def"
#undef TPU_OP
#undef TPU_ASIDE
#undef TPU_LATER
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(names); i++) {
		assert_true(i == 0 || strcmp(names[i - 1], names[i]) < 0);
		assert_true(ss_tf_op_on_tpu(ss_str_from(names[i])));
	}
}

static const struct ss_tfgraph *graph_from(struct ss_host *h, const char *text)
{
	const struct ss_tfgraph *g;
	assert_ok(ss_host_open_raw_bytes(h, ss_str_from(text), "graph.pbtxt", &err));
	struct ss_err err = { 0 };
	g = ss_host_tfgraph(h, &err);
	if (!g)
		fail_msg("%s", err.text);
	return g;
}

static void counts_by_scope(void **state)
{
	static const char text[] = "node { name: 'a' op: 'NoOp' } node { name: 'a/b' op: 'AsString' } "
				   "node { name: 'a/b/c' op: 'Add' } node { name: 'a.b/c' op: 'Add' device: '/cpu:0' } "
				   "node { name: 'z' op: 'AsString' } node { name: '/lead' op: 'Add' } "
				   "node { name: 'a//b' op: 'Add' } node { name: 'trail/' op: 'Add' }";
	struct ss_host h;
	const struct ss_tfgraph *g = graph_from(&h, text);
	static const struct {
		const char *name;
		int64_t parent;
		uint32_t ops, bad;
	} want[] = {
		{ "", -1, 8, 2 },
		{ "a", 0, 4, 1 },
		{ "a/", 1, 1, 0 },
		{ "a/b", 1, 2, 1 },
		{ "a.b", 0, 1, 0 },
	};
	(void)state;
	assert_int_equal(g->nscopes, SS_COUNT(want));
	for (size_t i = 0; i < SS_COUNT(want); i++) {
		const struct ss_tf_scope *s = &g->scopes[i];
		assert_str(s->name, want[i].name);
		assert_int_equal(s->parent == SS_NONE ? -1 : (int64_t)s->parent, want[i].parent);
		assert_int_equal(s->nops, want[i].ops);
		assert_int_equal(s->n[SS_TF_INCOMPATIBLE], want[i].bad);
	}
	const struct ss_tf_op *both = &g->ops[ss_tfgraph_find_op(g, SS_STR("a/b"))];
	struct ss_arena a = { 0 };
	assert_str(ss_tf_op_label(both, &a), "(b)");
	ss_arena_release(&a);
	assert_str(g->scopes[both->scope].name, "a/b");
	assert_true(fabs(ss_tf_scope_compatible_frac(&g->scopes[0]) - 6.0 / 8) < 1e-12);
	assert_true(fabs(ss_tf_scope_judged_frac(&g->scopes[0]) - 5.0 / 7) < 1e-12);
	assert_true(isnan(ss_tf_scope_judged_frac(&g->scopes[4])));
	ss_host_close(&h);
}

/* A hostile name of a million parts is as many bytes, not their square. */
static void bounds_the_depth_of_names(void **state)
{
	enum { PARTS = 500000 };
	char *text = malloc(2 * PARTS + 100);
	size_t n = (size_t)sprintf(text, "node { op: 'Add' name: '");
	struct ss_host h;
	(void)state;
	for (size_t i = 0; i < PARTS; i++) {
		text[n++] = 'x';
		text[n++] = '/';
	}
	strcpy(text + n, "' }");
	const struct ss_tfgraph *g = graph_from(&h, text);
	assert_int_equal(g->nscopes, SS_TF_DEPTH + 1);
	assert_int_equal(g->nops, 1);
	ss_host_close(&h);
	free(text);
}

static void spells_attributes(void **state)
{
	static const struct {
		const char *value, *want;
	} cases[] = {
		{ "s: 'caf\\303\\251\\n'", "\"caf\303\251\\u000a\"" },
		{ "s: \"a\" 'b'", "\"ab\"" },
		{ "i: -7", "-7" },
		{ "f: 0.5", "0.5" },
		{ "f: inf", "inf" },
		{ "f: 1.5f", "1.5" },
		{ "b: true", "true" },
		{ "type: DT_FLOAT", "float32" },
		{ "type: DT_STRING_REF", "string_ref" },
		{ "type: 4", "uint8" },
		{ "type: 77", "type 77" },
		{ "shape { dim { size: 2 } dim { size: -1 } }", "[2,?]" },
		{ "shape { unknown_rank: true }", "unknown" },
		{ "shape { }", "[]" },
		{ "list { i: 1 i: 2 }", "[1, 2]" },
		{ "list { i: [1, 2, 3] }", "[1, 2, 3]" },
		{ "list { }", "[]" },
		{ "list { s: 'a' s: 'b' }", "[\"a\", \"b\"]" },
		{ "list { func { name: 'f' } }", "[function f]" },
		{ "list { shape { dim { size: 1 } } }", "[[1]]" },
		{ "tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } "
		  "tensor_content: '\\001\\0\\0\\0\\xff\\xff\\xff\\xff' }",
		  "int32 [2] {1, -1}" },
		{ "tensor { dtype: DT_DOUBLE double_val: [1.5, 2] }", "float64 [] {1.5, 2}" },
		{ "tensor { dtype: DT_STRING string_val: 'x' }", "string [] {\"x\"}" },
		{ "tensor { dtype: DT_INT64 int64_val: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] }",
		  "int64 [] {1, 2, 3, 4, 5, 6, 7, 8, …}" },
		{ "func { name: 'g' }", "function g" },
		{ "placeholder: 'p'", "\"p\"" },
		{ "unknown_field { x: [ 'y' ] } i: 3", "3" },
		{ "", "" },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		char text[400];
		struct ss_arena a = { 0 };
		struct ss_host h;
		struct ss_str name, value;
		snprintf(text, sizeof(text), "node { name: 'n' op: 'Add' attr { key: 'k' value { %s } } }", cases[i].value);
		const struct ss_tfgraph *g = graph_from(&h, text);
		struct ss_graph_attrs it = ss_graph_attrs_of(g->ops[0].node);
		assert_true(ss_graph_attrs_next(&it, &name, &value));
		assert_str(name, "k");
		assert_str(ss_graph_attr_text(value, &a), cases[i].want);
		assert_false(ss_graph_attrs_next(&it, &name, &value));
		ss_host_close(&h);
		ss_arena_release(&a);
	}
}

static void refuses_malformed_texts(void **state)
{
	static const char *const texts[] = {
		"node", "node {", "node { name }", "node { name: }", "node { name: 'a }", "node { name: 'a' op: 'b' ",
		"node { attr { value { i: x } } }", "node { attr { value { i: 1.5 } } }", "node { input: [ 'a' }", "node } ",
		"node { 'a': 1 }", "versions { producer: 'a' }",
	};
	struct ss_arena a = { 0 };
	struct ss_str graph;
	(void)state;
	for (size_t i = 0; i < SS_COUNT(texts); i++)
		assert_fails(ss_graph_text_read(ss_str_from(texts[i]), &graph, &a, &err), SS_EFORMAT);
	struct ss_err err = { 0 };
	assert_false(ss_graph_text_read(SS_STR("# one\nnode {\n  name\n}"), &graph, &a, &err));
	assert_true(ss_str_contains(ss_str_from(err.text), SS_STR("line 4")));
	ss_arena_release(&a);
}

static void opens_every_form(void **state)
{
	struct bytes graph = { .n = 0 }, meta = { .n = 0 }, info = { .n = 0 }, saved = { .n = 0 };
	struct ss_host h;
	(void)state;
	graph_of(&graph, "n", "NoOp");
	put_text(&info, 5, "2.21");
	put_msg(&meta, 1, &info);
	put_msg(&meta, 2, &graph);
	put_num(&saved, 1, 1);
	put_msg(&saved, 2, &meta);
	const struct ss_str forms[] = { bytes_str(&graph), bytes_str(&meta), bytes_str(&saved) };
	for (size_t i = 0; i < SS_COUNT(forms); i++) {
		assert_ok(ss_host_open_raw_bytes(&h, forms[i], "x.pb", &err));
		const struct ss_tfgraph *g = NULL;
		assert_ok((g = ss_host_tfgraph(&h, &err)) != NULL);
		assert_str(g->ops[0].name, "n");
		ss_host_close(&h);
	}
	static const struct {
		const char *text;
		enum ss_errcode code;
	} bad[] = { { "", SS_ENODATA }, { "hello", SS_EFORMAT }, { "{}", SS_EFORMAT }, { "\n\3abc", SS_ENODATA } };
	for (size_t i = 0; i < SS_COUNT(bad); i++) {
		assert_ok(ss_host_open_raw_bytes(&h, ss_str_from(bad[i].text), "x.pb", &err));
		assert_fails(ss_host_tfgraph(&h, &err) != NULL, bad[i].code);
		ss_host_close(&h);
	}
}

/* --- End to end ------------------------------------------------------------------------------- */

struct phase {
	double at_s;
	const char *tag;
};

static void put_phases(struct bytes *file, const struct phase *v, size_t n)
{
	put_event_record(file, 1000, 3, SS_STR("brain.Event:2"));
	for (size_t i = 0; i < n; i++) {
		struct bytes value = { .n = 0 }, summary = { .n = 0 };
		put_text(&value, 1, v[i].tag);
		put_msg(&summary, 1, &value);
		put_event_record(file, 1000 + v[i].at_s, 5, bytes_str(&summary));
	}
}

#define CHECK_PHASES(phases, ...)                                                                    \
	do {                                                                                         \
		static const double want_[SS_E2E_CATEGORIES] = { __VA_ARGS__ };                      \
		struct bytes file_ = { .n = 0 };                                                     \
		struct ss_end_to_end e_;                                                             \
		struct ss_host h_;                                                                   \
		put_phases(&file_, (phases), SS_COUNT(phases));                                      \
		assert_ok(ss_host_open_raw_bytes(&h_, bytes_str(&file_), "log", &err));              \
		assert_ok(ss_end_to_end_read(&h_, &e_, &err));                                       \
		for (size_t c_ = 0; c_ < SS_E2E_CATEGORIES; c_++)                                    \
			if (fabs(e_.category_ms[c_] - want_[c_]) > 1e-3)                             \
				fail_msg("%s: %g, wanted %g", ss_e2e_category_name((enum ss_e2e_category)c_), \
					 e_.category_ms[c_], want_[c_]);                             \
		ss_host_close(&h_);                                                                  \
	} while (0)

/* What TensorFlow 1's add_run_metadata leaves: what each device was given of the program, where no function was traced. */
static void reads_tagged_run_metadata(void **state)
{
	struct bytes node = { .n = 0 }, graph = { .n = 0 }, run = { .n = 0 }, tagged = { .n = 0 }, file = { .n = 0 };
	struct ss_host h;
	(void)state;
	put_text(&node, 1, "a/b");
	put_text(&node, 2, "StringSplit");
	put_msg(&graph, 1, &node);
	put_msg(&run, 3, &graph);
	put_msg(&run, 3, &graph);
	put_text(&tagged, 1, "step1");
	put_msg(&tagged, 2, &run);
	put_event_record(&file, 1000, 3, SS_STR("brain.Event:2"));
	put_event_record(&file, 1001, 8, bytes_str(&tagged));
	assert_ok(ss_host_open_raw_bytes(&h, bytes_str(&file), "events", &err));
	const struct ss_tfgraph *g = ss_host_tfgraph(&h, NULL);
	assert_non_null(g);
	assert_int_equal(g->nops, 2);
	assert_str(g->ops[0].name, "graph_1/a/b");
	assert_str(g->ops[1].name, "graph_2/a/b");
	assert_str(g->ops[1].node->name, "a/b");
	assert_str(ss_graph_op(&g->def, g->ops[1].node), "StringSplit");
	assert_int_equal(g->scopes[0].n[SS_TF_INCOMPATIBLE], 2);
	ss_host_close(&h);
}

static void adds_up_phases(void **state)
{
	static const struct phase all[] = {
		{ 0, "profile/train_begin" }, { 1, "profile/init_system_begin" }, { 3, "profile/init_system_end" },
		{ 4, "profile/model_fn_begin" }, { 5, "profile/setup_infeed_begin" }, { 5.5, "profile/setup_infeed_end" },
		{ 7, "profile/model_fn_end" }, { 20, "profile/train_end" }, { 21, "profile/eval_begin" },
		{ 22, "profile/model_fn_begin" }, { 23, "profile/model_fn_end" }, { 31, "profile/eval_end" },
		{ 31.25, "profile/predict_begin" }, { 40, "profile/predict_end" },
	};
	static const struct phase overlapping[] = {
		{ 0, "train_begin" }, { 10, "train_end" }, { 8, "eval_begin" }, { 12, "eval_end" }, { 9, "predict_begin" },
		{ 11, "predict_end" }, { 5, "train_steps_end" },
	};
	static const struct phase no_eval[] = {
		{ 0, "profile/train_begin" }, { 10, "profile/train_end" }, { 13, "profile/predict_begin" },
		{ 14, "profile/predict_end" },
	};
	static const struct phase no_train[] = {
		{ 1, "profile/init_system_begin" }, { 2, "profile/init_system_end" }, { 0, "profile/eval_begin" },
		{ 5, "profile/eval_end" }, { 6, "profile/train_begin" },
	};
	static const struct phase twice[] = {
		{ 0, "profile/train_begin" }, { 1, "profile/init_system_begin" }, { 2, "profile/train_end" },
		{ 3, "profile/train_begin" }, { 4, "profile/init_system_begin" }, { 6, "profile/init_system_end" },
		{ 9, "profile/train_end" },
	};
	static const struct phase running[] = {
		{ 0, "profile/train_begin" }, { 1, "profile/init_system_begin" }, { 3, "profile/init_system_end" },
	};
	struct bytes file = { .n = 0 };
	struct ss_end_to_end e;
	struct ss_host h;
	(void)state;
	CHECK_PHASES(running, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	put_phases(&file, running, SS_COUNT(running));
	assert_ok(ss_host_open_raw_bytes(&h, bytes_str(&file), "log", &err));
	assert_ok(ss_end_to_end_read(&h, &e, &err));
	assert_int_equal(e.nstray, 0);
	assert_true(fabs(e.span[SS_E2E_TRAIN][SS_E2E_INIT_SYSTEM].end_ms - 1003000) < 1);
	ss_host_close(&h);
	CHECK_PHASES(all, 1000, 2000, 1000, 2500, 500, 20000, 1000, 10000, 250, 8750);
	CHECK_PHASES(overlapping, 0, 0, 0, 0, 0, 10000, 0, 2000, 0, 0);
	CHECK_PHASES(no_eval, 0, 0, 0, 0, 0, 10000, 0, 0, 3000, 1000);
	CHECK_PHASES(no_train, 0, 0, 0, 0, 0, 0, 0, 5000, 0, 0);
	CHECK_PHASES(twice, 1000, 2000, 0, 0, 0, 6000, 0, 0, 0, 0);
}

static void reads_the_chart_of_old(void **state)
{
	static const char json[] = " [[\"Category\",\"init-system\",\"training\",\"other\",{\"role\":\"annotation\"}],"
				   "[\"\",1.5,20,3,\"\"]]";
	static const struct {
		const char *text;
		enum ss_errcode code;
	} bad[] = {
		{ "", SS_EFORMAT }, { "[x]", SS_EFORMAT }, { "[]", SS_ENODATA }, { "{}", SS_EFORMAT },
		{ "\xef\xbb\xbf", SS_EFORMAT }, { "\xef\xbb\xbf[]", SS_ENODATA },
		{ "[[\"Category\",\"training\"],[\"\",\"x\"]]", SS_ENODATA }, { "[[\"Category\",\"training\"]]", SS_ENODATA },
	};
	struct ss_end_to_end e;
	struct ss_host h;
	(void)state;
	assert_ok(ss_host_open_raw_bytes(&h, ss_str_from(json), "x.end_to_end.json", &err));
	assert_ok(ss_end_to_end_read(&h, &e, &err));
	assert_true(e.from_json);
	assert_true(fabs(e.category_ms[SS_E2E_INIT] - 1.5) < 1e-12);
	assert_true(fabs(e.category_ms[SS_E2E_TRAINING] - 20) < 1e-12);
	assert_true(fabs(e.category_ms[SS_E2E_EVALUATION]) < 1e-12);
	ss_host_close(&h);
	for (size_t i = 0; i < SS_COUNT(bad); i++) {
		assert_ok(ss_host_open_raw_bytes(&h, ss_str_from(bad[i].text), "x.end_to_end.json", &err));
		assert_fails(ss_end_to_end_read(&h, &e, &err), bad[i].code);
		ss_host_close(&h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_as_the_standard_does), cmocka_unit_test(reads_records),
		cmocka_unit_test(reads_tagged_run_metadata), cmocka_unit_test(tolerates_cuts), cmocka_unit_test(tells_damage),
		cmocka_unit_test(takes_the_newest_graph), cmocka_unit_test(judges_by_name_and_device),
		cmocka_unit_test(has_its_operators_in_order), cmocka_unit_test(counts_by_scope),
		cmocka_unit_test(bounds_the_depth_of_names), cmocka_unit_test(spells_attributes),
		cmocka_unit_test(refuses_malformed_texts), cmocka_unit_test(opens_every_form),
		cmocka_unit_test(adds_up_phases), cmocka_unit_test(reads_the_chart_of_old),
	};
	return RUN_TESTS(tests);
}
