/* locks.c - into the recorder and out, see recorder.h. */
#include "recorder.h"

#include <sys/prctl.h>

bool ss_rec_enter(void)
{
	if (ss_rec_self.busy) {
		__atomic_fetch_add(&ss_rec.interrupted, 1, __ATOMIC_RELAXED);
		return false;
	}
	ss_rec_set_busy(BUSY_RECORDING);
	if (__builtin_expect(ss_rec_is_orphan(), 0))
		ss_rec_adopt();
	return true;
}

void ss_rec_leave(void)
{
	ss_rec_set_busy(BUSY_NOT);
}

bool ss_rec_lock(void)
{
	if (!ss_rec_enter())
		return false;
	pthread_mutex_lock(&ss_rec.lock);
	return true;
}

void ss_rec_unlock(void)
{
	pthread_mutex_unlock(&ss_rec.lock);
	ss_rec_leave();
}

bool ss_rec_lock_session(void)
{
	if (ss_rec_self.in_session || ss_rec_self.busy)
		return false;
	int before;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	pthread_mutex_lock(&ss_rec.session_lock);
	ss_rec_self.in_session = true;
	ss_rec_self.cancel = before;
	return true;
}

void ss_rec_unlock_session(void)
{
	int before = ss_rec_self.cancel;
	ss_rec_self.in_session = false;
	pthread_mutex_unlock(&ss_rec.session_lock);
	pthread_setcancelstate(before, NULL);
}
