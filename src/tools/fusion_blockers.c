/*
 * fusion_blockers.c - pairs of operations of a compiled program of which one takes the other's result, and which run as
 * kernels of their own: the result goes through memory. With what the program shows of the reason.
 *
 * Only what stands in the program is said: what an operation is, its layouts, who else uses the result. Where
 * nothing of it explains the pair the reason is empty: the compiler's own decisions are not recorded. model/program/hlo_flow.h
 * finds the values that a consumer takes, and follows them through tuples. Operations inside a fusion or a reduction are fused
 * already and form no pairs. The two halves of an asynchronous operation, and values that no operation computes, form none
 * either; notes count them.
 */
#include "base/safe.h"
#include "base/vec.h"
#include "hlo/shape.h"
#include "model/ops/ops.h"
#include "model/program/hlo_flow.h"
#include "tools/module_pick.h"
#include "tools/words.h"

#include <math.h>
#include <stdlib.h>

#define MOST_PAIRS 1000u

enum { R_REASON, R_PAIRS, R_BYTES };

static const struct ss_col reason_cols[] = {
	STR("reason", "Reason", "Empty: the program does not show it"),
	INT("pairs", "Pairs", COUNT, NULL),
	INT("value_bytes", "Size of values", BYTES, "Sum over the pairs, of one execution of each"),
};

enum {
	P_PRODUCER, P_PRODUCER_OP, P_CONSUMER, P_CONSUMER_OP, P_REASON, P_VALUES, P_BYTES, P_PTIME, P_CTIME, P_RUNS, P_USERS,
	P_DETAIL, P_MODULE,
};

static const struct ss_col pair_cols[] = {
	STR("producer", "Producer", NULL),
	STR("producer_opcode", "Its opcode", NULL),
	STR("consumer", "Consumer", NULL),
	STR("consumer_opcode", "Its opcode", NULL),
	STR("reason", "Reason", "Empty: the program does not show it"),
	INT("values", "Values", COUNT, "Values that the consumer takes: the producer's result, or elements of it"),
	INT("value_bytes", "Size of values", BYTES, "Bytes of all these values, in one execution"),
	NUM("producer_ps", "Producer's self time", PS,
	    "Self time of all executions on the program's host, by the device's clock where recorded; empty: not known"),
	NUM("consumer_ps", "Consumer's self time", PS, "Likewise"),
	NUM("occurrences", "Executions", COUNT, "Executions of the consumer on the program's host; empty: not known"),
	INT("users", "Users", COUNT, "Operations that use the producer's result; plus one if the computation returns it"),
	STR("detail", "Detail", "Layouts of a copy, target of a custom call"),
	STR("module", "Program", NULL),
};

static const struct ss_param params[] = { SS_MODULE_PARAMS };

enum kind { FREE, PLAIN, CONTROL, COMMUNICATION, ASYNC, CUSTOM, HOST_IO, OWN_KERNEL, PRODUCT, COPY };

static enum kind kind_of(struct ss_str opcode)
{
	static const struct {
		const char *opcode;
		enum kind kind;
	} known[] = {
		{ "parameter", FREE },	    { "constant", FREE },	 { "tuple", FREE },
		{ "after-all", FREE },	    { "add-dependency", FREE },	 { "partition-id", FREE },
		{ "replica-id", FREE },	    { "opt-barrier", FREE },	 { "domain", FREE },
		{ "iota", PLAIN },	    { "while", CONTROL },	 { "conditional", CONTROL },
		{ "call", CONTROL },	    { "all-reduce", COMMUNICATION }, { "all-gather", COMMUNICATION },
		{ "all-to-all", COMMUNICATION }, { "ragged-all-to-all", COMMUNICATION }, { "reduce-scatter", COMMUNICATION },
		{ "collective-permute", COMMUNICATION }, { "collective-broadcast", COMMUNICATION }, { "send", COMMUNICATION },
		{ "recv", COMMUNICATION },  { "custom-call", CUSTOM },	 { "infeed", HOST_IO },
		{ "outfeed", HOST_IO },	    { "sort", OWN_KERNEL },	 { "fft", OWN_KERNEL },
		{ "cholesky", OWN_KERNEL }, { "triangular-solve", OWN_KERNEL }, { "dot", PRODUCT },
		{ "convolution", PRODUCT }, { "copy", COPY },		 { "transpose", COPY },
	};
	for (size_t i = 0; i < SS_COUNT(known); i++)
		if (ss_str_is(opcode, known[i].opcode))
			return known[i].kind;
	bool parted = ss_str_ends(opcode, SS_STR("-start")) || ss_str_ends(opcode, SS_STR("-done")) ||
		      ss_str_ends(opcode, SS_STR("-update"));
	return parted ? ASYNC : PLAIN;
}

struct pair {
	uint32_t producer, value, consumer; /* value: the first that is taken */
	uint32_t values, users;
	int64_t bytes;
	double order;
	uint32_t reason; /* into reasons */
};

/* The first that holds counts; the last: nothing that the program shows. */
enum reason { CONTROL_FLOW, COMMUNICATES, ASYNCHRONOUS, HOST_TRANSFER, CUSTOM_CALL, KERNEL_OF_ITS_OWN, TWO_PRODUCTS, COPIES,
	      SEVERAL_USERS, NOT_SHOWN, REASONS };

static const char *const reasons[REASONS] = {
	"control flow", "communication", "asynchronous", "host transfer", "custom call",
	"kernel of its own", "two products", "copy or transpose", "several users", "",
};

struct search {
	const struct ss_request *q;
	struct ss_result *out;
	struct ss_module_pick pick;
	const struct ss_hlo_module *m;
	bool *inside; /* by computation: it is fused, or applied to elements */
	const struct ss_op_db *ops;
	struct ss_hlo_flow flow;
	SS_VEC(struct pair) pairs; /* at most 4 * MOST_PAIRS */
	size_t n, count[REASONS];
	double bytes[REASONS];
	uint64_t halves, given; /* left out: pairs, and values that nothing computes */
};

static struct ss_hlo_instr read(const struct search *s, uint32_t i)
{
	struct ss_hlo_instr in;
	ss_hlo_instr_read(s->m->instrs[i], &in);
	return in;
}

/* ---- which computations are not kernels of their own ---- */

static void mark_inside(struct search *s)
{
	static const char *const callers[] = { "fusion", "reduce", "reduce-window", "scatter", "select-and-scatter", "map", "sort",
					       "all-reduce", "all-reduce-start", "reduce-scatter", "custom-call" };
	for (uint32_t i = 0; i < s->m->ninstrs; i++) {
		struct ss_hlo_instr in = read(s, i);
		bool calls = false;
		for (size_t k = 0; k < SS_COUNT(callers); k++)
			calls = calls || ss_str_is(in.opcode, callers[k]);
		struct ss_hlo_ids it = ss_hlo_ids_of(in.body, HLO_INSTRUCTION_CALLED_IDS);
		int64_t id;
		while (calls && ss_hlo_ids_next(&it, &id)) {
			uint32_t c = ss_hlo_computation_by_id(s->m, id);
			if (c != SS_NONE)
				s->inside[c] = true;
		}
	}
	for (uint32_t c = 0; c < s->m->ncomputations; c++)
		s->inside[c] = s->inside[c] || s->m->computations[c].is_fusion;
}

/* ---- pairs ---- */

static enum reason reason_of(enum kind a, enum kind b, uint32_t users)
{
	static const struct {
		enum kind kind;
		enum reason reason;
	} of[] = {
		{ CONTROL, CONTROL_FLOW }, { COMMUNICATION, COMMUNICATES }, { ASYNC, ASYNCHRONOUS },
		{ HOST_IO, HOST_TRANSFER }, { CUSTOM, CUSTOM_CALL }, { OWN_KERNEL, KERNEL_OF_ITS_OWN },
	};
	for (size_t i = 0; i < SS_COUNT(of); i++)
		if (a == of[i].kind || b == of[i].kind)
			return of[i].reason;
	if (a == PRODUCT && b == PRODUCT)
		return TWO_PRODUCTS;
	if (a == COPY || b == COPY)
		return COPIES;
	return users > 1 ? SEVERAL_USERS : NOT_SHOWN;
}

static int by_order(const void *p, const void *q)
{
	const struct pair *a = p, *b = q;
	return SS_CMP(b->order, a->order) ?: SS_CMP(a->consumer, b->consumer) ?: SS_CMP(a->producer, b->producer);
}

/* Sums of all, and the pairs of most bytes. */
static bool keep(struct search *s, const struct pair *p)
{
	s->n++;
	s->count[p->reason]++;
	s->bytes[p->reason] += (double)p->bytes;
	if (s->pairs.n == 4 * MOST_PAIRS) {
		qsort(s->pairs.v, s->pairs.n, sizeof(*s->pairs.v), by_order);
		s->pairs.n = MOST_PAIRS;
	}
	return ss_vec_push(&s->pairs, *p);
}

/* all-reduce-start and all-reduce-done, or what stands between them; send and send-done: one operation. */
static bool are_halves(struct ss_str producer, struct ss_str consumer)
{
	size_t a = ss_str_rchr(producer, '-'), b = ss_str_rchr(consumer, '-');
	if (kind_of(consumer) != ASYNC || ss_str_ends(consumer, SS_STR("-start")) || ss_str_ends(producer, SS_STR("-done")))
		return false;
	struct ss_str start = kind_of(producer) == ASYNC ? ss_str_sub(producer, 0, a) : producer;
	return ss_str_eq(start, ss_str_sub(consumer, 0, b));
}

/* The pair of n values of one producer and one consumer. */
static bool add_pair(struct search *s, const struct ss_hlo_taken *v, size_t n, uint32_t users)
{
	struct ss_hlo_instr from = read(s, v->producer), to = read(s, v->consumer);
	enum kind a = kind_of(from.opcode), b = kind_of(to.opcode);
	s->given += a == FREE ? n : 0;
	s->halves += are_halves(from.opcode, to.opcode);
	if (a == FREE || b == FREE || are_halves(from.opcode, to.opcode))
		return true;
	const struct ss_op *op = ss_module_op(s->ops, &s->pick, to.name);
	struct pair p = { v->producer, v->value, v->consumer, .values = (uint32_t)n, .users = users };
	for (size_t i = 0; i < n; i++)
		p.bytes = p.bytes > INT64_MAX - v[i].bytes ? INT64_MAX : p.bytes + v[i].bytes;
	p.reason = reason_of(a, b, users);
	p.order = (double)p.bytes * (op && op->occurrences ? (double)op->occurrences : 1);
	return keep(s, &p);
}

static size_t same_consumer(const struct ss_hlo_taken *v, size_t n)
{
	size_t k = 1;
	while (k < n && v[k].consumer == v->consumer)
		k++;
	return k;
}

/* The data of one producer. */
static bool add_producer(struct search *s, const struct ss_hlo_taken *v, size_t n)
{
	uint32_t users = 0;
	for (size_t i = 0; i < n; i += same_consumer(v + i, n - i))
		users++;
	for (size_t i = 0, k; i < n; i += k) {
		k = same_consumer(v + i, n - i);
		if (v[i].consumer != SS_NONE && !add_pair(s, v + i, k, users))
			return false;
	}
	return true;
}

static bool find_pairs(struct search *s, const struct ss_hlo_links *l)
{
	if (!ss_hlo_flow_of(&s->flow, s->m, l, s->inside, s->q->arena))
		return false;
	const struct ss_hlo_taken *v = s->flow.v.v;
	for (size_t i = 0, n = s->flow.v.n, k; i < n; i += k) {
		for (k = 1; i + k < n && v[i + k].producer == v[i].producer;)
			k++;
		if (!add_producer(s, v + i, k))
			return false;
	}
	return true;
}

/* ---- rows ---- */

static struct ss_str layouts(const struct search *s, const struct ss_hlo_instr *from, const struct ss_hlo_instr *to)
{
	struct ss_buf b = { 0 };
	ss_hlo_shape_print(&b, from->shape, true);
	ss_buf_lit(&b, " to ");
	ss_hlo_shape_print(&b, to->shape, true);
	struct ss_str text = ss_arena_str(s->q->arena, ss_utf8_front(ss_buf_get(&b), 200));
	s->q->arena->no_memory = s->q->arena->no_memory || b.no_memory;
	ss_buf_free(&b);
	return text;
}

static struct ss_str detail_of(const struct search *s, const struct pair *p, const struct ss_hlo_instr *a,
			       const struct ss_hlo_instr *c)
{
	const struct ss_hlo_instr value = read(s, p->value);
	if (p->reason == CUSTOM_CALL)
		return kind_of(a->opcode) == CUSTOM ? a->custom_call_target : c->custom_call_target;
	if (p->reason == COPIES && kind_of(c->opcode) == COPY)
		return layouts(s, &value, c);
	return SS_STR("");
}

static void put_pair(const struct search *s, struct ss_table *t, const struct pair *p)
{
	struct ss_hlo_instr a = read(s, p->producer), c = read(s, p->consumer);
	const struct ss_op *ao = ss_module_op(s->ops, &s->pick, a.name), *co = ss_module_op(s->ops, &s->pick, c.name);
	ss_table_row(t);
	ss_set_str(t, P_MODULE, s->pick.file);
	ss_set_str(t, P_PRODUCER, a.name);
	ss_set_str(t, P_PRODUCER_OP, a.opcode);
	ss_set_str(t, P_CONSUMER, c.name);
	ss_set_str(t, P_CONSUMER_OP, c.opcode);
	ss_set_str(t, P_REASON, ss_str_from(reasons[p->reason]));
	ss_set_str(t, P_DETAIL, detail_of(s, p, &a, &c));
	ss_set_i64(t, P_VALUES, p->values);
	ss_set_i64(t, P_BYTES, p->bytes);
	ss_set_i64(t, P_USERS, p->users);
	ss_set_f64(t, P_RUNS, co ? (double)co->occurrences : NAN);
	ss_set_f64(t, P_PTIME, ao ? (double)ao->self_ps : NAN);
	ss_set_f64(t, P_CTIME, co ? (double)co->self_ps : NAN);
}

static void put_reasons(const struct search *s, struct ss_table *t)
{
	for (size_t k = 0; k < REASONS; k++) {
		if (!s->count[k])
			continue;
		ss_table_row(t);
		ss_set_str(t, R_REASON, ss_str_from(reasons[k]));
		ss_set_i64(t, R_PAIRS, (int64_t)s->count[k]);
		ss_set_i64(t, R_BYTES, ss_safe_i64(s->bytes[k]));
	}
}

static void say_left_out(const struct search *s, struct ss_table *t)
{
	ss_table_prop_num(t, "pairs", "Pairs", SS_UNIT_COUNT, (double)s->n, "%.0f");
	ss_table_prop_num(t, "async_halves", "Omitted pairs of the start and the end of one operation", SS_UNIT_COUNT,
			  (double)s->halves, "%.0f");
	ss_table_prop_num(t, "given_operands", "Omitted pairs whose operand nothing computes", SS_UNIT_COUNT,
			  (double)s->given, "%.0f");
	if (s->n > MOST_PAIRS)
		ss_result_note(s->out, SS_INFO,
			       ss_arena_printf(s->out->arena, "the table pairs lists the first %u of %zu", MOST_PAIRS, s->n));
	if (s->halves)
		ss_result_note(s->out, SS_INFO,
			       ss_arena_printf(s->out->arena,
					       "Left out: %s of the start and the end of one asynchronous "
					       "operation.",
					       ss_count_words((double)s->halves, "pair").s));
	if (s->given)
		ss_result_note(s->out, SS_INFO,
			       ss_arena_printf(s->out->arena, "Left out: %s that nothing computes (parameters, constants).",
					       ss_count_words((double)s->given, "operand").s));
	if (s->flow.unresolved)
		ss_result_note(s->out, SS_WARNING,
			       ss_arena_printf(s->out->arena, "Left out: %s whose producer was not found.",
					       ss_count_words((double)s->flow.unresolved, "operand").s));
}

static bool search(struct search *s, struct ss_err *err)
{
	struct ss_hlo_links links;
	s->m = s->pick.module;
	s->inside = SS_NEW_N(s->q->arena, bool, s->m->ncomputations + 1);
	if (!s->inside || !ss_hlo_links_of(&links, s->m, s->q->arena))
		return ss_fail_mem(err);
	mark_inside(s);
	if (!ss_module_ops(s->q, &s->pick, &s->ops, err))
		return false;
	if (!find_pairs(s, &links))
		return ss_fail_mem(err);
	if (s->pairs.n)
		qsort(s->pairs.v, s->pairs.n, sizeof(*s->pairs.v), by_order);
	struct ss_table *t = ss_result_table(s->out, "pairs", "Pairs", pair_cols, SS_COUNT(pair_cols));
	for (size_t i = 0; i < s->pairs.n && i < MOST_PAIRS; i++)
		put_pair(s, t, &s->pairs.v[i]);
	say_left_out(s, t);
	put_reasons(s, ss_result_table(s->out, "reasons", "By reason", reason_cols, SS_COUNT(reason_cols)));
	return ss_module_table(s->q, &s->pick, s->out, err);
}

const struct ss_tool ss_tool_fusion_blockers;

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct search s = { .q = q, .out = out };
	if (!ss_module_pick(q, &ss_tool_fusion_blockers, &s.pick, err))
		return false;
	bool ok = search(&s, err);
	ss_vec_free(&s.pairs);
	ss_hlo_flow_free(&s.flow);
	return ok;
}

/* How much goes through memory, which pair most, and how many are not explained. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_table *t = ss_result_find(out, "pairs"), *r = ss_result_find(out, "reasons");
	double n = 0, dark = 0;
	(void)q;
	(void)err;
	for (size_t i = 0; i < r->nrows; i++) {
		n += ss_cell_f64(r, i, "pairs");
		dark += ss_cell_str(r, i, "reason").n ? 0 : ss_cell_f64(r, i, "pairs");
	}
	if (!t->nrows) {
		ss_result_say(out, SS_STR("No operation of the program takes the result of another outside of fusions."));
		return true;
	}
	struct ss_str why = ss_cell_str(t, 0, "reason");
	ss_say(out, "%s of operations of '" SS_FMT "' %s not fused: one takes the other's result.",
	       ss_count_words(n, "pair").s, SS_ARG(ss_cell_str(t, 0, "module")), n > 1 ? "are" : "is");
	ss_say(out, "The most bytes go from '" SS_FMT "' to '" SS_FMT "': %s in one execution%s" SS_FMT ".",
	       SS_ARG(ss_cell_str(t, 0, "producer")), SS_ARG(ss_cell_str(t, 0, "consumer")),
	       ss_value_words(SS_UNIT_BYTES, ss_cell_f64(t, 0, "value_bytes")).s, why.n ? "; " : "", SS_ARG(why));
	if (dark > 0)
		ss_say(out, "The program does not show the reason of %s.", ss_count_words(dark, "pair").s);
	out->conclusion.see = "graph_viewer";
	return true;
}

const struct ss_tool ss_tool_fusion_blockers = {
	.name = "fusion_blockers",
	.title = "Fusion blockers",
	.summary = "Pairs of operations of a compiled program that are not fused, with the reason where the program shows it",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_OURS | SS_TOOL_OF_PROGRAM,
	.params = params,
	.nparams = SS_COUNT(params),
	.present = ss_module_present,
	.run = run,
	.conclude = conclude,
};
