/* stack.c - reading StackFrameIndexProto. */
#include "hlo/stack.h"

/* Deeper stacks than this are not written by anybody; it bounds what a chain can cost. */
#define MAX_FRAMES 512

static struct ss_hlo_location read_location(struct ss_str body)
{
	struct ss_hlo_location l = { 0 };
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_VAR(FILE_LOCATION_FILE_ID):
			l.file = (int32_t)f.u;
			break;
		case PB_VAR(FILE_LOCATION_FUNCTION_ID):
			l.function = (int32_t)f.u;
			break;
		case PB_VAR(FILE_LOCATION_LINE):
			l.line = (int32_t)f.u;
			break;
		case PB_VAR(FILE_LOCATION_COLUMN):
			l.column = (int32_t)f.u;
			break;
		case PB_VAR(FILE_LOCATION_END_LINE):
			l.end_line = (int32_t)f.u;
			break;
		case PB_VAR(FILE_LOCATION_END_COLUMN):
			l.end_column = (int32_t)f.u;
			break;
		}
	return l;
}

static struct ss_hlo_frame read_frame(struct ss_str body)
{
	struct ss_hlo_frame frame = { 0 };
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_VAR(STACK_FRAME_LOCATION_ID))
			frame.location = (int32_t)f.u;
		else if (f.key == PB_VAR(STACK_FRAME_PARENT_ID))
			frame.parent = (int32_t)f.u;
	return frame;
}

static struct ss_str find_index(const struct ss_hlo_module *m)
{
	struct ss_pb c = ss_pb_of(m->body);
	struct ss_pb_field f;
	struct ss_str found = { "", 0 };
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(HLO_MODULE_STACK_FRAMES))
			found = f.bytes;
	return found;
}

/* Count (without arrays), then fill. */
static void walk(struct ss_hlo_stacks *s, struct ss_str body, bool fill)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	s->nfiles = s->nfunctions = s->nlocations = s->nframes = 0;
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_LEN(STACK_FRAMES_FILE_NAMES):
			if (fill)
				s->files[s->nfiles] = f.bytes;
			s->nfiles++;
			break;
		case PB_LEN(STACK_FRAMES_FUNCTION_NAMES):
			if (fill)
				s->functions[s->nfunctions] = f.bytes;
			s->nfunctions++;
			break;
		case PB_LEN(STACK_FRAMES_LOCATIONS):
			if (fill)
				s->locations[s->nlocations] = read_location(f.bytes);
			s->nlocations++;
			break;
		case PB_LEN(STACK_FRAMES_FRAMES):
			if (fill)
				s->frames[s->nframes] = read_frame(f.bytes);
			s->nframes++;
			break;
		}
}

bool ss_hlo_stacks_read(struct ss_hlo_stacks *s, const struct ss_hlo_module *m, struct ss_arena *arena)
{
	struct ss_str body = find_index(m);
	*s = (struct ss_hlo_stacks){ 0 };
	walk(s, body, false);
	s->files = SS_NEW_N(arena, struct ss_str, s->nfiles);
	s->functions = SS_NEW_N(arena, struct ss_str, s->nfunctions);
	s->locations = SS_NEW_N(arena, struct ss_hlo_location, s->nlocations);
	s->frames = SS_NEW_N(arena, struct ss_hlo_frame, s->nframes);
	if (!s->files || !s->functions || !s->locations || !s->frames)
		return false;
	walk(s, body, true);
	return true;
}

static bool in(int64_t id, uint32_t n)
{
	return id >= 1 && id <= n;
}

const struct ss_hlo_location *ss_hlo_frame_location(const struct ss_hlo_stacks *s, int64_t frame)
{
	if (!in(frame, s->nframes) || !in(s->frames[frame - 1].location, s->nlocations))
		return NULL;
	return &s->locations[s->frames[frame - 1].location - 1];
}

struct ss_str ss_hlo_location_file(const struct ss_hlo_stacks *s, const struct ss_hlo_location *l)
{
	return l && in(l->file, s->nfiles) ? s->files[l->file - 1] : SS_STR("");
}

uint32_t ss_hlo_stack_walk(const struct ss_hlo_stacks *s, int64_t frame, uint32_t *ids, uint32_t max)
{
	uint32_t n = 0;
	while (n < max && n < s->nframes && in(frame, s->nframes)) {
		ids[n++] = (uint32_t)frame;
		frame = s->frames[frame - 1].parent;
	}
	return n;
}

static void print_function(struct ss_buf *b, const struct ss_hlo_stacks *s, const struct ss_hlo_location *l)
{
	ss_buf_char(b, ':');
	if (in(l->function, s->nfunctions))
		ss_buf_str(b, s->functions[l->function - 1]);
	ss_buf_printf(b, ":%d", l->line);
	if (l->column)
		ss_buf_printf(b, ":%d", l->column);
}

static void print_stack(struct ss_buf *b, const struct ss_hlo_stacks *s, int64_t frame, bool functions)
{
	uint32_t ids[MAX_FRAMES], n = ss_hlo_stack_walk(s, frame, ids, MAX_FRAMES);
	const char *newline = "";
	for (uint32_t i = 0; i < n; i++) {
		const struct ss_hlo_location *l = ss_hlo_frame_location(s, ids[i]);
		if (!l)
			continue;
		ss_buf_z(b, newline);
		ss_buf_str(b, ss_hlo_location_file(s, l));
		if (functions)
			print_function(b, s, l);
		else
			ss_buf_printf(b, ":%d:%d", l->line, l->column);
		newline = "\n";
	}
}

void ss_hlo_stack_print(struct ss_buf *b, const struct ss_hlo_stacks *s, int64_t frame)
{
	print_stack(b, s, frame, false);
}

void ss_hlo_stack_print_functions(struct ss_buf *b, const struct ss_hlo_stacks *s, int64_t frame)
{
	print_stack(b, s, frame, true);
}
