/* part.c - building derived parts once. */
#include "model/host/part.h"

#include "base/assert.h"

#include <stdlib.h>

void ss_part_init(struct ss_part *part)
{
	*part = (struct ss_part){ 0 };
	pthread_mutex_init(&part->lock, NULL);
}

static bool remember(struct ss_part *part, const struct ss_err *why)
{
	part->err = malloc(sizeof(*part->err));
	if (part->err)
		*part->err = *why;
	return part->err;
}

/* Memory may be there next time; any other failure stays as it is. */
static void make(struct ss_part *part, ss_build_fn *build, void *owner, struct ss_err *err)
{
	struct ss_err why = { 0 };
	part->data = build(owner, &why);
	if (!part->data)
		ss_fail_mem(&why);
	part->built = part->data || (why.code != SS_ENOMEM && remember(part, &why));
	if (!part->built)
		ss_fail(err, why.code, "%s", why.text);
}

void *ss_part_get(struct ss_part *part, ss_build_fn *build, ss_release_fn *release, void *owner, struct ss_err *err)
{
	ss_assert(build && release);
	pthread_mutex_lock(&part->lock);
	if (!part->built) {
		part->release = release;
		make(part, build, owner, err);
	}
	void *data = part->data;
	if (part->err)
		ss_fail(err, part->err->code, "%s", part->err->text);
	pthread_mutex_unlock(&part->lock);
	return data;
}

bool ss_part_is_built(struct ss_part *part)
{
	pthread_mutex_lock(&part->lock);
	bool built = part->built;
	pthread_mutex_unlock(&part->lock);
	return built;
}

void ss_part_put(struct ss_part *part, void *data, ss_release_fn *release)
{
	pthread_mutex_lock(&part->lock);
	bool late = part->built;
	if (!late) {
		part->built = true;
		part->data = data;
		part->release = release;
	}
	pthread_mutex_unlock(&part->lock);
	if (late)
		release(data);
}

bool ss_part_put_failure(struct ss_part *part, const struct ss_err *why)
{
	pthread_mutex_lock(&part->lock);
	bool ok = part->built || remember(part, why);
	part->built = ok;
	pthread_mutex_unlock(&part->lock);
	return ok;
}

void ss_part_release(struct ss_part *part)
{
	if (part->data)
		part->release(part->data);
	free(part->err);
	pthread_mutex_destroy(&part->lock);
	*part = (struct ss_part){ 0 };
}
