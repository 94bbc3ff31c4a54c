/*
 * modules.h - what several subcommands share: programs by name, the device's properties, FLOPs of
 * custom calls.
 */
#ifndef SS_XPROF_CLI_MODULES_H
#define SS_XPROF_CLI_MODULES_H

#include "xprof/cli/xcli.h"

struct xcli_modules {
	struct ss_str *v; /* "jit_step(17)", by name, each once */
	size_t n;
};

bool xcli_modules(struct xcli *x, struct xcli_modules *list);

/* The properties of the roofline model's table under XProf's names, with units. */
struct xv *xcli_device_info(struct xcli *x, const struct ss_table *t);

/*
 * The work of a custom call, from its text: the cost that its author states, or the shapes of a product
 * of matrices or of an attention. Provenances have XProf's names.
 */
struct xcli_custom_call {
	bool is_custom;	     /* by text, category or name */
	bool known, derived; /* flops and bytes are set; from shapes */
	double flops, bytes; /* of one execution */
};

struct xcli_custom_call xcli_custom_call(struct ss_str expression, struct ss_str category,
					 struct ss_str name);
bool xcli_is_custom_call(struct ss_str expression, struct ss_str category, struct ss_str name);

/* Bytes of an element of the type that texts name; `otherwise` where it is not known. */
double xcli_type_bytes(struct ss_str type, double otherwise);
/*
 * The length over which `a` and `b` are multiplied into `out`, each by its last two dimensions; 0:
 * they are not.
 */
double xcli_contracted(const double out[2], const double a[2], const double b[2]);

/*
 * Indices 0 … n-1 into *order by key, largest first, equal ones as they were. False when memory is
 * out.
 */
bool xcli_rank(struct xcli *x, const double *key, size_t n, uint32_t **order);

/* "truncated" and the counts behind it. */
void xcli_put_counts(struct xv *o, size_t total, size_t returned);
/* The length of a list of `n` under a limit: 0 and less is none. */
size_t xcli_limited(size_t n, int64_t limit);
/* A whole number that may need more than 64 bits. */
void xcli_put_whole(struct xv *v, const char *key, double n);

#endif
