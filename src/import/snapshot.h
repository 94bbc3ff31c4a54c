/*
 * snapshot.h - a memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot): segments and blocks of
 * the caching allocator, and the ring of its events.
 *
 * The file is a pickle of plain data, or the same as JSON. It is read record by record and never
 * becomes a tree: a record takes some 40 bytes here, and passed pages of the file are given back.
 * Nothing is ever executed: an opcode that would call something ends the reading with a sentence
 * (pickle.h).
 */
#ifndef SS_IMPORT_SNAPSHOT_H
#define SS_IMPORT_SNAPSHOT_H

#include "base/arena.h"
#include "base/file.h"
#include "base/map.h"
#include "base/vec.h"

#define SS_SNAP_DEVICES 256	/* of one process, at most */

enum ss_snap_action {
	SS_SNAP_OTHER,	/* snapshot, annotate, and unknown actions */
	SS_SNAP_ALLOC,
	SS_SNAP_FREE_REQUESTED,
	SS_SNAP_FREE_COMPLETED,
	SS_SNAP_SEGMENT_ALLOC,
	SS_SNAP_SEGMENT_FREE,
	SS_SNAP_SEGMENT_MAP,
	SS_SNAP_SEGMENT_UNMAP,
	SS_SNAP_OOM,	/* addr: memory that the device had left; size: the requested bytes */
};

enum ss_snap_state { SS_SNAP_INACTIVE, SS_SNAP_ALLOCATED, SS_SNAP_AWAITING_FREE };

struct ss_snap_frame {
	uint32_t file, name;	/* in `texts` */
	int64_t line;
};

/* Frames of a stack, innermost first: `frame_ids` from `begin`. Equal stacks are one. */
struct ss_snap_stack {
	uint32_t begin, n;
};

struct ss_snap_event {
	uint64_t addr, size;
	int64_t time_us;	/* since 1970 */
	uint32_t stack;		/* SS_NONE: not recorded */
	uint32_t group : 28;	/* of events of one list, see `groups` */
	uint32_t action : 4;
};

struct ss_snap_block {
	uint64_t addr, size, requested;
	uint32_t stack, count;	/* of JAX: so many allocations, `size` together */
	uint32_t group : 28;
	uint32_t state : 4;
};

struct ss_snap_segment {
	uint64_t addr, size;
	int64_t stream;
	uint64_t pool[2];
	uint32_t device, stack;
	uint32_t first_block, nblocks;	/* in `blocks` */
	bool small, expandable;
};

/* Records that stood in one list: events of a device, blocks of a segment. */
struct ss_snap_group {
	uint32_t place;		/* of the list in the one around it: the device */
	uint32_t segment;	/* SS_NONE: not of one */
};

/* For a memory profile of JAX: the bytes in use by device and kind ("buffer", "executable"). */
struct ss_snap_kind {
	struct ss_str device, kind;
	uint64_t count, bytes;
};

struct ss_snapshot {
	bool jax;		/* a memory profile of JAX: blocks, and no events (pprof.h) */
	SS_VEC(struct ss_snap_kind) kinds;
	struct ss_strmap devices; /* of JAX: names of devices by number, "" for memory on no device */

	struct ss_strmap texts;	/* names of files and functions, by number */
	SS_VEC(struct ss_snap_frame) frames;
	SS_VEC(uint32_t) frame_ids;
	SS_VEC(struct ss_snap_stack) stacks;
	SS_VEC(struct ss_snap_group) groups;
	SS_VEC(struct ss_snap_event) events;	/* by device, then in the order of the file, which is that of time */
	SS_VEC(struct ss_snap_block) blocks;	/* by segment */
	SS_VEC(struct ss_snap_segment) segments;
	uint64_t malformed;	/* records without required members, or with impossible numbers */
	uint32_t ndevices;
	size_t events_of[SS_SNAP_DEVICES + 1];	/* where those of a device begin */
	bool cut;		/* it ends early */
	struct ss_str stopped;	/* why reading ended before the end, in the arena; n 0: it did not */
	struct ss_arena arena;	/* texts that had to be decoded; of a packed file all of it */
};

/*
 * Does it begin as such a snapshot does, as a pickle or as JSON? `head` is what stands in the file
 * unpacked.
 */
bool ss_snapshot_is(struct ss_str head);
/*
 * Texts borrow from the file. What could be read of a damaged file is there, and `cut` or `stopped`
 * say so; SS_EFORMAT when that is nothing. To be freed also after a failure.
 */
bool ss_snapshot_read(const struct ss_file *f, struct ss_snapshot *s, struct ss_err *err);
/* For readers: records that were added to their places. False when memory is out. */
bool ss_snapshot_place(struct ss_snapshot *s);
void ss_snapshot_free(struct ss_snapshot *s);

static inline struct ss_str ss_snap_text(const struct ss_snapshot *s, uint32_t text)
{
	return text < s->texts.n ? s->texts.keys[text] : (struct ss_str){ "", 0 };
}

#endif
