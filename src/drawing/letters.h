/*
 * letters.h - the width of a text on a page whose font is not known: its width in the widest of the usual fonts.
 */
#ifndef SS_DRAWING_LETTERS_H
#define SS_DRAWING_LETTERS_H

#include "base/str.h"

double ss_text_width(struct ss_str text, double font_px, bool bold);

#endif
