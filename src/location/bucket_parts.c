/* bucket_parts.c - see bucket.h: what the kinds of buckets share. */
#include "location/bucket.h"

#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

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

bool ss_is_token(struct ss_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ' || (unsigned char)s.p[i] > '~')
			return false;
	return s.n;
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
