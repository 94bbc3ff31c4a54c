/* memory.c - collecting the events of allocators and judging what was allocated at the peak. */
#include "model/runtime/memory.h"

#include "base/vec.h"
#include "model/host/forget.h"
#include "model/host/host.h"
#include "model/host/partial_read.h"
#include "model/preprocess/load.h"
#include "model/preprocess/preprocess.h"

#include <stdlib.h>

/* One pass over the host's lines, in the file's order. */
struct collector {
	struct ss_memory *m;
	uint8_t *kinds;		/* by event metadata: is it of an allocator, and which */
	struct ss_strmap ids;	/* of allocators, in the order of appearance */
	SS_VEC(uint32_t) counts; /* events of each */
	SS_VEC(int64_t) lifetime; /* peak_bytes of the last event of each */
	SS_VEC(uint8_t) told;	/* HAS_ of any event of each */
	struct ss_mem_event *raw; /* all events; `origin` holds the allocator */
	uint32_t n;
};

enum { NOT_MEMORY, ALLOCATION, DEALLOCATION };
enum { HAS_COUNTERS = 1, HAS_ADDRESS = 2, HAS_PEAK = 4 };

static uint8_t kind_of_name(struct ss_str name)
{
	if (ss_str_eq(name, SS_STR("MemoryAllocation")))
		return ALLOCATION;
	return ss_str_eq(name, SS_STR("MemoryDeallocation")) ? DEALLOCATION : NOT_MEMORY;
}

bool ss_host_has_allocations(const struct ss_host *h)
{
	const struct ss_plane *p = ss_host_plane(h, SS_PLANE_HOST_CPU);
	for (uint32_t i = 0; p && i < p->x->nevent_meta; i++)
		if (kind_of_name(p->x->event_meta[i].name) != NOT_MEMORY)
			return true;
	return false;
}

static bool find_kinds(struct collector *c)
{
	const struct ss_plane *p = c->m->plane;
	size_t n = (size_t)p->x->nevent_meta + p->nsynthetic;
	c->kinds = calloc(n + 1, 1);
	for (uint32_t i = 0; c->kinds && i < n; i++)
		c->kinds[i] = kind_of_name(ss_event_name(p, i));
	return c->kinds;
}

/* Without a name for it there is no event of it: nothing need be read. */
static bool may_have_memory(const struct ss_plane *p)
{
	for (uint32_t i = 0; p && i < p->x->nevent_meta; i++)
		if (kind_of_name(p->x->event_meta[i].name) != NOT_MEMORY)
			return true;
	return false;
}

static bool is_host(const struct ss_plane *p)
{
	return p->kind == SS_PLANE_HOST_CPU;
}

static bool is_memory(const struct ss_plane *p, uint32_t meta)
{
	return kind_of_name(p->x->event_meta[meta].name) != NOT_MEMORY;
}

/*
 * The steps of events are known from the file, or there are none, or they are found by loading all
 * of it.
 */
static const struct ss_plane *read_plane(struct ss_host *h, struct ss_err *err)
{
	static const struct ss_partial_read memory = { .plane = is_host, .event = is_memory };
	if (!h->preprocessed && ss_preprocess_may_group_threads(h))
		return ss_host_load(h, err) ? ss_host_plane(h, SS_PLANE_HOST_CPU) : NULL;
	const struct ss_plane *planes = ss_host_read_partially(h, SS_HOST_ALLOCATIONS, &memory, err);
	return planes ? &planes[ss_host_plane(h, SS_PLANE_HOST_CPU) - h->planes] : NULL;
}

/* Lines derived here repeat the names of others. */
static uint8_t kind_of(const struct collector *c, const struct ss_line *l, uint32_t i)
{
	return !l->src || l->ev.meta[i] == SS_NONE ? NOT_MEMORY : c->kinds[l->ev.meta[i]];
}

static bool count_events(struct collector *c, struct ss_err *err)
{
	const struct ss_plane *p = c->m->plane;
	uint64_t n = 0;
	for (uint32_t i = 0; i < p->nlines; i++)
		for (uint32_t k = 0; k < p->lines[i].ev.n; k++)
			n += kind_of(c, &p->lines[i], k) != NOT_MEMORY;
	if (n >= SS_NONE)
		return ss_fail(err, SS_EFORMAT, "the profile holds too many allocations");
	c->raw = malloc((size_t)(n + 1) * sizeof(*c->raw));
	return c->raw || ss_fail_mem(err);
}

static int64_t sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t less(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

/*
 * A number as the name of an allocator. The interner borrows, so the text must last; it is made
 * once for each allocator.
 */
static uint32_t allocator_of_number(struct collector *c, int64_t number)
{
	char buf[24], *p = buf + sizeof(buf);
	uint64_t v = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	if (number < 0)
		*--p = '-';
	struct ss_str text = { p, (size_t)(buf + sizeof(buf) - p) };
	uint32_t known = ss_strmap_get(&c->ids, text);
	if (known != SS_NONE)
		return known;
	text = ss_arena_str(&c->m->arena, text);
	return text.p ? ss_strmap_add(&c->ids, text) : SS_NONE;
}

/* Only those stats of the file that every event needs. */
static bool read_event(struct collector *c, uint32_t line, uint32_t i)
{
	const struct ss_plane *p = c->m->plane;
	const struct ss_line *l = &p->lines[line];
	struct ss_mem_event *e = &c->raw[c->n];
	struct ss_xstats it = ss_line_stats(p, l, i);
	struct ss_xstat s, id = { .kind = SS_X_STR, .s = SS_STR("") };
	int64_t stack = 0, heap = 0, lifetime = 0;
	uint8_t told = 0;
	*e = (struct ss_mem_event){ .time_ps = l->ev.begin_ps[i], .step = ss_event_group(p, l, i), .line = line, .event = i,
				    .freed = kind_of(c, l, i) == DEALLOCATION };
	while (ss_xstats_next(&it, &s))
		switch ((int)s.stat) {
		case SS_STAT_INDEX_ON_HOST:
		case SS_STAT_DEVICE_ORDINAL:
			id = (struct ss_xstat){ .kind = SS_X_INT, .u = (uint64_t)ss_xstat_int(&s) };
			break;
		case SS_STAT_ALLOCATOR_NAME:
			id = (struct ss_xstat){ .kind = SS_X_STR, .s = ss_xstat_str(&s) };
			break;
		case SS_STAT_BYTES_RESERVED:
			stack = ss_xstat_int(&s);
			told |= HAS_COUNTERS;
			break;
		case SS_STAT_BYTES_ALLOCATED:
			heap = ss_xstat_int(&s);
			told |= HAS_COUNTERS;
			break;
		case SS_STAT_PEAK_BYTES_IN_USE:
			lifetime = ss_xstat_int(&s);
			told |= HAS_PEAK;
			break;
		case SS_STAT_ALLOCATION_BYTES:
			e->bytes = ss_xstat_int(&s);
			break;
		case SS_STAT_ADDR:
			e->address = (uint64_t)ss_xstat_int_or_uint(&s);
			told |= HAS_ADDRESS;
			break;
		}
	e->in_use_bytes = sum(stack, heap);
	e->origin = id.kind == SS_X_INT ? allocator_of_number(c, (int64_t)id.u) : ss_strmap_add(&c->ids, id.s);
	if (e->origin == SS_NONE)
		return false;
	if (e->origin == c->counts.n &&
	    !(ss_vec_push(&c->counts, 0) && ss_vec_push(&c->lifetime, 0) && ss_vec_push(&c->told, 0)))
		return false;
	c->told.v[e->origin] |= told;
	c->counts.v[e->origin]++;
	c->lifetime.v[e->origin] = lifetime;
	c->n++;
	return true;
}

static bool read_events(struct collector *c, const struct ss_host *h)
{
	const struct ss_plane *p = c->m->plane;
	struct ss_forget passed = { .h = h };
	bool ok = true;
	for (uint32_t i = 0; i < p->nlines; i++)
		for (uint32_t k = 0; ok && k < p->lines[i].ev.n; k++) {
			ok = kind_of(c, &p->lines[i], k) == NOT_MEMORY || read_event(c, i, k);
			ss_forget_passed(&passed, &p->lines[i], k);
		}
	ss_forget_rest(&passed);
	return ok;
}

static bool collect(struct collector *c, const struct ss_host *h, struct ss_err *err)
{
	if (!find_kinds(c))
		return ss_fail_mem(err);
	if (!count_events(c, err))
		return false;
	return read_events(c, h) || ss_fail_mem(err);
}

static int in_file(const struct ss_mem_event *a, const struct ss_mem_event *b)
{
	return SS_CMP(a->line, b->line) ?: SS_CMP(a->event, b->event);
}

static int by_time(const void *a, const void *b)
{
	const struct ss_mem_event *ea = a, *eb = b;
	return SS_CMP(ea->time_ps, eb->time_ps) ?: in_file(ea, eb);
}

/* Each line is mostly sorted already, and so is an allocator that one thread uses. */
static void sort_events(struct ss_mem_event *v, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (by_time(&v[i - 1], &v[i]) > 0) {
			qsort(v, n, sizeof(*v), by_time);
			return;
		}
}

static void number_steps(struct ss_mem_event *v, uint32_t n)
{
	int64_t last = SS_NO_GROUP;
	for (uint32_t i = 0; i < n; i++) {
		if (v[i].step == SS_NO_GROUP)
			v[i].step = sum(last, 1);
		else
			last = v[i].step;
	}
}

/*
 * What happened last at each address: the number of its event + 1, whose address is the key. There
 * may be as many addresses as events, so that keys of their own would take more memory than the
 * rest.
 */
struct addresses {
	const struct ss_mem_event *v;
	uint32_t *slots; /* 0: free */
	size_t n, mask;
};

static uint32_t *find_address(const struct addresses *a, uint64_t address)
{
	size_t at = (size_t)ss_hash_u64(address) & a->mask;
	while (a->slots[at] && a->v[a->slots[at] - 1].address != address)
		at = (at + 1) & a->mask;
	return &a->slots[at];
}

/* Room for one more. */
static bool grow_addresses(struct addresses *a)
{
	if (a->mask && (a->n + 1) * 3 <= (a->mask + 1) * 2)
		return true;
	size_t nslots = a->mask ? (a->mask + 1) * 2 : 16;
	struct addresses more = { .v = a->v, .n = a->n, .mask = nslots - 1, .slots = calloc(nslots, sizeof(*a->slots)) };
	for (size_t i = 0; more.slots && a->mask && i <= a->mask; i++)
		if (a->slots[i])
			*find_address(&more, a->v[a->slots[i] - 1].address) = a->slots[i];
	if (!more.slots)
		return false;
	free(a->slots);
	*a = more;
	return true;
}

/* A deallocation belongs to the first allocation of its address that is still there. */
static bool find_origins(struct ss_mem_event *v, uint32_t n)
{
	struct addresses last = { .v = v };
	bool ok = true;
	for (uint32_t i = 0; i < n && (ok = grow_addresses(&last)); i++) {
		uint32_t *at = find_address(&last, v[i].address);
		bool is_live = *at && !v[*at - 1].freed;
		v[i].origin = v[i].freed && is_live ? *at - 1 : SS_NONE;
		if (v[i].freed != is_live)
			continue;
		last.n += !*at;
		*at = i + 1;
	}
	free(last.slots);
	return ok;
}

static void count_up(struct ss_mem_event *v, uint32_t n)
{
	int64_t bytes = 0, min = 0;
	for (uint32_t i = 0; i < n; i++) {
		bytes = v[i].freed ? less(bytes, v[i].bytes) : sum(bytes, v[i].bytes);
		v[i].in_use_bytes = bytes;
		min = bytes < min ? bytes : min;
	}
	for (uint32_t i = 0; i < n; i++)
		v[i].in_use_bytes = less(v[i].in_use_bytes, min);
}

/*
 * Numbers for addresses: a deallocation gets that of the latest allocation of its size, or one of
 * its own.
 */
static bool match_sizes(struct ss_mem_event *v, uint32_t n)
{
	struct ss_u64map latest = { 0 };	/* by size; below it in v[].origin */
	bool ok = true;
	for (uint32_t i = 0; ok && i < n; i++) {
		uint32_t top = ss_u64map_get(&latest, (uint64_t)v[i].bytes);
		v[i].address = (uint64_t)i + 1;
		if (!v[i].freed) {
			v[i].origin = top;
			ok = ss_u64map_put(&latest, (uint64_t)v[i].bytes, i);
		} else if (top != SS_NONE && top != n) {
			v[i].address = v[top].address;
			ok = ss_u64map_put(&latest, (uint64_t)v[i].bytes, v[top].origin == SS_NONE ? n : v[top].origin);
		}
	}
	ss_u64map_free(&latest);
	return ok;
}

static uint32_t find_peak(const struct ss_mem_event *v, uint32_t n)
{
	uint32_t peak = 0;
	for (uint32_t i = 1; i < n; i++)
		if (v[i].in_use_bytes > v[peak].in_use_bytes ||
		    (v[i].in_use_bytes == v[peak].in_use_bytes && in_file(&v[i], &v[peak]) > 0))
			peak = i;
	return peak;
}

static int by_id(const void *a, const void *b)
{
	return ss_str_cmp(((const struct ss_mem_allocator *)a)->id, ((const struct ss_mem_allocator *)b)->id);
}

/* The events of each allocator one after the other. */
static bool split(struct collector *c)
{
	struct ss_memory *m = c->m;
	/* The events of one allocator are already in this order. */
	const struct ss_mem_event *raw = c->raw;
	bool one = c->counts.n <= 1;
	struct ss_mem_event *at = one ? c->raw : malloc(((size_t)c->n + 1) * sizeof(*at));
	m->events = at;
	if (one)
		c->raw = NULL;
	m->nallocators = (uint32_t)c->counts.n;
	m->allocators = SS_NEW_N(&m->arena, struct ss_mem_allocator, m->nallocators);
	if (!m->events || !m->allocators)
		return false;
	for (uint32_t i = 0; i < m->nallocators; i++) {
		m->allocators[i] = (struct ss_mem_allocator){ .id = c->ids.keys[i], .events = at,
							      .lifetime_peak_bytes = c->lifetime.v[i],
							      .peakless = !(c->told.v[i] & HAS_PEAK),
							      .counted = !(c->told.v[i] & HAS_COUNTERS),
							      .unaddressed = !(c->told.v[i] & HAS_ADDRESS) };
		at += c->counts.v[i];
	}
	for (uint32_t i = 0; i < c->n; i++) {
		struct ss_mem_allocator *a = &m->allocators[raw[i].origin];
		m->events[a->events - m->events + a->n++] = raw[i];
	}
	free(c->raw);
	c->raw = NULL;
	qsort(m->allocators, m->nallocators, sizeof(*m->allocators), by_id);
	for (uint32_t i = 0; i < m->nallocators; i++) {
		struct ss_mem_allocator *a = &m->allocators[i];
		struct ss_mem_event *v = &m->events[a->events - m->events];
		sort_events(v, a->n);
		number_steps(v, a->n);
		if (a->counted)
			count_up(v, a->n);
		if (a->unaddressed && !match_sizes(v, a->n))
			return false;
		a->peak = find_peak(v, a->n);
		if (a->peakless)
			a->lifetime_peak_bytes = v[a->peak].in_use_bytes;
		if (!find_origins(v, a->n))
			return false;
	}
	return true;
}

static void release(void *data)
{
	struct ss_memory *m = data;
	free(m->events);
	ss_arena_release(&m->arena);
	free(m);
}

static void *build(void *owner, struct ss_err *err)
{
	struct ss_host *h = owner;
	struct ss_memory *m = calloc(1, sizeof(*m));
	struct collector c = { .m = m };
	if (!m)
		return NULL;
	m->plane = ss_host_plane(h, SS_PLANE_HOST_CPU);
	m->origin_ns = h->x.origin_ns;
	bool any = may_have_memory(m->plane), ok = true;
	if (any)
		ok = (m->plane = read_plane(h, err)) && collect(&c, h, err) && (split(&c) || ss_fail_mem(err));
	free(c.kinds);
	free(c.raw);
	ss_vec_free(&c.counts);
	ss_vec_free(&c.lifetime);
	ss_vec_free(&c.told);
	ss_strmap_free(&c.ids);
	if (ok)
		return m;
	release(m);
	return NULL;
}

const struct ss_memory *ss_host_memory(struct ss_host *h, struct ss_err *err)
{
	return ss_part_get(&h->parts[SS_HOST_MEMORY], build, release, h, err);
}

/* TensorFlow's names of its data types; numbers over 100 are references to them. */
static bool type_name(int64_t number, struct ss_arena *arena, struct ss_str *out)
{
	static const char *const names[] = {
		"INVALID", "float", "double", "int32", "uint8", "int16", "int8", "string", "complex64", "int64",
		"bool", "qint8", "quint8", "qint32", "bfloat16", "qint16", "quint16", "uint16", "complex128", "half",
		"resource", "variant", "uint32", "uint64", "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz",
		"float8_e4m3b11fnuz", "float8_e5m2fnuz", "int4", "uint4",
	};
	int32_t n = (int32_t)number;
	const char *ref = n > 100 ? "_ref" : "";
	if (n > 100)
		n -= 100;
	if (n >= 0 && (size_t)n < SS_COUNT(names))
		*out = *ref ? ss_arena_printf(arena, "%s%s", names[n], ref) : ss_str_from(names[n]);
	else
		*out = ss_arena_printf(arena, "unknown dtype enum (%d)%s", n, ref);
	return out->p != NULL;
}

/* One stat that says what the memory is for. */
static bool read_purpose(const struct ss_xstat *s, struct ss_arena *arena, struct ss_mem_details *out)
{
	switch ((int)s->stat) {
	case SS_STAT_TF_OP_NAME:	/* of traces of other tools */
		if (out->tf_op.n)
			break;
		/* fallthrough */
	case SS_STAT_TF_OP:
		out->tf_op = ss_xstat_str(s);
		break;
	case SS_STAT_REGION_TYPE:
		out->region_type = ss_xstat_str(s);
		break;
	case SS_STAT_TENSOR_SHAPES:
		out->shape = ss_xstat_str(s);
		break;
	case SS_STAT_DATA_TYPE:
		return type_name(ss_xstat_int(s), arena, &out->data_type);
	}
	return true;
}

static void read_numbers(const struct ss_xstat *s, struct ss_mem_details *out)
{
	switch ((int)s->stat) {
	case SS_STAT_BYTES_RESERVED:
		out->stats.stack_bytes = ss_xstat_int(s);
		break;
	case SS_STAT_BYTES_ALLOCATED:
		out->stats.heap_bytes = ss_xstat_int(s);
		break;
	case SS_STAT_BYTES_AVAILABLE:
		out->stats.free_bytes = ss_xstat_int(s);
		break;
	case SS_STAT_FRAGMENTATION:
		out->stats.fragmentation = ss_xstat_double(s);
		break;
	case SS_STAT_PEAK_BYTES_IN_USE:
		out->stats.peak_bytes = ss_xstat_int(s);
		break;
	case SS_STAT_REQUESTED_BYTES:
		out->requested_bytes = ss_xstat_int(s);
		break;
	case SS_STAT_ALLOCATION_BYTES:
		out->allocation_bytes = ss_xstat_int(s);
		break;
	}
}

bool ss_mem_details(const struct ss_memory *m, const struct ss_mem_allocator *a, uint32_t i, struct ss_arena *arena,
		    struct ss_mem_details *out)
{
	static const struct ss_str empty = SS_STR_INIT("");
	const struct ss_mem_event *e = &a->events[i];
	const struct ss_mem_event *purpose = e->origin == SS_NONE ? e : &a->events[e->origin];
	const struct ss_line *l = &m->plane->lines[e->line];
	struct ss_xstats it = ss_line_stats(m->plane, l, e->event);
	struct ss_xstat s;
	*out = (struct ss_mem_details){ .tf_op = empty, .region_type = empty, .data_type = empty, .shape = empty };
	out->offset_ps = less(e->time_ps, (int64_t)(((uint64_t)l->src->timestamp_ns - (uint64_t)m->origin_ns) * 1000));
	while (ss_xstats_next(&it, &s))
		read_numbers(&s, out);
	if (a->counted)
		out->stats.heap_bytes = e->in_use_bytes;
	it = ss_line_stats(m->plane, &m->plane->lines[purpose->line], purpose->event);
	while (ss_xstats_next(&it, &s))
		if (!read_purpose(&s, arena, out))
			return false;
	return true;
}

int64_t ss_mem_peak_step(const struct ss_mem_allocator *a)
{
	int64_t max = a->events[a->peak].in_use_bytes;
	for (uint32_t i = a->n; i-- > 0;)
		if (a->events[i].in_use_bytes == max)
			return a->events[i].step;
	return 0;
}

/* Allocations of the peak's step that live at the peak: their places in `live`, by address. */
static bool walk_to_peak(const struct ss_mem_allocator *a, struct ss_u64map *live, int64_t *unmapped_bytes)
{
	int64_t step = ss_mem_peak_step(a), end_ps = a->events[a->peak].time_ps;
	int64_t unmapped = 0;
	for (uint32_t i = 0; i < a->n && a->events[i].time_ps <= end_ps; i++) {
		const struct ss_mem_event *e = &a->events[i];
		if (e->step != step)
			continue;
		uint32_t at = ss_u64map_get(live, e->address);
		bool is_live = at != SS_NONE && at != a->n;
		/*
		 * A deallocation of what was there before the step changes nothing: the memory was,
		 * and is not at the peak.
		 */
		if (!e->freed)
			unmapped = less(unmapped, e->bytes);
		else if (is_live)
			unmapped = sum(unmapped, e->bytes);
		if ((!e->freed || is_live) && !ss_u64map_put(live, e->address, e->freed ? a->n : i))
			return false;
	}
	*unmapped_bytes = unmapped;
	return true;
}

static int order(const void *a, const void *b)
{
	const struct ss_mem_active *ra = a, *rb = b;
	const struct ss_mem_details *da = &ra->d, *db = &rb->d;
	return SS_CMP(rb->bytes, ra->bytes) ?: SS_CMP(db->requested_bytes, da->requested_bytes) ?:
	       ss_str_cmp(da->tf_op, db->tf_op) ?: ss_str_cmp(da->region_type, db->region_type) ?:
	       ss_str_cmp(da->data_type, db->data_type) ?: ss_str_cmp(da->shape, db->shape);
}

static int order_then_event(const void *a, const void *b)
{
	uint32_t ea = ((const struct ss_mem_active *)a)->event, eb = ((const struct ss_mem_active *)b)->event;
	return order(a, b) ?: SS_CMP(ea, eb);
}

static struct ss_mem_active made_up(bool stack, int64_t bytes)
{
	return (struct ss_mem_active){
		.event = SS_NONE, .stack = stack, .bytes = bytes, .count = 1,
		.d = {
			.requested_bytes = bytes, .allocation_bytes = bytes,
			.tf_op = stack ? SS_STR("stack") : SS_STR("unused preallocated device memory"),
			.region_type = stack ? SS_STR("stack") : SS_STR("persist/dynamic"),
			.data_type = SS_STR("INVALID"), .shape = SS_STR("unknown"),
		},
	};
}

static bool list_live(const struct ss_memory *m, const struct ss_mem_allocator *a, const struct ss_u64map *live,
		      struct ss_arena *arena, struct ss_mem_active **rows, size_t *n)
{
	size_t count = 2;
	for (uint32_t i = 0; i < a->n; i++)
		count += !a->events[i].freed && ss_u64map_get(live, a->events[i].address) == i;
	struct ss_mem_active *v = SS_NEW_N(arena, struct ss_mem_active, count);
	*rows = v;
	*n = 0;
	for (uint32_t i = 0; v && i < a->n; i++) {
		if (a->events[i].freed || ss_u64map_get(live, a->events[i].address) != i)
			continue;
		v[*n] = (struct ss_mem_active){ .event = i, .bytes = a->events[i].bytes, .count = 1 };
		if (!ss_mem_details(m, a, i, arena, &v[(*n)++].d))
			return false;
	}
	return v != NULL;
}

static size_t merge_equal(struct ss_mem_active *v, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		if (kept && order(&v[kept - 1], &v[i]) == 0)
			v[kept - 1].count += v[i].count;
		else
			v[kept++] = v[i];
	}
	return kept;
}

bool ss_mem_at_peak(const struct ss_memory *m, const struct ss_mem_allocator *a, struct ss_arena *arena,
		    struct ss_mem_active **rows, size_t *nrows, struct ss_err *err)
{
	struct ss_u64map live = { 0 };
	struct ss_mem_details peak;
	int64_t unmapped = 0;
	bool ok = walk_to_peak(a, &live, &unmapped) && list_live(m, a, &live, arena, rows, nrows) &&
		  ss_mem_details(m, a, a->peak, arena, &peak);
	ss_u64map_free(&live);
	if (!ok)
		return ss_fail_mem(err);
	unmapped = sum(unmapped, peak.stats.heap_bytes);
	if (unmapped > 0)
		(*rows)[(*nrows)++] = made_up(false, unmapped);
	if (peak.stats.stack_bytes > 0)
		(*rows)[(*nrows)++] = made_up(true, peak.stats.stack_bytes);
	qsort(*rows, *nrows, sizeof(**rows), order_then_event);
	*nrows = merge_equal(*rows, *nrows);
	return true;
}

uint32_t ss_mem_sample(const struct ss_mem_allocator *a, uint32_t max, uint32_t *picked)
{
	uint32_t whole = max && a->n > max ? a->n / max : 1;
	uint32_t boxes = a->n < max ? a->n : max;
	/* So many boxes of `whole` events that the others, of one more, hold the rest. */
	uint64_t small = a->n > max ? (uint64_t)max * (whole + 1) - a->n : boxes;
	uint32_t at = 0;
	for (uint32_t b = 0; b < boxes; b++) {
		uint32_t size = whole + (b >= small);
		picked[b] = at;
		for (uint32_t i = at + 1; i < at + size; i++)
			if (a->events[i].in_use_bytes > a->events[picked[b]].in_use_bytes)
				picked[b] = i;
		at += size;
	}
	return boxes;
}
