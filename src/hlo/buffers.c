/* buffers.c - reading buffer assignments: count, then fill. */
#include "hlo/buffers.h"

#include "base/vec.h"
#include "hlo/shape.h"

#include <stdlib.h>

/*
 * Buffers of one tuple mostly stand together: its elements are found once, not once for each
 * buffer. What finding shapes costs is counted against a multiple of the input, as a hostile module
 * can refer to a large shape from many small buffers.
 */
struct shape_reader {
	const struct ss_hlo_module *m;
	uint32_t instr;		/* that was read last */
	struct ss_str shape;	/* its */
	SS_VEC(uint32_t) elements; /* where the shapes of its tuple begin, from shape.p */
	SS_VEC(uint32_t) lengths;
	uint64_t budget_bytes;
};

static bool spend(struct shape_reader *r, uint64_t bytes, struct ss_err *err)
{
	if (bytes > r->budget_bytes)
		return ss_fail(err, SS_EFORMAT,
			       "module '" SS_FMT "': its buffers reference large shapes too many times",
			       SS_ARG(r->m->name));
	r->budget_bytes -= bytes;
	return true;
}

static bool read_instr(struct shape_reader *r, uint32_t instr, struct ss_err *err)
{
	struct ss_hlo_instr i;
	struct ss_pb_field f;
	if (instr == r->instr)
		return true;
	if (!spend(r, r->m->instrs[instr].n, err))
		return false;
	ss_hlo_instr_read(r->m->instrs[instr], &i);
	r->instr = instr;
	r->shape = i.shape;
	r->elements.n = r->lengths.n = 0;
	struct ss_pb c = ss_pb_of(i.shape);
	while (i.shape.n < UINT32_MAX && ss_pb_next(&c, &f))
		if (f.key == PB_LEN(SHAPE_TUPLE_SHAPES) &&
		    !(ss_vec_push(&r->elements, (uint32_t)(f.bytes.p - i.shape.p)) &&
		      ss_vec_push(&r->lengths, (uint32_t)f.bytes.n)))
			return ss_fail_mem(err);
	return true;
}

/* An index that the tuple does not have means the whole tuple. */
static bool read_shape(struct shape_reader *r, struct ss_hlo_buffer *b, struct ss_err *err)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(b->defined_at, LOCATION_SHAPE_INDEX);
	int64_t at = -1, last = -1;
	b->shape = (struct ss_str){ "", 0 };
	if (b->instr == SS_NONE)
		return true;
	if (!read_instr(r, b->instr, err))
		return false;
	while (ss_hlo_ids_next(&it, &at))
		last = at;
	b->shape = r->shape;
	if (last >= 0 && (uint64_t)last < r->elements.n)
		b->shape = (struct ss_str){ r->shape.p + r->elements.v[last], r->lengths.v[last] };
	if (!spend(r, b->shape.n, err))
		return false;
	b->unpadded_bytes = ss_hlo_shape_bytes(b->shape);
	return true;
}

static void read_alloc(struct ss_str body, struct ss_hlo_alloc *a)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	*a = (struct ss_hlo_alloc){ .trace = SS_NONE };
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_VAR(ALLOCATION_INDEX):
			a->index = (int64_t)f.u;
			break;
		case PB_VAR(ALLOCATION_SIZE):
			a->size_bytes = (int64_t)f.u;
			break;
		case PB_VAR(ALLOCATION_COLOR):
			a->memory_space = (int64_t)f.u;
			break;
		case PB_VAR(ALLOCATION_IS_THREAD_LOCAL):
			a->thread_local_ = f.u != 0;
			break;
		case PB_VAR(ALLOCATION_IS_PARAMETER):
			a->parameter = f.u != 0;
			break;
		case PB_VAR(ALLOCATION_MAYBE_LIVE_OUT):
			a->live_out = f.u != 0;
			break;
		case PB_VAR(ALLOCATION_IS_TUPLE):
			a->tuple = f.u != 0;
			break;
		case PB_VAR(ALLOCATION_IS_CONSTANT):
			a->constant = f.u != 0;
			break;
		case PB_LEN(ALLOCATION_ASSIGNED):
			a->nassigned++;
			break;
		}
}

static void read_assigned(struct ss_str body, struct ss_hlo_assigned *a)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	*a = (struct ss_hlo_assigned){ .buffer = SS_NONE };
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_VAR(ASSIGNED_BUFFER_ID):
			a->id = (int64_t)f.u;
			break;
		case PB_VAR(ASSIGNED_OFFSET):
			a->offset_bytes = (int64_t)f.u;
			break;
		case PB_VAR(ASSIGNED_SIZE):
			a->size_bytes = (int64_t)f.u;
			break;
		}
}

/* Old writers name the instruction, newer ones give its id. */
static uint32_t defining_instr(const struct ss_hlo_module *m, struct ss_str location)
{
	struct ss_pb c = ss_pb_of(location);
	struct ss_pb_field f;
	struct ss_str name = { "", 0 };
	uint32_t at = SS_NONE;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_VAR(LOCATION_INSTRUCTION_ID))
			at = ss_hlo_instr_by_id(m, (int64_t)f.u);
		else if (f.key == PB_LEN(LOCATION_INSTRUCTION_NAME))
			name = f.bytes;
	return at == SS_NONE && name.n ? ss_hlo_instr_by_name(m, name) : at;
}

static void read_buffer(const struct ss_hlo_module *m, struct ss_str body, struct ss_hlo_buffer *b)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	*b = (struct ss_hlo_buffer){ .alloc = SS_NONE, .defined_at = { "", 0 } };
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_VAR(LOGICAL_BUFFER_ID):
			b->id = (int64_t)f.u;
			break;
		case PB_VAR(LOGICAL_BUFFER_SIZE):
			b->size_bytes = (int64_t)f.u;
			break;
		case PB_VAR(LOGICAL_BUFFER_COLOR):
			b->memory_space = (int64_t)f.u;
			break;
		case PB_LEN(LOGICAL_BUFFER_DEFINED_AT):
			b->defined_at = f.bytes;
			break;
		}
	b->instr = defining_instr(m, b->defined_at);
}

static struct ss_str find_assignment(const struct ss_hlo_module *m)
{
	struct ss_pb c = ss_pb_of(m->bytes);
	struct ss_pb_field f;
	struct ss_str found = { "", 0 };
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(HLO_PROTO_BUFFER_ASSIGNMENT))
			found = f.bytes;
	return found;
}

static bool make_room(struct ss_hlo_buffers *b, struct ss_str assignment)
{
	struct ss_pb c = ss_pb_of(assignment);
	struct ss_pb_field f;
	struct ss_hlo_alloc a;
	uint32_t n[3] = { 0 };
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_LEN(BUFFER_ASSIGNMENT_BUFFERS):
			n[0]++;
			break;
		case PB_LEN(BUFFER_ASSIGNMENT_ALLOCATIONS):
			n[1]++;
			read_alloc(f.bytes, &a);
			b->nassigned += a.nassigned;
			break;
		case PB_LEN(BUFFER_ASSIGNMENT_TRACES):
			n[2]++;
			break;
		}
	b->buffers = SS_NEW_N(&b->arena, struct ss_hlo_buffer, n[0]);
	b->allocs = SS_NEW_N(&b->arena, struct ss_hlo_alloc, n[1]);
	b->assigned = SS_NEW_N(&b->arena, struct ss_hlo_assigned, b->nassigned);
	b->traces = SS_NEW_N(&b->arena, struct ss_hlo_trace, n[2]);
	b->nassigned = 0;
	return b->buffers && b->allocs && b->assigned && b->traces;
}

static bool add_buffers(struct ss_hlo_buffers *b, const struct ss_hlo_module *m, struct ss_str assignment, struct ss_err *err)
{
	struct shape_reader r = { .m = m, .instr = SS_NONE, .budget_bytes = m->bytes.n * 64 + 4096 };
	struct ss_pb c = ss_pb_of(assignment);
	struct ss_pb_field f;
	bool ok = true;
	while (ok && ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(BUFFER_ASSIGNMENT_BUFFERS))
			continue;
		struct ss_hlo_buffer *one = &b->buffers[b->nbuffers];
		read_buffer(m, f.bytes, one);
		ok = (ss_u64map_put(&b->by_id, (uint64_t)one->id, b->nbuffers) || ss_fail_mem(err)) && read_shape(&r, one, err);
		b->nbuffers++;
	}
	ss_vec_free(&r.elements);
	ss_vec_free(&r.lengths);
	return ok;
}

/* Assigned parts of the allocation that is added last. */
static void add_assigned(struct ss_hlo_buffers *b, struct ss_str body)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(ALLOCATION_ASSIGNED))
			continue;
		struct ss_hlo_assigned *a = &b->assigned[b->nassigned++];
		read_assigned(f.bytes, a);
		a->buffer = ss_u64map_get(&b->by_id, (uint64_t)a->id);
		if (a->buffer != SS_NONE) {
			b->buffers[a->buffer].alloc = b->nallocs;
			b->buffers[a->buffer].offset_bytes = a->offset_bytes;
		}
	}
}

static void add_trace(struct ss_hlo_buffers *b, struct ss_str body)
{
	struct ss_hlo_trace *t = &b->traces[b->ntraces];
	*t = (struct ss_hlo_trace){ .body = body };
	struct ss_hlo_trace_walk w = ss_hlo_trace_of(b, t);
	struct ss_hlo_trace_event e;
	uint32_t first = SS_NONE;
	for (; ss_hlo_trace_next(&w, &e); t->nevents++)
		if (t->nevents == 0)
			first = e.buffer;
	/* It belongs to the allocation of its first buffer. */
	if (first != SS_NONE)
		b->allocs[b->buffers[first].alloc].trace = b->ntraces;
	b->ntraces++;
}

bool ss_hlo_buffers_read(struct ss_hlo_buffers *b, const struct ss_hlo_module *m, struct ss_err *err)
{
	struct ss_str assignment = find_assignment(m);
	struct ss_pb c = ss_pb_of(assignment);
	struct ss_pb_field f;
	*b = (struct ss_hlo_buffers){ 0 };
	if (!(make_room(b, assignment) || ss_fail_mem(err)) || !add_buffers(b, m, assignment, err)) {
		ss_hlo_buffers_free(b);
		return false;
	}
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(BUFFER_ASSIGNMENT_ALLOCATIONS)) {
			struct ss_hlo_alloc *a = &b->allocs[b->nallocs];
			read_alloc(f.bytes, a);
			a->first = b->nassigned;
			add_assigned(b, f.bytes);
			b->nallocs++;
		}
	c = ss_pb_of(assignment);
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(BUFFER_ASSIGNMENT_TRACES))
			add_trace(b, f.bytes);
	return true;
}

void ss_hlo_buffers_free(struct ss_hlo_buffers *b)
{
	ss_u64map_free(&b->by_id);
	ss_arena_release(&b->arena);
	*b = (struct ss_hlo_buffers){ 0 };
}

const char *ss_hlo_alloc_category(const struct ss_hlo_alloc *a)
{
	if (a->parameter)
		return "Parameter";
	if (a->live_out)
		return "Output";
	if (a->thread_local_)
		return "Thread-local";
	return a->constant ? "Constant" : "Temporary";
}

void ss_hlo_buffer_index_print(struct ss_buf *out, const struct ss_hlo_buffer *b)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(b->defined_at, LOCATION_SHAPE_INDEX);
	const char *open = "{";
	int64_t at;
	while (ss_hlo_ids_next(&it, &at)) {
		ss_buf_z(out, open);
		ss_buf_i64(out, at);
		open = ",";
	}
	if (*open == ',')
		ss_buf_char(out, '}');
}

struct ss_hlo_trace_walk ss_hlo_trace_of(const struct ss_hlo_buffers *b, const struct ss_hlo_trace *t)
{
	return (struct ss_hlo_trace_walk){ ss_pb_of(t->body), b };
}

/* Only buffers that an allocation holds are known. */
static uint32_t known(const struct ss_hlo_buffers *b, uint64_t id)
{
	uint32_t at = ss_u64map_get(&b->by_id, id);
	return at != SS_NONE && b->buffers[at].alloc != SS_NONE ? at : SS_NONE;
}

static void read_event(const struct ss_hlo_buffers *b, struct ss_str body, struct ss_hlo_trace_event *e)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	uint64_t id = 0, canonical = 0;
	*e = (struct ss_hlo_trace_event){ .instr_name = { "", 0 } };
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_VAR(TRACE_EVENT_KIND):
			e->kind = f.u;
			break;
		case PB_VAR(TRACE_EVENT_BUFFER_ID):
			id = f.u;
			break;
		case PB_LEN(TRACE_EVENT_INSTRUCTION_NAME):
			e->instr_name = f.bytes;
			break;
		case PB_VAR(TRACE_EVENT_CANONICAL_ID):
			canonical = f.u;
			break;
		}
	e->buffer = known(b, id);
	e->canonical = known(b, canonical);
}

bool ss_hlo_trace_next(struct ss_hlo_trace_walk *w, struct ss_hlo_trace_event *e)
{
	struct ss_pb_field f;
	while (ss_pb_next(&w->c, &f))
		if (f.key == PB_LEN(TRACE_EVENTS)) {
			read_event(w->b, f.bytes, e);
			return true;
		}
	return false;
}
