/* rules_time.c - rules that say what a class of time goes to. */
#include "model/attribution/frames.h"
#include "verdict/judge.h"
#include "verdict/limits.h"

/* "fetch_rows (main.py:16), mostly in time.sleep, called by step (main.py:28)". */
static struct ss_str place_of(struct ss_judge *j, const struct ss_time_subject *s)
{
	const char *how = s->on_device ? " (" : ", mostly in ", *end = s->on_device ? ")" : "";
	struct ss_str detail = s->detail.n ? ss_say(j, "%s" SS_FMT "%s", how, SS_ARG(s->detail), end) : SS_STR("");
	struct ss_str caller = s->caller.n ? ss_say(j, ", called by " SS_FMT, SS_ARG(s->caller)) : SS_STR("");
	return ss_say(j, SS_FMT SS_FMT SS_FMT, SS_ARG(ss_shorten(j, ss_shown_name(j, s), 160)), SS_ARG(detail),
		      SS_ARG(caller));
}

/* "augment within train_epoch": of a range, which calls nothing. */
static struct ss_str range_of(struct ss_judge *j, const struct ss_time_subject *s)
{
	struct ss_str detail = s->detail.n ? ss_say(j, ", mostly in " SS_FMT ",", SS_ARG(s->detail)) : SS_STR("");
	return ss_say(j, SS_FMT SS_FMT "%s" SS_FMT, SS_ARG(ss_shorten(j, ss_shown_name(j, s), 160)), SS_ARG(detail),
		      s->caller.n ? " within " : "", SS_ARG(s->caller));
}

static struct ss_str where(struct ss_judge *j, const struct ss_judged_unit *u)
{
	return j->out->nhosts > 1 ? ss_say(j, " of %s " SS_FMT, ss_recording_word(j), SS_ARG(u->h->name)) : SS_STR("");
}

/*
 * The class as a finding about `u`, with its share as the first proof. NULL where it is too small.
 */
static struct ss_verdict_finding *class_finding(struct ss_judge *j, enum ss_cause cause, enum ss_time_class c,
						const struct ss_judged_unit **u, const struct ss_time_subject **s)
{
	struct ss_affected affected = ss_affected_by(j, c);
	if (!affected.worst || affected.frac < SS_LEAST_SHARE)
		return NULL;
	struct ss_verdict_finding *f = ss_find(j, cause, affected.frac);
	*u = affected.worst;
	*s = ss_largest(affected.worst, c, false);
	if (!f)
		return NULL;
	f->affected = affected.n;
	if (*s)
		f->subject = ss_cut(ss_shown_name(j, *s), SS_MOST_SUBJECT_BYTES);
	struct ss_str class = ss_time_class_name(c);
	ss_prove(j, f, ss_say(j, SS_FMT ": " SS_FMT, SS_ARG(ss_say_share(j, *u)), SS_ARG(class)).p,
		 ss_unit_step_frac(*u, c), "share", *u, "overview_page");
	if (*s) {
		ss_prove(j, f, ss_say(j, "of that, " SS_FMT, SS_ARG((*s)->name)).p,
			 (double)ss_subject_ps(*s, false) / (double)(*u)->u->window_ps, "share", *u, "trace_viewer@");
		ss_point_at(j, f, *u, (*s)->begin_ps, (*s)->end_ps);
	}
	return f;
}

void ss_rule_input(struct ss_judge *j)
{
	const struct ss_judged_unit *u;
	const struct ss_time_subject *s;
	struct ss_verdict_finding *f = class_finding(j, SS_CAUSE_INPUT, SS_TIME_INPUT, &u, &s);
	if (!f)
		return;
	bool staged = s && u->h->input.name.n && 3 * u->h->input.ps[0] >= ss_subject_ps(s, false);
	struct ss_str stage = staged ? u->h->input.name : SS_STR(""), place = s ? place_of(j, s) : SS_STR("the input"),
		      at = where(j, u);
	if (stage.n) {
		f->subject = stage;
		f->traits |= SS_TRAIT_STAGE | (ss_str_contains(stage, SS_STR("::Prefetch")) ? SS_TRAIT_PREFETCHED : 0) |
			     (ss_str_ends(stage, SS_STR("::Map")) ? SS_TRAIT_SEQUENTIAL_MAP : 0) |
			     (u->h->input.detail.n ? SS_TRAIT_FIXED_PARALLELISM : 0);
	}
	f->traits |= u->h->python_input ? SS_TRAIT_PYTHON_INPUT : 0;
	/* "_launch (popen_fork.py:62)" of Python's multiprocessing. */
	f->traits |= s && ss_str_contains(s->name, SS_STR("(popen_")) ? SS_TRAIT_STARTS_WORKERS : 0;
	struct ss_str who = u->h->windows.n ? ss_say(j, "Steps" SS_FMT " wait", SS_ARG(at))
					    : ss_say(j, "The program" SS_FMT " waits", SS_ARG(at));
	if (ss_str_ends(stage, SS_STR("::Prefetch")))
		f->text = ss_say(j,
				 SS_FMT " for data during %s of the time: " SS_FMT " has none ready, and the recording does not "
				 "show which of its stages is slow%s.",
				 SS_ARG(who), ss_percent_of(f->share_frac).s, SS_ARG(stage),
				 u->h->python_input ? " (one calls a Python function, PyFunc)" : "");
	else if (stage.n)
		f->text = ss_say(j,
				 SS_FMT " for data during %s of the time. The slowest stage of the input is " SS_FMT
				 "%s" SS_FMT "%s.",
				 SS_ARG(who), ss_percent_of(f->share_frac).s, SS_ARG(stage), u->h->input.detail.n ? " with " : "",
				 SS_ARG(u->h->input.detail),
				 u->h->python_input ? ", which calls a Python function (PyFunc)" : "");
	else
		f->text = ss_say(j, SS_FMT " for data during %s of the time, in " SS_FMT ".", SS_ARG(who),
				 ss_percent_of(f->share_frac).s, SS_ARG(place));
}

/* "multiply(), sin(), tanh()": those that take this part of the largest or more. */
static struct ss_str largest_names(struct ss_judge *j, const struct ss_judged_unit *u, enum ss_time_class c,
				  double least_frac)
{
	struct ss_str text = SS_STR("");
	const struct ss_time_subject *top = ss_largest(u, c, false);
	size_t n = 0;
	for (size_t i = 0; top && i < u->u->nsubjects && n < 3; i++) {
		const struct ss_time_subject *s = &u->u->subjects[i];
		if (s->class != c || (double)ss_subject_ps(s, false) < least_frac * (double)ss_subject_ps(top, false))
			continue;
		struct ss_str name = ss_shorten(j, ss_shown_name(j, s), 60);
		text = n++ ? ss_say(j, SS_FMT ", " SS_FMT, SS_ARG(text), SS_ARG(name)) : name;
	}
	return text;
}

/* Of a frame that torch.compile compiled. */
static struct ss_str what_torch_compiled(struct ss_judge *j, struct ss_verdict_finding *f, const struct ss_judged_unit *u)
{
	const struct ss_recompiled *r = &u->h->recompiled;
	struct ss_str frame = r->frame < 0 ? SS_STR("Python frames")
					   : ss_say(j, "frame %lld (its last version is %lld)", (long long)r->frame,
						    (long long)r->version);
	if (r->compiled == 1 && r->version == 0 && !r->gave_up) {
		f->traits |= SS_TRAIT_COMPILED_ONCE;
		ss_prove(j, f, "compilations by torch.compile", 1, "count", u, "trace_viewer@");
		return ss_say(j, " torch.compile compiled frame %lld for the first time.", (long long)r->frame);
	}
	ss_prove(j, f, "compilations by torch.compile", (double)r->compiled, "count", u, "trace_viewer@");
	if (r->changed.n)
		ss_prove_words(j, f, "what changed", r->changed, u, "trace_viewer@");
	const char *gave_up = !r->gave_up ? "" : " Its last attempt made no version: it failed, or the frame has as many as it may "
						 "have (torch._dynamo.config.recompile_limit). Calls that fit no version run "
						 "without compilation.";
	return ss_say(j, " torch.compile compiled " SS_FMT " %llu time%s in the recording%s" SS_FMT ".%s", SS_ARG(frame),
		      (unsigned long long)r->compiled, r->compiled == 1 ? "" : "s", r->changed.n ? "; what changes: " : "",
		      SS_ARG(r->changed), gave_up);
}

/* " Its programs differ in ...": where the recording tells it. */
static struct ss_str what_changed(struct ss_judge *j, struct ss_verdict_finding *f, const struct ss_judged_unit *u,
				  struct ss_str name)
{
	const struct ss_recompiled *r = &u->h->recompiled;
	if (r->compiled)
		return what_torch_compiled(j, f, u);
	if (r->programs) {
		ss_prove(j, f, "programs of this name", (double)r->programs, "count", u, "graph_viewer");
		if (r->changed.n)
			ss_prove_words(j, f, "what changed", r->changed, u, "graph_viewer");
	}
	if (r->programs && r->changed.n)
		return ss_say(j, " What changes between the %llu programs of " SS_FMT ": " SS_FMT ".",
			      (unsigned long long)r->programs, SS_ARG(name), SS_ARG(r->changed));
	f->traits |= r->programs ? SS_TRAIT_SAME_ARGUMENTS : 0;
	if (r->once && r->traced < 2) {
		f->traits |= SS_TRAIT_COMPILED_ONCE;
		return ss_say(j, " One program of " SS_FMT " was compiled, so this is its first compilation.", SS_ARG(name));
	}
	struct ss_str which = r->programs > SS_MOST_COMPARED_PROGRAMS
				      ? ss_say(j, "latest %d of the %llu", SS_MOST_COMPARED_PROGRAMS,
					       (unsigned long long)r->programs)
				      : ss_say(j, "%llu", (unsigned long long)r->programs);
	if (r->programs)
		return ss_say(j,
			      " The " SS_FMT " programs of " SS_FMT " have arguments and results of the same shapes and types: "
			      "what changes is something else, such as a static argument, a captured value, or the function object "
			      "itself.",
			      SS_ARG(which), SS_ARG(name));
	if (r->traced > 1) {
		ss_prove(j, f, "graphs traced of the function", (double)r->traced, "count", u, "trace_viewer@");
		return ss_say(j, " TensorFlow had traced this function %llu times by then.", (unsigned long long)r->traced);
	}
	return SS_STR("");
}

void ss_rule_compile(struct ss_judge *j)
{
	const struct ss_judged_unit *u;
	const struct ss_time_subject *s;
	struct ss_verdict_finding *f = class_finding(j, SS_CAUSE_COMPILE, SS_TIME_COMPILE, &u, &s);
	if (!f)
		return;
	const struct ss_recompiled *r = &u->h->recompiled;
	struct ss_str place = s ? place_of(j, s) : SS_STR("programs"),
		      changed = what_changed(j, f, u, s ? ss_shorten(j, ss_shown_name(j, s), 60) : SS_STR("the function"));
	struct ss_str names = largest_names(j, u, SS_TIME_COMPILE, SS_COMPILED_BESIDE_FRAC);
	if (s && !s->detail.n && names.n > s->name.n)
		place = names;
	if (r->function.n)
		place = f->subject = ss_cut(r->function, SS_MOST_SUBJECT_BYTES);
	else if (r->frame >= 0)
		place = f->subject = ss_say(j, "torch.compile of frame %lld", (long long)r->frame);
	f->text = ss_say(j, "Tracing and compiling%s take %s of the time: " SS_FMT "." SS_FMT,
			 u->h->windows.n ? " within the steps" : "", ss_percent_of(f->share_frac).s, SS_ARG(place),
			 SS_ARG(changed));
}

void ss_rule_callback(struct ss_judge *j)
{
	const struct ss_judged_unit *u;
	const struct ss_time_subject *s;
	struct ss_verdict_finding *f = class_finding(j, SS_CAUSE_CALLBACK, SS_TIME_CALLBACK, &u, &s);
	if (f)
		f->text = ss_say(
			j, "The compiled program calls back into Python: this takes %s of the time, in " SS_FMT ".",
			ss_percent_of(f->share_frac).s, SS_ARG(s ? place_of(j, s) : SS_STR("a callback")));
}

void ss_rule_transfer(struct ss_judge *j)
{
	const struct ss_judged_unit *u;
	const struct ss_time_subject *s;
	struct ss_verdict_finding *f = class_finding(j, SS_CAUSE_TRANSFER, SS_TIME_COPY, &u, &s);
	if (f)
		f->text =
			ss_say(j, "Exposed copies (nothing computes meanwhile) take %s of the time: " SS_FMT ".",
			       ss_percent_of(f->share_frac).s, SS_ARG(s ? place_of(j, s) : SS_STR("between host and device")));
}

static const char *calls_missing(const struct ss_judge *j)
{
	return j->no_python ? "the calls of the program's functions were not recorded" : "Python's calls were not recorded";
}

void ss_rule_lock(struct ss_judge *j)
{
	const struct ss_judged_unit *u;
	const struct ss_time_subject *s;
	struct ss_verdict_finding *f = class_finding(j, SS_CAUSE_LOCK, SS_TIME_LOCK, &u, &s);
	if (f)
		f->text = ss_say(j,
				 "The thread that starts the programs waits for another thread during %s of the "
				 "time, in " SS_FMT ".",
				 ss_percent_of(f->share_frac).s, SS_ARG(s ? place_of(j, s) : SS_STR("a lock")));
	else if (!j->has_python)
		ss_cannot_judge(j, SS_CAUSE_LOCK, calls_missing(j));
}

void ss_rule_gc(struct ss_judge *j)
{
	const struct ss_judged_unit *u;
	const struct ss_time_subject *s;
	struct ss_verdict_finding *f = class_finding(j, SS_CAUSE_GC, SS_TIME_GC, &u, &s);
	if (f && s && ss_str_is(s->name, SS_AUTOMATIC_COLLECTION))
		f->text = ss_say(j,
				 "Python's garbage collector takes %s of the time, in collections that Python starts "
				 "itself%s" SS_FMT ".",
				 ss_percent_of(f->share_frac).s, s->caller.n ? ", mostly in " : "", SS_ARG(s->caller));
	else if (f)
		f->text = ss_say(j, "Python's garbage collector takes %s of the time (" SS_FMT ").",
				 ss_percent_of(f->share_frac).s, SS_ARG(s ? place_of(j, s) : SS_STR("gc.collect")));
	else if (!j->has_python && !j->no_python)
		ss_cannot_judge(j, SS_CAUSE_GC, calls_missing(j));
}

static bool has_found(const struct ss_judge *j, enum ss_cause c)
{
	for (size_t i = 0; i < j->found.n; i++)
		if (j->found.v[i].cause == c)
			return true;
	return false;
}

void ss_rule_host_code(struct ss_judge *j)
{
	const struct ss_judged_unit *u;
	const struct ss_time_subject *s;
	struct ss_verdict_finding *f = class_finding(j, SS_CAUSE_HOST_CODE, SS_TIME_HOST_CODE, &u, &s);
	struct ss_affected sync = ss_affected_by(j, SS_TIME_SYNC);
	if (!f)
		return;
	/* Tracers of Python record calls, and "with" calls nothing that they see. */
	if (s && !s->detail.n && ss_str_contains(s->name, SS_STR(".py:")) && !has_found(j, SS_CAUSE_LOCK))
		ss_cannot_judge(j, SS_CAUSE_LOCK,
				"Python's tracers do not record a lock that 'with' takes, nor Python's own (GIL): waiting for them "
				"counts as time of the function around it");
	if (s && u->h->has_python && j->frameworks & SS_FW_PYTORCH && !has_found(j, SS_CAUSE_GC))
		ss_cannot_judge(j, SS_CAUSE_GC,
				"PyTorch's profiler does not record collections that Python starts itself: they count as time of "
				"the function in which they happen");
	const struct ss_time_subject *read =
		sync.worst && sync.frac >= SS_LEAST_MENTION ? ss_largest(sync.worst, SS_TIME_SYNC, false) : NULL;
	struct ss_str at = where(j, u);
	/* Without Python's calls it is an annotation, and what runs in that is not known. */
	bool range = s && !u->h->has_python;
	f->traits |= range ? SS_TRAIT_RANGE : 0;
	struct ss_str place = range ? range_of(j, s) : s ? place_of(j, s) : SS_STR("Python");
	f->text = ss_say(j,
			 "Nothing computes for %s of the time, while the thread" SS_FMT " that starts the programs %s" SS_FMT
			 "%s%s" SS_FMT ".",
			 ss_percent_of(f->share_frac).s, SS_ARG(at),
			 range ? "is in the range " : "runs the program's own code: ", SS_ARG(place),
			 range ? ", and in nothing else that is recorded" : "",
			 read ? ". No work is queued meanwhile, because the thread waits for results in " : "",
			 SS_ARG(read ? read->name : SS_STR("")));
}

static double per_step(const struct ss_judged_unit *u, uint64_t n)
{
	return u->h->windows.n ? (double)n / (double)u->h->windows.n : (double)n;
}

void ss_rule_dispatch(struct ss_judge *j)
{
	const struct ss_judged_unit *u;
	const struct ss_time_subject *s;
	struct ss_verdict_finding *f = class_finding(j, SS_CAUSE_DISPATCH, SS_TIME_LAUNCH, &u, &s);
	if (!f)
		return;
	bool gpu = u->h->hardware == SS_HW_GPU;
	uint64_t n = gpu ? u->u->ops : u->u->calls;
	double each_ps = n ? ss_unit_step_frac(u, SS_TIME_LAUNCH) * (double)u->u->window_ps / (double)n : 0;
	bool torch = j->frameworks & SS_FW_PYTORCH && !(j->frameworks & SS_FW_TORCH_XLA);
	const char *what = gpu ? "kernels" : torch ? "operators" : "programs and operations";
	const char *per = u->h->windows.n ? "per step" : "in total";
	const struct ss_time_subject *op = gpu ? ss_largest(u, SS_TIME_COMPUTE, false) : NULL;
	struct ss_str names = largest_names(j, u, SS_TIME_LAUNCH, 0.1), runs = SS_STR(""), counted = SS_STR("");
	bool small = per_step(u, n) > SS_MANY_OPS && each_ps <= SS_LONG_START_PS && u->u->ops &&
		     u->u->op_ps / u->u->ops < SS_SMALL_MEAN_PS;
	f->traits |= u->h->windows.n && n && per_step(u, n) < 2 ? SS_TRAIT_ONE_CALL : 0;
	if (op)
		runs = ss_say(j, "%sthey start mostly " SS_FMT, names.n ? "; " : "",
			      SS_ARG(ss_shorten(j, ss_shown_name(j, op), 80)));
	if (n)
		counted = ss_say(j, ": %.0f %s%s, " SS_FMT "%s", per_step(u, n), small ? "small ones " : "", per,
				 SS_ARG(ss_say_time(j, each_ps)), n == 1 ? "" : " each");
	if (!s)
		f->subject = op ? ss_cut(ss_shown_name(j, op), SS_MOST_SUBJECT_BYTES) : SS_STR("launches");
	f->text = ss_say(j,
			 "Starting %s takes %s of the time, and nothing computes meanwhile" SS_FMT
			 " (" SS_FMT SS_FMT ").",
			 what, ss_percent_of(f->share_frac).s, SS_ARG(counted), SS_ARG(names), SS_ARG(runs));
	if (!n)
		return;
	ss_prove(j, f, "operations started", per_step(u, n), u->h->windows.n ? "per step" : "count", u,
		 "framework_op_stats");
	ss_prove(j, f, "time to start one, nothing computing", each_ps, "ps", u, "framework_op_stats");
	/* A few calls that take long are no "many small ones": the host is inside of them. */
	if (s && each_ps > SS_LONG_START_PS && !has_found(j, SS_CAUSE_HOST_CODE)) {
		f->cause = SS_CAUSE_HOST_CODE;
		f->traits |= SS_TRAIT_FRAMEWORK_CALLS;
		f->text = ss_say(j,
				 "Nothing computes for %s of the time, while the host is in calls of the "
				 "framework" SS_FMT " (" SS_FMT ").",
				 ss_percent_of(f->share_frac).s, SS_ARG(counted), SS_ARG(names));
	}
}

void ss_rule_sync(struct ss_judge *j)
{
	const struct ss_judged_unit *u;
	const struct ss_time_subject *s;
	struct ss_verdict_finding *f = class_finding(j, SS_CAUSE_SYNC, SS_TIME_SYNC, &u, &s);
	if (f)
		f->text = ss_say(j,
				 "The host waits for results before it starts more work, and nothing computes meanwhile: "
				 "%s of the time, in " SS_FMT ".",
				 ss_percent_of(f->share_frac).s, SS_ARG(s ? place_of(j, s) : SS_STR("a read")));
}

/*
 * "main thread 'python'"; of PyTorch, whose threads are called "thread 14408 (python)", "main
 * thread 14408 (python)".
 */
static struct ss_str main_thread(struct ss_judge *j, const struct ss_time_host *h)
{
	struct ss_str name = ss_shorten(j, h->thread, 100);
	return ss_str_starts(name, SS_STR("thread ")) ? ss_say(j, "main " SS_FMT, SS_ARG(name))
						      : ss_say(j, "main thread '" SS_FMT "'", SS_ARG(name));
}

/*
 * What is not recorded because the profiler itself starts or stops: that has a name, and is no part
 * of the program.
 */
static double profiler_frac(const struct ss_judged_unit *u)
{
	uint64_t sum_ps = 0;
	for (size_t i = 0; i < u->u->nsubjects; i++)
		if (u->u->subjects[i].class == SS_TIME_UNKNOWN)
			sum_ps += ss_subject_ps(&u->u->subjects[i], false);
	return u->u->window_ps ? (double)sum_ps / (double)u->u->window_ps : 0;
}

void ss_rule_idle(struct ss_judge *j)
{
	struct ss_affected affected = ss_affected_by(j, SS_TIME_UNKNOWN);
	double own_frac = affected.worst ? profiler_frac(affected.worst) : 0;
	affected.frac -= own_frac < affected.frac ? own_frac : affected.frac;
	if (!affected.worst || affected.frac < SS_LEAST_SHARE)
		return;
	struct ss_verdict_finding *f = ss_find(j, SS_CAUSE_IDLE, affected.frac);
	if (!f)
		return;
	const struct ss_time_host *h = affected.worst->h;
	f->affected = affected.n;
	f->traits |= h->has_host || h->thread.n ? 0 : SS_TRAIT_NO_THREADS;
	struct ss_str at = where(j, affected.worst), thread = main_thread(j, h);
	f->subject = h->thread.n ? ss_say(j, SS_FMT ": not recorded", SS_ARG(thread)) : SS_STR("host: not recorded");
	f->text = h->thread.n ? ss_say(j,
				       "Nothing runs for %s of the time, and the recording does not show what the host does "
				       "then: the " SS_FMT SS_FMT " shows no event there%s.",
				       ss_percent_of(affected.frac).s, SS_ARG(thread), SS_ARG(at),
				       h->has_python ? "" : j->no_python ? "" : " (Python's calls were not recorded)")
			      : ss_say(j, "Nothing runs for %s of the time" SS_FMT ", and %s.", ss_percent_of(affected.frac).s,
				       SS_ARG(at.n ? ss_say(j, " on %s " SS_FMT, ss_recording_word(j), SS_ARG(h->name)) : at),
				       h->has_host ? "the recording does not show what the main thread does then"
						   : "no event of the host says why");
	ss_prove(j, f, ss_say(j, SS_FMT " in which nothing was recorded", SS_ARG(ss_say_share(j, affected.worst))).p,
		 ss_unit_step_frac(affected.worst, SS_TIME_UNKNOWN) - own_frac, "share", affected.worst, "trace_viewer@");
	if (!h->has_python && !has_found(j, SS_CAUSE_HOST_CODE))
		ss_cannot_judge(j, SS_CAUSE_HOST_CODE, calls_missing(j));
}
