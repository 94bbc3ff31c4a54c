/* text_window.c - the windows and the dimension labels of convolutions and of what reduces by windows. */
#include "hlo/literal.h"
#include "hlo/text_parts.h"

enum window_part { W_SIZE, W_STRIDE, W_PAD, W_LHS_DILATE, W_RHS_DILATE, W_REVERSAL };

/* One dimension's part; false while it is what everybody expects. */
static bool window_part(struct ss_buf *b, struct ss_str dim, enum window_part part, bool print)
{
	static const uint32_t fields[] = { WINDOW_SIZE, WINDOW_STRIDE, WINDOW_PADDING_LOW, WINDOW_BASE_DILATION, WINDOW_DILATION,
					   WINDOW_REVERSAL };
	int64_t v = (int64_t)ss_hlo_field_u64(dim, fields[part]), high;
	switch (part) {
	case W_PAD:
		high = (int64_t)ss_hlo_field_u64(dim, WINDOW_PADDING_HIGH);
		if (print)
			ss_buf_printf(b, "%lld_%lld", (long long)v, (long long)high);
		return v || high;
	case W_REVERSAL:
		v = v != 0;
		break;
	case W_LHS_DILATE:
	case W_RHS_DILATE:
	case W_STRIDE:
	case W_SIZE:
		break;
	}
	if (print)
		ss_buf_i64(b, v);
	return part == W_SIZE || v != (part == W_REVERSAL ? 0 : 1);
}

void ss_hlo_print_window(struct ss_hlo_printer *p, struct ss_str body)
{
	static const char *const names[] = { "size=", " stride=", " pad=", " lhs_dilate=", " rhs_dilate=", " rhs_reversal=" };
	struct ss_str w, dim;
	if (!ss_hlo_field(body, HLO_INSTRUCTION_WINDOW, &w) || !ss_hlo_has(w, WINDOW_DIMENSIONS))
		return;
	ss_hlo_attr(p, "window");
	ss_buf_char(p->b, '{');
	for (unsigned part = W_SIZE; part <= W_REVERSAL; part++) {
		struct ss_pb c = ss_pb_of(w);
		bool shown = false;
		while (ss_hlo_next_field(&c, WINDOW_DIMENSIONS, &dim))
			shown |= window_part(p->b, dim, part, false);
		if (!shown)
			continue;
		ss_buf_z(p->b, names[part]);
		c = ss_pb_of(w);
		for (const char *x = ""; ss_hlo_next_field(&c, WINDOW_DIMENSIONS, &dim); x = "x") {
			ss_buf_z(p->b, x);
			window_part(p->b, dim, part, true);
		}
	}
	ss_buf_char(p->b, '}');
}

/* The roles of the dimensions: two letters, and the numbers of the spatial dimensions. */
static void labels(struct ss_buf *b, struct ss_str conv, const uint32_t fields[3], const char letters[2])
{
	enum { MAX = 32 };
	char text[MAX];
	size_t n = 2;
	struct ss_hlo_ids it = ss_hlo_ids_of(conv, fields[2]);
	int64_t at, k = 0;
	while (n < MAX && ss_hlo_ids_next(&it, &at))
		n++;
	memset(text, '?', n);
	for (int i = 0; i < 2; i++) {
		uint64_t place = ss_hlo_field_u64(conv, fields[i]);
		if (place < n)
			text[place] = letters[i];
	}
	it = ss_hlo_ids_of(conv, fields[2]);
	for (; k < MAX - 2 && ss_hlo_ids_next(&it, &at); k++)
		if (at >= 0 && (uint64_t)at < n)
			text[at] = (char)(k < 10 ? '0' + k : 'a' + k - 10);
	ss_buf_str(b, (struct ss_str){ text, n });
}

void ss_hlo_print_dim_labels(struct ss_hlo_printer *p, struct ss_str body)
{
	static const uint32_t input[] = { CONVOLUTION_INPUT_BATCH, CONVOLUTION_INPUT_FEATURE, CONVOLUTION_INPUT_SPATIAL };
	static const uint32_t kernel[] = { CONVOLUTION_KERNEL_INPUT_FEATURE, CONVOLUTION_KERNEL_OUTPUT_FEATURE,
					   CONVOLUTION_KERNEL_SPATIAL };
	static const uint32_t output[] = { CONVOLUTION_OUTPUT_BATCH, CONVOLUTION_OUTPUT_FEATURE, CONVOLUTION_OUTPUT_SPATIAL };
	struct ss_str conv;
	if (!ss_hlo_field(body, HLO_INSTRUCTION_CONVOLUTION, &conv))
		return;
	ss_hlo_attr(p, "dim_labels");
	labels(p->b, conv, input, "bf");
	ss_buf_char(p->b, '_');
	labels(p->b, conv, kernel, "io");
	ss_buf_lit(p->b, "->");
	labels(p->b, conv, output, "bf");
}
