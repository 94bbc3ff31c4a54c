/* vtab.c - what all virtual tables and functions share. */
#include "sql/directory.h"
#include "sql/engine.h"

#include <stdlib.h>
#include <time.h>

/* Asked for often, and exact to some milliseconds. */
#ifdef CLOCK_MONOTONIC_COARSE
#define CLOCK CLOCK_MONOTONIC_COARSE
#else
#define CLOCK CLOCK_MONOTONIC
#endif

uint64_t ss_sql_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#define CLIENT_NS 100000000u /* between two questions whether the client is there */

static bool client_left(struct ss_sql *s, uint64_t now_ns)
{
	if (!s->left || now_ns - s->asked_ns < CLIENT_NS)
		return false;
	s->asked_ns = now_ns;
	return s->left(s->client);
}

bool ss_sql_go_on(struct ss_sql *s)
{
	if (s->end != SS_SQL_GOES_ON)
		return false;
	uint64_t now_ns = s->deadline_ns || s->last_ns || s->left ? ss_sql_now_ns() : 0;
	if ((s->deadline_ns && now_ns >= s->deadline_ns) || (s->last_ns && now_ns >= s->last_ns))
		s->end = SS_SQL_TIME_UP;
	else if ((s->stop && __atomic_load_n(s->stop, __ATOMIC_RELAXED)) || client_left(s, now_ns))
		s->end = SS_SQL_STOPPED;
	return s->end == SS_SQL_GOES_ON;
}

struct ss_sql_directory *ss_sql_events(struct ss_sql *s)
{
	if (!s->dir)
		s->dir = ss_model_sql_directory(s->model, &s->err);
	return s->dir;
}

int ss_sql_vtab_new(struct ss_sql *s, sqlite3_vtab **out, size_t bytes, const char *schema,
		    char **why)
{
	s->declaring = true;
	int code = sqlite3_declare_vtab(s->db, schema);
	s->declaring = false;
	struct ss_sql_vtab *v = code == SQLITE_OK ? sqlite3_malloc64(bytes) : NULL;
	if (code != SQLITE_OK) {
		*why = sqlite3_mprintf("%s", sqlite3_errmsg(s->db));
		return code;
	}
	if (!v)
		return SQLITE_NOMEM;
	memset(v, 0, bytes);
	v->s = s;
	*out = &v->base;
	return SQLITE_OK;
}

int ss_sql_vtab_of_events(struct ss_sql *s, sqlite3_vtab **out, size_t bytes, const char *schema, char **why)
{
	if (ss_sql_events(s))
		return ss_sql_vtab_new(s, out, bytes, schema, why);
	*why = sqlite3_mprintf("%s", s->err.text);
	return s->err.code == SS_ENOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
}

int ss_sql_vtab_free(sqlite3_vtab *v)
{
	sqlite3_free(v);
	return SQLITE_OK;
}

int ss_sql_vtab_fail(sqlite3_vtab *v, const struct ss_err *err)
{
	if (err->code == SS_ENOMEM)
		return SQLITE_NOMEM;
	sqlite3_free(v->zErrMsg);
	v->zErrMsg = sqlite3_mprintf("%s", err->text);
	return SQLITE_ERROR;
}

void ss_sql_result_stat(sqlite3_context *c, const struct ss_xstat *s)
{
	if (s->kind == SS_X_INT || s->kind == SS_X_UINT)
		sqlite3_result_int64(c, (int64_t)s->u);
	else if (s->kind == SS_X_DOUBLE)
		sqlite3_result_double(c, ss_pb_double(s->u));
	else if (s->kind == SS_X_STR)
		ss_sql_result_str(c, s->s);
	else
		sqlite3_result_null(c);
}

#define NOT_LOOKED_UP (SS_NONE - 1)

bool ss_sql_key_init(struct ss_sql_key *k, const struct ss_sql_directory *d, struct ss_str text)
{
	k->text = text;
	k->first = malloc((d->nplanes + 1u) * sizeof(*k->first));
	for (uint32_t i = 0; k->first && i < d->nplanes; i++)
		k->first[i] = NOT_LOOKED_UP;
	return k->first;
}

static uint32_t find_key(const struct ss_xplane *x, struct ss_str key)
{
	for (uint32_t i = 0; i < x->nstat_meta; i++)
		if (ss_str_eq(x->stat_meta[i].name, key))
			return i;
	return SS_NONE;
}

/* The last stat of the key in a walk. */
static bool find_last(struct ss_xstats it, const struct ss_sql_key *k, uint32_t first,
		      struct ss_xstat *out)
{
	struct ss_xstat s;
	bool found = false;
	while (ss_xstats_next(&it, &s)) {
		bool is = s.meta == first || (s.meta != SS_NONE && s.meta > first &&
					      ss_str_eq(it.plane->stat_meta[s.meta].name, k->text));
		if (is) {
			*out = s;
			found = true;
		}
	}
	return found;
}

bool ss_sql_stat(struct ss_sql_key *k, const struct ss_sql_line *line, uint32_t i,
		 struct ss_xstat *out)
{
	const struct ss_xplane *x = line->plane->x;
	uint32_t *first = &k->first[line->plane_at];
	if (*first == NOT_LOOKED_UP)
		*first = find_key(x, k->text);
	if (*first == SS_NONE)
		return false;
	if (find_last(ss_xevents_stats(&line->l.ev, x, line->l.src, i), k, *first, out))
		return true;
	return find_last(ss_xevent_meta_stats(x, line->l.ev.meta[i]), k, *first, out);
}

int ss_sql_new_cursor(size_t bytes, sqlite3_vtab_cursor **out)
{
	*out = calloc(1, bytes);
	return *out ? SQLITE_OK : SQLITE_NOMEM;
}

bool ss_sql_create_functions(struct ss_sql *s, const struct ss_sql_function *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (sqlite3_create_function_v2(s->db, v[i].name, v[i].n, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, s,
					       v[i].plain, NULL, NULL, NULL) != SQLITE_OK)
			return false;
	return true;
}
