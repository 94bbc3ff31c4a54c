/* letters.c - see letters.h. */
#include "drawing/letters.h"

#define BOLD 1.1
#define OTHER 1000	/* whatever is not ASCII; ideographs are as wide as they are high */

/* Widths of the letters from ' ' to '~' in thousandths of the font size: those of DejaVu Sans, which are wider than Arial's. */
static const unsigned short widths[] = {
	318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636,
	636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
	575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685,
	611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579,
	278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
};

double ss_text_width(struct ss_str text, double font_px, bool bold)
{
	double sum = 0;
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];
		if (c >= ' ' && c - ' ' < (int)SS_COUNT(widths))
			sum += widths[c - ' '];
		else if ((c & 0xc0) != 0x80)
			sum += OTHER;
	}
	return sum / 1000 * font_px * (bold ? BOLD : 1);
}
