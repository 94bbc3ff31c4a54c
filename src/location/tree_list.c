/* tree_list.c - what lies in the bucket, and what of it is another than before. */
#include "location/tree_files.h"
#include "location/unpack.h"
#include "wire/archive.h"

#include <errno.h>
#include <stdlib.h>

#define MOST_PAGES 2000		/* of a list: two million objects */
#define MOST_FILES 200000
#define SHOWN_BYTES 300		/* of a name in a note */

struct listing {
	struct ss_tree *t;
	struct ss_location *p;
	SS_VEC(struct ss_tree_file *) files;	/* that the list has */
	SS_VEC(struct ss_tree_file *) shown;	/* that the tree has then */
	struct ss_tree_change change;
	struct ss_err err;	/* the first failure that is none of a name */
	size_t nlisted, npages;
	bool over;
};

void ss_tree_file_free(struct ss_tree_file *f)
{
	free(f);
}

/* A list may have any number of names, each as long as its page: those beyond the notes that are kept are counted alone. */
static bool note(struct listing *l, struct ss_str below, const char *why, struct ss_err *err)
{
	if (l->p->notes.n >= SS_SKIPPED_MAX) {
		l->p->nnotes_all++;
		return true;
	}
	struct ss_str shown =
		ss_arena_printf(&l->p->arena, "%s/" SS_FMT, l->p->named, SS_ARG(ss_str_sub(below, 0, SHOWN_BYTES)));
	return (shown.p && ss_location_note(l->p, shown.p, SS_STR(""), why)) || ss_fail_mem(err);
}

/* Can a file be called so? Objects can have any name. */
bool ss_tree_is_path(struct ss_str name)
{
	if (ss_member_refused(name))
		return false;
	for (size_t i = 0; i < name.n; i++)
		if ((unsigned char)name.p[i] < ' ')
			return false;
	while (name.n) {
		size_t slash = ss_str_chr(name, '/');
		struct ss_str one = ss_str_sub(name, 0, slash);
		name = ss_str_sub(name, slash == SS_NPOS ? name.n : slash + 1, name.n);
		if (!one.n || ss_str_is(one, ".") || ss_str_is(one, SS_TREE_PART))
			return false;
	}
	return true;
}

/* A tag that the cache can write down. */
static bool is_tag(struct ss_str tag)
{
	for (size_t i = 0; i < tag.n; i++)
		if ((unsigned char)tag.p[i] < ' ')
			return false;
	return tag.n && tag.n < SS_CACHE_TAG_BYTES;
}

/* ---- the list ---- */

static struct ss_tree_file *new_file(const struct ss_object *o, size_t skip)
{
	struct ss_tree_file *f = calloc(1, sizeof(*f) + o->key.n + o->tag.n + 2);
	if (!f)
		return NULL;
	memcpy(f->texts, o->key.p, o->key.n);
	if (o->tag.n)
		memcpy(f->texts + o->key.n + 1, o->tag.p, o->tag.n);
	f->object = *o;
	f->object.key = (struct ss_str){ f->texts, o->key.n };
	f->object.tag = (struct ss_str){ f->texts + o->key.n + 1, o->tag.n };
	f->path = ss_str_sub(f->object.key, skip, o->key.n);
	return f;
}

/* An object of the list, if its name says that somebody reads it. */
static bool take_object(struct listing *l, const struct ss_object *o, size_t skip, struct ss_err *err)
{
	struct ss_str below = ss_str_sub(o->key, skip, o->key.n);
	l->nlisted++;
	if (!below.n || ss_str_ends(below, SS_STR("/")) || !ss_store_reads(below) || o->bytes > INT64_MAX)
		return true;
	if (!ss_tree_is_path(below))
		return note(l, below, "is not read: its name is not a valid file path (it has an empty part as in '//', '..' "
		    "or a control character, or it is too long)", err);
	if (l->files.n >= MOST_FILES) {
		l->over = true;
		return true;
	}
	struct ss_object one = *o;
	if (!is_tag(one.tag))
		one.tag = SS_STR("");
	struct ss_tree_file *f = new_file(&one, skip);
	if (f && ss_vec_push(&l->files, f))
		return true;
	ss_tree_file_free(f);
	return ss_fail_mem(err);
}

static bool list_page(struct listing *l, struct ss_str prefix, struct ss_str from, struct ss_arena *arena, struct ss_page *page,
		      struct ss_err *err)
{
	struct ss_bucket *b = l->t->bucket;
	struct ss_err why = { 0 };
	bool ok = b->kind->list(b, prefix, from, arena, page, &why);
	if (!ok && b->kind->again(b)) {
		why = (struct ss_err){ 0 };
		ok = b->kind->list(b, prefix, from, arena, page, &why);
	}
	return ok || ss_fail(err, why.code, "%s", why.text);
}

static bool list_all(struct listing *l, struct ss_err *err)
{
	const struct ss_str path = l->t->bucket->path;
	struct ss_str next = SS_STR("");
	struct ss_arena arenas[2] = { { 0 } };
	bool ok = true;
	do {
		struct ss_arena *a = &arenas[l->npages++ & 1];	/* the other holds `next` */
		struct ss_page page;
		ss_arena_release(a);
		struct ss_str prefix = path.n ? ss_arena_printf(a, SS_FMT "/", SS_ARG(path)) : SS_STR(""), before = next;
		ok = prefix.p ? list_page(l, prefix, next, a, &page, err) : ss_fail_mem(err);
		bool listed = ok;
		for (size_t i = 0; ok && i < page.v.n; i++)
			ok = !ss_str_starts(page.v.v[i].key, prefix) || take_object(l, &page.v.v[i], prefix.n, err);
		if (listed)
			ss_vec_free(&page.v);
		next = ok ? page.next : SS_STR("");
		if (ok && next.n && ss_str_eq(next, before))
			ok = ss_fail(err, SS_EFORMAT, "the list of '" SS_FMT "' does not end: the server gives the same page again",
				     SS_ARG(l->t->bucket->named));
		l->over |= next.n && l->npages == MOST_PAGES;
	} while (ok && next.n && !l->over);
	ss_arena_release(&arenas[0]);
	ss_arena_release(&arenas[1]);
	if (ok && l->over)
		ok = ss_location_note(l->p, l->p->named, SS_STR(""),
			"holds too many objects: the rest is not shown. Name a directory within it") ||
		     ss_fail_mem(err);
	return ok;
}

static int by_path(const void *a, const void *b)
{
	return ss_str_cmp((*(struct ss_tree_file *const *)a)->path, (*(struct ss_tree_file *const *)b)->path);
}

/* ---- what has changed; under the tree's lock ---- */

static void let_go(struct ss_tree *t, struct ss_tree_file *f)
{
	t->placed_bytes -= f->placed ? f->object.bytes : 0;
	f->placed = 0;
	f->gone = true;
	if (!f->users)
		ss_tree_file_free(f);
}

static bool same(const struct ss_tree_file *a, const struct ss_tree_file *b)
{
	return a->object.bytes == b->object.bytes && ss_str_eq(a->object.tag, b->object.tag) &&
	       (a->object.tag.n || a->object.mtime_ns == b->object.mtime_ns);
}

/* The new file `f`, in place of `old` unless NULL. A name that cannot be is noted, and the rest goes on. */
static void show(struct listing *l, struct ss_tree_file *f, struct ss_tree_file *old)
{
	/* Whoever has opened the one before sees by length and time that this is another. */
	if (old && old->object.bytes == f->object.bytes && old->object.mtime_ns == f->object.mtime_ns)
		f->object.mtime_ns++;
	bool ok = ss_tree_make_hole(l->t, f, old);
	int e = errno;
	if (old) {
		if (!ok)
			ss_tree_remove(l->t, old);
		let_go(l->t, old);
	}
	if (ok && ss_vec_push(&l->shown, f))
		return;
	if (!ok && (e == ENOTDIR || e == EISDIR || e == EEXIST || e == ENAMETOOLONG || e == EILSEQ || e == EINVAL))
		(void)note(l, f->path, "is not read: its name collides with that of another object, or is too long for a file",
			   &l->err);
	else if (!ok && e == EFBIG)
		(void)note(l, f->path, "is not read: no file can be that large", &l->err);
	else if (!ok)
		ss_fail(&l->err, SS_EIO, "cannot write '" SS_FMT "': %s. STEPSCOPE_CACHE sets another place", SS_ARG(f->path),
			strerror(e));
	else
		ss_fail_mem(&l->err);
	ss_tree_file_free(f);
}

/* Old ones that the list has no more go first: a directory may come in the place of a file. */
static void remove_gone(struct listing *l)
{
	struct ss_tree *t = l->t;
	size_t k = 0, kept = 0;
	for (size_t i = 0; i < t->files.n; i++) {
		struct ss_tree_file *f = t->files.v[i];
		while (k < l->files.n && ss_str_cmp(l->files.v[k]->path, f->path) < 0)
			k++;
		if (k < l->files.n && ss_str_eq(l->files.v[k]->path, f->path)) {
			t->files.v[kept++] = f;
			continue;
		}
		ss_tree_remove(t, f);
		let_go(t, f);
		l->change.gone++;
	}
	t->files.n = kept;
}

static void take_list(struct listing *l)
{
	struct ss_tree *t = l->t;
	size_t k = 0;
	remove_gone(l);
	for (size_t i = 0; i < l->files.n; i++) {
		struct ss_tree_file *f = l->files.v[i], *old = NULL;
		if (k < t->files.n && ss_str_eq(t->files.v[k]->path, f->path))
			old = t->files.v[k++];
		bool keeps = old && same(old, f) && ss_vec_push(&l->shown, old);
		if (keeps) {
			ss_tree_file_free(f);
			continue;
		}
		l->change.changed += old != NULL;
		l->change.added += !old;
		show(l, f, old);
	}
	l->files.n = 0;
	ss_vec_free(&t->files);
	t->files.v = l->shown.v;
	t->files.n = l->shown.n;
	t->files.cap = l->shown.cap;
	t->cost.nlisted = l->nlisted;
}

bool ss_tree_list(struct ss_tree *t, struct ss_location *p, struct ss_tree_change *change, struct ss_err *err)
{
	struct listing l = { .t = t, .p = p };
	bool ok = list_all(&l, err);
	if (ok && l.files.n)
		qsort(l.files.v, l.files.n, sizeof(*l.files.v), by_path);
	pthread_mutex_lock(&t->lock);
	if (ok && !t->ended)
		take_list(&l);
	pthread_mutex_unlock(&t->lock);
	for (size_t i = 0; i < l.files.n; i++)
		ss_tree_file_free(l.files.v[i]);
	ss_vec_free(&l.files);
	*change = l.change;
	return ok && (!l.err.code || ss_fail(err, l.err.code, "%s", l.err.text));
}
