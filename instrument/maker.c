/* maker.c - the buffers that are made ahead, see recorder.h. */
#include "recorder.h"

#include <signal.h>

enum stock { STOCK_FULL, STOCK_NO_ROOM, STOCK_QUIT };

static enum stock fill_stock(void)
{
	for (;;) {
		/* Others that wait for the lock get it between two buffers. */
		ss_rec_lock();
		enum stock now = ss_rec.quit ? STOCK_QUIT : ss_rec.nstock == STOCK ? STOCK_FULL : STOCK_NO_ROOM;
		struct buffer *made = now == STOCK_NO_ROOM ? ss_rec_make_buffer() : NULL;
		if (made)
			ss_rec.stock[ss_rec.nstock++] = made;
		ss_rec_unlock();
		if (!made)
			return now;
	}
}

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem) != 0)
		continue;
}

/*
 * The maker keeps a few buffers ready, so that a thread in need of one does not wait for the disk
 * or the kernel. When there is no more room, every thread finds out for itself, and counts. After
 * the stop it takes the recording's memory and file away, which the kernel needs half as long for
 * as for writing the profile; the next start waits for that.
 */
static void *make_stock(void *arg)
{
	(void)arg;
	pthread_detach(pthread_self());
	enum stock stock;
	while ((stock = fill_stock()) == STOCK_FULL)
		wait_for(&ss_rec.used_stock);
	while (stock != STOCK_QUIT) {
		wait_for(&ss_rec.used_stock);
		ss_rec_lock();
		stock = ss_rec.quit ? STOCK_QUIT : stock;
		ss_rec_unlock();
	}
	sem_post(&ss_rec.stock_ended);
	wait_for(&ss_rec.written);
	ss_rec.take_down();
	sem_post(&ss_rec.taken_down);
	return NULL;
}

void ss_rec_begin_stock(void (*take_down)(void))
{
	pthread_t maker;
	ss_rec.take_down = take_down;
	ss_rec.quit = false;
	/* Without the maker threads make their buffers themselves. */
	ss_rec.making = ss_rec_thread(&maker, make_stock);
}

void ss_rec_end_stock(void)
{
	ss_rec_lock();
	ss_rec.quit = true;
	ss_rec_unlock();
	sem_post(&ss_rec.used_stock);
	if (ss_rec.making)
		wait_for(&ss_rec.stock_ended);
}

void ss_rec_leave_to_maker(void)
{
	ss_rec.taking_down = ss_rec.making;
	if (ss_rec.making)
		sem_post(&ss_rec.written);
	else
		ss_rec.take_down();
	ss_rec.making = false;
}

void ss_rec_wait_for_maker(void)
{
	if (ss_rec.taking_down)
		wait_for(&ss_rec.taken_down);
	ss_rec.taking_down = false;
}

bool ss_rec_thread(pthread_t *out, void *(*run)(void *))
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	bool made = pthread_create(out, NULL, run, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return made;
}
