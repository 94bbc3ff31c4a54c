/*
 * speedscope.c - JSON for speedscope: a profile for each lane of each line, with begins and ends; of profiles with more events
 * than its page can hold, stacks with weights.
 */
#include "export/lanes.h"

#include "export/stacks.h"
#include "model/host/identity.h"
#include "sql/directory.h"

#include <stdlib.h>

#define EVENTS_MOST 1000000u

struct writer {
	struct ss_export *x;
	struct ss_out *o;
	struct ss_strmap frames;
	bool first; /* event of its profile */
};

static uint32_t frame_of(struct writer *w, const struct ss_sql_line *line, uint32_t i)
{
	struct ss_str name = ss_event_label(line->plane, line->l.ev.meta[i]);
	return ss_strmap_add(&w->frames, name.n ? name : SS_STR("(no name)"));
}

static void put_us(struct ss_out *o, int64_t ps)
{
	ss_out_us(o, ps < 0 ? 0 : (uint64_t)ps);
}

static bool put_event(struct writer *w, const struct ss_sql_line *line, uint32_t i, int64_t ps,
		      char type)
{
	uint32_t frame = frame_of(w, line, i);
	if (frame == SS_NONE)
		return false;
	ss_out_printf(w->o, "%s{\"type\":\"%c\",\"frame\":%u,\"at\":", w->first ? "" : ",", type,
		      frame);
	put_us(w->o, ps);
	ss_out_char(w->o, '}');
	w->first = false;
	return true;
}

static bool begin(void *arg, const struct ss_sql_line *line, uint32_t i, int64_t ps)
{
	struct writer *w = arg;
	w->x->nevents++;
	return put_event(w, line, i, ps, 'O');
}

static bool end(void *arg, const struct ss_sql_line *line, uint32_t i, int64_t ps)
{
	return put_event(arg, line, i, ps, 'C');
}

static void put_title(struct writer *w, const struct ss_sql_line *line, unsigned lane,
		      const char *type)
{
	struct ss_str name = ss_sql_line_name(line);
	ss_out_printf(w->o, "{\"type\":\"%s\",\"name\":\"", type);
	ss_out_json_escaped(w->o, ss_host_name(line->host));
	ss_out_char(w->o, ' ');
	ss_out_json_escaped(w->o, line->plane->name);
	ss_out_char(w->o, ' ');
	ss_out_json_escaped(w->o, name);
	if (lane)
		ss_out_printf(w->o, " (%u)", lane + 1);
	ss_out_lit(w->o, "\",\"unit\":\"microseconds\"");
}

static int64_t last_end(const struct ss_lanes *l, const struct ss_sql_line *line)
{
	int64_t last = 0;
	for (uint32_t k = l->lo; k < l->hi; k++) {
		int64_t ps = ss_sql_end_ps(line, ss_sql_in_time(line, k));
		last = ps > last ? ps : last;
	}
	return last;
}

static bool put_line(struct writer *w, struct ss_sql_line *line, unsigned *nprofiles)
{
	struct ss_lanes l;
	if (!ss_lanes_of(&l, w->x, line))
		return false;
	bool ok = true;
	for (unsigned lane = 0; ok && lane < l.n; lane++) {
		ss_out_z(w->o, (*nprofiles)++ ? ",\n" : "\n");
		put_title(w, line, lane, "evented");
		ss_out_lit(w->o, ",\"startValue\":0,\"endValue\":");
		put_us(w->o, last_end(&l, line));
		ss_out_lit(w->o, ",\"events\":[");
		w->first = true;
		ok = ss_lane_write(&l, lane, line, &(struct ss_lane_writer){ begin, end, w });
		ss_out_lit(w->o, "]}");
	}
	ss_export_lose(w->x, l.nleft_out, SS_EXPORT_OVERLAP);
	ss_lanes_free(&l);
	return ok;
}

static void put_stack(struct ss_out *o, const struct ss_stack_tree *s, uint32_t at)
{
	if (s->v.v[at].parent != SS_NONE) {
		put_stack(o, s, s->v.v[at].parent);
		ss_out_char(o, ',');
	}
	ss_out_u64(o, s->v.v[at].frame);
}

static void put_frames(struct writer *w)
{
	ss_out_lit(w->o, "],\n\"shared\":{\"frames\":[");
	for (uint32_t i = 0; i < w->frames.n; i++) {
		ss_out_z(w->o, i ? ",{\"name\":" : "{\"name\":");
		ss_out_json_str(w->o, w->frames.keys[i]);
		ss_out_char(w->o, '}');
	}
}

static bool put_stacks(struct writer *w)
{
	struct ss_stack_tree s;
	int64_t sum_ps = 0;
	bool ok = ss_stacks_of(&s, w->x);
	ss_out_lit(w->o, "\n{\"type\":\"sampled\",\"name\":\"self "
			 "time\",\"unit\":\"microseconds\",\"startValue\":0,\"samples\":[");
	for (uint32_t i = 0, any = 0; ok && i < s.v.n; i++)
		if (s.v.v[i].self_ps > 0) {
			ss_out_z(w->o, any++ ? ",[" : "[");
			put_stack(w->o, &s, i);
			ss_out_char(w->o, ']');
		}
	ss_out_lit(w->o, "],\"weights\":[");
	for (uint32_t i = 0, any = 0; ok && i < s.v.n; i++)
		if (s.v.v[i].self_ps > 0) {
			ss_out_z(w->o, any++ ? "," : "");
			put_us(w->o, s.v.v[i].self_ps);
			sum_ps = ss_safe_sum(sum_ps, s.v.v[i].self_ps);
		}
	ss_out_lit(w->o, "],\"endValue\":");
	put_us(w->o, sum_ps);
	ss_out_char(w->o, '}');
	for (uint32_t i = 0; ok && i < s.frames.n; i++)
		ok = ss_strmap_add(&w->frames, s.frames.keys[i]) == i;
	/* Names of planes may lie in the arena of the stacks. */
	if (ok)
		w->x->note = s.cut ? "the profile has more events than speedscope holds: stacks with their self time were "
					 "written instead; what is deeper than 1,024 frames is counted at that depth"
				       : "the profile has more events than speedscope holds: stacks with their self time were "
					 "written instead";
	put_frames(w);
	ss_stack_tree_free(&s);
	return ok;
}

static bool put_lines(struct writer *w)
{
	unsigned nprofiles = 0;
	bool ok = true;
	for (uint32_t n = 0; ok && n < w->x->d->nlines; n++)
		if (ss_export_takes(w->x, &w->x->d->lines[n]))
			ok = put_line(w, &w->x->d->lines[n], &nprofiles);
	put_frames(w);
	return ok;
}

static bool write(struct ss_export *x, struct ss_out *o, struct ss_err *err)
{
	struct writer w = { .x = x, .o = o };
	ss_out_lit(o,
		   "{\"$schema\":\"https://www.speedscope.app/"
		   "file-format-schema.json\",\"exporter\":\"stepscope " SS_VERSION "\",\"name\":");
	ss_out_json_str(o, x->name);
	ss_out_lit(o, ",\"activeProfileIndex\":0,\"profiles\":[");
	bool ok = x->nasked > EVENTS_MOST ? put_stacks(&w) : put_lines(&w);
	ss_out_lit(o, "]}}\n");
	ss_strmap_free(&w.frames);
	return ok || ss_fail_mem(err);
}

const struct ss_export_format ss_export_speedscope = {
	.name = "speedscope",
	.doc = "JSON for speedscope.app: up to a million events",
	.omits = SS_STACKS_OMIT,
	.write = write,
};
