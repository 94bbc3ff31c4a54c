/*
 * buffers.c - the pieces of a recording's file: records of them, and letting them go. Nothing here allocates: a signal's handler
 * may be in need of a buffer.
 */
#include "recorder.h"

#include <sys/mman.h>

#define PAGE_BYTES 16384u

/* All records there are, in use or spare, for a child that has to find them. Never freed. */
struct buffer_page {
	struct buffer_page *next;
	struct buffer buffer[(PAGE_BYTES - sizeof(void *)) / sizeof(struct buffer)];
};

#define PAGE_BUFFERS (sizeof(((struct buffer_page *)0)->buffer) / sizeof(struct buffer))

static void put_spare(struct buffer *b)
{
	*b = (struct buffer){ .next = ss_rec.spare };
	ss_rec.spare = b;
}

static struct buffer *take_spare(void)
{
	if (!ss_rec.spare) {
		struct buffer_page *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (page == MAP_FAILED)
			return NULL;
		page->next = ss_rec.buffer_pages;
		ss_rec.buffer_pages = page;
		for (size_t i = PAGE_BUFFERS; i-- > 0;)
			put_spare(&page->buffer[i]);
	}
	struct buffer *b = ss_rec.spare;
	ss_rec.spare = b->next;
	b->next = NULL;
	return b;
}

struct buffer *ss_rec_make_buffer(void)
{
	struct buffer *b = take_spare();
	if (b && !(b->base = ss_spool_buffer(&ss_rec.spool))) {
		put_spare(b);
		return NULL;
	}
	return b;
}

struct buffer *ss_rec_new_buffer(struct buffer **first, struct buffer *last)
{
	struct buffer *b = ss_rec.nstock ? ss_rec.stock[--ss_rec.nstock] : ss_rec_make_buffer();
	sem_post(&ss_rec.used_stock);
	if (!b)
		return NULL;
	if (last)
		last->next = b;
	else
		*first = b;
	return b;
}

void ss_rec_free_buffers(struct buffer *b)
{
	while (b) {
		struct buffer *next = b->next;
		munmap(b->base, SPOOL_BUFFER);
		put_spare(b);
		b = next;
	}
}

void ss_rec_end_extent(struct extent *e, bool keep)
{
	size_t n = (size_t)(e->to - e->from);
	if (n && keep)
		mmap(e->from, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	else if (n)
		munmap(e->from, n);
}

void ss_rec_add_to_extent(struct extent *e, unsigned char *base, bool keep)
{
	if (e->from && base + SPOOL_BUFFER == e->from) {
		e->from = base;
	} else if (e->from && base == e->to) {
		e->to += SPOOL_BUFFER;
	} else {
		ss_rec_end_extent(e, keep);
		*e = (struct extent){ base, base + SPOOL_BUFFER };
	}
}

void ss_rec_forget_buffers(bool interrupted)
{
	struct extent extent = { NULL, NULL };
	ss_rec.nstock = 0;
	ss_rec.names = ss_rec.spare = NULL;
	ss_rec.names_tail = ss_rec.names_end = NULL;
	for (struct buffer_page *page = ss_rec.buffer_pages; page; page = page->next)
		for (size_t i = 0; i < PAGE_BUFFERS; i++) {
			struct buffer *b = &page->buffer[i];
			if (b->base)
				ss_rec_add_to_extent(&extent, b->base, interrupted);
			put_spare(b);
		}
	ss_rec_end_extent(&extent, interrupted);
}

bool ss_rec_init_maker(void)
{
	sem_t *const sems[] = { &ss_rec.used_stock, &ss_rec.stock_ended, &ss_rec.written, &ss_rec.taken_down };
	bool ok = true;
	for (size_t i = 0; i < sizeof(sems) / sizeof(*sems); i++)
		ok = sem_init(sems[i], 0, 0) == 0 && ok;
	ss_rec.making = ss_rec.taking_down = false;
	return ok;
}
