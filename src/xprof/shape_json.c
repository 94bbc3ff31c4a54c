/* shape_json.c - see shape.h: what the shapes print with. */
#include "xprof/shape.h"

double ss_shape_prop(const struct ss_table *t, const char *id)
{
	const struct ss_prop *p = ss_table_find_prop(t, id);
	return p ? p->value : 0;
}

struct ss_str ss_shape_prop_text(const struct ss_table *t, const char *id)
{
	const struct ss_prop *p = ss_table_find_prop(t, id);
	return p ? p->text : SS_STR("");
}

void ss_json_open(struct ss_json *j, char bracket)
{
	ss_out_char(j->o, bracket);
	j->first = true;
}

void ss_json_close(struct ss_json *j, char bracket)
{
	ss_out_char(j->o, bracket);
	j->first = false;
}

void ss_json_key(struct ss_json *j, const char *key)
{
	if (!j->first)
		ss_out_char(j->o, ',');
	j->first = false;
	if (!key)
		return;
	ss_out_json_str(j->o, ss_str_from(key));
	ss_out_char(j->o, ':');
}

void ss_json_str(struct ss_json *j, const char *key, struct ss_str v)
{
	ss_json_key(j, key);
	ss_out_json_str(j->o, v);
}

void ss_json_i64(struct ss_json *j, const char *key, int64_t v)
{
	ss_json_key(j, key);
	ss_out_char(j->o, '"');
	ss_out_i64(j->o, v);
	ss_out_char(j->o, '"');
}

void ss_json_u64(struct ss_json *j, const char *key, uint64_t v)
{
	ss_json_key(j, key);
	ss_out_char(j->o, '"');
	ss_out_u64(j->o, v);
	ss_out_char(j->o, '"');
}

void ss_json_int(struct ss_json *j, const char *key, int64_t v)
{
	ss_json_key(j, key);
	ss_out_i64(j->o, v);
}

void ss_json_f64(struct ss_json *j, const char *key, double v)
{
	ss_json_key(j, key);
	ss_out_f64(j->o, v);
}
