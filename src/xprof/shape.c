/* shape.c - the registry of shapes, read off shapes.def, and what shapes share. */
#include "xprof/shape.h"

ss_shape_fn *ss_shape_find(struct ss_str tool)
{
	static const struct {
		struct ss_str name;
		ss_shape_fn *shape;
	} shapes[] = {
#define SHAPE(name) { SS_STR_INIT(#name), ss_shape_##name },
#include "xprof/shapes.def"
#undef SHAPE
	};
	for (size_t i = 0; i < SS_COUNT(shapes); i++)
		if (ss_str_eq(shapes[i].name, tool))
			return shapes[i].shape;
	return NULL;
}
