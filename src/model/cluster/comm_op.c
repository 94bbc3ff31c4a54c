/* comm_op.c - see comm_op.h. */
#include "model/cluster/comm_op.h"

#include "hlo/shape.h"

static const struct {
	struct ss_str name;
	bool barrier;
} kinds[SS_COMM_COUNT] = {
	[SS_COMM_NONE] = { { "", 0 }, false },
#define COMM(id, text, is_barrier) [SS_COMM_##id] = { SS_STR_INIT(text), is_barrier },
	SS_COMMS(COMM)
#undef COMM
};

const char *ss_comm_name(enum ss_comm kind)
{
	return kinds[kind].name.p;
}

bool ss_comm_is_barrier(enum ss_comm kind)
{
	return kinds[kind].barrier;
}

double ss_comm_bus_factor(enum ss_comm kind, uint64_t participants)
{
	double n = (double)participants;
	switch (kind) {
	case SS_COMM_ALL_REDUCE:
		return n > 0 ? 2 * (n - 1) / n : 0;
	case SS_COMM_ALL_GATHER:
	case SS_COMM_REDUCE_SCATTER:
	case SS_COMM_ALL_TO_ALL:
	case SS_COMM_RAGGED_ALL_TO_ALL:
		return n > 0 ? (n - 1) / n : 0;
	default:
		return 1;
	}
}

/*
 * "all-reduce", "all-reduce-start.3" and "all-reduce fusion", but not "send_buffer" or "recvonly".
 */
static enum ss_comm kind_of(struct ss_str s)
{
	for (unsigned k = SS_COMM_NONE + 1; k < SS_COMM_COUNT; k++) {
		if (!ss_str_starts(s, kinds[k].name))
			continue;
		char next = s.n > kinds[k].name.n ? s.p[kinds[k].name.n] : '.';
		if (next == '.' || next == '-' || next == ' ' || next == '(')
			return (enum ss_comm)k;
	}
	return SS_COMM_NONE;
}

enum ss_comm ss_comm_of_opcode(struct ss_str opcode)
{
	return kind_of(opcode);
}

/* "%fusion.3 = f32[8] fusion(...)" is fusion.3; a text without an equals sign is the name. */
static struct ss_str hlo_text_name(struct ss_str text)
{
	size_t eq = ss_str_find(text, SS_STR(" = "));
	struct ss_str name = eq == SS_NPOS ? text : ss_str_sub(text, 0, eq);
	ss_str_take(&name, SS_STR("ROOT "));
	ss_str_take(&name, SS_STR("%"));
	return name;
}

/* The position of "-start" or "-done" in a name: before a dot or the end. SS_NPOS: none. */
static size_t phase_at(struct ss_str name, struct ss_str word)
{
	size_t from = 0;
	for (;;) {
		size_t at = ss_str_find(ss_str_sub(name, from, name.n), word);
		if (at == SS_NPOS)
			return SS_NPOS;
		at += from;
		if (at + word.n == name.n || name.p[at + word.n] == '.')
			return at;
		from = at + 1;
	}
}

static struct ss_str base_name(struct ss_str name, enum ss_comm_phase *phase, struct ss_arena *arena)
{
	static const struct {
		struct ss_str word;
		enum ss_comm_phase phase;
	} words[] = { { SS_STR_INIT("-start"), SS_COMM_START }, { SS_STR_INIT("-done"), SS_COMM_DONE } };
	for (size_t i = 0; i < SS_COUNT(words); i++) {
		size_t at = phase_at(name, words[i].word);
		if (at == SS_NPOS)
			continue;
		*phase = words[i].phase;
		struct ss_str head = ss_str_sub(name, 0, at), tail = ss_str_sub(name, at + words[i].word.n, name.n);
		return ss_arena_printf(arena, SS_FMT SS_FMT, SS_ARG(head), SS_ARG(tail));
	}
	return name;
}

/* ---- the instruction's text: "%name = shape opcode(operands), attributes" ---- */

/* Behind the bracket that closes the one at `at`, or the end. */
static size_t closing(struct ss_str s, size_t at)
{
	size_t depth = 0;
	for (; at < s.n; at++) {
		char c = s.p[at];
		depth += c == '(' || c == '{' || c == '[';
		if ((c == ')' || c == '}' || c == ']') && --depth == 0)
			return at + 1;
	}
	return s.n;
}

struct parts {
	struct ss_str result, opcode, operands, attributes;
};

static struct parts split(struct ss_str text)
{
	struct parts p = { .result = { "", 0 }, .opcode = { "", 0 }, .operands = { "", 0 }, .attributes = { "", 0 } };
	size_t eq = ss_str_find(text, SS_STR(" = "));
	if (eq == SS_NPOS)
		return p;
	size_t at = eq + 3, begin = at;
	if (at < text.n && text.p[at] == '(')
		at = closing(text, at);
	while (at < text.n && text.p[at] != ' ')
		at++;
	p.result = ss_str_sub(text, begin, at);
	begin = at < text.n ? at + 1 : at;
	for (at = begin; at < text.n && text.p[at] != '(' && text.p[at] != ' ';)
		at++;
	p.opcode = ss_str_sub(text, begin, at);
	if (at < text.n && text.p[at] == '(') {
		size_t end = closing(text, at);
		p.operands = ss_str_sub(text, at + 1, end > at + 1 ? end - 1 : end);
		p.attributes = ss_str_sub(text, end, text.n);
	}
	return p;
}

static uint64_t type_bits(struct ss_str type)
{
	for (uint64_t t = 0; t < SS_HLO_TYPE_COUNT_; t++)
		if (ss_str_is(type, ss_hlo_type_name(t)))
			return ss_hlo_type_bits(t);
	return 0;
}

/* Bytes of all arrays named in a text, "f32[2,3]{1,0} %a, bf16[8]"; scalars in *scalars beside. */
static uint64_t bytes_in(struct ss_str s, uint64_t *scalars)
{
	uint64_t sum = 0;
	for (size_t at = 0; at < s.n; at++) {
		if (s.p[at] != '[')
			continue;
		size_t from = at;
		while (from > 0 &&
		       ((s.p[from - 1] >= 'a' && s.p[from - 1] <= 'z') || (s.p[from - 1] >= '0' && s.p[from - 1] <= '9')))
			from--;
		uint64_t bits = type_bits(ss_str_sub(s, from, at)), n = 1, v;
		struct ss_str dims = ss_str_sub(s, at + 1, s.n);
		bool scalar = dims.n && dims.p[0] == ']';
		while (bits && !scalar && (ss_str_take(&dims, SS_STR("<=")) || true) && ss_str_take_u64(&dims, &v)) {
			n = v && n > (UINT64_MAX >> 8) / v ? UINT64_MAX >> 8 : n * v;
			if (!ss_str_take(&dims, SS_STR(",")))
				break;
		}
		uint64_t bytes = bits ? n / 8 * bits + (n % 8 * bits + 7) / 8 : 0;
		*(scalar ? scalars : &sum) += bytes;
	}
	return sum;
}

/* Elements of a tuple: the bytes of the largest. */
static uint64_t largest_element(struct ss_str tuple)
{
	uint64_t most = 0, scalars = 0;
	size_t depth = 0, from = 1;
	for (size_t at = 0; at < tuple.n; at++) {
		char c = tuple.p[at];
		bool ends = (c == ',' && depth == 1) || (c == ')' && depth == 1);
		depth += c == '(' || c == '{' || c == '[';
		if (ends) {
			uint64_t b = bytes_in(ss_str_sub(tuple, from, at), &scalars);
			most = b > most ? b : most;
			from = at + 1;
		}
		depth -= (c == ')' || c == '}' || c == ']') && depth;
	}
	return most;
}

static uint64_t bytes_of(const struct parts *p, enum ss_comm kind, enum ss_comm_phase phase)
{
	uint64_t scalars = 0, operand = bytes_in(p->operands, &scalars), result = bytes_in(p->result, &scalars);
	bool tuple = p->result.n && p->result.p[0] == '(';
	/*
	 * The tuple of a start holds operands, results and more side by side; that of an all-reduce
	 * results alone.
	 */
	if (phase == SS_COMM_START && tuple && kind != SS_COMM_ALL_REDUCE)
		result = largest_element(p->result);
	uint64_t most = operand > result ? operand : result;
	return most ? most : scalars;
}

/* The value of an attribute ", name=": up to the comma behind it that stands in no bracket. */
static struct ss_str attribute(struct ss_str attributes, struct ss_str name)
{
	size_t at = ss_str_find(attributes, name), end;
	if (at == SS_NPOS)
		return (struct ss_str){ "", 0 };
	at += name.n;
	for (end = at; end < attributes.n && attributes.p[end] != ',';)
		end = attributes.p[end] == '{' || attributes.p[end] == '[' || attributes.p[end] == '(' ? closing(attributes, end)
												  : end + 1;
	return ss_str_sub(attributes, at, end);
}

/* The start that a done waits for stands among its operands. */
static struct ss_str last_operand(struct ss_str operands)
{
	size_t at = ss_str_rchr(operands, '%');
	struct ss_str s = at == SS_NPOS ? (struct ss_str){ "", 0 } : ss_str_sub(operands, at + 1, operands.n);
	size_t n = 0;
	while (n < s.n && s.p[n] != ',' && s.p[n] != ')' && s.p[n] != ' ')
		n++;
	return ss_str_sub(s, 0, n);
}

bool ss_comm_op_read(struct ss_comm_op *out, struct ss_str text, struct ss_str shown, struct ss_str category,
		     struct ss_arena *arena)
{
	struct parts p = split(text);
	struct ss_str own = hlo_text_name(text);
	*out = (struct ss_comm_op){ .name = shown.n ? shown : own, .groups = { "", 0 } };
	struct ss_str names[] = { category, p.opcode, own };
	for (size_t i = 0; i < SS_COUNT(names) && !out->kind; i++)
		out->kind = kind_of(names[i]);
	if (!out->kind)
		return true;
	/* "async-start" and the like say the phase in the opcode, others in the name. */
	enum ss_comm_phase phase = SS_COMM_WHOLE;
	struct ss_str base = base_name(own.n ? own : out->name, &phase, arena);
	struct ss_str says = p.opcode.n ? p.opcode : category;
	if (ss_str_ends(says, SS_STR("-start")))
		phase = SS_COMM_START;
	else if (ss_str_ends(says, SS_STR("-done")))
		phase = SS_COMM_DONE;
	out->phase = phase;
	if (phase == SS_COMM_DONE && last_operand(p.operands).n) {
		enum ss_comm_phase start;
		base = base_name(last_operand(p.operands), &start, arena);
	}
	out->name = base;
	out->bytes = bytes_of(&p, out->kind, phase);
	out->groups = attribute(p.attributes, SS_STR("replica_groups="));
	if (!out->groups.n && (out->groups = attribute(p.attributes, SS_STR("source_target_pairs="))).n)
		out->groups = ss_arena_printf(arena, "pairs" SS_FMT, SS_ARG(out->groups));
	/* Without its operand's shape a reduce-scatter tells only what it leaves of it. */
	return out->name.p && out->groups.p;
}

/* ---- kernels, PyTorch ---- */

static bool has(struct ss_str s, const char *word)
{
	return ss_str_contains(s, ss_str_from(word));
}

enum ss_comm ss_comm_of_kernel(struct ss_str kernel)
{
	static const struct {
		const char *word;
		enum ss_comm kind;
	} words[] = {
		{ "AllReduce", SS_COMM_ALL_REDUCE },	{ "AllGather", SS_COMM_ALL_GATHER },
		{ "ReduceScatter", SS_COMM_REDUCE_SCATTER }, { "AllToAll", SS_COMM_ALL_TO_ALL },
		{ "SendRecv", SS_COMM_SEND },		{ "Broadcast", SS_COMM_BROADCAST },
		{ "Reduce", SS_COMM_ALL_REDUCE },
	};
	ss_str_take(&kernel, SS_STR("void "));
	if (!ss_str_istarts(kernel, SS_STR("nccl")) && !ss_str_istarts(kernel, SS_STR("rccl")))
		return SS_COMM_NONE;
	for (size_t i = 0; i < SS_COUNT(words); i++)
		if (has(kernel, words[i].word))
			return words[i].kind;
	return SS_COMM_ALL_REDUCE;
}

enum ss_comm ss_comm_of_torch(struct ss_str name)
{
	static const struct {
		const char *word;
		enum ss_comm kind;
	} words[] = {
		{ "reduce_scatter", SS_COMM_REDUCE_SCATTER }, { "reducescatter", SS_COMM_REDUCE_SCATTER },
		{ "allreduce", SS_COMM_ALL_REDUCE },	{ "all_reduce", SS_COMM_ALL_REDUCE },
		{ "allgather", SS_COMM_ALL_GATHER },	{ "all_gather", SS_COMM_ALL_GATHER },
		{ "all_to_all", SS_COMM_ALL_TO_ALL },	{ "alltoall", SS_COMM_ALL_TO_ALL },
		{ "broadcast", SS_COMM_BROADCAST },	{ "barrier", SS_COMM_BARRIER },
		{ "send", SS_COMM_SEND },		{ "recv", SS_COMM_RECV },
		{ "reduce", SS_COMM_ALL_REDUCE },
	};
	for (size_t i = 0; i < SS_COUNT(words); i++)
		if (has(name, words[i].word))
			return words[i].kind;
	return SS_COMM_NONE;
}

uint64_t ss_torch_type_bytes(struct ss_str type)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} types[] = {
		{ "Float", 4 },	 { "Double", 8 }, { "Half", 2 },  { "BFloat16", 2 }, { "Long", 8 },	 { "Int", 4 },
		{ "Short", 2 },	 { "Char", 1 },	  { "Byte", 1 },  { "Bool", 1 },     { "ComplexFloat", 8 }, { "ComplexDouble", 16 },
		{ "Float8_e4m3fn", 1 }, { "Float8_e5m2", 1 }, { "Float8_e4m3fnuz", 1 }, { "Float8_e5m2fnuz", 1 },
	};
	for (size_t i = 0; i < SS_COUNT(types); i++)
		if (ss_str_ieq(type, ss_str_from(types[i].name)))
			return types[i].bytes;
	return 0;
}
