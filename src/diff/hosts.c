/* hosts.c - which hosts do all runs have? */
#include "base/buf.h"
#include "base/map.h"
#include "diff/compare.h"

/* A text names no more hosts of a side than this. */
#define MOST_NAMED 4

struct hosts {
	struct ss_u64map count; /* by the hash of a name: in how many runs it stands; nruns once it is named */
	uint32_t nruns;
	bool no_memory;
};

static bool has_all(const struct hosts *h, struct ss_str name)
{
	return ss_u64map_get(&h->count, ss_str_hash(name)) == h->nruns;
}

static void count_hosts(struct hosts *h, const struct ss_diff_side *s)
{
	for (size_t i = 0; i < s->n; i++, h->nruns++)
		for (size_t k = 0; k < s->runs[i].hosts.n; k++) {
			uint64_t key = ss_str_hash(s->runs[i].hosts.v[k].name);
			uint32_t n = ss_u64map_get(&h->count, key);
			h->no_memory |= !ss_u64map_put(&h->count, key, n == SS_NONE ? 1 : n + 1);
		}
}

/* "; left out of base: host3, host5 and 2 more". The number of hosts of the side that not all have. */
static size_t say_left_out(struct hosts *h, const struct ss_diff_side *s, const char *side, struct ss_buf *note)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->runs[i].hosts.n; k++) {
			struct ss_str name = s->runs[i].hosts.v[k].name;
			if (has_all(h, name))
				continue;
			if (!n)
				ss_buf_printf(note, "; left out of %s: ", side);
			if (n < MOST_NAMED)
				ss_buf_printf(note, "%s" SS_FMT, n ? ", " : "", SS_ARG(ss_str_sub(name, 0, 60)));
			h->no_memory |= !ss_u64map_put(&h->count, ss_str_hash(name), h->nruns);
			n++;
		}
	if (n > MOST_NAMED)
		ss_buf_printf(note, " and %zu more", n - MOST_NAMED);
	return n;
}

/* "host0,host1": those that all runs have. Names with commas cannot be asked for. */
static size_t list_common(const struct hosts *h, const struct ss_diff_run *r, struct ss_buf *names)
{
	size_t n = 0;
	for (size_t k = 0; k < r->hosts.n; k++) {
		struct ss_str name = r->hosts.v[k].name;
		if (!has_all(h, name))
			continue;
		if (ss_str_chr(name, ',') != SS_NPOS)
			return 0;
		ss_buf_printf(names, "%s" SS_FMT, n++ ? "," : "", SS_ARG(name));
	}
	return n;
}

bool ss_diff_common_hosts(const struct ss_diff_side *base, const struct ss_diff_side *new, struct ss_arena *arena,
			  struct ss_diff_hosts *out)
{
	struct hosts h = { 0 };
	struct ss_buf names = { 0 }, note = { 0 };
	count_hosts(&h, base);
	count_hosts(&h, new);
	size_t common = base->n && new->n ? list_common(&h, &base->runs[0], &names) : 0;
	ss_buf_printf(&note, "%zu host%s that both sides have %s compared", common, common == 1 ? "" : "s",
		      common == 1 ? "is" : "are");
	size_t left = say_left_out(&h, base, "base", &note) + say_left_out(&h, new, "new", &note);
	*out = (struct ss_diff_hosts){ SS_STR(""), SS_STR("") };
	if (common && left)
		*out = (struct ss_diff_hosts){ ss_buf_to_arena(&names, arena), ss_buf_to_arena(&note, arena) };
	ss_buf_free(&names);
	ss_buf_free(&note);
	ss_u64map_free(&h.count);
	return !h.no_memory && out->names.p && out->note.p;
}
