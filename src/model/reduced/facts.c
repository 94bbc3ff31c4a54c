/* facts.c - see facts.h. */
#include "model/reduced/facts.h"

#include "model/cluster/cluster.h"
#include "model/host/host.h"
#include "model/reduced/pieces.h"

static ss_facts_fn *const kinds[] = { ss_facts_requests, ss_facts_device, ss_facts_steps,
				      ss_facts_ops, ss_facts_time, ss_facts_pages };

static bool all_kinds(struct ss_pack *p, struct ss_host *h, struct ss_err *err)
{
	for (size_t i = 0; i < SS_COUNT(kinds) && !p->bad && !p->no_memory; i++)
		if (!kinds[i](p, h, err))
			return false;
	return !p->no_memory || ss_fail_mem(err);
}

/* ---- what is known of the file itself ---- */

struct about {
	struct ss_str planes;
	struct ss_err why;	/* it is no profile */
	struct ss_err failed;	/* no facts can be made of it */
	uint64_t nplanes, ndropped, nclipped;
	bool imported;
};

static void error(struct ss_pack *p, struct ss_err *e)
{
	struct ss_str text = ss_str_from(e->text);
	PACK_ENUM(p, e->code, SS_ELATER + 1);
	ss_pack_bytes(p, &text);
	enum ss_errcode code = e->code;
	if (!p->reading)
		return;
	*e = (struct ss_err){ 0 };
	if (code && !p->bad)
		ss_fail(e, code, SS_FMT, SS_ARG(text));
	p->bad = p->bad || (code && !e->text[0]); /* what failed always says why */
}

static void about(struct ss_pack *p, struct about *a)
{
	ss_pack_bytes(p, &a->planes);
	PACK_U(p, a->nplanes);
	PACK_U(p, a->ndropped);
	PACK_U(p, a->nclipped);
	PACK_U(p, a->imported);
	error(p, &a->why);
	error(p, &a->failed);
}

/* Of the packed skeleton, as it will be there when the facts are read. */
static bool with_skeleton(struct ss_pack *p, struct ss_host *h, const struct ss_facts_skeleton *from, struct ss_err *err)
{
	struct ss_skeleton s;
	if (!ss_skeleton_unpack(&s, from->packed, err))
		return false;
	if (from->outlines)
		ss_outlines_keep(from->outlines, from->number, &s);
	struct ss_pieces pieces;
	bool ok = ss_pieces_init(&pieces, &s, !p->reading) || ss_fail_mem(err);
	p->skeleton = &s;
	p->pieces = &pieces;
	ok = ok && all_kinds(p, h, err);
	p->skeleton = NULL;
	p->pieces = NULL;
	ss_pieces_free(&pieces);
	ss_skeleton_free(&s);
	return ok;
}

static bool write_kinds(struct ss_pack *p, struct ss_host *h, struct ss_err *err)
{
	const struct ss_buf *skeleton = ss_host_skeleton(h, err);
	return skeleton && with_skeleton(p, h, &(struct ss_facts_skeleton){ .packed = ss_buf_get(skeleton) }, err);
}

/* Texts go away with the host. */
static bool keep(struct ss_host_facts *out, const struct ss_pack *head, const struct ss_pack *facts, struct ss_arena *arena)
{
	char *bytes = SS_NEW_N(arena, char, head->out.n + facts->out.n + 1);
	*out = (struct ss_host_facts){ { bytes, head->out.n + facts->out.n }, SS_NEW_N(arena, struct ss_str, facts->texts.n + 1),
				  facts->texts.n };
	if (!bytes || !out->texts)
		return false;
	memcpy(bytes, ss_buf_get(&head->out).p, head->out.n);
	memcpy(bytes + head->out.n, ss_buf_get(&facts->out).p, facts->out.n);
	for (size_t i = 0; i < facts->texts.n; i++)
		if (!(out->texts[i] = ss_arena_str(arena, facts->texts.v[i])).p)
			return false;
	return true;
}

bool ss_facts_write(struct ss_host_facts *out, struct ss_host *h, const struct ss_err *why, struct ss_arena *arena,
		    struct ss_err *err)
{
	struct ss_pack none = { 0 }, facts = { 0 }, head = { 0 };
	struct ss_buf planes = { 0 };
	struct about a = { .why = *why, .nplanes = h->nplanes, .imported = h->imported.any };
	bool ok = write_kinds(&facts, h, &a.failed) || a.failed.code != SS_ENOMEM || ss_fail_mem(err);
	ss_facts_planes(h, &planes);
	a.planes = ss_buf_get(&planes);
	a.ndropped = h->ndropped;
	a.nclipped = h->nclipped;
	about(&head, &a);
	ok = ok && ss_buf_ok(&planes, "facts of a host", err) && ss_buf_ok(&head.out, "facts of a host", err) &&
	     ss_buf_ok(&facts.out, "facts of a host", err) &&
	     (keep(out, &head, a.failed.code ? &none : &facts, arena) || ss_fail_mem(err));
	ss_buf_free(&planes);
	ss_pack_free(&head);
	ss_pack_free(&facts);
	return ok;
}

static bool damaged(struct ss_err *err)
{
	return ss_fail(err, SS_EFORMAT, "a part is damaged");
}

/* Behind what is known of the file. */
static bool read_kinds(struct ss_host *h, const struct ss_host_facts *facts, const uint8_t *at,
		       const struct ss_facts_skeleton *skeleton,
		       const struct about *a, struct ss_err *err)
{
	struct ss_pack p = { .reading = true, .at = at, .end = (const uint8_t *)facts->bytes.p + facts->bytes.n,
			     .known = facts->texts, .nknown = facts->ntexts, .arena = &h->arena };
	if (a->failed.code)
		return ss_fail(err, a->failed.code, "%s", a->failed.text);
	bool ok = with_skeleton(&p, h, skeleton, err);
	if (ok && (p.bad || p.at != p.end))
		ok = damaged(err);
	ss_pack_free(&p);
	return ok;
}

bool ss_facts_open(struct ss_host *h, const struct ss_host_facts *facts, const struct ss_facts_skeleton *skeleton, const char *path,
		   struct ss_err *why, struct ss_err *err)
{
	struct about a = { .nplanes = 0 };
	if (!facts->bytes.n)
		return ss_fail(err, SS_ENODATA, "'%s' is a trace in another format and without other hosts: give the trace itself",
			       path);
	struct ss_pack p = { .reading = true, .at = (const uint8_t *)facts->bytes.p,
			     .end = (const uint8_t *)facts->bytes.p + facts->bytes.n };
	*h = (struct ss_host){ 0 };
	about(&p, &a);
	bool bad = p.bad, no_memory = p.no_memory;
	ss_pack_free(&p);
	if (bad || no_memory)
		return no_memory ? ss_fail_mem(err) : damaged(err);
	if (!ss_host_open_space(h, a.planes, path, err))
		return false;
	if (!a.nplanes)
		h->nplanes = 0;
	h->imported.any = a.imported;
	if (a.why.code)
		h->source.state = SS_HOST_IS_UNREADABLE;
	*why = a.why;
	ss_host_note_losses(h, a.ndropped, a.nclipped);
	if (h->nplanes == a.nplanes ? read_kinds(h, facts, p.at, skeleton, &a, err) : damaged(err))
		return true;
	ss_host_close(h);
	return false;
}
