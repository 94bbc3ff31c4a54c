/*
 * schema.h - the messages of a compiled program and their enums, by number and name (schema.def).
 */
#ifndef SS_HLO_SCHEMA_H
#define SS_HLO_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

enum ss_schema_type {
	SS_SCHEMA_INT32, SS_SCHEMA_INT64, SS_SCHEMA_UINT32, SS_SCHEMA_UINT64, SS_SCHEMA_BOOL, SS_SCHEMA_FLOAT, SS_SCHEMA_DOUBLE,
	SS_SCHEMA_STRING, SS_SCHEMA_BYTES, SS_SCHEMA_ENUM, SS_SCHEMA_MESSAGE
};

/* Messages and enums are numbered in the order of the list. */
enum ss_schema_message {
#define MESSAGE(id) SS_MSG_##id,
#include "hlo/schema.def"
	SS_MSG_COUNT
};

enum ss_schema_enum {
#define ENUM(id) SS_ENUM_##id,
#include "hlo/schema.def"
	SS_ENUM_COUNT
};

struct ss_schema_field {
	uint16_t number;	/* 0: no field, a message begins here */
	uint8_t type;
	bool repeated, shown_zero, is_map;
	uint16_t of;		/* its message or enum; of a begin the message itself */
	const char *name;
};

struct ss_schema_value {
	int32_t number;		/* of a begin the enum itself */
	const char *name;	/* NULL: no value, an enum begins here */
};

struct ss_schema {
	const struct ss_schema_field *messages[SS_MSG_COUNT];	/* the first field of each; a row with number 0 ends them */
	const struct ss_schema_value *enums[SS_ENUM_COUNT];	/* the first value of each; a row without a name ends them */
};

void ss_schema_read(struct ss_schema *s);

#endif
