/* text_stack.c - the tables of stack frames at the head of a module's text. */
#include "base/vec.h"
#include "hlo/literal.h"
#include "hlo/text_parts.h"

#include <stdlib.h>

/* The table of frames is written anew: only what instructions refer to, callers first, counted in this order. */
struct renumbering {
	const struct ss_hlo_stacks *old;
	struct ss_strmap files, functions;
	struct ss_u64map locations;	/* by old id, new one */
	SS_VEC(struct ss_hlo_location) new_locations;
	SS_VEC(struct ss_hlo_frame) new_frames;
	int32_t *frames;		/* by old id */
};

static struct ss_str name_at(const struct ss_str *names, uint32_t n, int32_t id)
{
	return id >= 1 && (uint32_t)id <= n ? names[id - 1] : SS_STR("");
}

/* New number of a location, 0 when memory is out. Equal ones that stand twice are one. */
static int32_t add_location(struct renumbering *r, const struct ss_hlo_location *l)
{
	uint32_t file = ss_strmap_add(&r->files, name_at(r->old->files, r->old->nfiles, l->file));
	uint32_t function = ss_strmap_add(&r->functions, name_at(r->old->functions, r->old->nfunctions, l->function));
	if (file == SS_NONE || function == SS_NONE)
		return 0;
	struct ss_hlo_location new = *l;
	new.file = (int32_t)file + 1;
	new.function = (int32_t)function + 1;
	uint64_t key = ss_mix(ss_mix((uint64_t)(uint32_t)new.file << 32 | (uint32_t)new.function,
				     (uint64_t)(uint32_t)l->line << 32 | (uint32_t)l->column),
			      (uint64_t)(uint32_t)l->end_line << 32 | (uint32_t)l->end_column);
	uint32_t at = ss_u64map_add(&r->locations, key, (uint32_t)r->new_locations.n);
	if (at == SS_NONE || (at == r->new_locations.n && !ss_vec_push(&r->new_locations, new)))
		return 0;
	return (int32_t)at + 1;
}

static bool add_frame(struct renumbering *r, int64_t id)
{
	uint32_t chain[512], n = ss_hlo_stack_walk(r->old, id, chain, SS_COUNT(chain));
	int32_t parent = 0;
	while (n-- > 0) {
		if (!r->frames[chain[n]]) {
			static const struct ss_hlo_location nowhere;
			const struct ss_hlo_location *l = ss_hlo_frame_location(r->old, chain[n]);
			int32_t location = add_location(r, l ? l : &nowhere);
			if (!location || !ss_vec_push(&r->new_frames, (struct ss_hlo_frame){ location, parent }))
				return false;
			r->frames[chain[n]] = (int32_t)r->new_frames.n;
		}
		parent = r->frames[chain[n]];
	}
	return true;
}

static void print_names(struct ss_buf *b, const char *title, const struct ss_strmap *names)
{
	ss_buf_z(b, title);
	for (uint32_t i = 0; i < names->n; i++) {
		ss_buf_printf(b, "%u \"", i + 1);
		ss_hlo_print_escaped(b, names->keys[i]);
		ss_buf_lit(b, "\"\n");
	}
	ss_buf_char(b, '\n');
}

static void print_tables(struct ss_buf *b, const struct renumbering *r)
{
	print_names(b, "FileNames\n", &r->files);
	print_names(b, "FunctionNames\n", &r->functions);
	ss_buf_lit(b, "FileLocations\n");
	for (size_t i = 0; i < r->new_locations.n; i++) {
		const struct ss_hlo_location *l = &r->new_locations.v[i];
		ss_buf_printf(b, "%zu {file_name_id=%d function_name_id=%d line=%d end_line=%d column=%d end_column=%d}\n", i + 1,
			      l->file, l->function, l->line, l->end_line, l->column, l->end_column);
	}
	ss_buf_lit(b, "\nStackFrames\n");
	for (size_t i = 0; i < r->new_frames.n; i++)
		/* Parents are counted from one here, so that the outermost frame's is 1. */
		ss_buf_printf(b, "%zu {file_location_id=%d parent_frame_id=%d}\n", i + 1, r->new_frames.v[i].location,
			      r->new_frames.v[i].parent + 1);
	ss_buf_lit(b, "\n\n");
}

bool ss_hlo_print_stacks(struct ss_hlo_printer *p, const struct ss_hlo_stacks *old)
{
	struct renumbering r = { .old = old };
	bool ok = true;
	r.frames = calloc((size_t)old->nframes + 1, sizeof(*r.frames));
	p->frames = r.frames;
	p->nframes = old->nframes;
	ok = r.frames != NULL;
	for (uint32_t i = 0; ok && i < p->m->ninstrs; i++) {
		struct ss_hlo_instr instr;
		ss_hlo_instr_read(p->m->instrs[i], &instr);
		ok = instr.stack_frame_id < 1 || add_frame(&r, instr.stack_frame_id);
	}
	if (ok && r.new_frames.n)
		print_tables(p->b, &r);
	ss_strmap_free(&r.files);
	ss_strmap_free(&r.functions);
	ss_u64map_free(&r.locations);
	ss_vec_free(&r.new_locations);
	ss_vec_free(&r.new_frames);
	return ok;
}
