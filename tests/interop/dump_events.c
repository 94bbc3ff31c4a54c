/*
 * dump_events.c - what preprocessing made of a profile, as lines of JSON: for comparison with
 * XProf's own (preprocess_live.py).
 *
 *	dump_events FILE
 *
 *	["plane", name]
 *	["line", id, display id, name, display name]
 *	["event", begin_ps, dur_ps, name, display name, group id, eager, device begin,
 *	 device duration, [direction, category, id], {stat: value}]
 *	["group", id, name, [parents], [children]]
 *
 * Without FILE: reads names of files from stdin and dumps each, ["end"] behind it.
 */
#include "emit/out.h"

#include "model/host/host.h"
#include "model/preprocess/flows.h"
#include "model/preprocess/preprocess.h"
#include "model/timeline/display_lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static bool to_stdout(void *arg, const char *p, size_t n)
{
	(void)arg;
	return fwrite(p, 1, n, stdout) == n;
}

static void added_value(struct ss_out *o, const struct ss_added_stat *s)
{
	ss_out_json_str(o, ss_stat_name(s->stat));
	ss_out_char(o, ':');
	switch (s->kind) {
	case SS_X_STR:
		ss_out_json_str(o, s->s);
		break;
	case SS_X_DOUBLE:
		ss_out_f64(o, ss_pb_double(s->u));
		break;
	case SS_X_UINT:
		ss_out_u64(o, s->u);
		break;
	default:
		ss_out_i64(o, (int64_t)s->u);
	}
}

struct cursor {
	size_t added, flow;
	const struct ss_flow *flows;
	size_t nflows;
};

static int eager_of_file(const struct ss_plane *p, const struct ss_line *l, uint32_t i)
{
	struct ss_xstat s;
	return ss_xstats_find(ss_line_stats(p, l, i), SS_STAT_IS_EAGER, &s) ? (int)ss_xstat_int_or_uint(&s) : -1;
}

static int64_t group_of(const struct ss_plane *p, const struct ss_display_line *d, uint32_t i)
{
	size_t at = SIZE_MAX;
	return ss_display_has_groups(d) ? ss_display_group_at(d, i, &at) : ss_event_group(p, d->line, i);
}

static void dump_event(struct ss_out *o, const struct ss_plane *p, const struct ss_display_line *d, uint32_t i, struct cursor *c)
{
	static const struct ss_line none;
	const struct ss_line *l = d->line ? d->line : &none;
	const struct ss_added_stats *added = d->line ? &l->added : &d->added;
	int eager = l->eager ? l->eager[i] : d->line ? eager_of_file(p, l, i) : -1;
	ss_out_printf(o, "[\"event\",%" PRId64 ",%" PRIu64 ",", ss_display_begin_ps(d, i), ss_display_dur_ps(d, i));
	ss_out_json_str(o, ss_event_name(p, ss_display_meta(d, i)));
	ss_out_char(o, ',');
	ss_out_json_str(o, ss_event_display_name(p, ss_display_meta(d, i)));
	ss_out_printf(o, ",%" PRId64 ",%d,", group_of(p, d, i), eager);
	ss_out_printf(o, "%" PRId64 ",%" PRId64 ",", l->dev_begin_ps ? l->dev_begin_ps[i] : -1,
		      l->dev_dur_ps ? (int64_t)l->dev_dur_ps[i] : -1);
	if (c->flow < c->nflows && c->flows[c->flow].event == i) {
		const struct ss_flow *f = &c->flows[c->flow++];
		ss_out_printf(o, "[%d,%d,\"%" PRIx64 "\"],{", f->dir, f->category, f->id);
	} else {
		ss_out_lit(o, "null,{");
	}
	for (bool first = true; c->added < added->n && added->v[c->added].event == i; c->added++, first = false) {
		if (!first)
			ss_out_char(o, ',');
		added_value(o, &added->v[c->added]);
	}
	ss_out_lit(o, "}]\n");
}

static bool dump_line(struct ss_out *o, const struct ss_host *h, const struct ss_plane *p,
		      const struct ss_display_line *l, struct ss_err *err)
{
	struct ss_flow *flows = NULL;
	struct cursor c = { 0 };
	if (l->line && !ss_preprocess_flows(h, p, l->line, &flows, &c.nflows, err))
		return false;
	c.flows = flows;
	ss_out_printf(o, "[\"line\",%" PRId64 ",%" PRId64 ",", l->id, l->display_id);
	ss_out_json_str(o, l->name);
	ss_out_char(o, ',');
	ss_out_json_str(o, l->display_name);
	ss_out_lit(o, "]\n");
	for (uint32_t i = 0; i < l->n; i++)
		dump_event(o, p, l, i, &c);
	free(flows);
	return true;
}

static void dump_group(struct ss_out *o, uint32_t id, const struct ss_group *g)
{
	ss_out_printf(o, "[\"group\",%u,", id);
	ss_out_json_str(o, g->name);
	ss_out_lit(o, ",[");
	for (uint32_t i = 0; i < g->nparents; i++)
		ss_out_printf(o, "%s%" PRId64, i ? "," : "", g->parents[i]);
	ss_out_lit(o, "],[");
	for (uint32_t i = 0; i < g->nchildren; i++)
		ss_out_printf(o, "%s%" PRId64, i ? "," : "", g->children[i]);
	ss_out_lit(o, "]]\n");
}

static bool dump(struct ss_out *o, const char *path, struct ss_err *err)
{
	struct ss_host h;
	if (!ss_host_open(&h, path, err))
		return false;
	const struct ss_display_plane *planes = ss_host_display_planes(&h, err);
	bool ok = planes;
	for (uint32_t i = 0; ok && i < h.nplanes; i++) {
		ss_out_lit(o, "[\"plane\",");
		ss_out_json_str(o, planes[i].base.name);
		ss_out_lit(o, "]\n");
		for (uint32_t j = 0; ok && j < planes[i].nlines; j++)
			ok = dump_line(o, &h, &planes[i].base, &planes[i].lines[j], err);
	}
	for (uint32_t i = 0; ok && i < h.ngroups; i++)
		dump_group(o, i, &h.groups[i]);
	ss_host_close(&h);
	return ok;
}

int main(int argc, char **argv)
{
	char path[4096] = "";
	struct ss_out o;
	bool ok = true;
	for (int i = 1; i < argc || (argc == 1 && fgets(path, sizeof(path), stdin)); i++) {
		struct ss_err err = { 0 };
		const char *name = argc == 1 ? path : argv[i];
		path[strcspn(path, "\n")] = '\0';
		ss_out_init(&o, to_stdout, NULL);
		if (!dump(&o, name, &err)) {
			fprintf(stderr, "%s: %s\n", name, err.text);
			ok = false;
		}
		if (argc == 1)
			ss_out_lit(&o, "[\"end\"]\n");
		ok &= ss_out_finish(&o, NULL);
		fflush(stdout);
		ss_out_free(&o);
	}
	return ok ? 0 : 1;
}
