/*
 * verdict.h - the findings: what costs a program time, each with its evidence, the most important
 * first.
 *
 * Made in one place from one attribution of time (model/attribution), and only rendered by
 * everybody else: the terminal, JSON, pages, other tools. A rule emits a finding only with the
 * figures that prove it; what a recording cannot show is listed, with the reason. Findings are
 * ranked by the time that would be saved without the cause (rank.c).
 */
#ifndef SS_VERDICT_VERDICT_H
#define SS_VERDICT_VERDICT_H

#include "model/attribution/attribution.h"

enum ss_cause {
#define CAUSE(id, name, title) SS_CAUSE_##id,
#include "verdict/causes.def"
#undef CAUSE
	SS_CAUSE_COUNT
};

struct ss_str ss_cause_name(enum ss_cause c);	/* "host_code" */
struct ss_str ss_cause_title(enum ss_cause c);	/* "Code on the host" */

#define SS_MOST_ADVICE 4
#define SS_MOST_EVIDENCE 8
#define SS_MOST_TEXT_BYTES 500	/* of a finding's sentence */
#define SS_MOST_SUBJECT_BYTES 200

struct ss_proof {
	struct ss_str what;
	double value;	   /* NAN where `words` is the value */
	struct ss_str words;
	const char *unit;  /* "share", "ps", "bytes", "count", "" */
	struct ss_str host, tool;
	struct ss_str link; /* query of the page that shows it: "tool=...&view=..."; "" */
};

/*
 * The conditions that select the advice for a finding: properties of the program and of the
 * finding.
 */
enum ss_trait {
	SS_TRAIT_COMPILED = 1u << 0, /* torch.compile is in use */
	SS_TRAIT_WORKERS = 1u << 1, /* workers of the DataLoader are in use */
	SS_TRAIT_KERAS = 1u << 2, /* Keras runs the loop */
	SS_TRAIT_PYTHON = 1u << 3, /* Python's calls were recorded */
	SS_TRAIT_STAGE = 1u << 4, /* the slow stage of the input is known */
	SS_TRAIT_PREFETCHED = 1u << 5, /* the slow stage lies below a prefetch */
	SS_TRAIT_SEQUENTIAL_MAP = 1u << 6, /* the slow stage is a map that runs one call at a time */
	SS_TRAIT_PYTHON_INPUT = 1u << 7, /* the slow stage calls Python */
	SS_TRAIT_SAME_ARGUMENTS = 1u << 8, /* programs that were compiled again have the same arguments */
	SS_TRAIT_SPREAD = 1u << 9, /* no operation takes a share that matters */
	SS_TRAIT_MORE_OF_SAME = 1u << 10, /* slow steps: usual ones spend their time on the same */
	SS_TRAIT_COMPILES = 1u << 11, /* slow steps: a program is compiled in them */
	SS_TRAIT_EXTRA_UNKNOWN = 1u << 12, /* slow steps: what they do was not recorded */
	SS_TRAIT_FRAMEWORK_CALLS = 1u << 13, /* host code: calls of the framework */
	SS_TRAIT_ALL_DO = 1u << 14, /* slow steps: usual ones do the same, in less time */
	SS_TRAIT_COMPILED_ONCE = 1u << 15, /* what was compiled was compiled for the first time */
	SS_TRAIT_ONE_CALL = 1u << 16, /* one program a step is started */
	SS_TRAIT_WAITS_FOR_OTHERS = 1u << 17, /* collective: waiting, not the transfer */
	SS_TRAIT_COPY = 1u << 18, /* compute: the largest operation is a copy */
	SS_TRAIT_OTHER_PROFILER = 1u << 19, /* not recorded by the framework's own profiler */
	SS_TRAIT_NO_THREADS = 1u << 20, /* idle: no thread of the host was recorded */
	SS_TRAIT_FIXED_PARALLELISM = 1u << 21, /* the slow stage runs as many calls at a time as the program said */
	SS_TRAIT_NO_PYTHON = 1u << 22, /* nothing shows that the program is one of Python */
	SS_TRAIT_RANGE = 1u << 23, /* host code: a range that is recorded, not the code in it */
	SS_TRAIT_HOOKS = 1u << 24, /* compute: the largest operation runs hooks of Python, which are not recorded */
	SS_TRAIT_COLLECTS = 1u << 25, /* slow steps: garbage is collected in them */
	SS_TRAIT_STARTS_WORKERS = 1u << 26, /* input: processes that load data are started within the steps */
};

struct ss_verdict_finding {
	enum ss_cause cause;
	double share_frac; /* part of the recorded time that it takes; NAN where it takes none, or none that is known */
	struct ss_str subject, text;
	struct ss_str advice[SS_MOST_ADVICE];
	size_t nadvice;
	struct ss_proof evidence[SS_MOST_EVIDENCE];
	size_t nevidence;
	unsigned traits; /* bits of enum ss_trait */
	size_t affected; /* the number of devices or hosts that have it; 0: it is about all of them */
};

struct ss_not_judged {
	enum ss_cause cause;
	struct ss_str why;
};

/* Data that the recording lacks, or that was left out. */
struct ss_recording_gap {
	struct ss_str text;
	bool noted; /* the profile's own notes say it, too (struct ss_xspace.notes; events that could not be read) */
};

struct ss_verdict {
	struct ss_str framework, device; /* "jax", "tensorflow", "pytorch", "torch-xla", "" ; "TPU v6 Lite", "CPU" */
	struct ss_str *hosts;
	size_t nhosts;
	bool of_processes; /* each is one process, of which a host may have several */
	/* Steps that all hosts have. */
	size_t steps, steps_cut;
	double mean_ps, min_ps, max_ps; /* NAN without steps */
	double deviation_ps;		/* of a sample; NAN of fewer than two */
	enum ss_step_source source;
	double confidence; /* of inferred ones; else NAN */
	struct ss_verdict_finding *findings; /* the first is the verdict */
	size_t nfindings;
	struct ss_recording_gap *gaps; /* shown before the findings */
	size_t ngaps;
	struct ss_not_judged *not_judged;
	size_t nnot_judged;
	uint64_t window_ps, class_ps[SS_TIME_COUNT]; /* mean of all units: where the time goes, steps and between */
	uint64_t between_ps;
};

/* Made once for a model; texts live in `arena` or as long as the model. */
bool ss_verdict_make(struct ss_verdict *out, struct ss_model *m, struct ss_arena *arena, struct ss_err *err);
/* Only its steps, without the attribution: lists and pages take the step time from here. */
bool ss_verdict_steps(struct ss_verdict *out, struct ss_model *m, struct ss_err *err);
/*
 * The facts (enum ss_facts) that the verdict needs. With several hosts, it also needs how they wait
 * for each other.
 */
unsigned ss_verdict_facts(const struct ss_model *m);

#endif
