/* parts.c - see parts.h. */
#include "parts.h"

#include "cli.h"

#include "base/file.h"
#include "base/write.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_PARTS 1000000

static bool is_part_name(struct ss_str name)
{
	return ss_str_ends(name, SS_STR(CLI_PART_SUFFIX)) && !ss_str_starts(name, SS_STR("."));
}

static bool is_dir(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool cli_parts_is(const char *path)
{
	if (!is_dir(path))
		return is_part_name(ss_str_from(path));
	DIR *d = opendir(path);
	bool any = false;
	for (struct dirent *e; d && !any && (e = readdir(d));)
		any = is_part_name(ss_str_from(e->d_name));
	if (d)
		closedir(d);
	return any;
}

/* ---- reading ---- */

/* Paths of what is to be read, in byte order. */
static bool list(struct cli_parts *p, const char *path, bool merged, struct ss_err *err)
{
	if (!is_dir(path)) {
		struct ss_str copy = ss_arena_printf(&p->arena, "%s", path);
		return (copy.p && ss_vec_push(&p->paths, copy)) || ss_fail_mem(err);
	}
	DIR *d = opendir(path);
	bool ok = d || ss_fail(err, SS_EIO, "cannot read '%s': %s", path, strerror(errno)), whole = false;
	for (struct dirent *e; ok && !whole && (e = readdir(d));) {
		struct ss_str name = ss_str_from(e->d_name);
		bool is_merged = ss_str_is(name, CLI_MERGED_NAME);
		if (!is_part_name(name) || (is_merged && !merged))
			continue;
		struct ss_str full = ss_arena_printf(&p->arena, "%s/%s", path, e->d_name);
		if (is_merged)
			p->paths.n = 0;
		whole = is_merged;
		ok = (full.p && p->paths.n < MOST_PARTS && ss_vec_push(&p->paths, full)) || ss_fail_mem(err);
	}
	if (d)
		closedir(d);
	if (ok && p->paths.n)
		qsort(p->paths.v, p->paths.n, sizeof(*p->paths.v), ss_cmp_str);
	return ok;
}

static bool open_part(struct cli_parts *p, struct ss_str path, struct ss_err *err)
{
	struct ss_file f;
	struct ss_shard s;
	struct ss_err why = { 0 };
	if (!ss_vec_reserve(&p->shards, p->shards.n + 1))
		return ss_fail_mem(err);
	if (!ss_file_open(&f, path.p, err))
		return false;
	bool ok = ss_shard_read(&s, f.bytes, &why);
	ss_file_close(&f);
	if (!ok)
		return ss_fail(err, why.code, "'" SS_FMT "' cannot be used: %s", SS_ARG(path), why.text);
	p->shards.v[p->shards.n++] = s;
	return true;
}

/* Check that the parts have the same run, the same count and the same list of hosts. */
static bool fits(const struct ss_shard *a, const struct ss_shard *b)
{
	bool same = a->count == b->count && a->nhosts == b->nhosts && ss_str_eq(a->run, b->run);
	for (uint64_t i = 0; same && i < a->nhosts; i++)
		same = ss_str_eq(a->hosts[i], b->hosts[i]);
	return same;
}

static bool check(const struct cli_parts *p, struct ss_err *err)
{
	for (size_t i = 1; i < p->shards.n; i++) {
		const struct ss_shard *a = &p->shards.v[0], *b = &p->shards.v[i];
		if (fits(a, b))
			continue;
		if (a->count != b->count)
			return ss_fail(err, SS_EINVAL,
				       "'" SS_FMT "' is one of %llu parts and '" SS_FMT "' one of %llu: they do not belong "
											"together",
				       SS_ARG(p->paths.v[0]), (unsigned long long)a->count, SS_ARG(p->paths.v[i]),
				       (unsigned long long)b->count);
		if (ss_str_eq(a->run, b->run))
			return ss_fail(err, SS_EINVAL,
				       "'" SS_FMT "' and '" SS_FMT "' are of runs that are both called '" SS_FMT "' and have "
				       "other hosts: they do not belong together",
				       SS_ARG(p->paths.v[0]), SS_ARG(p->paths.v[i]), SS_ARG(a->run));
		return ss_fail(err, SS_EINVAL,
			       "'" SS_FMT "' is of run '" SS_FMT "' and '" SS_FMT "' of run '" SS_FMT "': they do not belong "
			       "together",
			       SS_ARG(p->paths.v[0]), SS_ARG(a->run), SS_ARG(p->paths.v[i]), SS_ARG(b->run));
	}
	return true;
}

struct owner {
	const struct ss_part_host *host;
	size_t shard;
};

/* The union: equal hosts are one, different ones of a name are refused. */
static bool unite(struct cli_parts *p, struct ss_err *err)
{
	const struct ss_shard *first = &p->shards.v[0];
	struct owner *by_index = calloc((size_t)first->nhosts + 1, sizeof(*by_index));
	bool ok = by_index || ss_fail_mem(err);
	p->all = (struct ss_shard){
		.count = 1, .run = first->run, .label = first->label, .hosts = first->hosts, .nhosts = first->nhosts
	};
	for (size_t i = 0; ok && i < p->shards.n; i++)
		for (size_t k = 0; ok && k < p->shards.v[i].v.n; k++) {
			const struct ss_part_host *h = &p->shards.v[i].v.v[k];
			struct owner *o = &by_index[h->index];
			if (o->host && (o->host->digest != h->digest || !ss_str_eq(o->host->packed, h->packed) ||
					!ss_str_eq(o->host->facts.bytes, h->facts.bytes)))
				ok = ss_fail(err, SS_EINVAL,
					     "host '" SS_FMT "' is in '" SS_FMT "', and another recording of it is in '" SS_FMT "'",
					     SS_ARG(first->hosts[h->index]), SS_ARG(p->paths.v[o->shard]), SS_ARG(p->paths.v[i]));
			*o = (struct owner){ h, i };
		}
	for (uint64_t i = 0; ok && i < first->nhosts; i++)
		if (by_index[i].host)
			ok = ss_vec_push(&p->all.v, *by_index[i].host) || ss_fail_mem(err);
	free(by_index);
	return ok;
}

static bool find_lost(struct cli_parts *p, struct ss_err *err)
{
	p->count = p->shards.v[0].count;
	if (p->count > MOST_PARTS)
		return ss_fail(err, SS_EINVAL, "'" SS_FMT "' says that there are %llu parts: that is too many",
			       SS_ARG(p->paths.v[0]), (unsigned long long)p->count);
	for (uint64_t i = 0; i < p->count; i++) {
		bool there = false;
		for (size_t k = 0; k < p->shards.n && !there; k++)
			there = p->shards.v[k].index == i;
		if (!there && !ss_vec_push(&p->lost, i))
			return ss_fail_mem(err);
	}
	return true;
}

bool cli_parts_read(struct cli_parts *p, const char *path, bool merged, struct ss_err *err)
{
	*p = (struct cli_parts){ .count = 0 };
	bool ok = list(p, path, merged, err);
	for (size_t i = 0; ok && i < p->paths.n; i++)
		ok = open_part(p, p->paths.v[i], err);
	if (ok && !p->shards.n)
		return ss_fail(err, SS_ENOTFOUND, "'%s' holds no parts (part-<i>-of-<n>" CLI_PART_SUFFIX ")", path);
	return ok && check(p, err) && unite(p, err) && find_lost(p, err);
}

bool cli_parts_whole(const struct cli_parts *p, struct ss_err *err)
{
	for (size_t i = 0; cli_strict && i < p->all.v.n; i++)
		if (p->all.v.v[i].nnotes)
			return ss_fail(err, SS_EFORMAT, "the profile is incomplete (--strict): " SS_FMT,
				       SS_ARG(p->all.v.v[i].notes[0]));
	if (cli_strict && !p->lost.n && p->all.v.n < p->all.nhosts)
		return ss_fail(err, SS_EFORMAT, "the profile is incomplete (--strict): %llu of its %llu hosts are in no part",
			       (unsigned long long)(p->all.nhosts - p->all.v.n), (unsigned long long)p->all.nhosts);
	return true;
}

struct ss_str cli_parts_name_lost(struct cli_parts *p, uint64_t index)
{
	struct ss_str text = ss_arena_printf(&p->arena, "%llu/%llu", (unsigned long long)index, (unsigned long long)p->count);
	unsigned named = 0;
	for (uint64_t i = index; text.p && i < p->all.nhosts && named < 6; i += p->count, named++)
		text = ss_arena_printf(&p->arena, SS_FMT "%s" SS_FMT, SS_ARG(text), named ? ", " : ": ", SS_ARG(p->all.hosts[i]));
	return text;
}

void cli_parts_close(struct cli_parts *p)
{
	for (size_t i = 0; i < p->shards.n; i++)
		ss_shard_free(&p->shards.v[i]);
	ss_vec_free(&p->shards);
	ss_vec_free(&p->paths);
	ss_vec_free(&p->lost);
	ss_vec_free(&p->all.v);
	ss_arena_release(&p->arena);
}

/* ---- writing ---- */

bool cli_parts_write(const struct ss_shard *s, const char *dir, const char *name, struct ss_err *err)
{
	struct ss_arena a = { 0 };
	struct ss_buf b = { 0 };
	struct ss_draft draft = { .fd = -1 };
	struct ss_str hidden = ss_arena_printf(&a, "%s/.tmp-", dir), to = ss_arena_printf(&a, "%s/%s", dir, name);
	bool ok = ((hidden.p && to.p) || ss_fail_mem(err)) && ss_shard_write(s, &b, err);
	if (ok && mkdir(dir, 0777) != 0 && errno != EEXIST)
		ok = ss_fail(err, SS_EIO, "cannot make '%s': %s", dir, strerror(errno));
	ok = ok && (ss_draft_open(&draft, hidden.p, 0644) ||
		    ss_fail(err, SS_EIO, "cannot write in '%s': %s", dir, strerror(errno)));
	bool written = ok && ss_write_all(draft.fd, ss_buf_get(&b).p, ss_buf_get(&b).n) && ss_draft_keep(&draft, to.p, true);
	if (ok && !written)
		ok = ss_fail(err, SS_EIO, "cannot write '" SS_FMT "': %s", SS_ARG(to), strerror(errno));
	ss_draft_drop(&draft);
	ss_buf_free(&b);
	ss_arena_release(&a);
	return ok;
}
