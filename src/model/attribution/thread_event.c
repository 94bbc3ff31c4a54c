/*
 * thread_event.c - what an event of a thread is, which depends on what is around it. "shard_args" within a
 * call of a program is the framework's, alone it would be the program's annotation; everything below a
 * compilation is compiling, below a callback the callback.
 */
#include "model/attribution/thread_walk.h"

#include "model/attribution/frames.h"
#include "model/attribution/thresholds.h"

/* Below these everything is theirs. */
static bool swallows(const struct ss_open_event *p)
{
	bool profiler = p && p->class == SS_TIME_UNKNOWN && p->func != SS_NONE;
	return p && (profiler || p->class == SS_TIME_CALLBACK || p->class == SS_TIME_COMPILE ||
		     p->class == SS_TIME_INPUT || p->class == SS_TIME_GC);
}

static void set(struct ss_open_event *o, enum ss_time_class class, enum ss_claim_rank rank)
{
	o->class = class;
	o->rank = rank;
	o->claims = true;
	o->op = o->python = o->overhead = o->of_frame = false;
}

/* The framework's work: with a device, operations on threads are such, too. */
static void set_launch(struct ss_thread_walk *w, struct ss_open_event *o, const struct ss_open_event *p, uint32_t meta, bool waits)
{
	bool frame = ss_str_starts(ss_event_name(w->b->host, meta), SS_STR("$"));
	bool inherits = p && p->func != SS_NONE && (frame || !p->of_frame);
	uint32_t func = inherits ? p->func : meta;
	bool op = p && p->op;
	set(o, SS_TIME_LAUNCH, !w->starter ? SS_RANK_OTHER_CALLS : waits ? SS_RANK_WAITS : SS_RANK_STARTER);
	o->func = func;
	o->of_frame = inherits ? p->of_frame : frame;
	o->op = op;
	o->claims = !w->data_thread;
}

/* Identify the operation for a reader of pieces. */
static void note_op(struct ss_thread_walk *w, struct ss_open_event *o)
{
	w->failed = w->failed || !ss_op_ref_of(w->b, w->b->host, w->line, w->event, &o->op_ref);
}

static void set_op(struct ss_thread_walk *w, struct ss_open_event *o, const struct ss_open_event *p, uint32_t meta,
		   enum ss_host_kind kind)
{
	if (w->b->has_device || o->small) {
		set_launch(w, o, p, meta, false);
		return;
	}
	bool collective = kind == SS_KIND_COLLECTIVE;
	set(o, collective ? SS_TIME_COLLECTIVE : SS_TIME_COMPUTE, collective ? SS_RANK_THREAD_MEETS : SS_RANK_COMPUTE);
	o->op_meta = meta;
	note_op(w, o);
	o->claims = !w->data_thread;
	if (kind == SS_KIND_EXECUTE) {
		o->rank = SS_RANK_OTHERS;
		o->overhead = true;
	}
}

static bool was_compiled(struct ss_thread_walk *w, int64_t begin_ps)
{
	while (w->compiled_at < w->compiled.n && w->compiled.v[w->compiled_at] < begin_ps)
		w->compiled_at++;
	return w->compiled_at < w->compiled.n && w->compiled.v[w->compiled_at] == begin_ps;
}

/*
 * Is the call one of a step? Where windows are not the program's own marks, it may begin before its
 * window.
 */
static bool is_of_steps(struct ss_thread_walk *w, int64_t begin_ps)
{
	const struct ss_windows *windows = w->b->w;
	bool of_recording = begin_ps >= windows->begin_ps && begin_ps < windows->end_ps;
	return of_recording && (!windows->as_marked || ss_window_at(windows, begin_ps, &w->window_at) != SIZE_MAX);
}

static void set_function(struct ss_thread_walk *w, struct ss_open_event *o, const struct ss_open_event *p, uint32_t meta,
			 int64_t begin_ps, uint64_t dur_ps, bool is_op)
{
	bool outermost = !p || p->func == SS_NONE || p->of_frame, counts = (outermost || is_op) && !(p && p->op);
	set_launch(w, o, p, meta, false);
	o->op = is_op;
	o->small = o->small || dur_ps < SS_SMALL_CALL_PS;
	if (outermost && was_compiled(w, begin_ps))
		o->class = SS_TIME_COMPILE;
	if (counts && w->starter && !w->again && is_of_steps(w, begin_ps))
		w->b->starts++;
}

/*
 * A function of the program that an operation calls: a hook of gradients, an operation in Python.
 * PyTorch's own, and the code that torch.compile made, are the operation.
 */
static bool is_called_back(const struct ss_open_event *p, struct ss_str name)
{
	struct ss_frame f;
	return p && p->op && ss_frame_parse(name, &f) && f.line && !ss_str_starts(f.file, SS_STR("torch/")) &&
	       !ss_str_contains(f.file, SS_STR("torchinductor"));
}

/* Python, or an annotation: the program's own, unless it is below something else. */
static void set_own(struct ss_thread_walk *w, struct ss_open_event *o, const struct ss_open_event *p, bool has_source, bool frame,
		    struct ss_str name)
{
	bool called = frame && is_called_back(p, name);
	bool own = !p || p->class == SS_TIME_HOST_CODE || (p->python && has_source) || called;
	if (!own)
		return; /* as inherited */
	/* An annotation is put around calls, too: what another thread does meanwhile says more. */
	set(o, SS_TIME_HOST_CODE, !w->starter ? SS_RANK_OTHER_CALLS : frame ? SS_RANK_STARTER : SS_RANK_WAITS);
	o->func = SS_NONE;
	/* Of another thread, what its operations call. */
	o->claims = w->starter || (p && p->claims && (called || p->class == SS_TIME_HOST_CODE));
}

static void set_input(struct ss_thread_walk *w, struct ss_open_event *o, bool demand)
{
	o->demand = o->demand || demand;
	set(o, SS_TIME_INPUT, w->starter ? SS_RANK_STARTER : SS_RANK_OTHERS);
	o->claims = w->starter || o->demand;
}

static void set_copy(struct ss_thread_walk *w, struct ss_open_event *o)
{
	enum ss_claim_rank on_device = w->starter ? SS_RANK_STARTER : SS_RANK_OTHER_CALLS;
	set(o, SS_TIME_COPY, w->b->has_device ? on_device : SS_RANK_COPY);
	o->claims = !w->data_thread;
}

static void set_message(struct ss_thread_walk *w, struct ss_open_event *o, uint32_t meta)
{
	enum ss_claim_rank on_device = w->starter ? SS_RANK_STARTER : SS_RANK_OTHER_CALLS;
	set(o, SS_TIME_COLLECTIVE, w->b->has_device ? on_device : SS_RANK_THREAD_MEETS);
	o->op_meta = meta;
	o->op_ref = SS_NONE;
	o->claims = !w->data_thread;
}

static void set_sync(struct ss_thread_walk *w, struct ss_open_event *o, const struct ss_open_event *p)
{
	/* An operation that waits for the threads that help it is in progress. */
	if (p && (p->class == SS_TIME_COMPUTE || p->class == SS_TIME_COLLECTIVE) && !p->overhead)
		return;
	set(o, SS_TIME_SYNC, SS_RANK_WAITS);
	o->claims = w->starter;
}

static void set_lock(struct ss_thread_walk *w, struct ss_open_event *o, const struct ss_open_event *p)
{
	if (p && p->class == SS_TIME_SYNC)
		return;
	set(o, SS_TIME_LOCK, SS_RANK_STARTER);
	o->claims = w->starter;
}

/* Events that are not of the program count as not recorded, with a name. */
static void set_profiler(struct ss_thread_walk *w, struct ss_open_event *o, uint32_t meta)
{
	set(o, SS_TIME_UNKNOWN, SS_RANK_WAITS);
	o->func = meta;
	o->claims = w->starter;
}

/*
 * A collection of garbage, and an event within one that swallows all in it. False for others, which
 * their kinds decide.
 */
static bool set_collector(const struct ss_thread_walk *w, struct ss_open_event *o, const struct ss_open_event *p,
			  enum ss_host_kind kind)
{
	bool collects = kind == SS_KIND_GC && !(p && p->class == SS_TIME_COMPILE);
	if (collects)
		set(o, SS_TIME_GC, SS_RANK_STARTER);
	else if (!swallows(p) || kind == SS_KIND_SKIP)
		return false;
	o->claims = o->claims && (w->starter || !collects);
	return true;
}

/*
 * The framework's Python that calls the program's own: a layer of PyTorch. JAX's around its
 * operations does not.
 */
static bool is_layer(struct ss_str name)
{
	struct ss_frame f;
	return !ss_str_starts(name, SS_STR("$")) && ss_frame_parse(name, &f);
}

void ss_classify_event(struct ss_thread_walk *w, struct ss_open_event *o, const struct ss_open_event *p, enum ss_host_kind kind,
		     uint32_t meta, int64_t begin_ps, uint64_t dur_ps)
{
	struct ss_frame f;
	if (set_collector(w, o, p, kind))
		return;
	switch (kind) {
	case SS_KIND_OP:
	case SS_KIND_COLLECTIVE:
	case SS_KIND_EXECUTE:
		set_op(w, o, p, meta, kind);
		break;
	case SS_KIND_CALLBACK:
		set(o, SS_TIME_CALLBACK, SS_RANK_CALLBACK);
		o->claims = !w->data_thread;
		break;
	case SS_KIND_EAGER_OP:
		set_function(w, o, p, meta, begin_ps, dur_ps, true);
		o->op_meta = meta;
		break;
	case SS_KIND_FUNCTION:
		set_function(w, o, p, meta, begin_ps, dur_ps, false);
		break;
	case SS_KIND_LAUNCH:
	case SS_KIND_WAIT:
		set_launch(w, o, p, meta, kind == SS_KIND_WAIT);
		o->python = is_layer(ss_event_name(w->b->host, meta));
		break;
	case SS_KIND_COMPILE:
		set(o, SS_TIME_COMPILE, w->starter ? SS_RANK_STARTER : SS_RANK_OTHERS);
		break;
	case SS_KIND_DEMAND:
	case SS_KIND_INPUT:
		set_input(w, o, kind == SS_KIND_DEMAND);
		break;
	case SS_KIND_COPY:
		set_copy(w, o);
		break;
	case SS_KIND_MESSAGE:
		set_message(w, o, meta);
		break;
	case SS_KIND_SYNC:
		set_sync(w, o, p);
		break;
	case SS_KIND_LOCK:
		set_lock(w, o, p);
		break;
	case SS_KIND_PROFILER:
		set_profiler(w, o, meta);
		break;
	case SS_KIND_PYTHON:
		set_own(w, o, p, ss_frame_parse(ss_event_name(w->b->host, meta), &f) && f.line, true,
			ss_event_name(w->b->host, meta));
		break;
	case SS_KIND_OTHER:
		set_own(w, o, p, true, false, SS_STR(""));
		break;
	case SS_KIND_GC:
	case SS_KIND_GC_MARK:
	case SS_KIND_SKIP:
	case SS_KIND_UNREAD:
		break;
	}
}
