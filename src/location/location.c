/* location.c - see location.h. */
#include "location/location.h"

#include "base/file.h"
#include "base/write.h"
#include "location/bucket.h"
#include "location/demo.h"
#include "location/remote.h"
#include "location/tree.h"
#include "location/unpack.h"
#include "rpc/download.h"
#include "store/kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)1 << 16)
#define STDIN_NAME "stdin"

static struct ss_str last_part(struct ss_str path)
{
	size_t slash = ss_str_rchr(path, '/');
	return slash == SS_NPOS ? path : ss_str_sub(path, slash + 1, path.n);
}

/* The name of an archive without what makes it one. */
static struct ss_str stem_of(struct ss_str name)
{
	static const struct ss_str ends[] = { SS_STR_INIT(".tar.gz"), SS_STR_INIT(".tar.zst"), SS_STR_INIT(".tgz"),
					      SS_STR_INIT(".tzst"), SS_STR_INIT(".tar"), SS_STR_INIT(".zip"), SS_STR_INIT(".zst") };
	for (size_t i = 0; i < SS_COUNT(ends); i++)
		if (name.n > ends[i].n && ss_str_ends(name, ends[i]))
			return ss_str_sub(name, 0, name.n - ends[i].n);
	return name;
}

static bool is_archive_name(struct ss_str name)
{
	return stem_of(name).n < name.n;
}

/* ---- what is no path of this machine ---- */

static const struct {
	struct ss_str scheme;
	const char *advice;
} schemes[] = {
	{ SS_STR_INIT("ssh://"), "only the command line takes ssh://. Run 'ssh HOST tar -C DIR -cz . | stepscope COMMAND -', or "
				 "stepscope itself there" },
	{ SS_STR_INIT("s3a://"), "write s3://BUCKET/PATH" },
	{ SS_STR_INIT("s3n://"), "write s3://BUCKET/PATH" },
	{ SS_STR_INIT("gcs://"), "write gs://BUCKET/PATH" },
	{ SS_STR_INIT("file://"), "write the path without file://" },
	{ SS_STR_INIT(""), "stepscope opens https://, s3://, gs:// and grpc://, and on the command line ssh://, in small letters. "
			   "Copy it to this machine, and open the copy" },
};

/* "scheme://...": a path of this name would be there. */
static bool is_address(struct ss_str named)
{
	size_t colon = ss_str_find(named, SS_STR("://"));
	if (colon == SS_NPOS || !colon)
		return false;
	for (size_t i = 0; i < colon; i++)
		if (!((named.p[i] | 32) >= 'a' && (named.p[i] | 32) <= 'z') && !(named.p[i] >= '0' && named.p[i] <= '9'))
			return false;
	return true;
}

static bool refuse_address(struct ss_str named, struct ss_err *err)
{
	char shown[200];
	size_t i = 0;
	while (!ss_str_starts(named, schemes[i].scheme))
		i++;
	ss_address_shown(named, shown, sizeof(shown));
	return ss_fail(err, SS_EINVAL, "'%s' cannot be opened: %s", shown, schemes[i].advice);
}

/* ---- standard input ---- */

/* All of it, to a file in the scratch directory. */
static bool copy_stdin(const char *path, struct ss_err *err)
{
	char piece[PIECE_BYTES];
	uint64_t all = 0;
	ssize_t n;
	bool ok = true;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return ss_fail(err, SS_EIO, "cannot write '%s': %s", path, strerror(errno));
	while (ok && ((n = read(STDIN_FILENO, piece, sizeof(piece))) > 0 || (n < 0 && errno == EINTR))) {
		all += n > 0 ? (uint64_t)n : 0;
		ok = n < 0 || ss_write_all(fd, piece, (size_t)n) ||
		     ss_fail(err, SS_EIO, "cannot write '%s': %s. $TMPDIR sets another place", path, strerror(errno));
	}
	if (ok && n < 0)
		ok = ss_fail(err, SS_EIO, "cannot read standard input: %s", strerror(errno));
	if (close(fd) != 0 && ok)
		ok = ss_fail(err, SS_EIO, "cannot write '%s': %s. $TMPDIR sets another place", path, strerror(errno));
	return ok && (all || ss_fail(err, SS_EFORMAT, "standard input ('-') is empty: pipe a profile or an archive into it"));
}

static bool take_stdin(struct ss_location *p, struct ss_err *err)
{
	if (fcntl(STDIN_FILENO, F_GETFD) < 0)
		return ss_fail(err, SS_EINVAL, "'-' is standard input, which is closed: pipe a profile or an archive into it");
	if (isatty(STDIN_FILENO))
		return ss_fail(err, SS_EINVAL, "'-' is standard input, which is a terminal: pipe a profile or an archive into it");
	struct ss_str path = ss_scratch_open(&p->scratch, err) ? ss_arena_printf(&p->arena, "%s/" STDIN_NAME, p->scratch.path)
		: SS_STR("");
	if (!path.n)
		return path.p ? false : ss_fail_mem(err);
	p->path = path.p;
	return copy_stdin(path.p, err);
}

/* ---- archives ---- */

/* Is the file to be looked at? Not one whose name says what is in it. */
static bool may_be_archive(const char *path, bool always)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && (always ||
		!ss_file_name_tells(last_part(ss_str_from(path))));
}

static bool unpack_into_scratch(struct ss_location *p, struct ss_str packed, enum ss_archive what, const char *shown,
	struct ss_err *err)
{
	struct ss_str name = stem_of(last_part(ss_str_from(p->path)));
	if (p->scratch.fd < 0 && !ss_scratch_open(&p->scratch, err))
		return false;
	/* Beside a copy of standard input, which has the name already. */
	struct ss_str to = ss_arena_printf(&p->arena, "%s/members/" SS_FMT, p->scratch.path, SS_ARG(name));
	return (to.p || ss_fail_mem(err)) && ss_archive_unpack(p, packed, what, to, shown, err);
}

/* The mark of a tar archive's end, two blocks of zeros, and nothing before it. */
static bool is_end_of_tar(struct ss_str bytes)
{
	size_t zeros = 0;
	while (zeros < bytes.n && zeros < 2 * 512 && !bytes.p[zeros])
		zeros++;
	return zeros == 2 * 512;
}

static bool take_archive(struct ss_location *p, bool from_stdin, struct ss_err *err)
{
	const char *packed_path = p->path;
	struct ss_file f;
	enum ss_archive what = SS_ARCHIVE_NOT;
	if (!may_be_archive(p->path, from_stdin))
		return true;
	if (!ss_file_open(&f, p->path, NULL))
		return true;	/* whoever opens it says why */
	bool ok = ss_archive_of(f.bytes, &what, err);
	if (ok && what != SS_ARCHIVE_NOT)
		ok = unpack_into_scratch(p, f.bytes, what, p->named, err);
	else if (ok && !from_stdin && is_archive_name(ss_str_from(p->path)))
		ok = is_end_of_tar(f.bytes) ? ss_fail(err, SS_ENOTFOUND, "'%s' is an empty archive: it has no members", p->path)
			: ss_fail(err, SS_EFORMAT, "'%s' has the name of an archive, but is not one", p->path);
	if (ok && ss_file_torn(&f))
		ok = ss_fail(err, SS_EIO, "'%s' was truncated while it was being read", packed_path);
	ss_file_close(&f);
	if (from_stdin && what != SS_ARCHIVE_NOT)
		(void)unlink(packed_path);
	return ok;
}

/* ---- buckets ---- */

static void take_remark(struct ss_location *p, const struct ss_bucket *b)
{
	if (b->note)
		p->remark = ss_arena_str(&p->arena, ss_str_from(b->note)).p;
}

/* What lies below, as a directory. *found: something does. */
static bool take_below(struct ss_location *p, struct ss_bucket *b, bool *found, struct ss_err *err)
{
	bool ok = ss_tree_open(&p->tree, b, p, err);
	*found = p->tree;
	if (p->tree)
		p->path = ss_tree_path(p->tree);
	take_remark(p, b);
	return ok;
}

static bool take_object(struct ss_location *p, struct ss_bucket *b, struct ss_err *err)
{
	p->requests = b->requests;
	bool ok = ss_location_fetch_object(p, b, err);
	take_remark(p, b);
	b->requests = p->requests;
	return ok;
}

/*
 * An object, or what lies below: the name says what is asked for first. Who may not list can open an object all the same, and
 * then the refusal of the list is the answer when there is none.
 */
static bool take_bucket(struct ss_location *p, struct ss_err *err)
{
	struct ss_err list = { 0 }, object = { 0 };
	struct ss_bucket *b = ss_bucket_open(p->named, err);
	if (!b)
		return false;
	struct ss_str name = last_part(b->path);
	bool first = b->path.n && (is_archive_name(name) || ss_file_name_tells(name)), found = false;
	bool ok = first && take_object(p, b, &object);
	bool gone = object.code == SS_ENOTFOUND;
	if (!ok && (!first || gone)) {
		bool listed = take_below(p, b, &found, &list);
		ok = found;
		if (!found && b->path.n && !first && (listed || list.code == SS_EIO))
			ok = take_object(p, b, &object);
	}
	if (!ok && list.code)
		ss_fail(err, list.code, "%s", list.text);
	else if (!ok)
		ss_fail(err, object.code, "%s", object.text);
	if (!p->tree)
		ss_bucket_close(b);
	return ok && (p->tree || take_archive(p, false, err));
}

static bool take_demo(struct ss_location *p, struct ss_err *err)
{
	struct ss_str packed = { (const char *)ss_demo, (size_t)(ss_demo_end - ss_demo) };
	enum ss_archive what;
	return ss_archive_of(packed, &what, err) && unpack_into_scratch(p, packed, what, SS_DEMO_NAME, err);
}

static bool take_address(struct ss_location *p, struct ss_err *err)
{
	if (ss_bucket_is(ss_str_from(p->named)))
		return take_bucket(p, err);
	struct ss_str named = ss_str_from(p->named);
	if (ss_str_starts(named, SS_STR("https://")) || ss_str_starts(named, SS_STR("http://")))
		return ss_location_fetch(p, err) && take_archive(p, false, err);
	if (ss_str_starts(named, SS_STR("grpc://")) || ss_str_starts(named, SS_STR("grpcs://")))
		return ss_location_ask(p, err);
	return refuse_address(named, err);
}

static const struct ss_location *shared_place;

void ss_location_share(const struct ss_location *p)
{
	shared_place = p;
}

static bool take_shared(struct ss_location *p, const char *named)
{
	if (!shared_place || strcmp(named, shared_place->named) != 0)
		return false;
	*p = *shared_place;
	p->shared = true;
	p->arena = (struct ss_arena){ 0 };
	return true;
}

static bool take(struct ss_location *p, struct ss_err *err)
{
	struct stat st;
	bool from_stdin = strcmp(p->named, "-") == 0;
	if (strcmp(p->named, SS_DEMO_NAME) == 0 && stat(p->named, &st) != 0)
		return take_demo(p, err);
	if (is_address(ss_str_from(p->named)) && stat(p->named, &st) != 0)
		return take_address(p, err);
	return (!from_stdin || take_stdin(p, err)) && take_archive(p, from_stdin, err);
}

/* Messages name the place as the user does from now on. */
static bool name_path(struct ss_location *p, struct ss_err *err)
{
	if (!ss_location_is_made(p))
		return true;
	p->name = SS_NEW(&p->arena, struct ss_path_name);
	if (!p->name)
		return ss_fail_mem(err);
	*p->name = (struct ss_path_name){ .path = p->path, .shown = p->named, .between = p->tree ? '/' : ':' };
	ss_path_name_add(p->name);
	return true;
}

bool ss_location_open(struct ss_location *p, const char *named, struct ss_err *err)
{
	if (take_shared(p, named))
		return true;
	*p = ss_location_plain(named);
	return take(p, err) && name_path(p, err);
}

void ss_location_close(struct ss_location *p)
{
	if (!p->named)
		return;
	if (!p->shared) {
		if (p->name)
			ss_path_name_remove(p->name);
		ss_scratch_close(&p->scratch);
		ss_cache_close(&p->cached);
		ss_tree_close(p->tree);
		ss_vec_free(&p->notes);
	}
	ss_arena_release(&p->arena);
	*p = ss_location_plain(NULL);
}

const char *ss_location_scratch(const struct ss_location *p)
{
	if (p->named && p->tree)
		return ss_tree_scratch(p->tree);
	return p->named && p->scratch.fd >= 0 ? p->scratch.parent : NULL;
}

struct ss_str ss_location_cost(const struct ss_location *p, struct ss_arena *arena)
{
	const char *s = p->requests == 1 ? "" : "s";
	if (p->shared)
		return SS_STR("");
	if (p->tree) {
		struct ss_tree_cost c = ss_tree_cost(p->tree);
		return ss_arena_printf(arena, "'%s': %zu object%s, %zu of them may be read (%u request%s)", p->named, c.nlisted,
				       c.nlisted == 1 ? "" : "s", c.nshown, c.requests, c.requests == 1 ? "" : "s");
	}
	if (!p->requests)
		return SS_STR("");
	if (!p->fetched_bytes)
		return ss_arena_printf(arena, "'%s' has not changed: read from the cache (%u request%s)", p->named, p->requests, s);
	return ss_arena_printf(arena, "'%s': %.2f MiB in %u request%s%s", p->named, (double)p->fetched_bytes / (1 << 20),
			       p->requests, s, p->left_out ? p->left_out : "");
}

struct ss_str ss_location_total(const struct ss_location *p, struct ss_arena *arena)
{
	if (!p->named || !p->tree || p->shared)
		return SS_STR("");
	struct ss_tree_cost c = ss_tree_cost(p->tree);
	return ss_arena_printf(arena, "'%s': %zu file%s fetched, %zu from the cache: %.2f MiB in %u request%s", p->named,
			       c.nfetched, c.nfetched == 1 ? "" : "s", c.nkept, (double)c.fetched_bytes / (1 << 20), c.requests,
			       c.requests == 1 ? "" : "s");
}

struct ss_str ss_location_shown(const struct ss_location *p, struct ss_str path, struct ss_arena *arena)
{
	const struct ss_str below = ss_str_from(p->path);
	if (!ss_location_is_made(p) || !ss_str_starts(path, below))
		return path;
	struct ss_str rest = ss_str_sub(path, below.n + (path.n > below.n), path.n);
	return ss_arena_printf(arena, "%s%s" SS_FMT, p->named, !rest.n ? "" : p->tree ? "/" : ":", SS_ARG(rest));
}

static bool rename_skipped(const struct ss_location *p, struct ss_store *s)
{
	for (size_t i = 0; i < s->nskipped; i++) {
		s->skipped[i].path = ss_location_shown(p, s->skipped[i].path, &s->arena);
		if (!s->skipped[i].path.p)
			return false;
	}
	return true;
}

void ss_location_refresh(const struct ss_location *p)
{
	if (p->tree)
		ss_tree_refresh(p->tree, false);
}

/* The parts of the location that are left out. */
static bool add_notes(const struct ss_location *p, struct ss_store *s)
{
	bool own = false;
	if (p->tree && (!ss_tree_notes(p->tree, s, &own) || own))
		return own;
	return ss_store_skip(s, p->notes.v, p->notes.n, p->nnotes_all);
}

bool ss_location_scan(const struct ss_location *p, struct ss_store *s, struct ss_err *err)
{
	if (p->tree)
		ss_tree_refresh(p->tree, true);
	if (!ss_store_scan(s, p->path, SS_SCAN_ANY, err))
		return false;
	if (!ss_location_is_made(p))
		return true;
	s->named = ss_arena_str(&s->arena, ss_str_from(p->named));
	bool ok = s->named.p && rename_skipped(p, s) && add_notes(p, s);
	if (ok)
		return true;
	ss_store_free(s);
	return ss_fail_mem(err);
}
