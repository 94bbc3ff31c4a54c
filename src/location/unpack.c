/* unpack.c - what readers of archives tell (wire/archive.h) becomes files. */
#include "location/unpack.h"

#include "base/write.h"
#include "wire/stream.h"
#include "wire/tar.h"
#include "wire/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MOST_MEMBERS 1000000	/* as many as the entries of a large log directory */
#define PIECE_BYTES ((size_t)1 << 16)

struct unpacking {
	struct ss_location *p;
	struct ss_hold *hold;
	const char *shown;
	struct ss_str to;
	struct ss_str name, path; /* of the member that is being written */
	int64_t mtime_ns;
	int fd;
	bool wanted;		/* the member is one that stepscope reads by its name */
	bool begun, bad;	/* something was written of it; it was noted that it is not whole */
	size_t nseen, nmade;
	struct ss_str first;	/* the path of a first member that is not wanted unless it is the only one */
	bool over, no_memory;
	int error;		/* errno of a write that failed */
};

bool ss_location_note(struct ss_location *p, const char *shown, struct ss_str member, const char *why)
{
	p->nnotes_all++;
	if (p->notes.n >= SS_SKIPPED_MAX)
		return true;
	struct ss_str path = ss_arena_printf(&p->arena, "%s%s" SS_FMT, shown, member.n ? ":" : "", SS_ARG(member));
	return path.p && ss_vec_push(&p->notes, (struct ss_skipped){ path, why });
}

static void note(void *arg, struct ss_str name, const char *why)
{
	struct unpacking *u = arg;
	u->bad |= u->fd >= 0;
	u->no_memory |= !ss_location_note(u->p, u->shown, name, why);
}

/* A new file; one of the same name goes, as with tar itself. -1: errno says why. */
static int create(struct unpacking *u)
{
	char *path = (char *)(uintptr_t)u->path.p;	/* the arena's copy, ours */
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	if (!ss_make_dirs_above(path, NULL))
		return -1;
	int fd = open(path, flags, 0600);
	if (fd >= 0 || errno != EEXIST)
		return fd;
	note(u, u->name, "is in the archive more than once: the last copy is read");
	if (unlink(path) != 0)
		return -1;
	return open(path, flags, 0600);
}

/* Is this a fault of the member's name, and not of the disk? */
static bool is_of_name(int error)
{
	return error == ENOTDIR || error == EISDIR || error == ENAMETOOLONG || error == EINVAL || error == EILSEQ || error == EPERM;
}

static bool begin(void *arg, struct ss_str name, int64_t mtime_ns)
{
	struct unpacking *u = arg;
	const char *why = ss_member_refused(name);
	if (!why && ++u->nseen > MOST_MEMBERS) {
		if (u->nseen == MOST_MEMBERS + 1)
			note(u, SS_STR(""), "has too many members: only the first million are read");
		return false;
	}
	if (why) {
		note(u, name, why);
		return false;
	}
	bool wanted = ss_store_reads(name);
	if ((!wanted && u->nseen > 1) || u->error || u->over || u->no_memory)
		return false;
	u->name = name;
	u->mtime_ns = mtime_ns;
	u->path = ss_arena_printf(&u->p->arena, SS_FMT "/" SS_FMT, SS_ARG(u->to), SS_ARG(name));
	u->no_memory |= !u->path.p;
	u->fd = u->path.p ? create(u) : -1;
	if (u->path.p && u->fd < 0 && is_of_name(errno))
		note(u, name, "is not read: its name collides with that of another member");
	else if (u->path.p && u->fd < 0)
		u->error = errno;
	u->wanted = wanted;
	u->begun = u->bad = false;
	return u->fd >= 0;
}

/*
 * The member is written as far as it can be. One that is not whole and of which nothing is left is no file: an empty one would
 * read as if its program had been killed.
 */
static void keep_member(struct unpacking *u)
{
	if (close(u->fd) != 0 && !u->error)
		u->error = errno;
	u->fd = -1;
	if (u->bad && !u->begun)
		unlink(u->path.p);
	else if (u->wanted)
		u->nmade++;
	else
		u->first = u->path;
}

static bool bytes(void *arg, struct ss_str piece)
{
	struct unpacking *u = arg;
	u->over = !ss_hold_take(u->hold, piece.n);
	u->begun |= !u->over && piece.n;
	if (!u->over && !ss_write_all(u->fd, piece.p, piece.n))
		u->error = errno;
	if (!u->over && !u->error)
		return true;
	keep_member(u);
	return false;
}

static bool end(void *arg)
{
	struct unpacking *u = arg;
	const struct timespec t = { (time_t)(u->mtime_ns / 1000000000), (long)(u->mtime_ns % 1000000000) };
	const struct timespec times[] = { t, t };
	if (u->mtime_ns > 0)
		(void)futimens(u->fd, times);
	keep_member(u);
	return !u->error;
}

bool ss_archive_of(struct ss_str packed, enum ss_archive *what, struct ss_err *err)
{
	char head[SS_TAR_BLOCK];
	*what = SS_ARCHIVE_NOT;
	if (ss_zip_is(packed)) {
		*what = SS_ARCHIVE_ZIP;
		return true;
	}
	struct ss_stream *s = ss_stream_open(packed);
	if (!s)
		return ss_fail_mem(err);
	size_t n = ss_stream_read(s, head, sizeof(head));
	bool memory = !ss_stream_no_memory(s);
	ss_stream_close(s);
	if (ss_tar_is((struct ss_str){ head, n }))
		*what = SS_ARCHIVE_TAR;
	else if (ss_zstd_is(packed))
		*what = SS_ARCHIVE_ZSTD;
	return memory || ss_fail_mem(err);
}

/* One file, whose name is the archive's without what tells the packing. */
static bool unpack_zstd(struct unpacking *u, struct ss_stream *s, struct ss_str name)
{
	char piece[PIECE_BYTES];
	if (!begin(u, name, 0))
		return !u->no_memory;
	for (size_t n; (n = ss_stream_read(s, piece, sizeof(piece)));)
		if (!bytes(u, (struct ss_str){ piece, n }))
			return !u->no_memory;
	if (ss_stream_bad(s))
		note(u, SS_STR(""), "is damaged or truncated");
	return end(u);
}

static struct ss_str last_part(struct ss_str path)
{
	size_t slash = ss_str_rchr(path, '/');
	return slash == SS_NPOS ? path : ss_str_sub(path, slash + 1, path.n);
}

static bool read_members(struct unpacking *u, struct ss_str packed, enum ss_archive what, struct ss_err *err)
{
	const struct ss_members to = { begin, bytes, end, note, u };
	if (what == SS_ARCHIVE_ZIP)
		return ss_zip_read(packed, &to, err);
	struct ss_stream *s = ss_stream_open(packed);
	if (!s)
		return ss_fail_mem(err);
	bool ok = what == SS_ARCHIVE_TAR ? ss_tar_read(s, &to, err) : unpack_zstd(u, s, last_part(u->to)) || ss_fail_mem(err);
	ss_stream_close(s);
	return ok;
}

/* What became of it; the only file of an archive is opened as such, whatever its name. */
static bool conclude(struct unpacking *u, struct ss_err *err)
{
	struct ss_location *p = u->p;
	p->path = u->to.p;
	if (u->error)
		return ss_fail(err, SS_EIO, "cannot unpack '%s' into '%s': %s. $TMPDIR sets another place", u->shown,
			p->scratch.path,
			       strerror(u->error));
	if (u->over)
		note(u, SS_STR(""),
			"is not read to its end: its unpacked size exceeds the limit of a profile. Unpack it yourself, and "
			"open the directory");
	if (u->no_memory)
		return ss_fail_mem(err);
	if (u->first.p && u->nseen == 1)
		p->path = u->first.p;
	else if (u->first.p)
		unlink(u->first.p);
	if (u->nmade || (u->first.p && u->nseen == 1))
		return true;
	if (p->notes.n && ss_str_is(p->notes.v[0].path, u->shown))
		return ss_fail(err, SS_EFORMAT, "nothing of '%s' can be read: it %s", u->shown, p->notes.v[0].why);
	if (p->notes.n)
		return ss_fail(err, SS_EFORMAT, "nothing of '%s' can be read: '" SS_FMT "' %s", u->shown,
			SS_ARG(p->notes.v[0].path),
			       p->notes.v[0].why);
	if (!u->nseen)
		return ss_fail(err, SS_ENOTFOUND, "'%s' is an empty archive: it has no members", u->shown);
	return ss_fail(err, SS_ENOTFOUND, "'%s' holds no profile: none of its %zu member%s has the name of a file that stepscope "
		"reads", u->shown, u->nseen, u->nseen == 1 ? "" : "s");
}

bool ss_archive_unpack(struct ss_location *p, struct ss_str packed, enum ss_archive what, struct ss_str to, const char *shown,
	struct ss_err *err)
{
	struct ss_err why = { 0 };
	struct unpacking u = { .p = p, .hold = ss_hold_open(packed.n), .shown = shown, .to = to, .fd = -1 };
	if (!u.hold)
		return ss_fail_mem(err);
	bool ok = read_members(&u, packed, what, &why);
	if (u.fd >= 0)
		close(u.fd);
	ss_hold_close(u.hold);
	if (!ok && why.code)
		return ss_fail(err, why.code, "%s", why.text);
	return conclude(&u, err);
}
