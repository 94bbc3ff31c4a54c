/* percentile.c - percentile, quantile_cont and median. */
#include "sql/engine.h"

#include "base/vec.h"

#include <stdlib.h>

#define FEW 256 /* numbers are sorted */

struct numbers {
	SS_VEC(double) v;
	double share;
};

static void gather(sqlite3_context *c, sqlite3_value *x, double share)
{
	struct numbers *a = sqlite3_aggregate_context(c, sizeof(*a));
	if (!a) {
		sqlite3_result_error_nomem(c);
		return;
	}
	a->share = share;
	int type = sqlite3_value_numeric_type(x);
	if (type == SQLITE_NULL)
		return;
	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
		sqlite3_result_error(c, "percentile(), quantile_cont() and median() take numbers, not text", -1);
		return;
	}
	/* SQLite's own allocator, so that its limit of memory holds. */
	if (a->v.n == a->v.cap) {
		size_t cap = a->v.cap ? 2 * a->v.cap : 64;
		double *v = sqlite3_realloc64(a->v.v, cap * sizeof(*v));
		if (!v) {
			sqlite3_result_error_nomem(c);
			return;
		}
		a->v.v = v;
		a->v.cap = cap;
	}
	a->v.v[a->v.n++] = sqlite3_value_double(x);
}

static bool share_of(sqlite3_context *c, sqlite3_value *v, double whole, double *share)
{
	int type = sqlite3_value_numeric_type(v);
	*share = sqlite3_value_double(v) / whole;
	if ((type == SQLITE_INTEGER || type == SQLITE_FLOAT) && *share >= 0 && *share <= 1)
		return true;
	sqlite3_result_error(c,
			     whole > 1 ? "percentile() takes a number from 0 to 100"
				       : "quantile_cont() takes a number from 0 to 1",
			     -1);
	return false;
}

static void percentile_step(sqlite3_context *c, int n, sqlite3_value **v)
{
	(void)n;
	double share;
	if (share_of(c, v[1], 100, &share))
		gather(c, v[0], share);
}

static void quantile_step(sqlite3_context *c, int n, sqlite3_value **v)
{
	double share = 0.5;
	if (n == 1 || share_of(c, v[1], 1, &share))
		gather(c, v[0], share);
}

/* In the order of the numbers, as long as none is NaN: SQLite has no such value. */
static uint64_t key_of(double x)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof(bits));
	return bits >> 63 ? ~bits : bits | 1ull << 63;
}

static double number_of(uint64_t key)
{
	double x;
	key = key >> 63 ? key & ~(1ull << 63) : ~key;
	memcpy(&x, &key, sizeof(x));
	return x;
}

/* The k-th key, byte after byte from the highest: a pass over the numbers for each, whatever they are. */
static uint64_t kth_key(const double *v, size_t n, size_t k)
{
	uint64_t key = 0, known = 0;
	for (unsigned shift = 64; shift;) {
		size_t count[256] = { 0 }, byte = 0;
		shift -= 8;
		for (size_t i = 0; i < n; i++) {
			uint64_t x = key_of(v[i]);
			count[x >> shift & 255] += (x & known) == key;
		}
		for (; count[byte] <= k; byte++)
			k -= count[byte];
		key |= (uint64_t)byte << shift;
		known |= 255ull << shift;
	}
	return key;
}

/*
 * The i-th number in order, and the one behind it or, behind the last, itself. Many are not sorted:
 * that would take as much memory again, and long, with nobody asking whether time is up.
 */
static void neighbours(double *v, size_t n, size_t i, double *here, double *next)
{
	if (n <= FEW) {
		qsort(v, n, sizeof(*v), ss_cmp_double);
		*here = v[i];
		*next = v[i + 1 < n ? i + 1 : i];
		return;
	}
	uint64_t key = kth_key(v, n, i), above = UINT64_MAX;
	size_t upto = 0;
	for (size_t k = 0; k < n; k++) {
		uint64_t x = key_of(v[k]);
		upto += x <= key;
		above = x > key && x < above ? x : above;
	}
	*here = number_of(key);
	*next = number_of(upto > i + 1 || upto == n ? key : above);
}

static void percentile_final(sqlite3_context *c)
{
	struct numbers *a = sqlite3_aggregate_context(c, 0);
	if (!a || !a->v.n)
		return;
	double k = (double)(a->v.n - 1) * a->share, here, next;
	size_t i = (size_t)k;
	neighbours(a->v.v, a->v.n, i, &here, &next);
	sqlite3_result_double(c, here + (next - here) * (k - (double)i));
	sqlite3_free(a->v.v);
	a->v.v = NULL;
	a->v.n = a->v.cap = 0;
}

bool ss_sql_add_percentiles(struct ss_sql *s)
{
	static const struct {
		const char *name;
		int n;
		void (*step)(sqlite3_context *, int, sqlite3_value **);
	} functions[] = {
		{ "percentile", 2, percentile_step },
		{ "quantile_cont", 2, quantile_step },
		{ "median", 1, quantile_step },
	};
	for (size_t i = 0; i < SS_COUNT(functions); i++)
		if (sqlite3_create_function_v2(s->db, functions[i].name, functions[i].n,
					       SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, s, NULL,
					       functions[i].step, percentile_final, NULL) != SQLITE_OK)
			return false;
	return true;
}
