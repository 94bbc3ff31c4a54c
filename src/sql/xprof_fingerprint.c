/* xprof_fingerprint.c - fingerprints of instructions, by program. */
#include "sql/xprof_fingerprint.h"

#include "base/fingerprint.h"

#include <stdlib.h>

struct ss_xprof_program {
	const struct ss_hlo_module *m;
	struct ss_hlo_canonical canonical;
	uint64_t *value;
	enum { UNKNOWN, KNOWN, NONE } *state; /* by instruction */
};

static struct ss_xprof_program *read_program(struct ss_xprof_fingerprints *f, const struct ss_hlo_module *m)
{
	struct ss_err err;
	struct ss_xprof_program *p = SS_NEW_N(&f->arena, struct ss_xprof_program, 1);
	if (!p)
		return NULL;
	p->m = m;
	p->value = SS_NEW_N(&f->arena, uint64_t, m->ninstrs);
	p->state = ss_arena_zalloc(&f->arena, m->ninstrs, sizeof(*p->state));
	return p->value && p->state && ss_hlo_canonical_open(&p->canonical, m, &f->arena, &err) ? p : NULL;
}

static struct ss_xprof_program *program_of(struct ss_xprof_fingerprints *f, const struct ss_hlo_module *m)
{
	uint32_t known = (uint32_t)f->programs.n, at = ss_u64map_add(&f->by_module, (uint64_t)(uintptr_t)m, known);
	if (at == SS_NONE)
		return NULL;
	if (at == known && !ss_vec_push(&f->programs, read_program(f, m)))
		return NULL;
	return at < f->programs.n ? f->programs.v[at] : NULL;
}

bool ss_xprof_fingerprint(struct ss_xprof_fingerprints *f, const struct ss_host *host, const struct ss_hlo_module *m,
			  uint32_t instr, uint64_t *out)
{
	if (f->host != host) {
		ss_xprof_fingerprints_free(f);
		f->host = host;
	}
	struct ss_xprof_program *p = program_of(f, m);
	if (!p)
		return false;
	if (p->state[instr] == UNKNOWN) {
		struct ss_str text;
		if (!ss_hlo_canonical_text(&p->canonical, instr, &f->text, &text))
			return false;
		p->state[instr] = text.n ? KNOWN : NONE;
		p->value[instr] = ss_fingerprint64(text);
	}
	*out = p->value[instr];
	return p->state[instr] == KNOWN;
}

void ss_xprof_fingerprints_free(struct ss_xprof_fingerprints *f)
{
	ss_u64map_free(&f->by_module);
	ss_vec_free(&f->programs);
	ss_arena_release(&f->arena);
	ss_buf_free(&f->text);
	*f = (struct ss_xprof_fingerprints){ .host = NULL };
}
