/*
 * frames.h - Python's calls, as profilers name them: "$main.py:16 fetch_rows" and "$time sleep" (XProf's tracer),
 * "main.py(16): fetch_rows" and "<built-in function sleep>" (PyTorch's).
 */
#ifndef SS_MODEL_ATTRIBUTION_FRAMES_H
#define SS_MODEL_ATTRIBUTION_FRAMES_H

#include "base/arena.h"

struct ss_frame {
	struct ss_str file; /* "main.py", "torch/optim/adam.py"; a module for built-in functions, or "" */
	struct ss_str func;
	int64_t line;	    /* 0: built in */
};

/* False: no Python. */
bool ss_frame_parse(struct ss_str name, struct ss_frame *out);
/*
 * JAX's function that Python calls before and behind each collection of garbage that it starts
 * itself.
 */
bool ss_frame_marks_collection(const struct ss_frame *f);
#define SS_AUTOMATIC_COLLECTION "automatic collection" /* the text of one */
/*
 * "fetch_rows (main.py:16)", "time.sleep"; the name itself where it is no Python. p is NULL when
 * memory is out.
 */
struct ss_str ss_frame_text(struct ss_str name, struct ss_arena *arena);

#endif
