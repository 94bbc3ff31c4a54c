/*
 * opname.c - parsing of operation names. The patterns are small and run over every name, so they
 * are written out.
 */
#include "model/host/opname.h"

static bool lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool alnum(char c)
{
	return lower(c) || upper(c) || digit(c);
}

/* [A-Za-z0-9.][A-Za-z0-9_./>-]* */
static bool is_tf_name(struct ss_str s)
{
	if (!s.n || !(alnum(s.p[0]) || s.p[0] == '.'))
		return false;
	for (size_t i = 1; i < s.n; i++) {
		char c = s.p[i];
		if (!alnum(c) && c != '_' && c != '.' && c != '/' && c != '>' && c != '-')
			return false;
	}
	return true;
}

/* [A-Z_][a-zA-Z0-9_]* */
static bool is_tf_type(struct ss_str s)
{
	if (!s.n || !(upper(s.p[0]) || s.p[0] == '_'))
		return false;
	for (size_t i = 1; i < s.n; i++)
		if (!alnum(s.p[i]) && s.p[i] != '_')
			return false;
	return true;
}

/* Is `type` written as a JAX primitive: [a-z_][a-z0-9_]*, perhaps with parameters in brackets? */
static bool op_type_is_jax(struct ss_str s)
{
	size_t i = 1;
	if (!s.n || !(lower(s.p[0]) || s.p[0] == '_'))
		return false;
	while (i < s.n && (lower(s.p[i]) || digit(s.p[i]) || s.p[i] == '_'))
		i++;
	if (i == s.n)
		return true;
	/* Parameters: anything in brackets up to the end, on one line. */
	struct ss_str rest = ss_str_sub(s, i, s.n);
	return rest.n >= 2 && rest.p[0] == '[' && rest.p[rest.n - 1] == ']' && ss_str_chr(rest, '\n') == SS_NPOS;
}

/* Is it the type of that JAX operation: a JAX type that the last component of the name contains? */
static bool op_name_is_jax(struct ss_str name, struct ss_str type)
{
	size_t slash = ss_str_rchr(name, '/');
	struct ss_str last = slash == SS_NPOS ? name : ss_str_sub(name, slash + 1, name.n);
	return name.n && op_type_is_jax(type) && ss_str_contains(last, type);
}

/* The type that a name implies: its last component without a trailing "_<integer>". */
static struct ss_str op_type_of_name(struct ss_str name)
{
	size_t slash = ss_str_rchr(name, '/');
	struct ss_str last = slash == SS_NPOS ? name : ss_str_sub(name, slash + 1, name.n);
	size_t bar = ss_str_rchr(last, '_');
	int64_t number;
	if (bar != SS_NPOS && ss_str_to_i64(ss_str_sub(last, bar + 1, last.n), &number))
		return ss_str_sub(last, 0, bar);
	return last;
}

static struct ss_op_name without_type(struct ss_str full)
{
	static const struct {
		struct ss_str prefix, type;
		enum ss_op_category category;
	} copies[] = {
		{ SS_STR_INIT("MEMCPYHToD"), SS_STR_INIT("MemcpyHToD"), SS_OP_MEMCPY_HTOD },
		{ SS_STR_INIT("MEMCPYDToH"), SS_STR_INIT("MemcpyDToH"), SS_OP_MEMCPY_DTOH },
		{ SS_STR_INIT("MEMCPYDToD"), SS_STR_INIT("MemcpyDToD"), SS_OP_MEMCPY_DTOD },
		{ SS_STR_INIT("MEMCPYHToH"), SS_STR_INIT("MemcpyHToH"), SS_OP_MEMCPY_HTOH },
		/* As PyTorch writes them. */
		{ SS_STR_INIT("MEMCPY HToD"), SS_STR_INIT("MemcpyHToD"), SS_OP_MEMCPY_HTOD },
		{ SS_STR_INIT("MEMCPY DToH"), SS_STR_INIT("MemcpyDToH"), SS_OP_MEMCPY_DTOH },
		{ SS_STR_INIT("MEMCPY DToD"), SS_STR_INIT("MemcpyDToD"), SS_OP_MEMCPY_DTOD },
		{ SS_STR_INIT("MEMCPY PToP"), SS_STR_INIT("MemcpyDToD"), SS_OP_MEMCPY_DTOD },
		{ SS_STR_INIT("MEMCPY HToH"), SS_STR_INIT("MemcpyHToH"), SS_OP_MEMCPY_HTOH },
	};
	for (size_t i = 0; i < SS_COUNT(copies); i++)
		if (ss_str_istarts(full, copies[i].prefix))
			return (struct ss_op_name){ copies[i].category, full, copies[i].type };
	return (struct ss_op_name){ SS_OP_UNKNOWN, full, SS_STR("") };
}

bool ss_op_is_torch_collective(struct ss_str full)
{
	static const struct ss_str begins[] = { SS_STR_INIT("c10d::"), SS_STR_INIT("nccl:"), SS_STR_INIT("gloo:"),
						SS_STR_INIT("mpi:"),   SS_STR_INIT("ucc:"),  SS_STR_INIT("xccl:"),
						SS_STR_INIT("hccl:") };
	for (size_t i = 0; i < SS_COUNT(begins); i++)
		if (ss_str_starts(full, begins[i]))
			return true;
	return false;
}

struct ss_op_name ss_op_name_parse(struct ss_str full)
{
	size_t colon = ss_str_chr(full, ':');
	if (colon == SS_NPOS)
		return without_type(full);
	struct ss_str name = ss_str_sub(full, 0, colon), type = ss_str_sub(full, colon + 1, full.n);
	if (ss_str_eq(name, SS_STR("Iterator")))
		return (struct ss_op_name){ SS_OP_TFDATA, full, SS_STR("Dataset") };
	if (ss_op_is_torch_collective(full))
		return (struct ss_op_name){ SS_OP_UNKNOWN, full, SS_STR("") };
	if (is_tf_name(name) && is_tf_type(type))
		return (struct ss_op_name){ SS_OP_TENSORFLOW, name, type };
	struct ss_str given = type.n ? type : op_type_of_name(name);
	if (op_type_is_jax(given)) {
		size_t bracket = ss_str_chr(given, '[');
		return (struct ss_op_name){ SS_OP_JAX, name, ss_str_sub(given, 0, bracket) };
	}
	if (!type.n)
		return (struct ss_op_name){ SS_OP_TENSORFLOW, name, given };
	return (struct ss_op_name){ SS_OP_UNKNOWN, full, SS_STR("") };
}

struct ss_str ss_op_label(const struct ss_op_name *op)
{
	struct ss_str s = op->name;
	if (op->category != SS_OP_UNKNOWN && op->category != SS_OP_TFDATA)
		return op->type;
	while (s.n && (s.p[s.n - 1] == ' ' || (s.p[s.n - 1] >= '\t' && s.p[s.n - 1] <= '\r')))
		s.n--;
	return s;
}

bool ss_path_next(struct ss_str *rest, struct ss_str *component)
{
	if (!rest->p)
		return false;
	size_t slash = ss_str_chr(*rest, '/');
	if (slash == SS_NPOS) {
		*component = *rest;
		*rest = (struct ss_str){ NULL, 0 };
		return true;
	}
	*component = ss_str_sub(*rest, 0, slash);
	*rest = ss_str_sub(*rest, slash + 1, rest->n);
	return true;
}

bool ss_op_scope_next(struct ss_str *rest, struct ss_str *scope)
{
	size_t slash = ss_str_chr(*rest, '/');
	if (slash == SS_NPOS)
		return false;
	*scope = ss_str_sub(*rest, 0, slash);
	*rest = ss_str_sub(*rest, slash + 1, rest->n);
	return true;
}

bool ss_op_is_gradient(struct ss_str name, struct ss_str type)
{
	struct ss_str rest = name, part;
	if (!type.n || op_name_is_jax(name, type)) {
		while (ss_path_next(&rest, &part))
			if (ss_str_starts(part, SS_STR("transpose(")))
				return true;
		return false;
	}
	while (ss_op_scope_next(&rest, &part))
		if (ss_str_starts(part, SS_STR("gradient_tape")) ||
		    ss_str_starts(part, SS_STR("gradients")))
			return true;
	return false;
}

bool ss_op_is_remat(struct ss_str text, struct ss_str framework_name)
{
	/*
	 * The instruction's own name stands before the first '='; operands may be rematerialised
	 * ones too.
	 */
	struct ss_str head = ss_str_sub(text, 0, ss_str_chr(text, '='));
	return ss_str_contains(head, SS_STR(".remat")) ||
	       ss_str_contains(framework_name, SS_STR("rematted_computation"));
}

static bool one_of(struct ss_str s, const struct ss_str *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ss_str_eq(s, list[i]))
			return true;
	return false;
}

bool ss_hlo_may_have_inner_ops(struct ss_str category)
{
	static const struct ss_str list[] = {
		SS_STR_INIT("call"), SS_STR_INIT("conditional"), SS_STR_INIT("while"), SS_STR_INIT("megacore fusion"),
	};
	return one_of(category, list, SS_COUNT(list));
}

bool ss_hlo_is_infeed_or_outfeed(struct ss_str category)
{
	return ss_str_contains(category, SS_STR("infeed")) || ss_str_contains(category, SS_STR("outfeed"));
}

bool ss_hlo_is_async_part(struct ss_str category)
{
	return ss_str_ends(category, SS_STR("-start")) || ss_str_ends(category, SS_STR("-done"));
}

bool ss_hlo_is_off_duty(struct ss_str category)
{
	static const struct ss_str list[] = {
		SS_STR_INIT("infeed"), SS_STR_INIT("outfeed"), SS_STR_INIT("host send"), SS_STR_INIT("host send-done"),
		SS_STR_INIT("host recv"), SS_STR_INIT("host recv-done"), SS_STR_INIT("async-done"),
		SS_STR_INIT("megacore fusion"),
	};
	return one_of(category, list, SS_COUNT(list));
}
