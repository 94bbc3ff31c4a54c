/* answers.c - what the readers of stored answers share. */
#include "legacy/answers.h"
#include "model/host/host.h"

#include "legacy/files/unpack.h"

#include <math.h>

/* The note that the figures are not ours, and which file they come from. */
static bool note(const struct ss_host *h, struct ss_result *out)
{
	size_t slash = ss_str_rchr(h->x.path, '/');
	struct ss_str file = slash == SS_NPOS ? h->x.path : ss_str_sub(h->x.path, slash + 1, h->x.path.n);
	struct ss_str text = ss_arena_printf(
		out->arena, "These figures were not computed here: they are stored in '" SS_FMT "'", SS_ARG(file));
	ss_result_note(out, SS_INFO, text);
	return true;
}

bool ss_legacy_is_json(const struct ss_host *h)
{
	return ss_str_ends(h->x.path, SS_STR(".json")) || ss_str_ends(h->x.path, SS_STR(".json.gz"));
}

/* The bytes of the file, unpacked where they are packed (also twice); p NULL on failure. In q's arena, or the file's own. */
static struct ss_str bytes_of(const struct ss_request *q, const struct ss_host *h, struct ss_err *err)
{
	struct ss_str bytes;
	return ss_unpack(h->x.file.bytes, q->arena, &bytes, err) ? bytes : (struct ss_str){ NULL, 0 };
}

const struct ss_jnode *ss_legacy_read(const struct ss_request *q, const struct ss_host *h, const struct ss_pbt_field *fields,
				   struct ss_result *out, struct ss_err *err)
{
	return ss_legacy_read_to(q, h, fields, SS_JSON_DEPTH, out, err);
}

const struct ss_jnode *ss_legacy_read_to(const struct ss_request *q, const struct ss_host *h, const struct ss_pbt_field *fields,
					 size_t levels, struct ss_result *out, struct ss_err *err)
{
	struct ss_err why = { 0 };
	bool json = !fields || ss_legacy_is_json(h);
	struct ss_str bytes = bytes_of(q, h, &why);
	const struct ss_jnode *root = !bytes.p ? NULL :
				      json     ? ss_jtree_of_json_to(bytes, levels, q->arena, &why)
					       : ss_jtree_of_pb(bytes, fields, q->arena, &why);
	if (!root) {
		ss_fail(err, why.code, "'" SS_FMT "' cannot be read: %s", SS_ARG(h->x.path), why.text);
		return NULL;
	}
	if (json) {
		out->content_type = "application/json";
		out->body = bytes;
	}
	if (note(h, out))
		return root;
	ss_fail_mem(err);
	return NULL;
}

/* ---- DataTables ---- */

static const struct ss_col *known_col(const struct ss_col *known, size_t n, struct ss_str id)
{
	for (size_t i = 0; i < n; i++)
		if (ss_str_is(id, known[i].id))
			return &known[i];
	return NULL;
}

static struct ss_str name_now(struct ss_str id, const char *const *names)
{
	for (; names && *names; names += 2)
		if (ss_str_is(id, names[0]))
			return ss_str_from(names[1]);
	return id;
}

static const char *z(struct ss_arena *arena, struct ss_str s)
{
	return ss_arena_str(arena, s).p;
}

static bool make_col(const struct ss_jnode *c, const struct ss_col *known, size_t nknown, const char *const *names,
		     struct ss_arena *arena, struct ss_col *out)
{
	struct ss_str type = ss_jnode_text(c, "type"), role = ss_jnode_text(ss_jnode_get(c, "p"), "role");
	struct ss_str id = name_now(ss_jnode_text(c, "id"), names), label = ss_jnode_text(c, "label");
	const struct ss_col *k = known_col(known, nknown, id);
	*out = (struct ss_col){ .id = z(arena, id), .unit = SS_UNIT_NONE };
	out->label = k ? k->label : z(arena, label.n ? label : id);
	if (k) {
		out->unit = k->unit;
		out->doc = k->doc;
	}
	out->type = ss_str_is(type, "number") ? SS_TYPE_F64 : ss_str_is(type, "boolean") ? SS_TYPE_BOOL : SS_TYPE_STR;
	if (out->type == SS_TYPE_STR)
		out->unit = out->unit == SS_UNIT_HTML ? SS_UNIT_HTML : SS_UNIT_NONE;
	out->role = role.n ? z(arena, role) : NULL;
	return out->id && out->label && (!role.n || out->role);
}

static void set_cell(struct ss_table *t, size_t col, const struct ss_jnode *v)
{
	switch (t->cols[col].type) {
	case SS_TYPE_F64:
		ss_set_f64(t, col, v ? v->num : NAN);
		break;
	case SS_TYPE_BOOL:
		ss_set_bool(t, col, v && v->kind == SS_J_TRUE);
		break;
	default:
		if (v && (v->kind == SS_J_STRING || v->kind == SS_J_NUMBER))
			ss_set_str(t, col, v->text);
	}
}

static void add_row(struct ss_table *t, const struct ss_jnode *row)
{
	const struct ss_jnode *cells = ss_jnode_get(row, "c"), *cell = cells ? cells->first : NULL;
	ss_table_row(t);
	/* A row may be shorter than the table, and a cell null. */
	for (size_t i = 0; i < t->ncols; i++) {
		set_cell(t, i, ss_jnode_get(cell, "v"));
		cell = cell ? cell->next : NULL;
	}
}

/* A property whose text is a number, with what it stands for: "12.3%" is 12.3 percent. */
static bool legacy_prop(struct ss_table *t, struct ss_str id, struct ss_str text, struct ss_arena *arena)
{
	static const struct {
		struct ss_str part;
		enum ss_unit unit;
	} units[] = {
		{ SS_STR_INIT("percent"), SS_UNIT_PERCENT },
		{ SS_STR_INIT("_ms"), SS_UNIT_MS },
		{ SS_STR_INIT("_us"), SS_UNIT_US },
		{ SS_STR_INIT("relative_to"), SS_UNIT_PERCENT },
		{ SS_STR_INIT("host_count"), SS_UNIT_COUNT },
	};
	const char *name = z(arena, id);
	struct ss_str digits = text;
	double v;
	size_t before = t->nprops;
	if (name)
		ss_table_prop(t, name, text);
	if (t->nprops == before)
		return false;
	if (digits.n && digits.p[digits.n - 1] == '%')
		digits.n--;
	for (size_t i = 0; i < SS_COUNT(units); i++)
		if (ss_str_contains(id, units[i].part) && ss_str_to_f64(digits, &v)) {
			t->props[t->nprops - 1].unit = units[i].unit;
			t->props[t->nprops - 1].value = v;
			break;
		}
	return true;
}

bool ss_legacy_table(const struct ss_jnode *data_table, const char *name, const char *title, const struct ss_col *known,
		  size_t nknown, const char *const *names, struct ss_result *out)
{
	const struct ss_jnode *list = ss_jnode_get(data_table, "cols"), *rows = ss_jnode_get(data_table, "rows"),
			      *props = ss_jnode_get(data_table, "p");
	size_t n = ss_jnode_count(list), i = 0;
	struct ss_col *cols = SS_NEW_N(out->arena, struct ss_col, n + 1);
	for (const struct ss_jnode *c = list ? list->first : NULL; cols && c; c = c->next)
		if (!make_col(c, known, nknown, names, out->arena, &cols[i++]))
			return false;
	struct ss_table *t = cols ? ss_result_table(out, name, title, cols, n) : NULL;
	if (!t)
		return false;
	for (const struct ss_jnode *r = n && rows ? rows->first : NULL; r; r = r->next) {
		/* A cell takes two bytes at least: more cells than that are none. */
		if ((t->nrows + 1) * n > out->body.n) {
			ss_result_note(out, SS_WARNING, SS_STR("rows without cells are left out"));
			return true;
		}
		add_row(t, r);
	}
	for (const struct ss_jnode *p = props ? props->first : NULL; p; p = p->next)
		if (!legacy_prop(t, p->key, p->text, out->arena))
			return false;
	return true;
}
