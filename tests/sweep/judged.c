/* judged.c - see judged.h. */
#include "sweep/judged.h"

#include "model/host/identity.h"
#include "verdict/verdict.h"

bool judged(struct ss_model *model, bool (*take)(void *arg, const char *p, size_t n), void *arg, struct ss_err *err)
{
	struct ss_arena arena = { 0 };
	struct ss_verdict v = { 0 };
	bool ok = ss_host_is_raw(model->hosts[0]) || ss_verdict_make(&v, model, &arena, err);

	for (size_t i = 0; ok && i < v.nfindings; i++)
		take(arg, v.findings[i].text.p, v.findings[i].text.n);
	ss_arena_release(&arena);
	return ok;
}
