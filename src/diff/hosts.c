/* hosts.c - which hosts do all runs have, and which of them made the difference? */
#include "base/buf.h"
#include "base/map.h"
#include "diff/result.h"
#include "table/units.h"

#include <math.h>
#include <stdlib.h>

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

/* ---- what each host does ---- */

static void add_host(struct ss_diff_host_pair *to, const struct ss_diff_host *h, int side)
{
	for (int c = 0; c < SS_DIFF_COMPONENTS; c++)
		to->us[side][c] += h->us[c];
}

struct ss_diff_host_pair *ss_diff_host_pairs(const struct ss_diff *d, size_t *n)
{
	const struct ss_diff_side *sides[] = { &d->base, &d->new };
	const struct ss_diff_run *first = &d->base.runs[0];
	bool one = first->hosts.n == 1 && d->new.runs[0].hosts.n == 1, ok = true;
	struct ss_strmap names = { 0 };
	struct ss_diff_host_pair *v = calloc(first->hosts.n + 1, sizeof(*v));
	uint32_t *runs = calloc(2 * first->hosts.n + 2, sizeof(*runs)); /* that have the host, by side */
	*n = 0;
	for (size_t i = 0; ok && v && runs && i < first->hosts.n; i++) {
		uint32_t at = ss_strmap_add(&names, first->hosts.v[i].name);
		ok = at != SS_NONE;
		if (ok && at == *n)
			v[(*n)++].name = one ? SS_STR("") : first->hosts.v[i].name;
	}
	for (int side = 0; side < 2 && v && runs; side++) {
		for (size_t i = 0; i < sides[side]->n; i++)
			for (size_t k = 0; k < sides[side]->runs[i].hosts.n; k++) {
				const struct ss_diff_host *h = &sides[side]->runs[i].hosts.v[k];
				uint32_t at = one ? 0 : ss_strmap_get(&names, h->name);
				if (at == SS_NONE)
					continue;
				add_host(&v[at], h, side);
				runs[2 * at + (unsigned)side]++;
			}
		for (size_t i = 0; i < *n; i++) {
			uint32_t of = runs[2 * i + (unsigned)side];
			for (int c = 0; c < SS_DIFF_COMPONENTS; c++)
				v[i].us[side][c] = of ? v[i].us[side][c] / of : NAN;
		}
	}
	ss_strmap_free(&names);
	ok = ok && v && runs;
	free(runs);
	if (!ok)
		free(v);
	return ok ? v : NULL;
}

/* The host's own work; in the rest of the time it waits for others, or the cause is not known. */
static bool is_own(int c)
{
	return c != SS_DIFF_COMMUNICATION && c != SS_DIFF_IDLE;
}

static double own_delta(const struct ss_diff_host_pair *h, int *largest)
{
	double sum = 0, most = -1;
	for (int c = 0; c < SS_DIFF_COMPONENTS; c++) {
		double delta = h->us[1][c] - h->us[0][c];
		if (!is_own(c))
			continue;
		sum += delta;
		if (fabs(delta) > most) {
			most = fabs(delta);
			*largest = c;
		}
	}
	return sum;
}

static struct ss_str text_of(struct ss_diff *d, double v)
{
	struct ss_str s = ss_unit_text(&d->arena, SS_UNIT_US, v);
	return s.p ? s : SS_STR("");
}

bool ss_diff_say_hosts(struct ss_diff *d, struct ss_buf *b)
{
	double sign = d->verdict == SS_DIFF_SLOWER ? 1 : -1, most = 0, second = 0;
	bool changed = d->verdict == SS_DIFF_SLOWER || d->verdict == SS_DIFF_FASTER;
	size_t n, at = SIZE_MAX;
	int part = SS_DIFF_COMPUTE, largest = SS_DIFF_COMPUTE;
	struct ss_diff_host_pair *v = ss_diff_host_pairs(d, &n);
	for (size_t i = 0; v && changed && i < n; i++) {
		double delta = sign * own_delta(&v[i], &largest);
		if (isnan(delta))
			continue;
		second = fmax(second, delta > most ? most : fabs(delta));
		if (delta > most) {
			most = delta;
			at = i;
			part = largest;
		}
	}
	/* Name one host of several if it changed at least twice as much as any other, and at least half as much as the step. */
	bool one = n > 1 && at != SIZE_MAX && most >= 2 * second && 2 * most >= fabs(d->step.c.delta) &&
		   most > d->options.band_frac * d->step.c.base;
	if (v && one) {
		struct ss_str name = ss_utf8_front(v[at].name, 60), rest = text_of(d, second);
		struct ss_str from = text_of(d, v[at].us[0][part]), to = text_of(d, v[at].us[1][part]);
		ss_buf_printf(b,
			      SS_FMT " caused the change (%zu hosts were compared): %s took " SS_FMT " and now takes " SS_FMT
			      " there. The own time of the other hosts changed by at most " SS_FMT ".",
			      SS_ARG(name), n, ss_diff_part_words(part), SS_ARG(from), SS_ARG(to), SS_ARG(rest));
	}
	free(v);
	return v;
}

const char *ss_diff_part_words(int part)
{
	static const char *const words[SS_DIFF_PARTS] = {
		[SS_DIFF_COMPUTE] = "computing",
		[SS_DIFF_COMMUNICATION] = "communication while nothing computes",
		[SS_DIFF_COPIES] = "copies",
		[SS_DIFF_INPUT] = "waiting for input",
		[SS_DIFF_OUTPUT] = "output",
		[SS_DIFF_COMPILE] = "compiling",
		[SS_DIFF_HOST] = "host code for which the device waits",
		[SS_DIFF_IDLE] = "idle time without a known cause",
		[SS_DIFF_OUTLIERS] = "steps that take far longer than most",
		[SS_DIFF_OUTSIDE] = "time between steps",
	};
	return words[part];
}
