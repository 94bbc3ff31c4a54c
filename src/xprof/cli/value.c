/* value.c - JSON values in memory. */
#include "xprof/cli/value.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static struct xv *new_value(struct xv_maker *m, enum xv_kind kind)
{
	struct xv *v = SS_NEW(m->arena, struct xv);
	if (!v) {
		m->no_memory = true;
		return NULL;
	}
	v->make = m;
	v->kind = kind;
	return v;
}

struct xv *xv_object(struct xv_maker *m)
{
	return new_value(m, XV_OBJECT);
}

struct xv *xv_array(struct xv_maker *m)
{
	return new_value(m, XV_ARRAY);
}

static bool grow(struct xv *p)
{
	size_t cap = p->m.cap ? 2 * p->m.cap : 8;
	struct xv_member *v = SS_NEW_N(p->make->arena, struct xv_member, cap);
	if (!v) {
		p->make->no_memory = true;
		return false;
	}
	if (p->m.n)
		memcpy(v, p->m.v, p->m.n * sizeof(*v));
	p->m.v = v;
	p->m.cap = cap;
	return true;
}

static struct xv_member *find(const struct xv *p, struct ss_str key)
{
	for (size_t i = 0; i < p->m.n; i++)
		if (ss_str_eq(p->m.v[i].key, key))
			return &p->m.v[i];
	return NULL;
}

void xv_put_key(struct xv *parent, struct ss_str key, struct xv *value)
{
	if (!parent || !value)
		return;
	struct xv_member *had = parent->kind == XV_OBJECT ? find(parent, key) : NULL;
	if (had)
		had->value = value;
	else if (parent->m.n < parent->m.cap || grow(parent))
		parent->m.v[parent->m.n++] = (struct xv_member){ key, value };
}

void xv_put(struct xv *parent, const char *key, struct xv *value)
{
	xv_put_key(parent, ss_str_from(key), value);
}

static struct xv *add(struct xv *parent, const char *key, enum xv_kind kind)
{
	struct xv *v = parent ? new_value(parent->make, kind) : NULL;
	xv_put(parent, key, v);
	return v;
}

struct xv *xv_add_object(struct xv *parent, const char *key)
{
	return add(parent, key, XV_OBJECT);
}

struct xv *xv_add_array(struct xv *parent, const char *key)
{
	return add(parent, key, XV_ARRAY);
}

void xv_null(struct xv *parent, const char *key)
{
	add(parent, key, XV_NULL);
}

void xv_bool(struct xv *parent, const char *key, bool b)
{
	struct xv *v = add(parent, key, XV_BOOL);
	if (v)
		v->b = b;
}

void xv_i64(struct xv *parent, const char *key, int64_t i)
{
	struct xv *v = add(parent, key, XV_INT);
	if (v)
		v->i = i;
}

void xv_u64(struct xv *parent, const char *key, uint64_t u)
{
	struct xv *v = add(parent, key, XV_UINT);
	if (v)
		v->u = u;
}

void xv_f64(struct xv *parent, const char *key, double d)
{
	struct xv *v = add(parent, key, XV_REAL);
	if (v)
		v->d = d;
}

void xv_rounded(struct xv *parent, const char *key, double v, int decimals)
{
	xv_f64(parent, key, xv_round(v, decimals));
}

void xv_str(struct xv *parent, const char *key, struct ss_str s)
{
	struct xv *v = add(parent, key, XV_STR);
	if (v)
		v->s = s;
}

void xv_z(struct xv *parent, const char *key, const char *z)
{
	xv_str(parent, key, ss_str_from(z));
}

void xv_printf(struct xv *parent, const char *key, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	if (!parent)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	struct ss_str s = ss_arena_str(parent->make->arena, ss_str_from(text));
	if (s.p)
		xv_str(parent, key, s);
	else
		parent->make->no_memory = true;
}

struct xv *xv_get(const struct xv *object, const char *key)
{
	if (!object || object->kind != XV_OBJECT)
		return NULL;
	struct xv_member *m = find(object, ss_str_from(key));
	return m ? m->value : NULL;
}

struct ss_str xv_get_str(const struct xv *object, const char *key)
{
	const struct xv *v = xv_get(object, key);
	return v && v->kind == XV_STR ? v->s : SS_STR("");
}

double xv_get_f64(const struct xv *object, const char *key, double otherwise)
{
	const struct xv *v = xv_get(object, key);
	if (!v)
		return otherwise;
	switch (v->kind) {
	case XV_INT:
		return (double)v->i;
	case XV_UINT:
		return (double)v->u;
	case XV_REAL:
		return v->d;
	default:
		return otherwise;
	}
}

size_t xv_length(const struct xv *v)
{
	return v && (v->kind == XV_ARRAY || v->kind == XV_OBJECT) ? v->m.n : 0;
}

double xv_round(double v, int decimals)
{
	char text[400];
	if (!isfinite(v))
		return v;
	snprintf(text, sizeof(text), "%.*f", decimals, v);
	return strtod(text, NULL);
}

static void line(struct ss_out *o, bool indent, size_t depth)
{
	if (!indent)
		return;
	ss_out_char(o, '\n');
	for (size_t i = 0; i < depth; i++)
		ss_out_lit(o, "  ");
}

static void print(struct ss_out *o, const struct xv *v, bool indent, size_t depth);

static void print_members(struct ss_out *o, const struct xv *v, bool indent, size_t depth)
{
	bool object = v->kind == XV_OBJECT;
	ss_out_char(o, object ? '{' : '[');
	for (size_t i = 0; i < v->m.n; i++) {
		if (i)
			ss_out_z(o, indent ? "," : ", ");
		line(o, indent, depth + 1);
		if (object) {
			ss_out_json_str(o, v->m.v[i].key);
			ss_out_lit(o, ": ");
		}
		print(o, v->m.v[i].value, indent, depth + 1);
	}
	if (v->m.n)
		line(o, indent, depth);
	ss_out_char(o, object ? '}' : ']');
}

static void print(struct ss_out *o, const struct xv *v, bool indent, size_t depth)
{
	switch (v->kind) {
	case XV_NULL:
		ss_out_lit(o, "null");
		return;
	case XV_BOOL:
		ss_out_z(o, v->b ? "true" : "false");
		return;
	case XV_INT:
		ss_out_i64(o, v->i);
		return;
	case XV_UINT:
		ss_out_u64(o, v->u);
		return;
	case XV_REAL:
		if (isfinite(v->d))
			ss_out_f64(o, v->d);
		else
			ss_out_z(o, isnan(v->d) ? "NaN" : v->d > 0 ? "Infinity" : "-Infinity");
		return;
	case XV_STR:
		ss_out_json_str(o, v->s);
		return;
	case XV_ARRAY:
	case XV_OBJECT:
		print_members(o, v, indent, depth);
	}
}

void xv_print(struct ss_out *o, const struct xv *v, bool indent)
{
	if (v)
		print(o, v, indent, 0);
}
