/* field.c - single fields of messages. */
#include "hlo/field.h"

uint64_t ss_hlo_field_u64(struct ss_str body, uint32_t number)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	uint64_t v = 0;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_VAR(number))
			v = f.u;
	return v;
}

double ss_hlo_field_f64(struct ss_str body, uint32_t number)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	double v = 0;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_I64(number))
			v = ss_pb_double(f.u);
	return v;
}

bool ss_hlo_field(struct ss_str body, uint32_t number, struct ss_str *bytes)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	bool found = false;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(number)) {
			*bytes = f.bytes;
			found = true;
		}
	return found;
}

bool ss_hlo_has(struct ss_str body, uint32_t number)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		if (f.key >> 3 == number)
			return true;
	return false;
}

bool ss_hlo_next_field(struct ss_pb *c, uint32_t number, struct ss_str *bytes)
{
	struct ss_pb_field f;
	while (ss_pb_next(c, &f))
		if (f.key == PB_LEN(number)) {
			*bytes = f.bytes;
			return true;
		}
	return false;
}

void ss_hlo_print_ints(struct ss_buf *b, struct ss_str body, uint32_t number)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(body, number);
	int64_t v;
	for (const char *comma = ""; ss_hlo_ids_next(&it, &v); comma = ",") {
		ss_buf_z(b, comma);
		ss_buf_i64(b, v);
	}
}
