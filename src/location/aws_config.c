/* aws_config.c - see aws_config.h. */
#include "location/aws_config.h"

#include "location/bucket.h"

#include <stdlib.h>

#define SETTINGS_BYTES ((size_t)1 << 20)

struct ss_str ss_aws_trim(struct ss_str s)
{
	while (s.n && (unsigned char)s.p[0] <= ' ')
		s = ss_str_sub(s, 1, s.n);
	while (s.n && (unsigned char)s.p[s.n - 1] <= ' ')
		s.n--;
	return s;
}

static bool read_file(struct ss_str *text, const char *set, const char *usual, struct ss_arena *arena)
{
	const char *path = getenv(set), *home = getenv("HOME");
	struct ss_str at = path && *path && !(path[0] == '~' && path[1] == '/') ? ss_str_from(path)
			   : !home						? SS_STR("")
			   : path && *path ? ss_arena_printf(arena, "%s%s", home, path + 1)
					   : ss_arena_printf(arena, "%s/.aws/%s", home, usual);
	*text = at.p && at.n ? ss_small_file(at.p, SETTINGS_BYTES, arena) : SS_STR("");
	return at.p && text->p;
}

bool ss_aws_config_read(struct ss_aws_config *c, struct ss_arena *arena)
{
	return read_file(&c->config, "AWS_CONFIG_FILE", "config", arena) &&
	       read_file(&c->credentials, "AWS_SHARED_CREDENTIALS_FILE", "credentials", arena);
}

/* ---- the lines ---- */

struct scan {
	struct ss_str rest;
	struct ss_str section; /* what stands in the brackets; p is NULL before the first */
};

struct line {
	struct ss_str text; /* without white space around it; "": nothing, or a comment */
	size_t indent;
};

static struct line next_line(struct ss_str *rest)
{
	size_t end = ss_str_chr(*rest, '\n');
	struct ss_str s = ss_str_sub(*rest, 0, end);
	struct line line = { .text = ss_aws_trim(s) };
	*rest = ss_str_sub(*rest, end == SS_NPOS ? rest->n : end + 1, rest->n);
	line.indent = line.text.n ? (size_t)(line.text.p - s.p) : 0;
	if (line.text.n && (line.text.p[0] == '#' || line.text.p[0] == ';'))
		line.text = SS_STR("");
	return line;
}

static size_t delimiter(struct ss_str s)
{
	size_t equals = ss_str_chr(s, '='), colon = ss_str_chr(s, ':');
	return equals < colon ? equals : colon;
}

/* Lines that are indented more than the setting belong to its value. */
static struct ss_str whole_value(struct scan *s, struct ss_str first, size_t indent)
{
	const char *end = first.p + first.n;
	struct ss_str rest = s->rest;
	while (rest.n) {
		struct line more = next_line(&rest);
		if (more.text.n && more.indent <= indent)
			break;
		if (more.text.n)
			end = more.text.p + more.text.n;
		s->rest = rest;
	}
	return (struct ss_str){ first.p, (size_t)(end - first.p) };
}

static bool next_setting(struct scan *s, struct ss_str *name, struct ss_str *value)
{
	while (s->rest.n) {
		struct line line = next_line(&s->rest);
		size_t end = ss_str_rchr(line.text, ']'), at = delimiter(line.text);
		if (line.text.n && line.text.p[0] == '[' && end != SS_NPOS) {
			s->section = ss_aws_trim(ss_str_sub(line.text, 1, end));
		} else if (line.text.n && at != SS_NPOS && s->section.p) {
			*name = ss_aws_trim(ss_str_sub(line.text, 0, at));
			*value = whole_value(s, ss_str_sub(line.text, at + 1, line.text.n), line.indent);
			return true;
		}
	}
	return false;
}

/* ---- sections ---- */

/* "profile NAME", "profile 'NAME'" */
static bool is_section(struct ss_str s, const char *kind, struct ss_str name)
{
	if (!kind)
		return ss_str_eq(s, name);
	if (strcmp(kind, "profile") == 0 && ss_str_is(s, "default") && ss_str_is(name, "default"))
		return true;
	if (!ss_str_take(&s, ss_str_from(kind)) || !s.n || (s.p[0] != ' ' && s.p[0] != '\t'))
		return false;
	s = ss_aws_trim(s);
	if (s.n >= 2 && (s.p[0] == '"' || s.p[0] == '\'') && s.p[s.n - 1] == s.p[0])
		s = ss_str_sub(s, 1, s.n - 1);
	return ss_str_eq(s, name);
}

static struct ss_str find(struct ss_str text, const char *kind, struct ss_str section, const char *name)
{
	struct scan s = { .rest = text };
	struct ss_str n, value;
	while (next_setting(&s, &n, &value))
		if (ss_str_ieq(n, ss_str_from(name)) && is_section(s.section, kind, section))
			return value;
	return (struct ss_str){ NULL, 0 };
}

static bool has(struct ss_str text, const char *kind, struct ss_str section)
{
	while (text.n) {
		struct ss_str line = next_line(&text).text;
		size_t end = ss_str_rchr(line, ']');
		if (line.n && line.p[0] == '[' && end != SS_NPOS &&
		    is_section(ss_aws_trim(ss_str_sub(line, 1, end)), kind, section))
			return true;
	}
	return false;
}

static struct ss_str trimmed(struct ss_str s)
{
	return s.p ? ss_aws_trim(s) : s;
}

struct ss_str ss_aws_of_credentials(const struct ss_aws_config *c, const char *profile, const char *name)
{
	return trimmed(find(c->credentials, NULL, ss_str_from(profile), name));
}

struct ss_str ss_aws_of_config(const struct ss_aws_config *c, const char *profile, const char *name)
{
	return trimmed(find(c->config, "profile", ss_str_from(profile), name));
}

struct ss_str ss_aws_of_profile(const struct ss_aws_config *c, const char *profile, const char *name)
{
	struct ss_str s = ss_aws_of_credentials(c, profile, name);
	return s.p ? s : ss_aws_of_config(c, profile, name);
}

struct ss_str ss_aws_of_section(const struct ss_aws_config *c, const char *kind, struct ss_str section,
				const char *below, const char *name)
{
	struct ss_str s = find(c->config, kind, section, below ? below : name), n, value;
	if (!below || !s.p)
		return trimmed(s);
	struct scan lines = { s, s };
	while (next_setting(&lines, &n, &value))
		if (ss_str_ieq(n, ss_str_from(name)))
			return trimmed(value);
	return (struct ss_str){ NULL, 0 };
}

bool ss_aws_has_profile(const struct ss_aws_config *c, const char *profile)
{
	return has(c->credentials, NULL, ss_str_from(profile)) || has(c->config, "profile", ss_str_from(profile));
}

bool ss_aws_has_section(const struct ss_aws_config *c, const char *kind, struct ss_str section)
{
	return has(c->config, kind, section);
}
