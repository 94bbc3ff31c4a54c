/* plane.c - what planes are, and finding lines, names and groups in them. */
#include "model/host/plane.h"

#include "import/kineto.h"
#include "model/host/host.h"
#include "xspace/fields.h"

#include <ctype.h>
#include <stdlib.h>

static bool all_digits(struct ss_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return true;
}

static size_t digits(struct ss_str s)
{
	size_t n = 0;
	while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9')
		n++;
	return n;
}

/*
 * After "/device:TPU:": digits only is a TensorCore; digits, " SparseCore", perhaps a word, and a
 * number a SparseCore.
 */
static enum ss_plane_kind tpu_kind(struct ss_str rest)
{
	if (all_digits(rest))
		return SS_PLANE_TENSOR_CORE;
	size_t n = digits(rest);
	struct ss_str tail = ss_str_sub(rest, n, rest.n);
	if (n == 0 || !ss_str_starts(tail, SS_STR(" SparseCore ")))
		return SS_PLANE_OTHER;
	size_t space = ss_str_rchr(tail, ' ');
	struct ss_str number = ss_str_sub(tail, space + 1, tail.n);
	return number.n && all_digits(number) ? SS_PLANE_SPARSE_CORE : SS_PLANE_OTHER;
}

enum ss_plane_kind ss_plane_kind_of(struct ss_str name)
{
	static const struct {
		struct ss_str name;
		bool whole;
		enum ss_plane_kind kind;
	} rules[] = {
		{ SS_STR_INIT("/host:CPU"), true, SS_PLANE_HOST_CPU },
		{ SS_STR_INIT("/host:metadata"), true, SS_PLANE_METADATA },
		{ SS_STR_INIT("Task Environment"), true, SS_PLANE_TASK_ENV },
		{ SS_STR_INIT("/device:GPU:"), false, SS_PLANE_GPU },
		{ SS_STR_INIT("/device:CUSTOM:"), false, SS_PLANE_CUSTOM },
		{ SS_STR_INIT("/custom:"), false, SS_PLANE_CUSTOM },
		{ SS_STR_INIT("#Chip"), false, SS_PLANE_TPU_NONCORE },
	};
	const struct ss_str tpu = SS_STR("/device:TPU:");
	if (ss_str_starts(name, tpu))
		return tpu_kind(ss_str_sub(name, tpu.n, name.n));
	for (size_t i = 0; i < SS_COUNT(rules); i++)
		if (rules[i].whole ? ss_str_eq(name, rules[i].name) : ss_str_starts(name, rules[i].name))
			return rules[i].kind;
	return SS_PLANE_OTHER;
}

bool ss_plane_is_host(const struct ss_plane *p)
{
	static const struct ss_str prefixes[] = {
		SS_STR_INIT("/host:CPU"), SS_STR_INIT("Host CPUs"), SS_STR_INIT("/host:tfstreamz"),
		SS_STR_INIT("/host:metadata"), SS_STR_INIT("Syscalls"), SS_STR_INIT("/host:python-tracer"),
		SS_STR_INIT("/host:CUPTI"), SS_STR_INIT("/host:__ScopeRangeCallStack__"),
	};
	for (size_t i = 0; i < SS_COUNT(prefixes); i++)
		if (ss_str_starts(p->name, prefixes[i]))
			return true;
	return false;
}

bool ss_plane_is_device(const struct ss_plane *p)
{
	return !ss_plane_is_host(p) &&
	       (ss_str_starts(p->name, SS_STR("/device")) || p->kind == SS_PLANE_TPU_NONCORE ||
		p->kind == SS_PLANE_CUSTOM);
}

/* Does it have so many events? Reads no more. */
static bool has_events(const struct ss_xline *l, size_t least)
{
	const uint8_t *end = (const uint8_t *)l->body.p + l->body.n;
	struct ss_pb c = ss_pb_of((struct ss_str){ (const char *)l->events, l->events ? (size_t)(end - l->events) : 0 });
	struct ss_pb_field f;
	size_t n = 0;
	while (n < least && ss_pb_next(&c, &f))
		n += f.key == PB_LEN(XLINE_EVENTS);
	return n >= least;
}

bool ss_plane_has_events_of(const struct ss_plane *p, struct ss_str line, size_t least)
{
	for (uint32_t i = 0; i < p->x->nlines; i++)
		if (ss_str_eq(p->x->lines[i].name, line) && has_events(&p->x->lines[i], least))
			return true;
	return false;
}

bool ss_plane_has_events(const struct ss_plane *p)
{
	for (uint32_t i = 0; i < p->x->nlines; i++)
		if (has_events(&p->x->lines[i], 1))
			return true;
	return false;
}

void ss_line_free(struct ss_line *l)
{
	if (!l->borrowed)
		ss_xevents_free(&l->ev);
	l->ev = (struct ss_xevents){ 0 };
	free(l->group);
	free(l->runs);
	free(l->dev_begin_ps);
	free(l->dev_dur_ps);
	free(l->eager);
	free(l->added.v);
	l->group = NULL;
	l->runs = NULL;
	l->nruns = 0;
	l->dev_begin_ps = NULL;
	l->dev_dur_ps = NULL;
	l->eager = NULL;
	l->added = (struct ss_added_stats){ 0 };
}

struct ss_plane *ss_host_plane(const struct ss_host *h, enum ss_plane_kind kind)
{
	for (uint32_t i = 0; i < h->nplanes; i++)
		if (h->planes[i].kind == kind)
			return &h->planes[i];
	return NULL;
}

/* "step 7", "iteration_7": what the program calls all of its steps. */
static struct ss_str without_number(struct ss_str name)
{
	size_t n = name.n;
	while (n && isdigit((unsigned char)name.p[n - 1]))
		n--;
	while (n && n < name.n && strchr(" _#:", name.p[n - 1]))
		n--;
	return n ? ss_str_sub(name, 0, n) : name;
}

struct ss_str ss_event_kind_label(const struct ss_plane *p, uint32_t meta)
{
	bool step = ss_kineto_is_step(ss_event_name(p, meta));
	return step ? without_number(ss_event_name_in_file(p, meta)) : ss_event_label(p, meta);
}

struct ss_line *ss_plane_line(const struct ss_plane *p, struct ss_str name)
{
	for (uint32_t i = 0; i < p->nlines; i++)
		if (ss_str_eq(p->lines[i].name, name))
			return &p->lines[i];
	return NULL;
}

int64_t ss_event_group(const struct ss_plane *p, const struct ss_line *l, uint32_t i)
{
	size_t at = SIZE_MAX;
	return ss_event_group_at(p, l, i, &at);
}

int64_t ss_event_group_in_file(const struct ss_plane *p, const struct ss_line *l, uint32_t i)
{
	struct ss_xstat s;
	if (!l->ev.off || !ss_xplane_has(p->x, SS_STAT_GROUP_ID) ||
	    !ss_xstats_find(ss_line_stats(p, l, i), SS_STAT_GROUP_ID, &s))
		return SS_NO_GROUP;
	return ss_xstat_int_or_uint(&s);
}
