/* bucket.c - see bucket.h. */
#include "location/bucket.h"

#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static const struct ss_bucket_kind *const kinds[] = { &ss_bucket_s3, &ss_bucket_gs };

bool ss_bucket_is(struct ss_str address)
{
	for (size_t i = 0; i < SS_COUNT(kinds); i++)
		if (ss_str_starts(address, kinds[i]->scheme))
			return true;
	return false;
}

/* Names of buckets are parts of hosts and of URLs. */
static bool is_bucket_name(struct ss_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!(s.p[i] >= 'a' && s.p[i] <= 'z') && !(s.p[i] >= 'A' && s.p[i] <= 'Z') && !(s.p[i] >= '0' && s.p[i] <= '9') &&
		    !(i && (s.p[i] == '-' || s.p[i] == '_' || (s.p[i] == '.' && s.p[i - 1] != '.'))))
			return false;
	return s.n && s.n < 223;
}

static struct ss_str without_slashes(struct ss_str s)
{
	while (s.n && s.p[s.n - 1] == '/')
		s.n--;
	return s;
}

static bool has_control(struct ss_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
			return true;
	return false;
}

static bool open_at(struct ss_bucket *b, const char *address, struct ss_err *err)
{
	struct ss_str s = b->named;
	for (size_t i = 0; i < SS_COUNT(kinds) && !b->kind; i++)
		b->kind = ss_str_take(&s, kinds[i]->scheme) ? kinds[i] : NULL;
	size_t slash = ss_str_chr(s, '/');
	b->name = ss_str_sub(s, 0, slash);
	b->path = without_slashes(ss_str_sub(s, slash == SS_NPOS ? s.n : slash + 1, s.n));
	if (!is_bucket_name(b->name))
		return ss_fail(err, SS_EINVAL, "'%.300s' names no bucket: an address is " SS_FMT "BUCKET/PATH", address,
			       SS_ARG(b->kind->scheme));
	if (b->path.n > 1024 || !ss_utf8_valid(b->path) || has_control(b->path))
		return ss_fail(err, SS_EINVAL, "'%.300s' is no address: a path in a bucket is UTF-8 of at most 1024 bytes",
			address);
	return b->kind->open(b, err);
}

struct ss_bucket *ss_bucket_open(const char *address, struct ss_err *err)
{
	struct ss_bucket *b = calloc(1, sizeof(*b));
	if (!b) {
		ss_fail_mem(err);
		return NULL;
	}
	b->named = ss_str_from(address);
	pthread_mutex_init(&b->lock, NULL);
	if (open_at(b, address, err))
		return b;
	ss_bucket_close(b);
	return NULL;
}

void ss_bucket_close(struct ss_bucket *b)
{
	if (!b)
		return;
	pthread_mutex_destroy(&b->lock);
	ss_arena_release(&b->arena);
	free(b);
}

struct ss_str ss_percent(struct ss_str s, bool path, struct ss_arena *arena)
{
	struct ss_buf b = { 0 };
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		if (letter || c == '-' || c == '.' || c == '_' || c == '~' || (path && c == '/'))
			ss_buf_char(&b, c);
		else
			ss_buf_printf(&b, "%%%02X", (unsigned char)c);
	}
	return ss_buf_to_arena(&b, arena);
}

/* Not by base/file.h: whoever fetches what is opened there is in here. */
struct ss_str ss_small_file(const char *path, size_t most, struct ss_arena *arena)
{
	struct ss_buf b = { .limit_bytes = most };
	char piece[4096];
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return SS_STR("");
	while (!b.over && ((n = read(fd, piece, sizeof(piece))) > 0 || (n < 0 && errno == EINTR)))
		ss_buf_str(&b, (struct ss_str){ piece, n > 0 ? (size_t)n : 0 });
	close(fd);
	bool over = b.over;
	struct ss_str text = ss_buf_to_arena(&b, arena);
	return over ? SS_STR("") : text;
}

long ss_patience_ms(const char *variable, long usual_ms)
{
	uint64_t s = 0;
	return ss_str_to_u64(ss_str_from(getenv(variable)), &s) && s >= 1 && s <= 300 ? (long)s * 1000 : usual_ms;
}

/* "Z", "+01:00": seconds that its clocks are ahead. */
static bool take_zone(struct ss_str s, int64_t *zone_s)
{
	uint64_t h = 0, m = 0;
	*zone_s = 0;
	if (ss_str_is(s, "Z") || ss_str_is(s, "UTC"))
		return true;
	bool west = ss_str_starts(s, SS_STR("-"));
	if (!west && !ss_str_starts(s, SS_STR("+")))
		return false;
	s = ss_str_sub(s, 1, s.n);
	if (!ss_str_take_u64(&s, &h) || !ss_str_take(&s, SS_STR(":")) || !ss_str_take_u64(&s, &m) || s.n || h > 23 || m > 59)
		return false;
	*zone_s = (west ? -60 : 60) * (int64_t)(h * 60 + m);
	return true;
}

int64_t ss_utc_ns(struct ss_str s)
{
	uint64_t v[6], fraction = 0, unit = 1000000000;
	int64_t zone_s = 0;
	static const char *const marks[] = { "-", "-", "T", ":", ":", "" };
	for (size_t i = 0; i < SS_COUNT(v); i++)
		if (!ss_str_take_u64(&s, &v[i]) || !ss_str_take(&s, ss_str_from(marks[i])))
			return 0;
	if (ss_str_take(&s, SS_STR(".")))
		for (; s.n && s.p[0] >= '0' && s.p[0] <= '9'; s = ss_str_sub(s, 1, s.n))
			if (unit > 1)
				fraction += (uint64_t)(s.p[0] - '0') * (unit /= 10);
	if (!take_zone(s, &zone_s) || v[0] < 1970 || v[0] > 2200 || v[1] < 1 || v[1] > 12 || v[2] < 1 || v[2] > 31 || v[3] > 23 ||
	    v[4] > 59 || v[5] > 60)
		return 0;
	/* Days of the civil calendar, years from March. */
	int64_t y = (int64_t)v[0] - (v[1] < 3), m = ((int64_t)v[1] + 9) % 12;
	int64_t days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + (int64_t)v[2] - 719469;
	return (((days * 24 + (int64_t)v[3]) * 60 + (int64_t)v[4]) * 60 + (int64_t)v[5] - zone_s) * 1000000000 + (int64_t)fraction;
}
