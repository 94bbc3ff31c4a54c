/* pieces.c - see pieces.h. */
#include "model/attribution/build.h"

static bool read_ref(const struct ss_plane *p, const struct ss_line *l, uint32_t i, struct ss_op_ref *out)
{
	struct ss_xstats it = ss_line_stats(p, l, i);
	struct ss_xstat s;
	*out = (struct ss_op_ref){ SS_STR(""), SS_STR(""), SS_STR(""), 0 };
	while (ss_xstats_next(&it, &s)) {
		if (s.stat == SS_STAT_HLO_OP)
			out->op = ss_xstat_str(&s);
		else if (s.stat == SS_STAT_HLO_MODULE)
			out->module = ss_xstat_str(&s);
		else if (s.stat == SS_STAT_TF_OP)
			out->path = ss_xstat_str(&s);
		else if (s.stat == SS_STAT_PROGRAM_ID)
			out->program_id = (uint64_t)ss_xstat_int_or_uint(&s);
	}
	return out->op.n || out->path.n;
}

bool ss_op_ref_of(struct ss_attr_build *b, const struct ss_plane *p, const struct ss_line *l, uint32_t i, uint32_t *ref)
{
	struct ss_op_ref r;
	*ref = SS_NONE;
	/* On a TPU the metadata says all, and it belongs to one program. */
	if (!b->reader || p->kind == SS_PLANE_TENSOR_CORE || !read_ref(p, l, i, &r))
		return true;
	uint64_t key = ss_mix(ss_mix(ss_str_hash(r.op), ss_str_hash(r.module)),
			      ss_mix(r.program_id, ss_str_hash(r.path)));
	*ref = ss_u64map_add(&b->by_ref, key, (uint32_t)b->refs.n);
	return *ref != SS_NONE && (*ref < b->refs.n || ss_vec_push(&b->refs, r));
}

struct ss_piece_owner ss_pieces_owner(const struct ss_pieces *p, uint32_t at)
{
	const struct ss_attr_build *b = p->build;
	const struct ss_named *n = &b->named.v[at];
	ss_assert(at < b->named.n);
	return (struct ss_piece_owner){
		.class = n->class,
		.plane = &b->planes[n->plane],
		.meta = n->meta,
		.ref = n->ref == SS_NONE ? NULL : &b->refs.v[n->ref],
		.is_op = n->class == SS_TIME_COMPUTE || n->class == SS_TIME_COLLECTIVE ||
			 &b->planes[n->plane] != b->host,
		.overhead = n->overhead,
		.count = n->count,
	};
}
