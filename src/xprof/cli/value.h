/*
 * value.h - JSON values in memory: what a subcommand answers, before it is printed.
 *
 * Values live in the maker's arena. Failure is sticky: where memory is out, functions return NULL,
 * take NULL as a parent that swallows what is put into it, and the maker remembers. Keys and texts
 * are borrowed.
 */
#ifndef SS_XPROF_CLI_VALUE_H
#define SS_XPROF_CLI_VALUE_H

#include "base/arena.h"
#include "emit/out.h"

enum xv_kind { XV_NULL, XV_BOOL, XV_INT, XV_UINT, XV_REAL, XV_STR, XV_ARRAY, XV_OBJECT };

struct xv_maker {
	struct ss_arena *arena;
	bool no_memory;
};

struct xv_member {
	struct ss_str key; /* of objects */
	struct xv *value;
};

struct xv {
	struct xv_maker *make;
	enum xv_kind kind;
	union {
		bool b;
		int64_t i;
		uint64_t u;
		double d;
		struct ss_str s;
		struct {
			struct xv_member *v;
			size_t n, cap;
		} m;
	};
};

struct xv *xv_object(struct xv_maker *m);
struct xv *xv_array(struct xv_maker *m);

/*
 * Put a member behind the others; in arrays the key is NULL. A key that an object has already is
 * replaced.
 */
void xv_put(struct xv *parent, const char *key, struct xv *value);
void xv_put_key(struct xv *parent, struct ss_str key, struct xv *value);
struct xv *xv_add_object(struct xv *parent, const char *key);
struct xv *xv_add_array(struct xv *parent, const char *key);
void xv_null(struct xv *parent, const char *key);
void xv_bool(struct xv *parent, const char *key, bool v);
void xv_i64(struct xv *parent, const char *key, int64_t v);
void xv_u64(struct xv *parent, const char *key, uint64_t v);
void xv_f64(struct xv *parent, const char *key, double v);
void xv_str(struct xv *parent, const char *key, struct ss_str v);
void xv_z(struct xv *parent, const char *key, const char *z);
void xv_printf(struct xv *parent, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Rounded to so many decimals, as xv_round does. */
void xv_rounded(struct xv *parent, const char *key, double v, int decimals);

/* The member of an object, NULL if there is none. */
struct xv *xv_get(const struct xv *object, const char *key);
/* The text of the value, "" if it has none; its number, `otherwise` if it is not a number. */
struct ss_str xv_get_str(const struct xv *object, const char *key);
double xv_get_f64(const struct xv *object, const char *key, double otherwise);
size_t xv_length(const struct xv *v);

/* Decimal rounding of the exact value, half to even. */
double xv_round(double v, int decimals);

/* JSON of two blanks a level; in one line where `indent` is false. */
void xv_print(struct ss_out *o, const struct xv *v, bool indent);

#endif
