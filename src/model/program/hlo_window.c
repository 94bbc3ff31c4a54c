/* hlo_window.c - reading windows. */
#include "model/program/hlo_op.h"

struct ss_hlo_window ss_hlo_window_of(struct ss_str instruction)
{
	struct ss_pb c = ss_pb_of(instruction);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(HLO_INSTRUCTION_WINDOW))
			return (struct ss_hlo_window){ ss_pb_of(f.bytes) };
	return (struct ss_hlo_window){ ss_pb_of(SS_STR("")) };
}

static void read_dim(struct ss_str bytes, struct ss_hlo_window_dim *d)
{
	struct ss_pb c = ss_pb_of(bytes);
	struct ss_pb_field f;
	*d = (struct ss_hlo_window_dim){ 0 };
	while (ss_pb_next(&c, &f)) {
		switch (f.key) {
		case PB_VAR(WINDOW_SIZE):
			d->size = (int64_t)f.u;
			break;
		case PB_VAR(WINDOW_STRIDE):
			d->stride = (int64_t)f.u;
			break;
		case PB_VAR(WINDOW_PADDING_LOW):
			d->padding_low = (int64_t)f.u;
			break;
		case PB_VAR(WINDOW_DILATION):
			d->window_dilation = (int64_t)f.u;
			break;
		case PB_VAR(WINDOW_BASE_DILATION):
			d->base_dilation = (int64_t)f.u;
			break;
		}
	}
}

bool ss_hlo_window_next(struct ss_hlo_window *w, struct ss_hlo_window_dim *d)
{
	struct ss_pb_field f;
	while (ss_pb_next(&w->c, &f)) {
		if (f.key != PB_LEN(WINDOW_DIMENSIONS))
			continue;
		read_dim(f.bytes, d);
		return true;
	}
	return false;
}
