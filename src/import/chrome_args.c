/* chrome_args.c - what stands in the fields of an event. */
#include "import/chrome_args.h"

#include "import/kineto.h"

#include "xspace/xspace.h"

#include <math.h>

/* Beyond the 53 bits of a double, or with an exponent: digits would be lost, or are not there. */
static bool time_of_double(struct ss_str text, struct ss_so_time *out)
{
	double us;
	if (!ss_str_to_f64(text, &us) || !(us > -9.2e15 && us < 9.2e15))
		return false;
	double ns = floor(us * 1000);
	*out = (struct ss_so_time){ .ns = (int64_t)ns };
	double ps = floor((us * 1000 - ns) * 1000 + 0.5);
	out->ps = ps >= 999 ? 999 : (uint32_t)ps;
	return true;
}

bool ss_chrome_time(struct ss_str text, struct ss_so_time *out)
{
	size_t i = 0, whole = 0, part = 0;
	uint64_t us = 0, frac_ps = 0;
	bool minus = text.n && text.p[0] == '-';
	for (i = minus; i < text.n && text.p[i] >= '0' && text.p[i] <= '9' && whole < 16; i++, whole++)
		us = us * 10 + (uint64_t)(text.p[i] - '0');
	if (i < text.n && text.p[i] == '.') {
		for (i++; i < text.n && text.p[i] >= '0' && text.p[i] <= '9'; i++, part++)
			if (part < 6)
				frac_ps = frac_ps * 10 + (uint64_t)(text.p[i] - '0');
			else if (part == 6)
				frac_ps += text.p[i] >= '5';
	}
	for (; part < 6; part++)
		frac_ps *= 10;
	if (i != text.n || !whole || minus || us > UINT64_C(9200000000000000))
		return time_of_double(text, out);
	*out = (struct ss_so_time){ .ns = (int64_t)(us * 1000 + frac_ps / 1000), .ps = (uint32_t)(frac_ps % 1000) };
	return true;
}

uint64_t ss_chrome_dur_ps(struct ss_str text)
{
	struct ss_so_time t;
	/* A hundred days: longer than any profile. */
	if (!ss_chrome_time(text, &t) || t.ns < 0 || t.ns > INT64_C(8640000000000000))
		return 0;
	return (uint64_t)t.ns * 1000 + t.ps;
}

/* Stats whose values are texts even when they look like numbers. */
static bool is_text(enum ss_stat stat)
{
	switch (stat) {
	case SS_STAT_OTHER:
	case SS_STAT_HLO_MODULE:
	case SS_STAT_HLO_OP:
	case SS_STAT_LONG_NAME:
	case SS_STAT_MODEL_ID:
	case SS_STAT_STEP_NAME:
	case SS_STAT_TF_OP:
		return true;
	default:
		return false;
	}
}

static bool whole_number(struct ss_str s, struct ss_so_arg *out)
{
	int64_t i;
	uint64_t u;
	if (ss_str_to_i64(s, &i)) {
		out->kind = SS_SO_INT;
		out->u = (uint64_t)i;
		return true;
	}
	if (!ss_str_to_u64(s, &u))
		return false;
	out->kind = SS_SO_UINT;
	out->u = u;
	return true;
}

static bool number(struct ss_str s, struct ss_so_arg *out)
{
	double d;
	if (whole_number(s, out))
		return true;
	if (!ss_str_to_f64(s, &d))
		return false;
	out->kind = SS_SO_DOUBLE;
	memcpy(&out->u, &d, sizeof(d));
	return true;
}

void ss_chrome_args_add(struct ss_chrome_args *out, struct ss_so_arg arg)
{
	if (out->n < SS_CHROME_ARGS)
		out->v[out->n++] = arg;
}

/* Could it be a whole number? */
static bool begins_number(struct ss_str s)
{
	return s.n && s.n < 24 && ((s.p[0] >= '0' && s.p[0] <= '9') || s.p[0] == '-');
}

struct ss_so_arg ss_chrome_arg_text(struct ss_so_arg a)
{
	if (begins_number(a.s) && !is_text(ss_stat_of(a.name)))
		whole_number(a.s, &a);
	return a;
}

void ss_chrome_args_numbers(struct ss_chrome_args *a)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->v[i].kind == SS_SO_STR && a->v[i].s.n && a->v[i].s.n < 24)
			number(a->v[i].s, &a->v[i]);
}

/* XProf writes all its numbers as texts. */
static bool take_text(const struct ss_jtok *t, struct ss_arena *arena, struct ss_so_arg *a)
{
	a->s = ss_jtok_str(t, arena);
	if (a->s.p)
		*a = ss_chrome_arg_text(*a);
	return a->s.p != NULL;
}

/* Lists and objects are shown as they are written. */
static bool take_nested(struct ss_jsonr *r, const struct ss_jtok *t, struct ss_so_arg *a)
{
	const char *begin = r->at - 1;
	a->kind = SS_SO_STR;
	if (!ss_jsonr_skip(r, t))
		return false;
	a->s = (struct ss_str){ begin, (size_t)(r->at - begin) };
	return true;
}

/* The value that `t` begins; `*kept`: it is one to keep. False: memory is out, or the text is malformed. */
static bool take_value(struct ss_jsonr *r, const struct ss_jtok *t, struct ss_arena *arena, struct ss_so_arg *a, bool *kept)
{
	*kept = true;
	switch (t->kind) {
	case SS_J_STRING:
		if (!take_text(t, arena, a))
			return false;
		break;
	case SS_J_NUMBER:
		if (t->small) {
			a->kind = SS_SO_INT;
			a->u = t->u;
		} else if (!number(t->text, a)) {
			a->s = t->text;
		}
		break;
	case SS_J_TRUE:
	case SS_J_FALSE:
		a->s = t->kind == SS_J_TRUE ? SS_STR("true") : SS_STR("false");
		break;
	case SS_J_OBJECT:
	case SS_J_ARRAY:
		if (!take_nested(r, t, a))
			return false;
		break;
	default:
		*kept = false;
	}
	/* XProf's stand-in for bytes that JSON cannot hold. */
	*kept = *kept && !ss_str_is(a->s, "<opaque bytes>");
	return true;
}

bool ss_chrome_args_read(struct ss_jsonr *r, struct ss_arena *arena, struct ss_chrome_args *out)
{
	struct ss_jtok key, t;
	bool kept;
	while (ss_jsonr_member(r, &key, &t)) {
		struct ss_so_arg a = { .name = ss_jtok_str(&key, arena), .kind = SS_SO_STR, .s = { "", 0 } };
		if (!a.name.p || !take_value(r, &t, arena, &a, &kept))
			return false;
		if (kept)
			ss_chrome_args_add(out, a);
	}
	return !r->bad;
}

/* ---- PyTorch ---- */

static const struct ss_so_arg *find(const struct ss_chrome_args *a, struct ss_str name)
{
	for (size_t i = 0; i < a->n; i++)
		if (ss_str_eq(a->v[i].name, name))
			return &a->v[i];
	return NULL;
}

static uint64_t count_of(const struct ss_chrome_args *a, struct ss_str name)
{
	const struct ss_so_arg *x = find(a, name);
	double d;
	if (!x || x->kind == SS_SO_STR)
		return 0;
	if (x->kind != SS_SO_DOUBLE)
		return (int64_t)x->u > 0 ? x->u : 0;
	memcpy(&d, &x->u, sizeof(d));
	return d > 0 && d < 1e18 ? (uint64_t)d : 0;
}

/* "[64, 2, 1]" as "64,2,1". */
static void put_dims(struct ss_buf *b, const char *key, const struct ss_so_arg *list)
{
	ss_buf_z(b, key);
	char *to = ss_buf_room(b, list->s.n);
	for (size_t i = 0; to && i < list->s.n; i++)
		if ((list->s.p[i] >= '0' && list->s.p[i] <= '9') || list->s.p[i] == ',')
			b->p[b->n++] = list->s.p[i];
}

static void put_count(struct ss_buf *b, const char *key, const struct ss_chrome_args *a, struct ss_str name)
{
	ss_buf_z(b, key);
	ss_buf_u64(b, count_of(a, name));
}

static bool add_kernel(struct ss_chrome_args *a, struct ss_arena *arena)
{
	const struct ss_so_arg *grid = find(a, SS_STR("grid")), *block = find(a, SS_STR("block"));
	if (!grid || !block || grid->kind != SS_SO_STR || block->kind != SS_SO_STR)
		return true;
	/* Longer ones are no geometry. */
	char room[512];
	struct ss_buf b = { .p = room, .cap = sizeof(room), .limit_bytes = sizeof(room) };
	put_count(&b, "regs:", a, SS_STR("registers per thread"));
	put_count(&b, " static_shared:", a, SS_STR("shared memory"));
	put_dims(&b, " dynamic_shared:0 grid:", grid);
	put_dims(&b, " block:", block);
	put_count(&b, " occ_pct:", a, SS_STR("est. achieved occupancy %"));
	struct ss_so_arg details = { .name = SS_STR("kernel_details"), .kind = SS_SO_STR };
	details.s = ss_arena_str(arena, ss_buf_get(&b));
	if (details.s.p && !b.over)
		ss_chrome_args_add(a, details);
	return details.s.p != NULL;
}

/* "ProfilerStep#7": what all steps are called, and the number. */
static void take_step(struct ss_chrome_args *a, struct ss_str *name)
{
	struct ss_so_arg step = { .name = SS_STR("step_num"), .kind = SS_SO_INT };
	const struct ss_str prefix = SS_STR("ProfilerStep#");
	int64_t n;
	if (!ss_str_starts(*name, prefix) || !ss_str_to_i64(ss_str_sub(*name, prefix.n, name->n), &n))
		return;
	*name = ss_str_sub(prefix, 0, prefix.n - 1);
	step.u = (uint64_t)n;
	ss_chrome_args_add(a, step);
	/* The mark of an event that others are counted under. */
	ss_chrome_args_add(a, (struct ss_so_arg){ .name = SS_STR("_r"), .kind = SS_SO_INT, .u = 1 });
}

/* The kind of memory, by PyTorch's numbers of device types. */
static struct ss_str device_name(uint64_t kind, uint64_t id, struct ss_arena *arena)
{
	static const struct {
		uint64_t kind;
		const char *name;
	} kinds[] = { { 1, "CUDA" }, { 6, "HIP" },  { 9, "XLA" },   { 12, "XPU" },
		      { 13, "MPS" }, { 15, "HPU" }, { 19, "MTIA" }, { 20, "PrivateUse1" } };
	if (kind == 0)
		return SS_STR("CPU");
	char room[64];
	struct ss_buf b = { .p = room, .cap = sizeof(room), .limit_bytes = sizeof(room) };
	for (size_t i = 0; i < SS_COUNT(kinds); i++)
		if (kinds[i].kind == kind)
			ss_buf_z(&b, kinds[i].name);
	if (!b.n) {
		ss_buf_lit(&b, "device type ");
		ss_buf_u64(&b, kind);
	}
	ss_buf_char(&b, ':');
	ss_buf_u64(&b, id);
	return ss_arena_str(arena, ss_buf_get(&b));
}

/*
 * "[memory]": bytes allocated, or with a minus freed, on a device; since PyTorch 1.12 with its
 * address and what its allocator has handed out and holds afterwards.
 */
static bool take_memory(struct ss_chrome_args *a, struct ss_str *name, struct ss_arena *arena)
{
	static const struct {
		struct ss_str theirs, ours;
	} names[] = {
		{ SS_STR_INIT("Bytes"), SS_STR_INIT("allocation_bytes") },
		{ SS_STR_INIT("Addr"), SS_STR_INIT("addr") },
		{ SS_STR_INIT("Total Allocated"), SS_STR_INIT("bytes_allocated") },
		{ SS_STR_INIT("Total Reserved"), SS_STR_INIT("bytes_available") },
	};
	const struct ss_so_arg *bytes = find(a, SS_STR("Bytes"));
	if (!ss_str_is(*name, "[memory]") || !bytes || bytes->kind != SS_SO_INT)
		return true;
	bool freed = (int64_t)bytes->u < 0;
	uint64_t allocated = count_of(a, SS_STR("Total Allocated")), reserved = count_of(a, SS_STR("Total Reserved"));
	struct ss_so_arg asked = { .name = SS_STR("requested_bytes"), .kind = SS_SO_INT,
				   .u = freed ? 0 - bytes->u : bytes->u };
	struct ss_so_arg who = { .name = SS_STR("allocator_name"), .kind = SS_SO_STR };
	who.s = device_name(count_of(a, SS_STR("Device Type")), count_of(a, SS_STR("Device Id")), arena);
	*name = freed ? SS_STR("MemoryDeallocation") : SS_STR("MemoryAllocation");
	for (size_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < SS_COUNT(names); k++)
			if (a->v[i].kind != SS_SO_STR && ss_str_eq(a->v[i].name, names[k].theirs)) {
				a->v[i].name = names[k].ours;
				/* Reserved is what the allocator holds, the rest of it is free. */
				if (k == 3)
					a->v[i].u = a->v[i].u > allocated ? a->v[i].u - allocated : 0;
				if (k == 0 && freed)
					a->v[i].u = 0 - a->v[i].u;
				break;
			}
	ss_chrome_args_add(a, who);
	ss_chrome_args_add(a, asked);
	/* Some allocators reserve for part of what they hand out: what they said is kept then. */
	if (find(a, SS_STR("bytes_available")) && reserved < allocated)
		ss_chrome_args_add(a, (struct ss_so_arg){ .name = SS_STR("Total Reserved"), .kind = SS_SO_INT, .u = reserved });
	return who.s.p != NULL;
}

/*
 * "Memcpy HtoD (Pinned -> Device)" without its blank is what analyses take for a copy. Between two
 * devices it is called PtoP.
 */
static bool name_copy(struct ss_str *name, struct ss_arena *arena)
{
	const struct ss_str copy = SS_STR("Memcpy ");
	if (!ss_str_starts(*name, copy))
		return true;
	struct ss_str rest = ss_str_sub(*name, copy.n, name->n);
	bool peer = ss_str_starts(rest, SS_STR("PtoP"));
	*name = ss_arena_printf(arena, "Memcpy%s" SS_FMT, peer ? "DtoD " : "", SS_ARG(rest));
	return name->p != NULL;
}

/* A number that some versions wrote as text. */
static void name_correlation(struct ss_so_arg *a)
{
	if (!ss_str_is(a->name, "correlation") || (a->kind == SS_SO_STR && !whole_number(a->s, a)))
		return;
	if (a->kind == SS_SO_INT)
		a->name = SS_STR("correlation_id");
}

bool ss_chrome_args_kineto(struct ss_str category, enum ss_kineto kind, struct ss_str *name, struct ss_arena *arena,
			   struct ss_chrome_args *a)
{
	if (!ss_str_istarts(category, SS_STR("gpu")))
		take_step(a, name);
	if (category.n)
		ss_chrome_args_add(a, (struct ss_so_arg){ .name = SS_STR("category"), .kind = SS_SO_STR, .s = category });
	if (kind != SS_KINETO_CALL && !ss_kineto_is_device_work(kind))
		return take_memory(a, name, arena);
	for (size_t i = 0; i < a->n; i++)
		name_correlation(&a->v[i]);
	return (kind != SS_KINETO_MEMCPY || name_copy(name, arena)) && add_kernel(a, arena);
}
