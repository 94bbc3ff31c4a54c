/* kernel_name.c - see kernel_name.h. */
#include "model/ops/kernel_name.h"

/* The first type between angle brackets that is one word and says what the kernel is. */
static bool named_by_type(struct ss_str full, size_t open, struct ss_str *out)
{
	struct ss_str before = ss_str_sub(full, 0, open), type = ss_str_sub(full, open + 1, full.n);
	size_t end = 0;
	if (!ss_str_ends(before, SS_STR("cutlass::Kernel")) && !ss_str_ends(before, SS_STR("cutlass::Kernel2")))
		return false;
	while (end < type.n && type.p[end] != '<' && type.p[end] != '>' && type.p[end] != ',')
		end++;
	*out = ss_str_sub(type, 0, end);
	return end > 0;
}

struct ss_str ss_kernel_short_name(struct ss_str full)
{
	struct ss_str s = full, named;
	size_t end = 0, from, colons = 0;
	ss_str_take(&s, SS_STR("void "));
	while (end < s.n && s.p[end] != '<' && s.p[end] != '(')
		end++;
	while (end > 0 && end < s.n && s.p[end - 1] == ' ')
		end--;
	if (end < s.n && s.p[end] == '<' && named_by_type(s, end, &named))
		return named;
	/* "(anonymous namespace)::kernel" begins with a bracket: nothing to take off. */
	if (!end)
		return full;
	/* The last two parts: what encloses it, and itself. */
	for (from = end; from > 1; from--)
		if (s.p[from - 1] == ':' && s.p[from - 2] == ':' && ++colons == 2)
			break;
	s = ss_str_sub(s, colons == 2 ? from : 0, end);
	return s.n ? s : full;
}
