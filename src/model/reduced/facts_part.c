/* facts_part.c - see facts.h. */
#include "model/reduced/facts.h"

#include "model/host/host.h"

static void nothing(void *data)
{
	(void)data;
}

void ss_facts_put(struct ss_host *h, enum ss_host_part part, void *data)
{
	ss_part_put(&h->parts[part], data, nothing);
}

void *ss_facts_part(struct ss_pack *p, struct ss_host *h, enum ss_host_part part, size_t size)
{
	void *data = p->bad ? NULL : ss_arena_zalloc(p->arena, 1, size);
	p->no_memory |= !p->bad && !data;
	if (data)
		ss_facts_put(h, part, data);
	return data;
}

void *ss_facts_either(struct ss_pack *p, struct ss_host *h, enum ss_host_part part, const void *made, void *own, size_t size)
{
	if (p->reading)
		return ss_facts_part(p, h, part, size);
	return made ? memcpy(own, made, size) : NULL;
}
