/* natural.c - see natural.h. */
#include "base/natural.h"

int ss_natural_cmp(struct ss_str a, struct ss_str b)
{
	size_t i = 0, k = 0;
	while (i < a.n && k < b.n) {
		size_t from = i, other = k;
		while (i < a.n && a.p[i] >= '0' && a.p[i] <= '9')
			i++;
		while (k < b.n && b.p[k] >= '0' && b.p[k] <= '9')
			k++;
		if (i > from && k > other) {
			/* Longer numbers are greater, zeros before them apart. */
			while (from < i && a.p[from] == '0')
				from++;
			while (other < k && b.p[other] == '0')
				other++;
			size_t na = i - from, nb = k - other;
			int order = na != nb ? (na < nb ? -1 : 1) : na ? memcmp(a.p + from, b.p + other, na) : 0;
			if (order)
				return order;
			continue;
		}
		i = from;
		k = other;
		if (a.p[i] != b.p[k])
			return (unsigned char)a.p[i] < (unsigned char)b.p[k] ? -1 : 1;
		i++;
		k++;
	}
	if (i < a.n || k < b.n)
		return i < a.n ? 1 : -1;
	return ss_str_cmp(a, b);
}
