/*
 * table.c - the rows of a question as a table of columns, and as a stream of Arrow (the C stream interface, whose structs are
 * declared here as its specification has them). Streams share the table: it goes with the last of them.
 */
#include "api/api.h"
#include "sql/columns.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

struct ArrowSchema {
	const char *format, *name, *metadata;
	int64_t flags, n_children;
	struct ArrowSchema **children, *dictionary;
	void (*release)(struct ArrowSchema *);
	void *private_data;
};

struct ArrowArray {
	int64_t length, null_count, offset, n_buffers, n_children;
	const void **buffers;
	struct ArrowArray **children, *dictionary;
	void (*release)(struct ArrowArray *);
	void *private_data;
};

struct ArrowArrayStream {
	int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
	int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
	const char *(*get_last_error)(struct ArrowArrayStream *);
	void (*release)(struct ArrowArrayStream *);
	void *private_data;
};

#define FLAG_NULLABLE 2

struct stepscope_table {
	struct ss_sql_columns c;
	atomic_uint refs;
};

static const int64_t no_ends[1] = { 0 };

struct stepscope_table *stepscope_sql_table(struct stepscope_rows *r, char *why, size_t why_bytes)
{
	struct ss_err err = { 0 };
	struct stepscope_table *t = calloc(1, sizeof(*t));
	bool ok = t ? ss_sql_columns_read(&t->c, ss_api_rows(r), &err) : ss_fail_mem(&err);
	stepscope_sql_close(r);
	if (ok) {
		atomic_init(&t->refs, 1);
		return t;
	}
	free(t);
	ss_api_explain(&err, why, why_bytes);
	return NULL;
}

static void drop(struct stepscope_table *t)
{
	if (atomic_fetch_sub(&t->refs, 1) != 1)
		return;
	ss_sql_columns_free(&t->c);
	free(t);
}

void stepscope_table_free(struct stepscope_table *t)
{
	if (t)
		drop(t);
}

uint64_t stepscope_table_rows(const struct stepscope_table *t)
{
	return t->c.nrows;
}

size_t stepscope_table_columns(const struct stepscope_table *t)
{
	return t->c.ncols;
}

const char *stepscope_table_name(const struct stepscope_table *t, size_t col)
{
	return t->c.v[col].name.p;
}

enum stepscope_sql_type stepscope_table_type(const struct stepscope_table *t, size_t col)
{
	return (enum stepscope_sql_type)t->c.v[col].type;
}

const uint8_t *stepscope_table_valid(const struct stepscope_table *t, size_t col)
{
	return t->c.v[col].nnulls ? t->c.v[col].valid.v : NULL;
}

static bool has_bytes(const struct ss_sql_column *c)
{
	return c->type == SS_SQL_TEXT || c->type == SS_SQL_BLOB;
}

const void *stepscope_table_cells(const struct stepscope_table *t, size_t col)
{
	const struct ss_sql_column *c = &t->c.v[col];
	return !has_bytes(c) ? (const void *)c->cells.v : c->text.v ? c->text.v : "";
}

const int64_t *stepscope_table_ends(const struct stepscope_table *t, size_t col)
{
	return has_bytes(&t->c.v[col]) ? t->c.v[col].ends.v : NULL;
}

/* ---- Arrow ---- */

static void release_schema(struct ArrowSchema *s)
{
	for (int64_t i = 0; i < s->n_children; i++)
		if (s->children[i]->release)
			s->children[i]->release(s->children[i]);
	if (s->private_data) {
		struct stepscope_table *t = *(struct stepscope_table **)s->private_data;
		free(s->private_data);
		drop(t);
	}
	s->release = NULL;
}

/* A piece of memory that begins with the table that it keeps: children and their list stand behind it. */
static void *holder(struct stepscope_table *t, size_t child_bytes, size_t list_bytes)
{
	struct stepscope_table **h = calloc(1, sizeof(*h) + (child_bytes + list_bytes) * (t->c.ncols + 1));
	if (h) {
		*h = t;
		atomic_fetch_add(&t->refs, 1);
	}
	return h;
}

static const char *format_of(enum ss_sql_type type)
{
	static const char *const formats[] = { "l", "l", "g", "U", "Z" };
	return formats[type];
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
	struct stepscope_table *t = *(struct stepscope_table **)stream->private_data;
	struct stepscope_table **h = holder(t, sizeof(struct ArrowSchema), sizeof(struct ArrowSchema *));
	if (!h)
		return ENOMEM;
	struct ArrowSchema *children = (struct ArrowSchema *)(h + 1), **list = (struct ArrowSchema **)(children + t->c.ncols);
	for (size_t i = 0; i < t->c.ncols; i++) {
		children[i] = (struct ArrowSchema){ .format = format_of(t->c.v[i].type),
						    .name = t->c.v[i].name.p,
						    .flags = t->c.v[i].nnulls ? FLAG_NULLABLE : 0,
						    .release = release_schema };
		list[i] = &children[i];
	}
	*out = (struct ArrowSchema){ .format = "+s",
				     .name = "",
				     .n_children = (int64_t)t->c.ncols,
				     .children = list,
				     .release = release_schema,
				     .private_data = h };
	return 0;
}

static void release_array(struct ArrowArray *a)
{
	for (int64_t i = 0; i < a->n_children; i++)
		if (a->children[i]->release)
			a->children[i]->release(a->children[i]);
	if (a->private_data) {
		struct stepscope_table *t = *(struct stepscope_table **)a->private_data;
		free(a->private_data);
		drop(t);
	}
	a->release = NULL;
}

/* An array, with room for its buffers and the pointer to it. */
struct child {
	struct ArrowArray a;
	const void *buffers[3];
};

static void fill_child(struct child *child, const struct ss_sql_column *c, uint64_t nrows)
{
	bool text = has_bytes(c);
	child->buffers[0] = c->nnulls ? c->valid.v : NULL;
	child->buffers[1] = text ? (const void *)c->ends.v : (const void *)c->cells.v;
	if (!child->buffers[1])
		child->buffers[1] = no_ends;
	child->buffers[2] = text && c->text.v ? (const void *)c->text.v : "";
	child->a = (struct ArrowArray){ .length = (int64_t)nrows,
					.null_count = (int64_t)c->nnulls,
					.n_buffers = text ? 3 : 2,
					.buffers = child->buffers,
					.release = release_array };
}

struct streaming {
	struct stepscope_table *t;
	bool done;
};

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
	struct streaming *s = stream->private_data;
	struct stepscope_table *t = s->t;
	*out = (struct ArrowArray){ .length = 0 };
	if (s->done || !t->c.nrows)
		return 0;
	struct stepscope_table **h = holder(t, sizeof(struct child), sizeof(void *));
	if (!h)
		return ENOMEM;
	s->done = true;
	struct child *children = (struct child *)(h + 1);
	void **list = (void **)(children + t->c.ncols);
	for (size_t i = 0; i < t->c.ncols; i++) {
		fill_child(&children[i], &t->c.v[i], t->c.nrows);
		list[i] = &children[i].a;
	}
	static const void *none[1] = { NULL };
	*out = (struct ArrowArray){ .length = (int64_t)t->c.nrows,
				    .n_buffers = 1,
				    .n_children = (int64_t)t->c.ncols,
				    .buffers = none,
				    .children = (struct ArrowArray **)list,
				    .release = release_array,
				    .private_data = h };
	return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
	(void)stream;
	return "memory is out";
}

static void release_stream(struct ArrowArrayStream *stream)
{
	struct streaming *s = stream->private_data;
	drop(s->t);
	free(s);
	stream->release = NULL;
}

bool stepscope_table_arrow(struct stepscope_table *t, struct ArrowArrayStream *out)
{
	struct streaming *s = calloc(1, sizeof(*s));
	if (!s)
		return false;
	s->t = t;
	atomic_fetch_add(&t->refs, 1);
	*out = (struct ArrowArrayStream){ get_schema, get_next, get_last_error, release_stream, s };
	return true;
}
