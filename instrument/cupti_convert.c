/* cupti_convert.c - see cupti_convert.h. */
#include "cupti_convert.h"

#include "cupti_abi.h"
#include "recorder.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATS = 10 };

/* --- names -------------------------------------------------------------------------------------- */

void ss_converter_init(struct converter *c)
{
	void *at = dlsym(RTLD_DEFAULT, "__cxa_demangle");
	void *library = at ? NULL : dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	if (library)
		at = dlsym(library, "__cxa_demangle");
	memcpy(&c->demangle, &at, sizeof(at));
}

void ss_converter_release(struct converter *c)
{
	for (size_t i = 0; i < sizeof(c->demangled) / sizeof(*c->demangled); i++) {
		free(c->demangled[i].raw);
		free(c->demangled[i].text);
	}
	free(c->memory);
	free(c->live);
}

/*
 * Kernels of C++ are named by their mangled names. The last name of a slot is remembered: programs
 * launch the same few again and again.
 */
static const char *readable(struct converter *c, const char *name)
{
	if (!name || !*name)
		return "unknown kernel";
	if (!c->demangle || name[0] != '_' || name[1] != 'Z')
		return name;
	size_t n = strlen(name), slots = sizeof(c->demangled) / sizeof(*c->demangled);
	uint64_t hash = n;
	for (size_t i = 0; i < n; i++)
		hash = hash * 31 + (unsigned char)name[i];
	struct demangled *d = &c->demangled[hash % slots];
	if (!d->raw || strcmp(d->raw, name) != 0) {
		int status = 0;
		free(d->raw);
		free(d->text);
		d->raw = strdup(name);
		d->text = d->raw ? c->demangle(name, NULL, NULL, &status) : NULL;
	}
	return d->text ? d->text : name;
}

/* Words of XLA's memory details. */
static const char *memory_kind(uint32_t kind)
{
	static const char *const names[] = { "unknown", "pageable", "pinned", "device", "array", "managed", "device_static",
					     "managed_static" };
	return names[kind < sizeof(names) / sizeof(*names) ? kind : 0];
}

/* --- occupancy ---------------------------------------------------------------------------------- */

static uint32_t round_up(uint32_t v, uint32_t to)
{
	return v + (to - v % to) % to;
}

static uint32_t min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * The rules of the CUDA programming guide: an SM holds whole blocks, as many as its warps, its
 * registers (given out to warps in units of 256, from four partitions) and its shared memory (in units
 * of 256 bytes, since 8.0 of 128 and 1 KiB more for each block) suffice for.
 */
double ss_occupancy_pct(const struct device_caps *d, uint32_t threads, uint32_t registers, uint32_t shared_bytes)
{
	if (!d->warp || !d->warps_per_sm || !threads || threads > d->warps_per_sm * d->warp)
		return 0;
	uint32_t warps = (threads + d->warp - 1) / d->warp, blocks = d->warps_per_sm / warps;
	if (d->blocks_per_sm)
		blocks = min(blocks, d->blocks_per_sm);
	if (registers && registers < 1024 && d->registers_per_sm) {
		uint32_t each = round_up(registers * d->warp, 256);
		blocks = min(blocks, d->registers_per_sm / 4 / each * 4 / warps);
	}
	uint64_t shared = (uint64_t)shared_bytes + (d->major >= 8 ? 1024 : 0), unit = d->major >= 8 ? 128 : 256;
	shared = (shared + unit - 1) / unit * unit;
	if (shared && d->shared_per_sm)
		blocks = shared > d->shared_per_sm ? 0 : min(blocks, (uint32_t)(d->shared_per_sm / shared));
	return 100.0 * blocks * threads / (d->warps_per_sm * d->warp);
}

/* --- times and stats ---------------------------------------------------------------------------- */

/* False: it has no times, or was over before the session began. */
static bool times(struct converter *c, uint64_t start, uint64_t end, struct device_event *e)
{
	int64_t shift = c->clock_offset_ns - (int64_t)c->start_ns;
	int64_t begin = (int64_t)start + shift, over = (int64_t)end + shift;
	if (!start || end < start) {
		c->untimed++;
		return false;
	}
	if (over <= 0) {
		c->early++;
		return false;
	}
	e->begin_ns = begin > 0 ? (uint64_t)begin : 0;
	e->end_ns = (uint64_t)over;
	return true;
}

struct stats {
	struct device_stat s[STATS];
	size_t n;
	char context[24];
};

static void add_uint(struct stats *st, const char *key, uint64_t v)
{
	if (st->n < STATS)
		st->s[st->n++] = (struct device_stat){ .key = key, .kind = SS_TRACE_UINT, .v = { .u = v } };
}

static void add_text(struct stats *st, const char *key, const char *text)
{
	if (st->n < STATS)
		st->s[st->n++] = (struct device_stat){ .key = key, .kind = SS_TRACE_TEXT, .v = { .text = text } };
}

static void add_double(struct stats *st, const char *key, double v)
{
	if (st->n < STATS)
		st->s[st->n++] = (struct device_stat){ .key = key, .kind = SS_TRACE_DOUBLE, .v = { .d = v } };
}

/* Add the stats that every event of a device has. */
static void add_common(struct converter *c, struct stats *st, uint32_t correlation, uint32_t context, uint64_t node, uint32_t graph)
{
	add_uint(st, "correlation_id", correlation);
	snprintf(st->context, sizeof(st->context), "$$%u", context);
	add_text(st, "context_id", st->context);
	const char *range = c->range_of ? c->range_of(correlation) : NULL;
	if (range)
		add_text(st, "nvtx_range", range);
	if (graph)
		add_uint(st, "cuda_graph_id", graph);
	if (node)
		add_uint(st, "cuda_graph_node_id", node);
}

static void put(struct converter *c, struct device_event *e, const struct stats *st)
{
	e->stats = st->s;
	e->nstats = st->n;
	ss_device_planes_add(c->planes, e);
}

/* --- records ------------------------------------------------------------------------------------ */

static void convert_kernel(struct converter *c, const void *r)
{
	struct stats st = { .n = 0 };
	struct device_event e = { .type = DEVICE_KERNEL, .device = abi_u32(r, KERNEL_DEVICE),
				  .context = abi_u32(r, KERNEL_CONTEXT), .stream = abi_u32(r, KERNEL_STREAM) };
	if (!times(c, abi_u64(r, KERNEL_START), abi_u64(r, KERNEL_END), &e))
		return;
	uint32_t grid[3], block[3], registers = abi_u16(r, KERNEL_REGISTERS);
	uint32_t fixed = abi_u32(r, KERNEL_STATIC_SHARED), dynamic = abi_u32(r, KERNEL_DYNAMIC_SHARED);
	for (size_t i = 0; i < 3; i++) {
		grid[i] = abi_u32(r, KERNEL_GRID + 4 * i);
		block[i] = abi_u32(r, KERNEL_BLOCK + 4 * i);
	}
	const struct device_caps none = { 0 }, *caps = e.device < CONVERT_DEVICES ? &c->caps[e.device] : &none;
	double occupancy = ss_occupancy_pct(caps, block[0] * block[1] * block[2], registers, fixed + dynamic);
	char details[256];
	snprintf(details, sizeof(details), "regs:%u static_shared:%u dynamic_shared:%u grid:%u,%u,%u block:%u,%u,%u occ_pct:%g",
		 registers, fixed, dynamic, grid[0], grid[1], grid[2], block[0], block[1], block[2], occupancy);
	add_common(c, &st, abi_u32(r, KERNEL_CORRELATION), e.context, abi_u64(r, KERNEL_GRAPH_NODE),
		   abi_u32(r, KERNEL_GRAPH));
	add_double(&st, "theoretical_occupancy_pct", occupancy);
	add_text(&st, "kernel_details", details);
	e.name = readable(c, abi_text(r, KERNEL_NAME));
	put(c, &e, &st);
}

/*
 * Copies are named as TensorFlow names the operation, MemcpyHToD, which analyses take for what it is;
 * XLA's MemcpyH2D, which is the name of the line, they take for a kernel.
 */
static const char *copy_name(uint32_t kind, bool peer, enum device_event_type *type)
{
	static const struct { enum device_event_type type; const char *name; } kinds[] = {
		[0] = { DEVICE_MEMCPY_OTHER, "Memcpy" },      [1] = { DEVICE_MEMCPY_H2D, "MemcpyHToD" },
		[2] = { DEVICE_MEMCPY_D2H, "MemcpyDToH" },    [3] = { DEVICE_MEMCPY_H2D, "MemcpyHToD" },
		[4] = { DEVICE_MEMCPY_D2H, "MemcpyDToH" },    [5] = { DEVICE_MEMCPY_D2D, "MemcpyDToD" },
		[6] = { DEVICE_MEMCPY_D2D, "MemcpyDToD" },    [7] = { DEVICE_MEMCPY_D2D, "MemcpyDToD" },
		[8] = { DEVICE_MEMCPY_D2D, "MemcpyDToD" },    [9] = { DEVICE_MEMCPY_OTHER, "MemcpyHToH" },
		[10] = { DEVICE_MEMCPY_P2P, "MemcpyP2P" },
	};
	kind = peer ? 10 : kind < sizeof(kinds) / sizeof(*kinds) ? kind : 0;
	*type = kinds[kind].type;
	return kinds[kind].name;
}

static void convert_copy(struct converter *c, const void *r, bool peer)
{
	struct stats st = { .n = 0 };
	struct device_event e = { .device = abi_u32(r, MEMCPY_DEVICE), .context = abi_u32(r, MEMCPY_CONTEXT),
				  .stream = abi_u32(r, MEMCPY_STREAM) };
	const unsigned char *bytes = r;
	if (!times(c, abi_u64(r, MEMCPY_START), abi_u64(r, MEMCPY_END), &e))
		return;
	uint32_t to = peer ? abi_u32(r, PEER_DST_DEVICE) : e.device;
	uint64_t size = abi_u64(r, MEMCPY_SIZE);
	char details[200];
	snprintf(details, sizeof(details), "kind_src:%s kind_dst:%s size:%llu dest:%u async:%d num_bytes:%llu",
		 memory_kind(bytes[MEMCPY_SRC_KIND]), memory_kind(bytes[MEMCPY_DST_KIND]), (unsigned long long)size, to,
		 bytes[MEMCPY_FLAGS] & MEMCPY_FLAG_ASYNC ? 1 : 0, (unsigned long long)size);
	add_common(c, &st, abi_u32(r, peer ? PEER_CORRELATION : MEMCPY_CORRELATION), abi_u32(r, MEMCPY_CONTEXT),
		   abi_u64(r, peer ? PEER_GRAPH_NODE : MEMCPY_GRAPH_NODE), abi_u32(r, peer ? PEER_GRAPH : MEMCPY_GRAPH));
	add_text(&st, "memcpy_details", details);
	e.name = copy_name(bytes[MEMCPY_COPY_KIND], peer, &e.type);
	put(c, &e, &st);
}

static void convert_set(struct converter *c, const void *r)
{
	struct stats st = { .n = 0 };
	struct device_event e = { .type = DEVICE_MEMSET, .name = "Memset", .device = abi_u32(r, MEMSET_DEVICE),
				  .context = abi_u32(r, MEMSET_CONTEXT), .stream = abi_u32(r, MEMSET_STREAM) };
	if (!times(c, abi_u64(r, MEMSET_START), abi_u64(r, MEMSET_END), &e))
		return;
	char details[120];
	snprintf(details, sizeof(details), "kind:%s num_bytes:%llu async:%d", memory_kind(abi_u16(r, MEMSET_MEMORY_KIND)),
		 (unsigned long long)abi_u64(r, MEMSET_SIZE), abi_u16(r, MEMSET_FLAGS) & MEMSET_FLAG_ASYNC ? 1 : 0);
	add_common(c, &st, abi_u32(r, MEMSET_CORRELATION), abi_u32(r, MEMSET_CONTEXT), abi_u64(r, MEMSET_GRAPH_NODE),
		   abi_u32(r, MEMSET_GRAPH));
	add_text(&st, "Memset_details", details);
	put(c, &e, &st);
}

/* Allocators of the memory profile: what the program asked CUDA for, by kind of memory. */
static unsigned pool_of(uint32_t kind)
{
	return kind == 5 || kind == 7 ? 1 : kind == 2 ? 2 : kind == 1 ? 3 : 0;
}

/* --- what is allocated: open addressing by address ---------------------------------------------- */

static size_t slot_of(uint64_t address, size_t slots)
{
	return (size_t)((address >> 8) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (slots - 1);
}

static bool grow_live(struct converter *c)
{
	size_t slots = c->live_slots ? c->live_slots * 2 : 1024;
	struct allocation *grown = calloc(slots, sizeof(*grown));
	if (!grown)
		return false;
	for (size_t i = 0; i < c->live_slots; i++) {
		size_t at = slot_of(c->live[i].address, slots);
		while (c->live[i].address && grown[at].address)
			at = (at + 1) & (slots - 1);
		if (c->live[i].address)
			grown[at] = c->live[i];
	}
	free(c->live);
	c->live = grown;
	c->live_slots = slots;
	return true;
}

/* Without memory for it releases say for themselves what they give back. */
static void remember_allocation(struct converter *c, const struct allocation *a)
{
	if (!a->address || (2 * (c->nlive + 1) > c->live_slots && !grow_live(c)))
		return;
	size_t at = slot_of(a->address, c->live_slots);
	while (c->live[at].address && c->live[at].address != a->address)
		at = (at + 1) & (c->live_slots - 1);
	c->nlive += !c->live[at].address;
	c->live[at] = *a;
}

/* Later entries of the same run move up into the gap. */
static bool forget_allocation(struct converter *c, uint64_t address, struct allocation *out)
{
	if (!c->nlive || !address)
		return false;
	size_t mask = c->live_slots - 1, at = slot_of(address, c->live_slots);
	while (c->live[at].address && c->live[at].address != address)
		at = (at + 1) & mask;
	if (!c->live[at].address)
		return false;
	*out = c->live[at];
	for (size_t next = (at + 1) & mask; c->live[next].address; next = (next + 1) & mask)
		if (((next - slot_of(c->live[next].address, c->live_slots)) & mask) >= ((next - at) & mask)) {
			c->live[at] = c->live[next];
			at = next;
		}
	c->live[at] = (struct allocation){ 0 };
	c->nlive--;
	return true;
}

static void convert_memory(struct converter *c, const void *r)
{
	static const char *const pools[MEMORY_POOLS] = { "GPU_%u_cuda", "GPU_%u_cuda_managed", "cuda_host_%u", "host_%u" };
	uint32_t operation = abi_u32(r, MEMORY_OPERATION);
	struct allocation a = { .address = abi_u64(r, MEMORY_ADDRESS), .bytes = abi_u64(r, MEMORY_SIZE),
				.device = abi_u32(r, MEMORY_DEVICE), .pool = pool_of(abi_u32(r, MEMORY_MEMORY_KIND)) };
	if ((operation != MEMORY_ALLOCATION && operation != MEMORY_RELEASE) || a.device >= CONVERT_DEVICES)
		return;
	bool freed = operation == MEMORY_RELEASE;
	if (freed)
		forget_allocation(c, a.address, &a);
	else
		remember_allocation(c, &a);
	uint64_t *used = &c->in_use[a.device][a.pool], *peak = &c->peak[a.device][a.pool], total = c->caps[a.device].memory_bytes;
	if (freed)
		*used -= a.bytes < *used ? a.bytes : *used; /* what was there before the session may be freed in it */
	else
		*used += a.bytes;
	*peak = *used > *peak ? *used : *peak;
	char allocator[48];
	snprintf(allocator, sizeof(allocator), pools[a.pool], a.device);
	const struct ss_trace_memory m = {
		.allocator = allocator, .address = a.address, .requested_bytes = a.bytes, .allocation_bytes = a.bytes,
		.bytes_allocated = *used, .bytes_available = a.pool == 0 && total > *used ? total - *used : 0,
		.peak_bytes_in_use = *peak,
	};
	int64_t at = (int64_t)abi_u64(r, MEMORY_TIME) + c->clock_offset_ns;
	ss_rec_device_memory(freed, &m, at > (int64_t)c->start_ns ? (uint64_t)at : c->start_ns);
}

/* Without memory to wait in, at once. */
static void keep_memory(struct converter *c, const void *r)
{
	if (c->nmemory == c->memory_room) {
		size_t room = c->memory_room ? c->memory_room * 2 : 256;
		struct memory_record *grown = realloc(c->memory, room * sizeof(*grown));
		if (!grown) {
			convert_memory(c, r);
			return;
		}
		c->memory = grown;
		c->memory_room = room;
	}
	c->memory[c->nmemory++] = (struct memory_record){ abi_u64(r, MEMORY_TIME), r };
}

/* Records of a buffer lie in the order in which they were written, which decides between equal times. */
static int by_time(const void *a, const void *b)
{
	const struct memory_record *x = a, *y = b;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->record > y->record) - (x->record < y->record);
}

void ss_convert_end(struct converter *c)
{
	if (c->nmemory)
		qsort(c->memory, c->nmemory, sizeof(*c->memory), by_time);
	for (size_t i = 0; i < c->nmemory; i++)
		convert_memory(c, c->memory[i].record);
	c->nmemory = 0;
}

static void fact(struct converter *c, uint32_t device, const char *key, enum ss_trace_kind kind, uint64_t number, const char *text)
{
	struct device_stat s = { .key = key, .kind = kind };
	if (kind == SS_TRACE_TEXT)
		s.v.text = text;
	else
		s.v.u = number;
	ss_device_planes_fact(c->planes, device, &s);
}

/* "GPU-" or "MIG-", then sixteen bytes as nvidia-smi writes them. */
static void uuid_text(const struct device_facts *f, char out[48])
{
	size_t at = (size_t)sprintf(out, "%s", f->mig ? "MIG" : "GPU");
	for (size_t i = 0; i < UUID_BYTES; i++)
		at += (size_t)sprintf(out + at, "%s%02x", i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", f->uuid[i]);
}

void ss_convert_facts(struct converter *c, uint32_t id, const struct device_facts *f)
{
	static const uint8_t none[UUID_BYTES];
	char uuid[48];
	if (id >= CONVERT_DEVICES)
		return;
	if (!c->caps[id].warp)
		c->caps[id] = (struct device_caps){
			.memory_bytes = f->memory_bytes, .warp = f->warp, .warps_per_sm = f->warps_per_sm,
			.blocks_per_sm = f->blocks_per_sm, .shared_per_sm = f->shared_per_sm,
			.registers_per_sm = f->registers_per_sm, .major = f->major,
		};
	fact(c, id, "device_vendor", SS_TRACE_TEXT, 0, "Nvidia");
	if (f->name[0])
		fact(c, id, "gpu_device_name", SS_TRACE_TEXT, 0, f->name);
	fact(c, id, "clock_rate", SS_TRACE_INT, f->clock_khz, NULL);
	fact(c, id, "core_count", SS_TRACE_INT, f->sms, NULL);
	fact(c, id, "memory_bandwidth", SS_TRACE_UINT, f->bandwidth_kbps * 1000, NULL);
	fact(c, id, "memory_size", SS_TRACE_UINT, f->memory_bytes, NULL);
	fact(c, id, "compute_cap_major", SS_TRACE_INT, f->major, NULL);
	fact(c, id, "compute_cap_minor", SS_TRACE_INT, f->minor, NULL);
	if (memcmp(f->uuid, none, sizeof(none)) != 0) {
		uuid_text(f, uuid);
		fact(c, id, "device_uuid", SS_TRACE_TEXT, 0, uuid);
	}
	if (f->mig && f->gpu_instance != UINT32_MAX) {
		fact(c, id, "mig_gpu_instance", SS_TRACE_INT, f->gpu_instance, NULL);
		fact(c, id, "mig_compute_instance", SS_TRACE_INT, f->compute_instance, NULL);
	}
}

/* A record of a GPU that CUDA_VISIBLE_DEVICES hides is of no use: its number is none of the program's. */
static void convert_device(struct converter *c, const void *r)
{
	const uint8_t *bytes = r;
	const char *name = abi_text(r, DEVICE_NAME);
	if (!bytes[DEVICE_VISIBLE])
		return;
	struct device_facts f = {
		.mig = bytes[DEVICE_MIG], .gpu_instance = abi_u32(r, DEVICE_GPU_INSTANCE),
		.compute_instance = abi_u32(r, DEVICE_COMPUTE_INSTANCE), .memory_bytes = abi_u64(r, DEVICE_MEMORY),
		.bandwidth_kbps = abi_u64(r, DEVICE_BANDWIDTH), .clock_khz = abi_u32(r, DEVICE_CLOCK),
		.sms = abi_u32(r, DEVICE_SMS), .warp = abi_u32(r, DEVICE_WARP), .warps_per_sm = abi_u32(r, DEVICE_WARPS_PER_SM),
		.blocks_per_sm = abi_u32(r, DEVICE_BLOCKS_PER_SM), .shared_per_sm = abi_u32(r, DEVICE_SHARED_PER_SM),
		.registers_per_sm = abi_u32(r, DEVICE_REGISTERS_PER_SM), .major = abi_u32(r, DEVICE_CAP_MAJOR),
		.minor = abi_u32(r, DEVICE_CAP_MINOR),
	};
	snprintf(f.name, sizeof(f.name), "%s", name ? name : "");
	memcpy(f.uuid, bytes + (f.mig ? DEVICE_MIG_UUID : DEVICE_UUID), sizeof(f.uuid));
	ss_convert_facts(c, abi_u32(r, DEVICE_ID), &f);
}

void ss_convert(struct converter *c, const void *record)
{
	switch (abi_u32(record, 0)) {
	case CUPTI_KIND_CONCURRENT_KERNEL:
		convert_kernel(c, record);
		break;
	case CUPTI_KIND_MEMCPY:
		convert_copy(c, record, false);
		break;
	case CUPTI_KIND_MEMCPY_PEER:
		convert_copy(c, record, true);
		break;
	case CUPTI_KIND_MEMSET:
		convert_set(c, record);
		break;
	case CUPTI_KIND_MEMORY:
		keep_memory(c, record);
		break;
	case CUPTI_KIND_DEVICE:
		convert_device(c, record);
		break;
	}
}
