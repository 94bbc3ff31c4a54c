/* steps_intern.c - a copy of one host's steps that outlives the host. */
#include "model/steps/steps.h"

/* Cores of the host, and what became of them. There are few: they are searched from the front. */
struct cores {
	const struct ss_tpu_core **old;
	struct ss_tpu_core *now;
	size_t n;
};

/* Its steps, and what they point to; nothing of its operations. */
static void copy_core(struct ss_tpu_core *to, const struct ss_tpu_core *from, struct ss_intern *intern)
{
	size_t ncats = 0, ncollectives = 0;
	for (size_t i = 0; i < from->nsteps; i++) {
		const struct ss_core_step *s = &from->steps[i];
		ncats = s->first_cat + s->ncats > ncats ? s->first_cat + s->ncats : ncats;
		if (s->first_collective + s->ncollectives > ncollectives)
			ncollectives = s->first_collective + s->ncollectives;
	}
	*to = (struct ss_tpu_core){ .core_id = from->core_id, .details = from->details, .replica_id = from->replica_id,
				    .ncategories = from->ncategories, .nsteps = from->nsteps };
	to->details.hostname = ss_intern_str(intern, from->details.hostname);
	to->categories = ss_intern_copy(intern, from->categories, from->ncategories, sizeof(*to->categories));
	for (uint32_t i = 0; to->categories && i < to->ncategories; i++)
		to->categories[i] = ss_intern_str(intern, to->categories[i]);
	to->steps = ss_intern_copy(intern, from->steps, from->nsteps, sizeof(*to->steps));
	to->cats = ss_intern_copy(intern, from->cats, ncats, sizeof(*to->cats));
	to->collectives = ss_intern_copy(intern, from->collectives, ncollectives, sizeof(*to->collectives));
	for (size_t i = 0; to->collectives && i < ncollectives; i++)
		to->collectives[i].name = ss_intern_str(intern, to->collectives[i].name);
}

static const struct ss_tpu_core *core_of(struct cores *cores, const struct ss_tpu_core *old, struct ss_intern *intern)
{
	for (size_t i = 0; i < cores->n; i++)
		if (cores->old[i] == old)
			return &cores->now[i];
	cores->old[cores->n] = old;
	copy_core(&cores->now[cores->n], old, intern);
	return &cores->now[cores->n++];
}

/* As many as any step has: all steps have the same. */
static bool make_room(struct cores *cores, const struct ss_steps *steps, struct ss_intern *intern)
{
	size_t max = 0;
	for (size_t i = 0; i < steps->n; i++)
		max = steps->v[i].ncores > max ? steps->v[i].ncores : max;
	cores->old = SS_NEW_N(&intern->arena, const struct ss_tpu_core *, max + 1);
	cores->now = SS_NEW_N(&intern->arena, struct ss_tpu_core, max + 1);
	return cores->old && cores->now;
}

bool ss_host_steps_intern(struct ss_host_steps *to, const struct ss_host_steps *from, struct ss_intern *intern)
{
	struct cores cores = { .n = 0 };
	*to = (struct ss_host_steps){ .steps = from->steps };
	to->steps.inferred.name = ss_intern_str(intern, from->steps.inferred.name);
	to->steps.inferred.place = ss_intern_str(intern, from->steps.inferred.place);
	to->steps.v = ss_intern_copy(intern, from->steps.v, from->steps.n, sizeof(*to->steps.v));
	if (!to->steps.v || !make_room(&cores, &from->steps, intern))
		return false;
	for (size_t i = 0; i < to->steps.n; i++) {
		struct ss_step *s = &to->steps.v[i];
		struct ss_step_core *c = ss_intern_copy(intern, s->cores, s->ncores, sizeof(*c));
		s->name = ss_intern_str(intern, s->name);
		s->cores = c;
		for (size_t k = 0; c && k < s->ncores; k++) {
			if (c[k].work_ps)
				c[k].work_ps = ss_intern_copy(intern, c[k].work_ps, SS_WORK_COUNT, sizeof(*c[k].work_ps));
			if (!c[k].core)
				continue;
			const struct ss_tpu_core *old = c[k].core;
			c[k].core = core_of(&cores, old, intern);
			c[k].step = c[k].core->steps ? c[k].core->steps + (c[k].step - old->steps) : NULL;
		}
	}
	return !intern->no_memory;
}
