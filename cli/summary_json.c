/* summary_json.c - the verdict as one JSON object (docs/verdicts.md). */
#include "summary.h"

#include <math.h>

static void put_number(struct ss_out *o, double v)
{
	if (isfinite(v))
		ss_out_f64(o, v);
	else
		ss_out_lit(o, "null");
}

static void put_texts(struct ss_out *o, const struct ss_str *v, size_t n)
{
	ss_out_char(o, '[');
	for (size_t i = 0; i < n; i++) {
		ss_out_z(o, i ? "," : "");
		ss_out_json_str(o, v[i]);
	}
	ss_out_char(o, ']');
}

static void put_key(struct ss_out *o, const char *before, const char *key)
{
	ss_out_printf(o, "%s\"%s\":", before, key);
}

static void put_proof(struct ss_out *o, const struct ss_proof *p)
{
	put_key(o, "{", "what");
	ss_out_json_str(o, p->what);
	put_key(o, ",", "value");
	if (p->words.n)
		ss_out_json_str(o, p->words);
	else
		put_number(o, p->value);
	put_key(o, ",", "unit");
	ss_out_json_str(o, ss_str_from(p->unit));
	put_key(o, ",", "host");
	ss_out_json_str(o, p->host);
	put_key(o, ",", "tool");
	ss_out_json_str(o, p->tool);
	put_key(o, ",", "link");
	ss_out_json_str(o, p->link);
	ss_out_char(o, '}');
}

static void put_finding(struct ss_out *o, const struct ss_verdict_finding *f)
{
	put_key(o, "{", "cause");
	ss_out_json_str(o, ss_cause_name(f->cause));
	put_key(o, ",", "share");
	put_number(o, f->share_frac);
	put_key(o, ",", "subject");
	ss_out_json_str(o, f->subject);
	put_key(o, ",", "text");
	ss_out_json_str(o, f->text);
	put_key(o, ",", "advice");
	put_texts(o, f->advice, f->nadvice);
	put_key(o, ",", "evidence");
	ss_out_char(o, '[');
	for (size_t i = 0; i < f->nevidence; i++) {
		ss_out_z(o, i ? "," : "");
		put_proof(o, &f->evidence[i]);
	}
	ss_out_lit(o, "]}");
}

static void put_steps(struct ss_out *o, const struct ss_verdict *v)
{
	ss_out_printf(o, ",\n \"steps\":{\"count\":%zu,\"mean_ps\":", v->steps);
	put_number(o, v->mean_ps);
	put_key(o, ",", "source");
	ss_out_json_str(o, ss_step_source_name(v->source));
	put_key(o, ",", "confidence");
	put_number(o, v->confidence);
	ss_out_char(o, '}');
}

void cli_summary_json(struct ss_out *o, const struct ss_verdict *v, struct ss_str run)
{
	ss_out_lit(o, "{\"schema\":1,\n \"profile\":{\"run\":");
	ss_out_json_str(o, run);
	put_key(o, ",", "hosts");
	put_texts(o, v->hosts, v->nhosts);
	put_key(o, ",", "framework");
	ss_out_json_str(o, v->framework);
	put_key(o, ",", "device");
	ss_out_json_str(o, v->device);
	ss_out_char(o, '}');
	put_steps(o, v);
	ss_out_printf(o, ",\n \"verdict\":%s,\n \"findings\":[", v->nfindings ? "0" : "null");
	for (size_t i = 0; i < v->nfindings; i++) {
		ss_out_z(o, i ? ",\n  " : "\n  ");
		put_finding(o, &v->findings[i]);
	}
	ss_out_lit(o, "],\n \"incomplete\":[");
	for (size_t i = 0; i < v->ngaps; i++) {
		ss_out_z(o, i ? "," : "");
		ss_out_json_str(o, v->gaps[i].text);
	}
	ss_out_lit(o, "],\n \"not_judged\":[");
	for (size_t i = 0; i < v->nnot_judged; i++) {
		put_key(o, i ? ",\n  {" : "\n  {", "cause");
		ss_out_json_str(o, ss_cause_name(v->not_judged[i].cause));
		put_key(o, ",", "why");
		ss_out_json_str(o, v->not_judged[i].why);
		ss_out_char(o, '}');
	}
	ss_out_lit(o, "]}\n");
}
