/*
 * hosts.c - which files are of which host, how devices of the run are numbered, and which hosts are
 * missing.
 */
#include "base/natural.h"
#include "model/cluster/cluster.h"

#include <stdio.h>
#include <stdlib.h>

/* Recordings further apart than this have no common time: ps would not fit. */
#define FAR_NS (INT64_MAX / 4000)
/*
 * Bytes of a packed recording: fewer hold nothing to tell copies by, and the last of more suffice.
 */
#define LEAST_TOLD 256
#define MOST_TOLD 4096

struct placing {
	struct ss_cluster *c;
	uint8_t *level;		/* of each part: how far it takes its host's name from its file's */
	bool *left_out;
	struct ss_str *key;	/* the host that it is of */
	uint32_t *host;
};

/* ---- files to hosts ---- */

/* "worker3_4711.1790000000001": before the process, and with it. */
static struct ss_str before_process(struct ss_str file)
{
	struct ss_str process = ss_str_sub(file, 0, ss_str_rchr(file, '.'));
	size_t at = ss_str_rchr(process, '_');
	if (at == SS_NPOS)
		at = ss_str_rchr(process, '.');
	return at == SS_NPOS ? process : ss_str_sub(process, 0, at);
}

static struct ss_str process_of(struct ss_str file)
{
	return ss_str_sub(file, 0, ss_str_rchr(file, '.'));
}

static struct ss_str key_of(const struct ss_cluster_part *p, unsigned level)
{
	if (!p->is_rank)
		return p->file;
	if (level == 0 && p->hostname.n)
		return p->hostname;
	return level <= 1 ? before_process(p->file) : p->file;
}

/*
 * The same host, or the same process, recorded twice: the first file counts. False: memory is out.
 */
static bool leave_out_repeats(struct placing *w)
{
	struct ss_cluster *c = w->c;
	struct ss_strmap seen = { 0 };
	bool ok = true;
	for (uint32_t i = 0; ok && i < c->nparts; i++) {
		const struct ss_cluster_part *p = &c->parts[i];
		uint32_t before = seen.n, k = ss_strmap_add(&seen, p->is_rank ? process_of(p->file) : p->file);
		ok = k != SS_NONE;
		if (!ok || seen.n > before)
			continue;
		w->left_out[i] = true;
		ok = ss_cluster_note(c, true, "host '" SS_FMT "' is there twice: the recording in run '" SS_FMT "' is left out",
				     SS_ARG(p->file), SS_ARG(p->run));
	}
	ss_strmap_free(&seen);
	return ok;
}

/*
 * One recording under two names: the first counts. Equal to the last ps they are no two hosts. Told
 * by their last bytes, then by all of them. False: memory is out.
 */
static bool leave_out_copies(struct placing *w)
{
	struct ss_cluster *c = w->c;
	struct ss_strmap seen = { 0 };
	uint32_t *first = calloc(c->nparts + 1, sizeof(*first));
	bool ok = first;
	for (uint32_t i = 0; ok && i < c->nparts; i++) {
		const struct ss_cluster_part *p = &c->parts[i];
		struct ss_str own = ss_skeleton_rest(p->packed);
		if (w->left_out[i] || own.n < LEAST_TOLD)
			continue;
		struct ss_str end = ss_str_sub(own, own.n > MOST_TOLD ? own.n - MOST_TOLD : 0, own.n);
		uint32_t before = seen.n, k = ss_strmap_add(&seen, end);
		ok = k != SS_NONE;
		if (!ok || seen.n > before) {
			if (ok)
				first[k] = i;
			continue;
		}
		if (!ss_str_eq(own, ss_skeleton_rest(c->parts[first[k]].packed)))
			continue;
		w->left_out[i] = true;
		ok = ss_cluster_note(c, true, "host '" SS_FMT "' is a copy of '" SS_FMT "', to the last event: it is left out",
				     SS_ARG(p->file), SS_ARG(c->parts[first[k]].file));
	}
	ss_strmap_free(&seen);
	free(first);
	return ok;
}

/*
 * Two ranks with one host's name and one device: the name tells no hosts apart. *any: some were
 * found.
 */
static bool find_conflicts(struct placing *w, bool *any)
{
	struct ss_cluster *c = w->c;
	struct ss_strmap owners = { 0 };
	struct ss_arena scratch = { 0 };
	uint32_t *first = calloc(c->devices.n + 1, sizeof(*first));
	bool ok = first;
	*any = false;
	for (uint32_t d = 0; ok && d < c->devices.n; d++) {
		uint32_t part = c->devices.v[d].part;
		struct ss_cluster_part *p = &c->parts[part];
		if (!p->is_rank || w->left_out[part] || w->level[part] >= 2)
			continue;
		struct ss_str key = key_of(p, w->level[part]);
		struct ss_str text = ss_arena_printf(&scratch, SS_FMT "\n%d", SS_ARG(key), c->devices.v[d].ordinal);
		uint32_t before = owners.n, k = text.p ? ss_strmap_add(&owners, text) : SS_NONE;
		ok = k != SS_NONE;
		if (!ok || owners.n > before || first[k] == part) {
			if (ok && owners.n > before)
				first[k] = part;
			continue;
		}
		*any = true;
		for (uint32_t i = 0; i < c->nparts; i++)
			if (i != part && c->parts[i].is_rank && w->level[i] == w->level[part] &&
			    ss_str_eq(key_of(&c->parts[i], w->level[i]), key))
				w->level[i]++;
		w->level[part]++;
		break;
	}
	free(first);
	ss_strmap_free(&owners);
	ss_arena_release(&scratch);
	return ok;
}

static int by_name(const void *a, const void *b)
{
	return ss_natural_cmp(((const struct ss_cluster_host *)a)->name, ((const struct ss_cluster_host *)b)->name);
}

static bool find_hosts(struct placing *w)
{
	struct ss_cluster *c = w->c;
	bool any = true;
	if (!leave_out_repeats(w) || !leave_out_copies(w))
		return false;
	while (any)
		if (!find_conflicts(w, &any))
			return false;
	for (uint32_t i = 0; i < c->nparts; i++) {
		struct ss_cluster_part *p = &c->parts[i];
		struct ss_cluster_host h = { .name = key_of(p, w->level[i]), .run = p->run, .note = SS_STR(""),
					     .first_step = SS_NO_STEP, .last_step = SS_NO_STEP };
		bool known = false;
		for (size_t k = 0; k < c->hosts.n && !known && p->is_rank; k++)
			known = ss_str_eq(c->hosts.v[k].name, h.name);
		if (!w->left_out[i] && !known && !ss_vec_push(&c->hosts, h))
			return false;
	}
	if (c->hosts.n)
		qsort(c->hosts.v, c->hosts.n, sizeof(*c->hosts.v), by_name);
	return true;
}

/* The facts of a host from its files. */
static bool describe_hosts(struct placing *w)
{
	struct ss_cluster *c = w->c;
	struct ss_strmap names = { 0 };
	bool ok = true;
	for (uint32_t i = 0; ok && i < c->hosts.n; i++)
		ok = ss_strmap_add(&names, c->hosts.v[i].name) != SS_NONE;
	for (uint32_t i = 0; ok && i < c->nparts; i++) {
		struct ss_cluster_part *p = &c->parts[i];
		p->host = SS_NO_HOST;
		if (w->left_out[i])
			continue;
		p->host = ss_strmap_get(&names, key_of(p, w->level[i]));
		struct ss_cluster_host *h = &c->hosts.v[p->host];
		h->nfiles++;
		h->has_start |= p->start_unix_ns > 0;
		if (p->state != SS_SKEL_OK && h->state == SS_HOST_OK) {
			h->state = p->state == SS_SKEL_CUT ? SS_HOST_CUT : SS_HOST_UNREADABLE;
			h->note = p->note;
		}
	}
	ss_strmap_free(&names);
	return ok;
}

/* ---- devices ---- */

static int by_place(const void *a, const void *b)
{
	const struct ss_cluster_device *x = a, *y = b;
	return SS_CMP(x->host, y->host) ?: SS_CMP(x->ordinal, y->ordinal) ?: SS_CMP(x->first_member, y->first_member);
}

static bool order_devices(struct ss_cluster *c)
{
	uint32_t *place = calloc(c->devices.n + 1, sizeof(*place)), kept = 0;
	if (!place)
		return false;
	for (uint32_t i = 0; i < c->devices.n; i++) {
		c->devices.v[i].host = c->parts[c->devices.v[i].part].host;
		if (c->devices.v[i].host != SS_NO_HOST)
			c->devices.v[kept++] = c->devices.v[i];
	}
	c->devices.n = kept;
	if (kept)
		qsort(c->devices.v, kept, sizeof(*c->devices.v), by_place);
	free(place);
	for (uint32_t i = 0; i < c->members.n; i++)
		c->members.v[i].device = UINT32_MAX;
	for (uint32_t i = 0; i < kept; i++) {
		struct ss_cluster_device *d = &c->devices.v[i];
		struct ss_cluster_host *h = &c->hosts.v[d->host];
		if (!h->ndevices++)
			h->first_device = i;
		for (uint32_t k = 0; k < d->nmembers; k++)
			c->members.v[d->first_member + k].device = i;
		for (uint32_t k = 0; k < d->nsteps; k++) {
			int64_t num = c->steps.v[d->first_step + k].num;
			h->first_step = h->first_step == SS_NO_STEP || num < h->first_step ? num : h->first_step;
			h->last_step = h->last_step == SS_NO_STEP || num > h->last_step ? num : h->last_step;
		}
	}
	return true;
}

/* ---- numbers ---- */

/* Names that end in numbers behind one text: "host0", "host1". */
struct numbered {
	bool all;
	struct ss_str head;
	uint64_t least, most;
	size_t width;	/* digits, where zeros stand before numbers; else 0 */
};

static bool split_number(struct ss_str name, struct ss_str *head, uint64_t *number, size_t *width)
{
	size_t at = name.n;
	while (at > 0 && name.p[at - 1] >= '0' && name.p[at - 1] <= '9')
		at--;
	*head = ss_str_sub(name, 0, at);
	*width = name.n - at > 1 && name.p[at] == '0' ? name.n - at : 0;
	return at < name.n && name.n - at < 10 && ss_str_to_u64(ss_str_sub(name, at, name.n), number);
}

/* Numbers further apart than this many times the hosts there are count something else: processes, addresses, jobs. */
#define MOST_APART 32

static struct numbered numbers_of(const struct ss_cluster *c)
{
	struct numbered r = { .all = c->hosts.n > 0, .least = UINT64_MAX };
	for (size_t i = 0; i < c->hosts.n && r.all; i++) {
		struct ss_str head;
		uint64_t n;
		size_t width;
		r.all = split_number(c->hosts.v[i].name, &head, &n, &width) && (i == 0 || ss_str_eq(head, r.head));
		if (!r.all)
			break;
		r.head = head;
		r.width = width > r.width ? width : r.width;
		r.least = n < r.least ? n : r.least;
		r.most = n > r.most ? n : r.most;
	}
	r.all = r.all && r.most - r.least < MOST_APART * c->hosts.n;
	return r;
}

static uint32_t most_devices(const struct ss_cluster *c)
{
	uint32_t most = 0;
	for (size_t i = 0; i < c->hosts.n; i++)
		most = c->hosts.v[i].ndevices > most ? c->hosts.v[i].ndevices : most;
	return most;
}

static uint64_t devices_told(const struct ss_cluster *c)
{
	uint64_t most = 0;
	for (size_t i = 0; i < c->groups.n; i++)
		if (c->groups.v[i].known && c->groups.v[i].ndevices > most)
			most = c->groups.v[i].ndevices;
	for (uint32_t i = 0; i < c->nparts; i++)
		if (c->parts[i].world > most && c->parts[i].world < UINT32_MAX)
			most = c->parts[i].world;
	return most;
}

/* Ranks of the job that have no file; 0 where a file is of no rank, or none tells how many there are. */
static uint64_t ranks_missing(const struct ss_cluster *c)
{
	uint64_t world = 0, ranks = 0;
	for (uint32_t i = 0; i < c->nparts; i++) {
		if (!c->parts[i].is_rank)
			return 0;
		ranks += c->parts[i].host != SS_NO_HOST;
		world = c->parts[i].world > world && c->parts[i].world < UINT32_MAX ? c->parts[i].world : world;
	}
	return world > ranks ? world - ranks : 0;
}

/* The number of the first host: 0 or 1, by what the names and the number of hosts leave. */
static uint64_t first_number(const struct numbered *r, uint64_t hosts)
{
	if (r->least == 0 || (hosts && r->most < hosts))
		return 0;
	return r->least == 1 || (hosts && r->most <= hosts) ? 1 : r->least;
}

/* Does every device have a number of its own, as the recordings tell? */
static bool numbers_are_told(const struct ss_cluster *c, bool *no_memory)
{
	int64_t *v = calloc(c->devices.n + 1, sizeof(*v));
	bool told = c->devices.n > 0;
	*no_memory = !v;
	for (size_t i = 0; v && i < c->devices.n; i++) {
		v[i] = c->devices.v[i].number;
		told = told && v[i] >= 0;
	}
	if (v && told)
		qsort(v, c->devices.n, sizeof(*v), ss_cmp_i64);
	for (size_t i = 1; v && told && i < c->devices.n; i++)
		told = v[i] != v[i - 1];
	free(v);
	return v && told;
}

#define CPU_DEVICES_OF_PROCESS 2048

/*
 * Numbers beyond all groups: JAX numbers devices of CPUs by process, groups count them one after
 * the other.
 */
static void close_gaps(struct ss_cluster *c, uint64_t told, uint32_t per_host)
{
	bool beyond = false;
	for (size_t i = 0; i < c->devices.n; i++)
		beyond |= told && (uint64_t)c->devices.v[i].number >= told;
	for (size_t i = 0; beyond && i < c->devices.n; i++) {
		int64_t *n = &c->devices.v[i].number;
		*n = *n / CPU_DEVICES_OF_PROCESS * per_host + *n % CPU_DEVICES_OF_PROCESS;
	}
}

static bool number_devices(struct ss_cluster *c, const struct numbered *names, uint64_t hosts)
{
	bool no_memory;
	uint32_t per_host = most_devices(c);
	if (numbers_are_told(c, &no_memory)) {
		close_gaps(c, devices_told(c), per_host);
		return true;
	}
	if (no_memory)
		return false;
	uint64_t first = first_number(names, hosts);
	for (uint32_t i = 0; i < c->devices.n; i++) {
		struct ss_cluster_device *d = &c->devices.v[i];
		struct ss_str head;
		uint64_t at = d->host, n;
		size_t width;
		if (names->all && names->most - first < UINT32_MAX && split_number(c->hosts.v[d->host].name, &head, &n, &width))
			at = n - first;
		d->number = (int64_t)(at * per_host + (i - c->hosts.v[d->host].first_device));
	}
	return true;
}

/* ---- who is missing ---- */

#define MOST_MISSING 100000

static bool add_missing(struct ss_cluster *c, struct ss_str name)
{
	struct ss_cluster_host h = { .name = name, .run = SS_STR(""), .note = SS_STR(""), .state = SS_HOST_MISSING,
				     .first_step = SS_NO_STEP, .last_step = SS_NO_STEP };
	c->nmissing++;
	return name.p && ss_vec_push(&c->hosts, h);
}

static bool find_missing(struct ss_cluster *c, const struct numbered *names, uint64_t hosts)
{
	size_t seen = c->hosts.n;
	struct ss_strmap known = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < seen; i++)
		ok = ss_strmap_add(&known, c->hosts.v[i].name) != SS_NONE;
	if (names->all) {
		uint64_t first = first_number(names, hosts), end = names->most + 1;
		end = hosts && first + hosts > end ? first + hosts : end;
		for (uint64_t n = first; ok && n < end && c->nmissing < MOST_MISSING; n++) {
			struct ss_str name = ss_arena_printf(&c->arena, SS_FMT "%0*llu", SS_ARG(names->head), (int)names->width,
							     (unsigned long long)n);
			ok = name.p && (ss_strmap_get(&known, name) != SS_NONE || add_missing(c, name));
		}
	} else if (!ranks_missing(c)) {
		/* Of ranks that are missing, nobody tells how many are on a host. */
		for (uint64_t n = seen; ok && n < hosts && c->nmissing < MOST_MISSING; n++)
			ok = add_missing(c, ss_arena_printf(&c->arena, "(host %llu of %llu)", (unsigned long long)n + 1,
							    (unsigned long long)hosts));
	}
	ss_strmap_free(&known);
	return ok;
}

/*
 * Missing hosts stand among the others by name; then everything that names a host by number is told
 * anew.
 */
static bool put_hosts_in_order(struct ss_cluster *c)
{
	struct ss_strmap places = { 0 };
	size_t n = c->hosts.n;
	struct ss_str *old = calloc(n + 1, sizeof(*old));
	bool ok = old;
	for (size_t i = 0; ok && i < n; i++)
		old[i] = c->hosts.v[i].name;
	if (ok && n)
		qsort(c->hosts.v, n, sizeof(*c->hosts.v), by_name);
	for (size_t i = 0; ok && i < n; i++)
		ok = ss_strmap_add(&places, c->hosts.v[i].name) != SS_NONE;
	for (size_t i = 0; ok && i < c->devices.n; i++)
		c->devices.v[i].host = ss_strmap_get(&places, old[c->devices.v[i].host]);
	for (uint32_t i = 0; ok && i < c->nparts; i++)
		if (c->parts[i].host != SS_NO_HOST)
			c->parts[i].host = ss_strmap_get(&places, old[c->parts[i].host]);
	free(old);
	ss_strmap_free(&places);
	return ok;
}

/* ---- times of the recordings ---- */

static bool set_zeros(struct ss_cluster *c)
{
	int64_t first = INT64_MAX;
	uint32_t far = 0;
	for (uint32_t i = 0; i < c->nparts; i++)
		if (c->parts[i].start_unix_ns > 0 && c->parts[i].start_unix_ns < first && c->parts[i].host != SS_NO_HOST)
			first = c->parts[i].start_unix_ns;
	c->start_unix_ns = first == INT64_MAX ? 0 : first;
	for (uint32_t i = 0; i < c->nparts; i++) {
		struct ss_cluster_part *p = &c->parts[i];
		if (p->start_unix_ns <= 0)
			continue;
		if (p->start_unix_ns - first > FAR_NS) {
			far++;
			if (p->host != SS_NO_HOST)
				c->hosts.v[p->host].has_start = false;
			continue;
		}
		p->zero_ps = (p->start_unix_ns - first) * 1000;
	}
	for (size_t i = 0; i < c->devices.n; i++) {
		const struct ss_cluster_device *d = &c->devices.v[i];
		uint64_t zero = (uint64_t)c->parts[d->part].zero_ps;
		for (uint32_t k = 0; k < d->nmembers; k++) {
			struct ss_member *m = &c->members.v[d->first_member + k];
			m->arrive_ps = (int64_t)((uint64_t)m->arrive_ps + zero);
			m->end_ps = (int64_t)((uint64_t)m->end_ps + zero);
		}
		for (uint32_t k = 0; k < d->nsteps; k++) {
			struct ss_cluster_step *s = &c->steps.v[d->first_step + k];
			s->begin_ps = (int64_t)((uint64_t)s->begin_ps + zero);
			s->end_ps = (int64_t)((uint64_t)s->end_ps + zero);
		}
	}
	return !far ||
	       ss_cluster_note(c, true,
			       "%u of %u recordings began months after the first: their clocks are treated as unknown", far,
			       c->nparts);
}

/* Nothing names a host: neither a recording, nor several files by what stands before their process. */
static bool are_ranks(const struct ss_cluster *c)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < c->nparts; i++) {
		if (!c->parts[i].is_rank || c->parts[i].hostname.n)
			return false;
		n += c->parts[i].host != SS_NO_HOST;
	}
	return n > 1 && n == c->hosts.n - c->nmissing;
}

bool ss_cluster_place(struct ss_cluster *c)
{
	struct placing w = { .c = c, .level = calloc(c->nparts + 1, 1), .left_out = calloc(c->nparts + 1, sizeof(bool)) };
	bool ok = w.level && w.left_out && find_hosts(&w) && describe_hosts(&w) && order_devices(c);
	free(w.level);
	free(w.left_out);
	if (!ok)
		return false;
	struct numbered names = numbers_of(c);
	uint64_t told = devices_told(c), per_host = most_devices(c), hosts = per_host ? (told + per_host - 1) / per_host : 0;
	if (!number_devices(c, &names, hosts) || !find_missing(c, &names, hosts) || !put_hosts_in_order(c))
		return false;
	c->ndevices_expected = told > c->devices.n ? told : c->devices.n + (uint64_t)c->nmissing * per_host;
	c->nranks_missing = ranks_missing(c);
	c->of_ranks = are_ranks(c);
	return set_zeros(c);
}
