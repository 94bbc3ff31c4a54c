/* part.c - building derived parts once. */
#include "model/host/part.h"

#include "base/assert.h"

void ss_part_init(struct ss_part *part)
{
	*part = (struct ss_part){ 0 };
	pthread_mutex_init(&part->lock, NULL);
}

void *ss_part_get(struct ss_part *part, ss_build_fn *build, ss_release_fn *release, void *owner, struct ss_err *err)
{
	ss_assert(build && release);
	pthread_mutex_lock(&part->lock);
	if (!part->built) {
		part->err = (struct ss_err){ 0 };
		part->release = release;
		part->data = build(owner, &part->err);
		if (!part->data)
			ss_fail_mem(&part->err);
		/* Memory may be there next time; anything else stays as it is. */
		part->built = part->data || part->err.code != SS_ENOMEM;
	}
	void *data = part->data;
	if (!data)
		ss_fail(err, part->err.code, "%s", part->err.text);
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

void ss_part_release(struct ss_part *part)
{
	if (part->data)
		part->release(part->data);
	pthread_mutex_destroy(&part->lock);
	*part = (struct ss_part){ 0 };
}
