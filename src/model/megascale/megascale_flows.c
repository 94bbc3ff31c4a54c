/*
 * megascale_flows.c - which event led to which.
 *
 *	send		-> send-done, recv-done, the first copy to the host
 *	recv		-> recv-done, the first copy to the device
 *	last copy to the host -> send-done
 *	last copy to the device, recv-done -> an instant at the end of recv-done
 *
 * Both sides of a transfer name its rendezvous; one run of a program may use it several times, so
 * whoever comes first is matched with whoever comes first. Operations that end a transfer do not
 * name it: they carry the number of the one that began it.
 */
#include "base/bisect.h"

#include "base/vec.h"
#include "model/host/plane.h"
#include "model/megascale/megascale.h"

#include <stdlib.h>

#define AFTER_PS 1000	/* arrows need an event to point at: an instant behind the end */

enum kind { KIND_NONE, KIND_SEND, KIND_SEND_DONE, KIND_RECV, KIND_RECV_DONE };

enum queue {
	SENT_FOR_DONE,		/* flows */
	SENT_FOR_RECV_DONE,
	SENT_FOR_COPY,
	RECV_FOR_DONE,
	RECV_FOR_COPY,
	SEND_DONE_WAITS,	/* events: their `more` */
	RECV_DONE_WAITS,
	QUEUES
};

struct link {
	uint32_t value, next;
};

/* One rendezvous in one run on one TensorCore. */
struct meeting {
	uint32_t head[QUEUES], tail[QUEUES];
};

/* The facts in the name of an operation, for each metadata of a plane. */
struct op {
	enum kind kind;
	uint8_t read;
	uint32_t rendezvous;	/* index into names, SS_NONE: it does not say */
	uint32_t number;	/* index into numbers: what follows the dot */
};

struct pass {
	struct ss_megascale *m;
	struct ss_strmap names, numbers;
	struct ss_u64map meeting_of;	/* TensorCore, run and rendezvous */
	struct ss_u64map rendezvous_of;	/* TensorCore, run, number and direction */
	SS_VEC(struct meeting) meetings;
	SS_VEC(struct link) links;
	uint32_t flows;
};

static struct meeting *find_meeting(struct pass *p, size_t tpu, int64_t run, uint32_t rendezvous)
{
	uint64_t key = ss_mix(ss_mix(tpu, (uint64_t)run), rendezvous);
	uint32_t i = ss_u64map_add(&p->meeting_of, key, (uint32_t)p->meetings.n);
	struct meeting none;
	for (size_t q = 0; q < QUEUES; q++)
		none.head[q] = none.tail[q] = SS_NONE;
	if (i == SS_NONE || (i == p->meetings.n && !ss_vec_push(&p->meetings, none)))
		return NULL;
	return &p->meetings.v[i];
}

static bool push(struct pass *p, struct meeting *m, enum queue q, uint32_t value)
{
	uint32_t at = (uint32_t)p->links.n;
	if (!ss_vec_push(&p->links, ((struct link){ value, SS_NONE })))
		return false;
	if (m->tail[q] == SS_NONE)
		m->head[q] = at;
	else
		p->links.v[m->tail[q]].next = at;
	m->tail[q] = at;
	return true;
}

/* SS_NONE when nobody waits. */
static uint32_t pop(struct pass *p, struct meeting *m, enum queue q)
{
	uint32_t at = m->head[q];
	if (at == SS_NONE)
		return SS_NONE;
	m->head[q] = p->links.v[at].next;
	if (m->head[q] == SS_NONE)
		m->tail[q] = SS_NONE;
	return p->links.v[at].value;
}

static void flow_in(struct ss_ms_rare_stats *rare, uint32_t flow)
{
	if (flow != SS_NONE && rare->nin < SS_COUNT(rare->in))
		rare->in[rare->nin++] = flow;
}

static void flow_out(struct ss_ms_rare_stats *rare, uint32_t flow)
{
	if (rare->nout < SS_COUNT(rare->out))
		rare->out[rare->nout++] = flow;
}

/* A new flow out of `more`, waiting in a queue for its other end. */
static bool offer(struct pass *p, struct meeting *m, struct ss_ms_rare_stats *rare, enum queue q)
{
	flow_out(rare, ++p->flows);
	return push(p, m, q, p->flows);
}

static enum kind kind_of(struct ss_str name, struct ss_str *number)
{
	size_t dot = ss_str_chr(name, '.');
	struct ss_str base = ss_str_sub(name, 0, dot);
	*number = dot == SS_NPOS ? SS_STR("") : ss_str_sub(name, dot + 1, name.n);
	for (size_t i = 0; i < number->n; i++)
		if (number->p[i] < '0' || number->p[i] > '9')
			return KIND_NONE;
	if (ss_str_is(base, "send"))
		return KIND_SEND;
	if (ss_str_is(base, "send-done"))
		return KIND_SEND_DONE;
	if (ss_str_is(base, "recv"))
		return KIND_RECV;
	return ss_str_is(base, "recv-done") ? KIND_RECV_DONE : KIND_NONE;
}

static struct ss_str rendezvous_in(struct ss_str long_name)
{
	const struct ss_str mark = SS_STR("_xla_host_transfer_rendezvous=\"");
	size_t at = ss_str_find(long_name, mark);
	if (at == SS_NPOS)
		return SS_STR("");
	struct ss_str rest = ss_str_sub(long_name, at + mark.n, long_name.n);
	return ss_str_sub(rest, 0, ss_str_chr(rest, '"'));
}

static bool read_op(struct pass *p, const struct ss_plane *plane, uint32_t meta, struct op *op)
{
	struct ss_str display = ss_event_display_name(plane, meta), name = ss_event_name(plane, meta), number;
	*op = (struct op){ .kind = kind_of(display.n ? display : name, &number), .read = 1, .rendezvous = SS_NONE };
	if (op->kind == KIND_NONE)
		return true;
	struct ss_str rendezvous = rendezvous_in(name);
	if (rendezvous.n && (op->rendezvous = ss_strmap_add(&p->names, rendezvous)) == SS_NONE)
		return false;
	op->number = ss_strmap_add(&p->numbers, number);
	return op->number != SS_NONE;
}

/* The rendezvous of an event: send and recv say it and leave it for their ends. */
static bool find_rendezvous(struct pass *p, size_t tpu, int64_t run, const struct op *op, uint32_t *out)
{
	bool sends = op->kind == KIND_SEND || op->kind == KIND_SEND_DONE;
	uint64_t key = ss_mix(ss_mix(tpu, (uint64_t)run), (uint64_t)op->number << 1 | sends);
	*out = op->rendezvous;
	if (op->kind == KIND_SEND || op->kind == KIND_RECV)
		return op->rendezvous == SS_NONE || ss_u64map_put(&p->rendezvous_of, key, op->rendezvous);
	*out = ss_u64map_get(&p->rendezvous_of, key);
	return true;
}

/* The instant at the end of recv-done that arrows can point at. */
static bool add_end(struct pass *p, struct ss_ms_track *t, size_t at, struct meeting *m)
{
	struct ss_ms_event e = t->v[at];
	struct ss_str name = ss_ms_name(p->m, t, &e);
	struct ss_ms_event end = { (int64_t)((uint64_t)e.begin_ps + e.dur_ps + AFTER_PS), 0, NULL, SS_NONE, SS_NONE, e.run };
	struct ss_ms_rare_stats *rare = ss_ms_rare_stats_of(p->m, &end);
	if (!rare || !ss_grow((void **)&t->v, &t->cap, t->n + 1, sizeof(*t->v)))
		return false;
	rare->name = ss_arena_printf(&p->m->arena, SS_FMT " END", SS_ARG(name));
	flow_in(rare, ++p->flows);
	flow_out(&p->m->rare[t->v[at].rare], p->flows);
	t->v[t->n++] = end;
	return rare->name.p && push(p, m, RECV_DONE_WAITS, end.rare);
}

static bool visit_op(struct pass *p, size_t tpu, struct ss_ms_track *t, size_t at, const struct op *op)
{
	struct ss_ms_event *e = &t->v[at];
	uint32_t rendezvous;
	if (!find_rendezvous(p, tpu, e->run, op, &rendezvous))
		return false;
	if (rendezvous == SS_NONE)
		return true;
	struct meeting *m = find_meeting(p, tpu, e->run, rendezvous);
	struct ss_ms_rare_stats *rare = m ? ss_ms_rare_stats_of(p->m, e) : NULL;
	if (!rare)
		return false;
	switch (op->kind) {
	case KIND_SEND:
		return offer(p, m, rare, SENT_FOR_DONE) && offer(p, m, rare, SENT_FOR_RECV_DONE) &&
		       offer(p, m, rare, SENT_FOR_COPY);
	case KIND_RECV:
		return offer(p, m, rare, RECV_FOR_DONE) && offer(p, m, rare, RECV_FOR_COPY);
	case KIND_SEND_DONE:
		flow_in(rare, pop(p, m, SENT_FOR_DONE));
		return push(p, m, SEND_DONE_WAITS, e->rare);
	case KIND_RECV_DONE:
		flow_in(rare, pop(p, m, SENT_FOR_RECV_DONE));
		flow_in(rare, pop(p, m, RECV_FOR_DONE));
		return add_end(p, t, at, m);
	case KIND_NONE:
		break;
	}
	return true;
}

static bool visit_ops(struct pass *p, size_t tpu, struct ss_ms_track *t)
{
	uint32_t nmeta = t->plane->x->nevent_meta;
	struct op *ops = calloc((size_t)nmeta + 1, sizeof(*ops));
	bool ok = ops != NULL;
	/* Instants are added behind the events that are there now. */
	for (size_t i = 0, n = t->n; ok && i < n; i++) {
		uint32_t meta = t->v[i].at == SS_NONE ? SS_NONE : t->v[i].line->ev.meta[t->v[i].at];
		if (meta >= nmeta)
			continue;
		if (!ops[meta].read)
			ok = read_op(p, t->plane, meta, &ops[meta]);
		if (ok && ops[meta].kind != KIND_NONE)
			ok = visit_op(p, tpu, t, i, &ops[meta]);
	}
	free(ops);
	return ok;
}

/* Copies of the runtime, by name. */
enum copy { COPY_NONE, COPY_TO_HOST_BEGIN, COPY_TO_HOST_END, COPY_TO_DEVICE_BEGIN, COPY_TO_DEVICE_END };

static enum copy copy_of(struct ss_str name)
{
	if (ss_str_is(name, "DeviceToHost START"))
		return COPY_TO_HOST_BEGIN;
	if (ss_str_is(name, "DeviceToHost END"))
		return COPY_TO_HOST_END;
	if (ss_str_is(name, "HostToDevice START"))
		return COPY_TO_DEVICE_BEGIN;
	return ss_str_is(name, "HostToDevice END") ? COPY_TO_DEVICE_END : COPY_NONE;
}

/* The first event that does not begin before `ps`. */
static size_t end_of_span(const struct ss_ms_track *t, int64_t ps)
{
	size_t lo = 0, hi = t->n;
	SS_BISECT(lo, hi, mid, t->v[mid].begin_ps < ps);
	return lo;
}

/*
 * Mark, within each execution, the last copy in each direction that begins before its end. last[i]:
 * the last such copy up to event i, SIZE_MAX if there is none.
 */
static bool mark_last(struct pass *p, struct ss_ms_track *t, enum copy kind, size_t *last)
{
	size_t seen = SIZE_MAX;
	for (size_t i = 0; i < t->n; i++)
		last[i] = seen = copy_of(ss_ms_name(p->m, t, &t->v[i])) == kind ? i : seen;
	for (size_t i = 0; i < t->n; i++) {
		if (!ss_ms_is_execution(ss_ms_name(p->m, t, &t->v[i])))
			continue;
		size_t end = end_of_span(t, (int64_t)((uint64_t)t->v[i].begin_ps + t->v[i].dur_ps));
		size_t copy = end ? last[end - 1] : SIZE_MAX;
		if (copy == SIZE_MAX || copy < i)
			continue;
		struct ss_ms_rare_stats *rare = ss_ms_rare_stats_of(p->m, &t->v[copy]);
		if (!rare)
			return false;
		rare->is_last = true;
	}
	return true;
}

static bool is_first_action(const struct ss_ms_track *t, const struct ss_ms_event *e)
{
	struct ss_xstat s;
	return ss_xstats_find(ss_line_stats(t->plane, e->line, e->at), SS_STAT_MEGASCALE_ACTION_INDEX, &s) &&
	       ss_xstat_int_or_uint(&s) == 0;
}

static bool visit_copy(struct pass *p, struct meeting *m, struct ss_ms_track *t, struct ss_ms_event *e)
{
	enum copy copy = copy_of(ss_ms_name(p->m, t, e));
	bool begins = copy == COPY_TO_HOST_BEGIN || copy == COPY_TO_DEVICE_BEGIN;
	bool ends = (copy == COPY_TO_HOST_END || copy == COPY_TO_DEVICE_END) && e->rare != SS_NONE && p->m->rare[e->rare].is_last;
	if ((begins && !is_first_action(t, e)) || (!begins && !ends))
		return true;
	struct ss_ms_rare_stats *rare = ss_ms_rare_stats_of(p->m, e);
	if (!rare)
		return false;
	if (begins) {
		flow_in(rare, pop(p, m, copy == COPY_TO_HOST_BEGIN ? SENT_FOR_COPY : RECV_FOR_COPY));
		return true;
	}
	flow_out(rare, ++p->flows);
	uint32_t waits = pop(p, m, copy == COPY_TO_HOST_END ? SEND_DONE_WAITS : RECV_DONE_WAITS);
	if (waits != SS_NONE)
		flow_in(&p->m->rare[waits], p->flows);
	/* Ends a moment earlier, so that the arrow out of it leads forward. */
	if (copy == COPY_TO_DEVICE_END)
		e->dur_ps -= e->dur_ps > AFTER_PS ? AFTER_PS : e->dur_ps;
	return true;
}

static bool visit_runtime(struct pass *p, size_t tpu, struct ss_ms_track *t)
{
	struct ss_xstat s;
	struct ss_str collective;
	int64_t device;
	size_t *last = malloc((t->n + 1) * sizeof(*last));
	bool ok = last && mark_last(p, t, COPY_TO_HOST_END, last) && mark_last(p, t, COPY_TO_DEVICE_END, last);
	free(last);
	if (!ok || !ss_xstats_find(ss_line_stats(t->plane, t->v[0].line, t->v[0].at), SS_STAT_MEGASCALE_GRAPH_KEY, &s) ||
	    !ss_ms_parse_key(ss_xstat_str(&s), &device, &collective))
		return ok;
	uint32_t rendezvous = ss_strmap_add(&p->names, collective);
	if (rendezvous == SS_NONE)
		return false;
	for (size_t i = 0; i < t->n; i++) {
		if (t->v[i].run == SS_MS_NO_RUN)
			continue;
		struct meeting *m = find_meeting(p, tpu, t->v[i].run, rendezvous);
		if (!m || !visit_copy(p, m, t, &t->v[i]))
			return false;
	}
	return true;
}

bool ss_ms_add_flows(struct ss_megascale *m)
{
	struct pass p = { .m = m };
	bool ok = true;
	for (size_t i = 0; ok && i < m->ntpus; i++)
		for (size_t k = 0; ok && k < m->tpus[i].nlines; k++)
			if (ss_str_is(m->tpus[i].lines[k].name, "XLA Ops"))
				ok = visit_ops(&p, i, &m->tpus[i].lines[k]);
	for (size_t i = 0; ok && i < m->ntpus; i++)
		for (size_t k = 0; ok && k < m->tpus[i].nruntime; k++)
			ok = visit_runtime(&p, i, &m->tpus[i].runtime[k]);
	ss_strmap_free(&p.names);
	ss_strmap_free(&p.numbers);
	ss_u64map_free(&p.meeting_of);
	ss_u64map_free(&p.rendezvous_of);
	ss_vec_free(&p.meetings);
	ss_vec_free(&p.links);
	return ok;
}
