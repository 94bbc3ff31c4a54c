/* forget.c - giving back pages of the file behind a walk. */
#include "model/host/forget.h"

#include "model/host/host.h"

#define STRIDE ((size_t)1 << 20)

static void give_up(struct ss_forget *f)
{
	if (f->to > f->from)
		ss_file_forget(&f->h->x.file,
			       (struct ss_str){ f->from, (size_t)(f->to - f->from) });
	f->from = f->to;
}

void ss_forget_upto(struct ss_forget *f, const char *at)
{
	size_t away = !f->from ? SIZE_MAX : at < f->from ? (size_t)(f->from - at) : at > f->to ? (size_t)(at - f->to) : 0;
	/* Elsewhere than where the walk was: begin anew there. */
	if (away > STRIDE) {
		give_up(f);
		f->from = f->to = at;
		return;
	}
	/* An inner event stands before the outer one where a program writes events as they end. */
	f->from = at < f->from ? at : f->from;
	f->to = at > f->to ? at : f->to;
	if ((size_t)(f->to - f->from) >= STRIDE)
		give_up(f);
}

void ss_forget_line(struct ss_forget *f, const struct ss_line *l)
{
	if (l->src)
		ss_forget_upto(f, l->src->body.p + l->src->body.n);
}

void ss_forget_rest(struct ss_forget *f)
{
	give_up(f);
}
