/*
 * recompiled.h - the changes between the programs that were compiled from one function, where the
 * recording shows them.
 *
 * JAX, and TensorFlow with XLA: programs of one name differ in the shapes and types of their parameters, or do not. TensorFlow
 * counts the graphs that it traced of a function, and says no more. PyTorch: model/attribution/recompiled_torch.h.
 */
#ifndef SS_MODEL_PROGRAM_RECOMPILED_H
#define SS_MODEL_PROGRAM_RECOMPILED_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct ss_host;

#define SS_MOST_COMPARED_PROGRAMS 9 /* the latest of them */

struct ss_recompiled {
	uint64_t programs;     /* of the function's name, two or more; 0: nothing is known */
	struct ss_str changed; /* "argument x from f32[32,128] to f32[31,128]", "the result from ..."; "": no shape and type */
	bool once;	       /* one program has the name, or one graph was traced: nothing was compiled again */
	uint64_t traced;       /* TensorFlow: graphs traced until the last; 0: not recorded */
	uint64_t compiled;     /* torch.compile: times that a frame of Python was compiled; 0: not recorded */
	int64_t frame, version; /* likewise: its number, and that of its last version; -1: not said */
	bool gave_up;	       /* likewise: the last attempt made no version */
	struct ss_str function; /* likewise: "score (main.py:6)"; "" */
};

/* The value for a host of which nothing is known. */
struct ss_recompiled ss_recompiled_none(void);
/* `function`: "update()". Texts go to `arena`. */
bool ss_recompiled_read(struct ss_recompiled *out, struct ss_host *h, struct ss_str function, struct ss_arena *arena,
			struct ss_err *err);

#endif
