/*
 * read.h - reading a run, in parts. Internal to this folder.
 *
 *	read.c		visits hosts; the steps; what each piece of time is added to
 *	grid.c		a time for each row and step
 *	describe.c	which operation a piece belongs to
 *	functions.c	own times of the functions of the thread that starts programs
 *	facts.c		environment and memory
 */
#ifndef SS_DIFF_READ_H
#define SS_DIFF_READ_H

#include "base/intern.h"
#include "diff/run.h"
#include "hlo/stack.h"
#include "model/attribution/pieces.h"

struct ss_host;

/*
 * Rows of times by step. Rows are many and steps are many; so that the grid stays small,
 * neighbouring steps share a column when they would be too many: means of blocks are as good a
 * sample for the error of a mean.
 */
struct ss_diff_grid {
	double *v;			       /* rows x columns, microseconds */
	double *total;			       /* by row, of what counts, a mean over steps and hosts */
	size_t rows, cap, columns, per_column; /* steps of a column */
	size_t steps;
};

bool ss_diff_grid_rows(struct ss_diff_grid *g, size_t rows);
static inline void ss_diff_grid_add(struct ss_diff_grid *g, size_t row, size_t step, double us)
{
	g->v[row * g->columns + step / g->per_column] += us;
}
/*
 * Over the steps that count; `weight`: hosts in which a step counts. `scratch`: a number for each
 * column.
 */
struct ss_sample ss_diff_grid_sample(const struct ss_diff_grid *g, size_t row, const uint32_t *weight, double *scratch);
void ss_diff_grid_free(struct ss_diff_grid *g);

#define SS_DIFF_MOST_CELLS ((size_t)4 << 20)
#define SS_DIFF_MOST_COLUMNS 512

/* A program, opened for its operations. */
struct ss_diff_program {
	uint64_t id;
	struct ss_str name;
	const struct ss_hlo_module *m; /* NULL: the profile does not have it */
	struct ss_hlo_stacks stacks;
	bool has_stacks;
};

/* The sums to which a piece of an owner is added. */
struct ss_diff_owner {
	uint32_t row; /* into ops; SS_NONE: not looked up */
	uint8_t class, component;
	bool is_op, counted;
};

struct ss_diff_reader {
	struct ss_diff_run *run;
	const struct ss_diff_selection *only;
	/* Of the run. */
	struct ss_u64map step_by_num;
	uint32_t *weight; /* by step: hosts in which it is typical */
	uint32_t *seen;	  /* by step: hosts that have it */
	struct ss_diff_grid components, ops, functions;
	struct ss_u64map op_by_key, function_by_key;
	SS_VEC(double) gaps;	/* of the first host: from the end of a step to the begin of the next */
	double gap_us, mean_us; /* sums over hosts of their means; mean_us of all steps */
	int64_t least_num, most_num; /* of the first host's steps */
	bool no_memory;
	/* Of the host. */
	struct ss_host *host;
	const struct ss_pieces *pieces;
	const struct ss_windows *windows;
	uint32_t *step_of; /* by window, SS_NONE: left out */
	bool *typical;	   /* by window */
	size_t ntypical, nunits;
	double scale; /* of a piece's time, in the mean over steps and devices */
	double host_us[SS_DIFF_COMPONENTS];
	SS_VEC(struct ss_diff_owner) owners;
	SS_VEC(struct ss_diff_program) programs;
	struct ss_arena arena; /* of the host */
	uint32_t between;      /* the row of what lies between operations, SS_NONE */
};

/*
 * describe.c: the row of an owner (SS_NO_OWNER: what lies between operations), made if it is new.
 * False: no memory.
 */
bool ss_diff_op_of(struct ss_diff_reader *r, uint32_t owner, enum ss_diff_component c, uint32_t *row);
/* "infeed", "loop fusion"; "" */
struct ss_str ss_diff_category(const struct ss_plane *p, uint32_t meta);
/* functions.c */
bool ss_diff_read_functions(struct ss_diff_reader *r, const struct ss_pieces *p);
/* facts.c: of a host whose windows are known. */
bool ss_diff_host_facts(struct ss_diff_reader *r, const struct ss_pieces *p);
/* The program with most time on a host whose pieces were read. */
bool ss_diff_program_facts(struct ss_diff_reader *r);
bool ss_diff_run_facts(struct ss_diff_reader *r);

#endif
