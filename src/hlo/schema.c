/* schema.c - see schema.h. */
#include "hlo/schema.h"

#include "base/str.h"

static const struct ss_schema_field fields[] = {
#define MESSAGE(id) { .of = SS_MSG_##id },
#define FIELD(num, kind, text) { .number = num, .type = SS_SCHEMA_##kind, .name = #text },
#define REPEATED_FIELD(num, kind, text) { .number = num, .type = SS_SCHEMA_##kind, .repeated = true, .name = #text },
#define SHOWN_ZERO_FIELD(num, kind, text) { .number = num, .type = SS_SCHEMA_##kind, .shown_zero = true, .name = #text },
#define ENUM_FIELD(num, id, text) { .number = num, .type = SS_SCHEMA_ENUM, .of = SS_ENUM_##id, .name = #text },
#define REPEATED_ENUM_FIELD(num, id, text) \
	{ .number = num, .type = SS_SCHEMA_ENUM, .repeated = true, .of = SS_ENUM_##id, .name = #text },
#define SHOWN_ZERO_ENUM_FIELD(num, id, text) \
	{ .number = num, .type = SS_SCHEMA_ENUM, .shown_zero = true, .of = SS_ENUM_##id, .name = #text },
#define MESSAGE_FIELD(num, id, text) { .number = num, .type = SS_SCHEMA_MESSAGE, .of = SS_MSG_##id, .name = #text },
#define MAP_FIELD(num, id, text) { .number = num, .type = SS_SCHEMA_MESSAGE, .is_map = true, .of = SS_MSG_##id, .name = #text },
#include "hlo/schema.def"
	{ 0 }
};

static const struct ss_schema_value values[] = {
#define ENUM(id) { SS_ENUM_##id, NULL },
#define VALUE(num, text) { num, #text },
#include "hlo/schema.def"
	{ 0 }
};

void ss_schema_read(struct ss_schema *s)
{
	for (size_t i = 0; i + 1 < SS_COUNT(fields); i++)
		if (!fields[i].number)
			s->messages[fields[i].of] = &fields[i + 1];
	for (size_t i = 0; i + 1 < SS_COUNT(values); i++)
		if (!values[i].name)
			s->enums[values[i].number] = &values[i + 1];
}
