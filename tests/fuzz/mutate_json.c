/* mutate_json.c - see mutate.h. */
#include "mutate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_MAX 8192u
#define DEPTH_MAX 64u

/* A value with the name it has, if it is a member. */
struct value {
	size_t name, at, end;	/* name == at: it has none */
};

struct values {
	struct value v[VALUES_MAX];
	size_t n;
	size_t open[DEPTH_MAX];	/* containers, by number */
	unsigned depth;
};

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == ',' || c == ':';
}

static size_t end_of_text(const uint8_t *p, size_t n, size_t at)
{
	for (at++; at < n && p[at] != '"'; at++)
		at += p[at] == '\\';
	return at < n ? at + 1 : n;
}

static size_t end_of_word(const uint8_t *p, size_t n, size_t at)
{
	while (at < n && !is_blank(p[at]) && !strchr("[]{}\"", p[at]))
		at++;
	return at;
}

static bool is_name(const uint8_t *p, size_t n, size_t end)
{
	while (end < n && (p[end] == ' ' || p[end] == '\n' || p[end] == '\t'))
		end++;
	return end < n && p[end] == ':';
}

/* All values, in the order in which they begin; what has no end reaches to the text's. */
static void scan(const uint8_t *p, size_t n, struct values *out)
{
	size_t name = SIZE_MAX;
	out->n = out->depth = 0;
	for (size_t at = 0; at < n && out->n < VALUES_MAX;) {
		if (is_blank(p[at]) || !p[at]) {
			at++;
			continue;
		}
		if (p[at] == ']' || p[at] == '}') {
			at++;
			if (out->depth)
				out->v[out->open[--out->depth]].end = at;
			name = SIZE_MAX;
			continue;
		}
		bool container = p[at] == '[' || p[at] == '{';
		size_t end = container ? n : p[at] == '"' ? end_of_text(p, n, at) : end_of_word(p, n, at);
		if (p[at] == '"' && name == SIZE_MAX && is_name(p, n, end)) {
			name = at;
			at = end;
			continue;
		}
		out->v[out->n] = (struct value){ name == SIZE_MAX ? at : name, at, end > at ? end : at + 1 };
		name = SIZE_MAX;
		if (container && out->depth < DEPTH_MAX)
			out->open[out->depth++] = out->n;
		at = container ? at + 1 : out->v[out->n].end;
		out->n++;
	}
}

struct out {
	uint8_t *p;
	size_t n, max;
};

static void put(struct out *o, const void *p, size_t n)
{
	n = n < o->max - o->n ? n : o->max - o->n;
	memcpy(o->p + o->n, p, n);
	o->n += n;
}

/* What traces are made of, and numbers at the ends of their ranges. */
static const char *const words[] = {
	"0", "-1", "1", "0.5", "1e308", "-1e308", "1e-308", "9223372036854775807", "18446744073709551616",
	"1e15", "null", "true", "{}", "[]", "\"\"", "\"X\"", "\"B\"", "\"E\"", "\"M\"", "\"C\"", "\"i\"",
	"\"I\"", "\"s\"", "\"t\"", "\"f\"", "\"b\"", "\"n\"", "\"e\"", "\"\\u0000\"", "\"\\ud800\"",
	"\"kernel\"", "\"gpu_memcpy\"", "\"gpu_memset\"", "\"cpu_op\"", "\"cuda_runtime\"", "\"ac2g\"",
	"\"python_function\"", "\"user_annotation\"", "\"gpu_user_annotation\"", "\"Trace\"",
	"\"ProfilerStep#3\"", "\"[memory]\"", "\"process_name\"", "\"thread_name\"",
	"\"process_sort_index\"", "\"stream 7\"", "[[1],[2,3]]", "\"float\"",
};

/* Text or number with other bytes in it, a text with its ends. */
static void put_changed(struct out *o, const uint8_t *p, const struct value *v)
{
	uint8_t inner[512];
	bool text = p[v->at] == '"' && v->end - v->at >= 2;
	size_t at = v->at + text, n = v->end - v->at - 2 * text;
	n = n < sizeof(inner) / 2 ? n : sizeof(inner) / 2;
	memcpy(inner, p + at, n);
	n = LLVMFuzzerMutate(inner, n, sizeof(inner));
	for (size_t i = 0; text && i < n; i++)
		if (inner[i] == '"' || (inner[i] == '\\' && i + 1 == n))
			inner[i] = '_';
	put(o, "\"", text);
	put(o, inner, n);
	put(o, "\"", text);
}

enum { WORD, OTHER, CHANGE, DOUBLE, NEST, RENAME, CHANGES };

static void put_mutated(struct out *o, const uint8_t *p, const struct values *all, const struct value *v, uint64_t *state)
{
	const struct value *other = &all->v[mutate_pick(state, all->n)];
	const char *word = words[mutate_pick(state, sizeof(words) / sizeof(*words))];
	size_t what = mutate_pick(state, CHANGES);
	if (what == RENAME && v->name != v->at && other->name != other->at)
		put(o, p + other->name, other->at - other->name);
	else
		put(o, p + v->name, v->at - v->name);
	switch (what) {
	case WORD:
		put(o, word, strlen(word));
		break;
	case OTHER:
		put(o, p + other->at, other->end - other->at);
		break;
	case CHANGE:
		put_changed(o, p, p[v->at] == '[' || p[v->at] == '{' ? other : v);
		break;
	case DOUBLE:
		put(o, p + v->at, v->end - v->at);
		put(o, ",", 1);
		put(o, p + v->name, v->end - v->name);
		break;
	case NEST:
		put(o, "[", 1);
		put(o, p + v->at, v->end - v->at);
		put(o, "]", 1);
		break;
	default:
		put(o, p + v->at, v->end - v->at);
	}
}

/* All but the value, its name and a comma beside it. */
static void put_without(struct out *o, const uint8_t *p, size_t n, const struct value *v)
{
	size_t end = v->end;
	put(o, p, v->name);
	while (end < n && (p[end] == ' ' || p[end] == '\n'))
		end++;
	if (end < n && p[end] == ',')
		end++;
	else if (o->n && o->p[o->n - 1] == ',')
		o->n--;
	put(o, p + end, n - end);
}

size_t mutate_json(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	uint64_t state = mutate_seed(seed);
	struct values *values = malloc(sizeof(*values));
	uint8_t *copy = malloc(size + 1);
	if (values && copy) {
		memcpy(copy, data, size);
		scan(copy, size, values);
	}
	if (!values || !copy || !values->n || mutate_pick(&state, 16) == 0) {
		size = LLVMFuzzerMutate(data, size, max);
	} else {
		struct out o = { data, 0, max };
		const struct value *v = &values->v[mutate_pick(&state, values->n)];
		if (mutate_pick(&state, CHANGES + 1) == 0) {
			put_without(&o, copy, size, v);
		} else {
			put(&o, copy, v->name);
			put_mutated(&o, copy, values, v, &state);
			put(&o, copy + v->end, size - v->end);
		}
		size = o.n;
	}
	free(values);
	free(copy);
	return size;
}
