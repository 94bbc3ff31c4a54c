/*
 * xprof_fingerprint.h - the number by which XProf's database of events knows an instruction: FarmHash's Fingerprint64 of its
 * canonical text, equal for equal instructions of different programs. Each is computed once.
 */
#ifndef SS_SQL_XPROF_FINGERPRINT_H
#define SS_SQL_XPROF_FINGERPRINT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "hlo/text.h"

struct ss_host;

struct ss_xprof_fingerprints {
	const struct ss_host *host; /* whose programs are known */
	struct ss_u64map by_module;
	SS_VEC(struct ss_xprof_program *) programs;
	struct ss_arena arena;
	struct ss_buf text;
};

/* The fingerprint of an instruction of an indexed module of the host. False: memory is out, or its text is too long. */
bool ss_xprof_fingerprint(struct ss_xprof_fingerprints *f, const struct ss_host *host, const struct ss_hlo_module *m,
			  uint32_t instr, uint64_t *out);
void ss_xprof_fingerprints_free(struct ss_xprof_fingerprints *f);

#endif
