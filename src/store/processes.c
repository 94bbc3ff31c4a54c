/* processes.c - see processes.h. */
#include "store/processes.h"

#include "base/vec.h"
#include "import/names.h"

#include <stdlib.h>

struct process {
	struct ss_str machine;
	uint64_t first_s, last_s; /* when its first and its last recording was written */
	size_t from, n;		  /* its recordings */
	uint32_t later;		  /* recordings of processes that came later */
};

/* "vm_4711": the name of the machine; n is 0: it names no process. */
static struct ss_str machine_of(struct ss_str host)
{
	uint64_t process;
	size_t at = ss_str_rchr(host, '_');
	bool named = at != SS_NPOS && ss_str_to_u64(ss_str_sub(host, at + 1, host.n), &process);
	return ss_str_sub(host, 0, named ? at : 0);
}

/* A number of seconds, or of parts of them, since 1970. */
static bool seconds_of(struct ss_str span, uint64_t *seconds)
{
	if (!ss_str_to_u64(span, seconds))
		return false;
	for (size_t digits = span.n; digits > 12; digits -= 3)
		*seconds /= 1000;
	return true;
}

static int by_machine_latest_first(const void *a, const void *b)
{
	const struct process *x = a, *y = b;
	int order = ss_str_cmp(x->machine, y->machine);
	if (order || x->last_s == y->last_s)
		return order;
	return SS_CMP(y->last_s, x->last_s);
}

static int by_machine_first_desc(const void *a, const void *b)
{
	const struct process *x = *(struct process *const *)a, *y = *(struct process *const *)b;
	int order = ss_str_cmp(x->machine, y->machine);
	if (order || x->first_s == y->first_s)
		return order;
	return SS_CMP(y->first_s, x->first_s);
}

/* How many there are, whose names tell their time. */
static size_t find_processes(const struct ss_recording *v, size_t n, struct process *out)
{
	size_t nout = 0;
	for (size_t from = 0, to; from < n; from = to) {
		struct ss_str host = ss_profile_host(v[from].name);
		struct process p = { .machine = machine_of(host), .first_s = UINT64_MAX, .from = from };
		bool told = p.machine.n;
		for (to = from; to < n && ss_str_eq(ss_profile_host(v[to].name), host); to++) {
			uint64_t at_s;
			told = told && seconds_of(ss_profile_span(v[to].name), &at_s);
			if (!told)
				continue;
			p.first_s = at_s < p.first_s ? at_s : p.first_s;
			p.last_s = at_s > p.last_s ? at_s : p.last_s;
		}
		p.n = to - from;
		if (told)
			out[nout++] = p;
	}
	return nout;
}

/*
 * From the latest process to the first one; those that began after its end, latest first, have their numbers already, for they
 * ended after it, too.
 */
static void count_later(struct process *v, struct process *const *by_first, size_t n)
{
	uint32_t most = 0;
	for (size_t i = 0, next = 0; i < n; i++) {
		if (i && !ss_str_eq(v[i].machine, v[i - 1].machine))
			most = 0;
		for (; next < n && ss_str_eq(by_first[next]->machine, v[i].machine) &&
		       by_first[next]->first_s > v[i].last_s + SS_RANKS_SECONDS;
		     next++) {
			uint32_t with = by_first[next]->later + (uint32_t)by_first[next]->n;
			most = with > most ? with : most;
		}
		v[i].later = most;
		/* The rest of its machine began before an end that was looked at: on to the next machine. */
		if (i + 1 < n && !ss_str_eq(v[i + 1].machine, v[i].machine))
			next = i + 1;
	}
}

bool ss_processes_in_turn(struct ss_recording *v, size_t n)
{
	struct process *all = calloc(n + 1, sizeof(*all));
	struct process **by_first = calloc(n + 1, sizeof(*by_first));
	bool ok = all && by_first;
	size_t nall = ok ? find_processes(v, n, all) : 0;
	if (nall) {
		qsort(all, nall, sizeof(*all), by_machine_latest_first);
		for (size_t i = 0; i < nall; i++)
			by_first[i] = &all[i];
		qsort(by_first, nall, sizeof(struct process *), by_machine_first_desc);
		count_later(all, by_first, nall);
		for (size_t i = 0; i < nall; i++)
			for (size_t k = all[i].from; k < all[i].from + all[i].n; k++)
				v[k].older += all[i].later;
	}
	free(all);
	free(by_first);
	return ok;
}
