/* graph_db.c - a program's graph as tables of SQLite. */
#include "xprof/cli/graph_db.h"

#include "sqlite/db.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdlib.h>

#define STEPS_BETWEEN_LOOKS 10000
#define MOST_LOOKS 20000 /* 2 * 10^8 steps: some seconds */
#define MOST_ROWS 100000

static const char schema[] =
	"CREATE TABLE computations (id INTEGER PRIMARY KEY, name TEXT, is_entry INTEGER, "
	"instruction_count INTEGER, root_id INTEGER);"
	"CREATE TABLE instructions (id INTEGER PRIMARY KEY, name TEXT, computation_name TEXT, "
	"opcode TEXT, category TEXT, shape TEXT, "
	"dtype TEXT, layout TEXT, is_root INTEGER, is_fusion_blocker INTEGER, is_in_fusion "
	"INTEGER, is_kernel_op INTEGER, "
	"operand_count INTEGER, user_count INTEGER, operands_json TEXT, called_computations_json "
	"TEXT, metadata_op_name TEXT, "
	"metadata_source_file TEXT, metadata_source_line INTEGER, flops REAL, bytes_accessed REAL, "
	"optimal_seconds REAL, "
	"expression TEXT);"
	"CREATE TABLE edges (src_id INTEGER, dst_id INTEGER, operand_index INTEGER);"
	"CREATE TABLE call_edges (caller_instr_id INTEGER, caller_comp_name TEXT, callee_comp_name "
	"TEXT);"
	"CREATE INDEX by_name ON instructions(name);"
	"CREATE INDEX by_opcode ON instructions(opcode);"
	"CREATE INDEX by_computation ON instructions(computation_name);"
	"CREATE INDEX by_source ON edges(src_id);"
	"CREATE INDEX by_target ON edges(dst_id);";

static void bind(sqlite3_stmt *s, int col, struct ss_str text)
{
	sqlite3_bind_text64(s, col, text.n ? text.p : "", text.n, SQLITE_STATIC, SQLITE_UTF8);
}

/* ["%a", "%b"] */
static void names_json(struct ss_buf *b, const struct xg_graph *g, struct xg_list l,
		       bool computations)
{
	ss_buf_char(b, '[');
	for (uint32_t k = 0; k < l.n; k++) {
		uint32_t at = xg_link(g, l, k);
		ss_buf_printf(b, "%s\"%s", k ? ", " : "", computations ? "" : "%");
		ss_buf_str(b, computations ? g->computations[at].name : g->instrs[at].name);
		ss_buf_char(b, '"');
	}
	ss_buf_char(b, ']');
}

static bool is_wrapper(const struct xg_instr *i)
{
	static const char *const opcodes[] = { "call", "while", "conditional", "async-start" };
	for (size_t k = 0; i->called.n && k < SS_COUNT(opcodes); k++)
		if (ss_str_ieq(i->opcode, ss_str_from(opcodes[k])))
			return true;
	return false;
}

static bool add_instruction(sqlite3_stmt *s, const struct xg_graph *g, uint32_t at)
{
	const struct xg_instr *i = &g->instrs[at];
	const struct xg_computation *c = &g->computations[i->computation];
	bool apart = c->fused || c->reducer;
	struct ss_buf operands = { 0 }, called = { 0 };
	names_json(&operands, g, i->operands, false);
	names_json(&called, g, i->called, true);
	sqlite3_reset(s);
	sqlite3_bind_int64(s, 1, (int64_t)at + 1);
	bind(s, 2, i->name);
	bind(s, 3, c->name);
	bind(s, 4, i->opcode);
	bind(s, 5, i->opcode);
	bind(s, 6, i->shape);
	bind(s, 7, i->dtype);
	bind(s, 8, i->layout);
	sqlite3_bind_int(s, 9, c->root == at);
	sqlite3_bind_int(s, 10, !apart && xg_is_blocker(i));
	sqlite3_bind_int(s, 11, c->fused);
	sqlite3_bind_int(s, 12, !apart && !is_wrapper(i));
	sqlite3_bind_int64(s, 13, i->operands.n);
	sqlite3_bind_int64(s, 14, i->users.n);
	bind(s, 15, ss_buf_get(&operands));
	bind(s, 16, ss_buf_get(&called));
	bind(s, 17, SS_STR(""));
	bind(s, 18, SS_STR(""));
	sqlite3_bind_int(s, 19, 0);
	sqlite3_bind_double(s, 20, i->flops);
	sqlite3_bind_double(s, 21, i->bytes);
	sqlite3_bind_double(s, 22, 0);
	bind(s, 23, i->expression);
	bool ok = !operands.no_memory && !called.no_memory && sqlite3_step(s) == SQLITE_DONE;
	ss_buf_free(&operands);
	ss_buf_free(&called);
	return ok;
}

static bool add_edges(sqlite3_stmt *edge, sqlite3_stmt *call, const struct xg_graph *g, uint32_t at)
{
	const struct xg_instr *i = &g->instrs[at];
	bool ok = true;
	for (uint32_t k = 0; ok && k < i->operands.n; k++) {
		sqlite3_reset(edge);
		sqlite3_bind_int64(edge, 1, (int64_t)xg_link(g, i->operands, k) + 1);
		sqlite3_bind_int64(edge, 2, (int64_t)at + 1);
		sqlite3_bind_int64(edge, 3, k);
		ok = sqlite3_step(edge) == SQLITE_DONE;
	}
	for (uint32_t k = 0; ok && k < i->called.n; k++) {
		sqlite3_reset(call);
		sqlite3_bind_int64(call, 1, (int64_t)at + 1);
		bind(call, 2, g->computations[i->computation].name);
		bind(call, 3, g->computations[xg_link(g, i->called, k)].name);
		ok = sqlite3_step(call) == SQLITE_DONE;
	}
	return ok;
}

static bool add_computation(sqlite3_stmt *s, const struct xg_graph *g, uint32_t c)
{
	sqlite3_reset(s);
	sqlite3_bind_int64(s, 1, c);
	bind(s, 2, g->computations[c].name);
	sqlite3_bind_int(s, 3, c == g->entry);
	sqlite3_bind_int64(s, 4, g->computations[c].n);
	sqlite3_bind_int64(
		s, 5,
		g->computations[c].root == SS_NONE ? -1 : (int64_t)g->computations[c].root + 1);
	return sqlite3_step(s) == SQLITE_DONE;
}

static bool fill(sqlite3 *db, const struct xg_graph *g)
{
	static const char *const inserts[] = {
		"INSERT INTO computations VALUES (?,?,?,?,?)",
		"INSERT INTO instructions VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
		"INSERT INTO edges VALUES (?,?,?)",
		"INSERT INTO call_edges VALUES (?,?,?)",
	};
	sqlite3_stmt *s[SS_COUNT(inserts)] = { NULL };
	bool ok = sqlite3_exec(db, schema, NULL, NULL, NULL) == SQLITE_OK &&
		  sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK;
	for (size_t i = 0; i < SS_COUNT(inserts); i++)
		ok = ok && sqlite3_prepare_v2(db, inserts[i], -1, &s[i], NULL) == SQLITE_OK;
	for (uint32_t c = 0; ok && c < g->ncomputations; c++)
		ok = add_computation(s[0], g, c);
	for (uint32_t i = 0; ok && i < g->n; i++)
		ok = add_instruction(s[1], g, i) && add_edges(s[2], s[3], g, i);
	for (size_t i = 0; i < SS_COUNT(inserts); i++)
		sqlite3_finalize(s[i]);
	return ok && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
}

static int authorize(void *arg, int action, const char *a, const char *b, const char *c,
		     const char *d)
{
	(void)arg;
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	bool reads = action == SQLITE_SELECT || action == SQLITE_READ ||
		     action == SQLITE_FUNCTION || action == SQLITE_RECURSIVE;
	return reads ? SQLITE_OK : SQLITE_DENY;
}

static int look(void *arg)
{
	uint32_t *looks = arg;
	return ++*looks > MOST_LOOKS;
}

bool xg_db_open(struct xcli *x, const struct xg_graph *g, sqlite3 **db)
{
	uint32_t *looks = SS_NEW(&x->arena, uint32_t);
	*db = NULL;
	bool ok = looks &&
		  sqlite3_open_v2(":memory:", db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY,
				  NULL) == SQLITE_OK &&
		  fill(*db, g);
	if (!ok) {
		xg_db_close(*db);
		*db = NULL;
		return xcli_no_memory(x);
	}
	ss_db_limit(*db);
	sqlite3_set_authorizer(*db, authorize, NULL);
	sqlite3_progress_handler(*db, STEPS_BETWEEN_LOOKS, look, looks);
	return true;
}

void xg_db_close(sqlite3 *db)
{
	sqlite3_close(db);
}

static bool put_cell(struct xcli *x, struct xv *row, sqlite3_stmt *s, int col)
{
	struct ss_str key = ss_arena_str(&x->arena, ss_str_from(sqlite3_column_name(s, col))), text;
	switch (sqlite3_column_type(s, col)) {
	case SQLITE_INTEGER:
		xv_i64(row, key.p, sqlite3_column_int64(s, col));
		return key.p;
	case SQLITE_FLOAT:
		xv_f64(row, key.p, sqlite3_column_double(s, col));
		return key.p;
	case SQLITE_NULL:
		xv_null(row, key.p);
		return key.p;
	default:
		text = (struct ss_str){ (const char *)sqlite3_column_text(s, col),
					(size_t)sqlite3_column_bytes(s, col) };
		text = ss_arena_str(&x->arena, text);
		xv_str(row, key.p, text);
		return key.p && text.p;
	}
}

bool xg_db_rows(struct xcli *x, sqlite3 *db, const char *sql, const struct ss_str *params,
		size_t nparams, int64_t limit, struct xv *rows)
{
	sqlite3_stmt *s = NULL;
	const char *rest = NULL;
	int status = sqlite3_prepare_v2(db, sql, -1, &s, &rest);
	bool ok = status == SQLITE_OK && s;
	while (ok && rest && (isspace((unsigned char)*rest) || *rest == ';'))
		rest++;
	if (ok && rest && *rest)
		ok = xcli_fail(x, XCLI_INVALID, "Only one statement is taken");
	for (size_t i = 0; ok && i < nparams; i++)
		bind(s, (int)i + 1, params[i]);
	limit = limit < 0 || limit > MOST_ROWS ? MOST_ROWS : limit;
	for (int64_t n = 0; ok && n < limit && (status = sqlite3_step(s)) == SQLITE_ROW; n++) {
		struct xv *row = xv_add_object(rows, NULL);
		for (int col = 0; ok && col < sqlite3_column_count(s); col++)
			ok = put_cell(x, row, s, col) || xcli_no_memory(x);
	}
	if (ok && status != SQLITE_OK && status != SQLITE_ROW && status != SQLITE_DONE)
		ok = false;
	if (!ok && status == SQLITE_NOMEM)
		xcli_no_memory(x);
	else if (!ok)
		xcli_fail(x, XCLI_INVALID, "%s",
			  status == SQLITE_INTERRUPT
				  ? "The query takes too long: more than 2*10^8 steps"
				  : sqlite3_errmsg(db));
	sqlite3_finalize(s);
	return ok;
}

/* The next word outside of texts, names in quotes and comments; empty at the end. */
static struct ss_str next_word(const char **p)
{
	for (const char *s = *p;;) {
		if (!*s)
			return SS_STR("");
		if (*s == '\'' || *s == '"') {
			const char *end = strchr(s + 1, *s);
			s = end ? end + 1 : s + strlen(s);
		} else if (s[0] == '-' && s[1] == '-') {
			s += strcspn(s, "\n");
		} else if (s[0] == '/' && s[1] == '*') {
			const char *end = strstr(s + 2, "*/");
			s = end ? end + 2 : s + strlen(s);
		} else if (isalnum((unsigned char)*s) || *s == '_') {
			const char *from = s;
			while (isalnum((unsigned char)*s) || *s == '_')
				s++;
			*p = s;
			return (struct ss_str){ from, (size_t)(s - from) };
		} else {
			s++;
		}
	}
}

bool xg_db_is_query(const char *sql)
{
	static const char *const forbidden[] = { "INSERT", "UPDATE", "DELETE", "DROP",
						 "ALTER",  "CREATE", "ATTACH", "DETACH",
						 "VACUUM", "PRAGMA", "REINDEX" };
	const char *p = sql;
	struct ss_str word = next_word(&p);
	if (!ss_str_ieq(word, SS_STR("SELECT")) && !ss_str_ieq(word, SS_STR("WITH")))
		return false;
	while ((word = next_word(&p)).n)
		for (size_t i = 0; i < SS_COUNT(forbidden); i++)
			if (ss_str_ieq(word, ss_str_from(forbidden[i])))
				return false;
	return true;
}
