/* chrome_devices.c - properties of GPUs as stats of their planes. */
#include "import/chrome_devices.h"

#include "wire/json_tree.h"

static uint32_t plane_of(const struct ss_space_out *o, int64_t id)
{
	for (uint32_t i = 0; i < o->planes.n; i++)
		if (o->planes.v[i].id == id && ss_str_starts(o->planes.v[i].name, SS_STR("/device:GPU:")))
			return i;
	return SS_NONE;
}

/* AMD's runtime presents its GPUs by the same interface, so the name has to tell. */
static struct ss_str vendor_of(struct ss_str name)
{
	bool amd = ss_str_contains(name, SS_STR("AMD")) || ss_str_contains(name, SS_STR("Radeon")) ||
		   ss_str_contains(name, SS_STR("Instinct")) || ss_str_starts(name, SS_STR("gfx"));
	return amd ? SS_STR("AMD") : SS_STR("Nvidia");
}

static void add_text(struct ss_space_out *o, uint32_t plane, const char *name, struct ss_str s)
{
	ss_so_plane_stat(o, plane, &(struct ss_so_arg){ .name = ss_str_from(name), .kind = SS_SO_STR, .s = s });
}

static void add_device(struct ss_space_out *o, const struct ss_jnode *device)
{
	static const struct {
		const char *theirs, *ours;
		enum ss_so_kind kind;
	} numbers[] = {
		{ "numSms", "core_count", SS_SO_INT },
		{ "computeMajor", "compute_cap_major", SS_SO_INT },
		{ "computeMinor", "compute_cap_minor", SS_SO_INT },
		{ "totalGlobalMem", "memory_size", SS_SO_UINT },
	};
	const struct ss_jnode *id = ss_jnode_get(device, "id");
	uint32_t plane = id && id->num >= 0 && id->num < 1e9 ? plane_of(o, (int64_t)id->num) : SS_NONE;
	struct ss_str name = ss_jnode_text(device, "name");
	if (plane == SS_NONE || o->planes.v[plane].own.n)
		return;
	for (size_t i = 0; i < SS_COUNT(numbers); i++) {
		const struct ss_jnode *v = ss_jnode_get(device, numbers[i].theirs);
		struct ss_so_arg a = { .name = ss_str_from(numbers[i].ours), .kind = numbers[i].kind };
		if (!v || v->kind != SS_J_NUMBER || !(v->num >= 0 && v->num < 1e18))
			continue;
		a.u = (uint64_t)v->num;
		ss_so_plane_stat(o, plane, &a);
	}
	add_text(o, plane, "device_vendor", vendor_of(name));
	if (name.n)
		add_text(o, plane, "gpu_device_name", name);
}

void ss_chrome_devices(struct ss_space_out *o, struct ss_str text)
{
	struct ss_arena arena = { 0 };
	struct ss_err why = { 0 };
	const struct ss_jnode *root = text.n ? ss_jtree_of_json(text, &arena, &why) : NULL;
	o->no_memory |= why.code == SS_ENOMEM;
	for (const struct ss_jnode *d = root && root->kind == SS_J_ARRAY ? root->first : NULL; d; d = d->next)
		add_device(o, d);
	ss_arena_release(&arena);
}
