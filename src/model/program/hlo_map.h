/*
 * hlo_map.h - the compiled programs that a profile carries (plane /host:metadata), by program id.
 *
 * Part of struct ss_host, needs nothing loaded. Finding the modules costs little; a module's
 * instructions are indexed when it is first asked for, and then shared by all threads. Everything
 * lives as long as the host.
 */
#ifndef SS_MODEL_PROGRAM_HLO_MAP_H
#define SS_MODEL_PROGRAM_HLO_MAP_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "hlo/hlo.h"

struct ss_host;

struct ss_hlo_entry {
	int64_t program_id;	/* the number in brackets at the end of `title`, or else the metadata's id */
	struct ss_str title;	/* "jit_step(17)": as programs are named in the timeline */
	struct ss_hlo_module module; /* opened; the indexed one only by ss_hlo_map_get */
};

struct ss_hlo_map;

/* NULL only when memory is out. A profile without modules has an empty map. */
struct ss_hlo_map *ss_host_hlo(struct ss_host *h, struct ss_err *err);
/* All modules, in the file's order. */
const struct ss_hlo_entry *ss_hlo_map_entries(const struct ss_hlo_map *map, uint32_t *n);
/*
 * The indexed module of a program; *out is NULL if the profile has none. The first of equal ids
 * counts. False when memory is out.
 */
bool ss_hlo_map_get(struct ss_hlo_map *map, int64_t program_id, const struct ss_hlo_module **out, struct ss_err *err);
/* The indexed module of an entry, by its number in the list of all. */
bool ss_hlo_map_at(struct ss_hlo_map *map, uint32_t i, const struct ss_hlo_module **out, struct ss_err *err);

/*
 * A module's name among the files that XProf makes of a profile, which is how its clients name
 * modules: "<name>(<program id>)". p is NULL when memory is out.
 */
struct ss_str ss_hlo_entry_file(const struct ss_hlo_entry *e, struct ss_arena *arena);

#endif
