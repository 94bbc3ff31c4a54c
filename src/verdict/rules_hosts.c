/* rules_hosts.c - hosts and devices that wait for each other. */
#include "verdict/judge.h"
#include "verdict/limits.h"

/* A rank's trace is "host3_1000" here, and "host3" where the ranks of a host are its devices. */
static bool same_host(struct ss_str host, struct ss_str name)
{
	return ss_str_eq(host, name) ||
	       (ss_str_starts(name, host) && name.n > host.n && (name.p[host.n] == '_' || name.p[host.n] == '.'));
}

/*
 * Are both of one host? Ranks that are recorded apart are, where the tool stragglers knows them as
 * one.
 */
static bool together(const struct ss_judge *j, const struct ss_judged_unit *a, const struct ss_judged_unit *b)
{
	struct ss_str host = j->late.nsteps ? j->late.host : SS_STR("");
	return a->h == b->h || (host.n && same_host(host, a->h->name) && same_host(host, b->h->name));
}

/* The unit that came last most often; NULL if this changes between units. */
static const struct ss_judged_unit *latest(const struct ss_judge *j)
{
	const struct ss_judged_unit *who = NULL;
	uint64_t all = 0, caused_ps = 0;
	for (size_t i = 0; i < j->nunits; i++) {
		all += j->units[i].wait.last;
		caused_ps += j->units[i].wait.caused_ps;
		if (!who || j->units[i].wait.caused_ps > who->wait.caused_ps)
			who = &j->units[i];
	}
	/* Devices of one late host take turns at being the last. */
	uint64_t last = 0, host_ps = 0;
	for (size_t i = 0; who && i < j->nunits; i++)
		if (together(j, &j->units[i], who)) {
			last += j->units[i].wait.last;
			host_ps += j->units[i].wait.caused_ps;
		}
	double least = j->nunits > 2 ? SS_STRAGGLER_LAST_FRAC : SS_STRAGGLER_OF_TWO_FRAC;
	/*
	 * Small meetings behind the one that matters have last ones by chance: what is late in the
	 * steps counts as well.
	 */
	bool of_steps = who && j->late.nsteps && j->late.kind == SS_STRAGGLER_ONE && same_host(j->late.host, who->h->name);
	bool often = all && (of_steps || (double)last >= least * (double)all) && (double)host_ps >= least * (double)caused_ps;
	return often ? who : NULL;
}

/* Mean over those that wait. */
static double waited(const struct ss_judge *j)
{
	double max = 0, sum = 0;
	size_t n = 0;
	for (size_t i = 0; i < j->nunits; i++)
		max = fmax(max, j->units[i].wait_frac);
	for (size_t i = 0; i < j->nunits; i++)
		if (max > 0 && j->units[i].wait_frac >= SS_AFFECTED_FRAC * max) {
			sum += j->units[i].wait_frac;
			n++;
		}
	return n ? sum / (double)n : 0;
}

/*
 * What the tool stragglers says of the same hosts decides: no sentence accuses a host that it
 * acquits, or another one. An inconclusive verdict accuses nobody either, but it may name the same
 * candidate. Where no step is slow, hosts that are not here may be what the others wait for.
 */
static bool acquitted(const struct ss_judge *j, const struct ss_judged_unit *late)
{
	if (j->late.nhosts < 2 || !j->late.nsteps)
		return false;
	if (j->late.kind != SS_STRAGGLER_ONE && (j->late.kind != SS_STRAGGLER_INCONCLUSIVE || !j->late.nslow))
		return true;
	return j->late.host.n && !same_host(j->late.host, late->h->name);
}

static bool network_is_slow(const struct ss_judge *j)
{
	return j->late.nsteps && j->late.kind == SS_STRAGGLER_NETWORK;
}

/* The class that the late one is late by, where the tool stragglers tells one. */
static void take_known_excess(const struct ss_judge *j, enum ss_time_class *class)
{
	if (!j->late.nsteps || j->late.kind != SS_STRAGGLER_ONE)
		return;
	if (j->late.cause == SS_LATE_BY_INPUT)
		*class = SS_TIME_INPUT;
	else if (j->late.cause == SS_LATE_BY_COPY)
		*class = SS_TIME_COPY;
	else if (j->late.cause == SS_LATE_BY_COMPUTE)
		*class = SS_TIME_COMPUTE;
}

/* The class in which the late unit exceeds the others most. */
static struct ss_str excess_of(struct ss_judge *j, const struct ss_judged_unit *late, enum ss_time_class *class)
{
	double max = 0;
	*class = SS_TIME_UNKNOWN;
	for (int c = 0; c < SS_TIME_COUNT; c++) {
		double others = 0;
		size_t n = 0;
		for (size_t i = 0; i < j->nunits; i++)
			if (!together(j, &j->units[i], late) || j->a->nhosts == 1) {
				others += &j->units[i] == late ? 0
							       : ss_unit_step_frac(&j->units[i], (enum ss_time_class)c);
				n += &j->units[i] != late;
			}
		double excess = ss_unit_step_frac(late, (enum ss_time_class)c) - (n ? others / (double)n : 0);
		if (c != SS_TIME_COLLECTIVE && excess > max) {
			max = excess;
			*class = (enum ss_time_class)c;
		}
	}
	if (j->late.nsteps && j->late.kind == SS_STRAGGLER_ONE && j->late.cause == SS_LATE_BY_SLOWER_CLOCK)
		return SS_STR(" All its operations take longer by the same factor: its clock, its power limit or another "
		    "program slows it down.");
	if (max < SS_LEAST_SHARE)
		return SS_STR("");
	take_known_excess(j, class);
	const struct ss_time_subject *s = ss_largest(late, *class, false);
	struct ss_str name = ss_time_class_name(*class);
	if (*class == SS_TIME_UNKNOWN)
		return SS_STR(" The recording does not show what it does meanwhile.");
	return s ? ss_say(j, " Meanwhile it is busy with " SS_FMT ": " SS_FMT ".", SS_ARG(name),
			  SS_ARG(ss_shorten(j, ss_shown_name(j, s), 100)))
		 : ss_say(j, " Meanwhile it is busy with " SS_FMT ".", SS_ARG(name));
}

/*
 * " in 3 of 20 steps", where the tool stragglers counts them; else of the meetings: "5 of 20
 * collective operations".
 */
static struct ss_str how_often(struct ss_judge *j, const struct ss_judged_unit *late, bool known)
{
	uint64_t last = 0, meetings = 0;
	double steps = known ? j->late.steps_frac * j->late.nsteps : NAN;
	if (steps >= 0.5)
		return ss_say(j, "the collective operations in %.0f of %u steps", steps, j->late.nsteps);
	for (size_t i = 0; i < j->nunits; i++)
		if (together(j, &j->units[i], late)) {
			last += j->units[i].wait.last;
			meetings = j->units[i].wait.meetings > meetings ? j->units[i].wait.meetings : meetings;
		}
	if (!last || last > meetings)
		return SS_STR("the collective operations");
	return last == meetings ? ss_say(j, "all %llu collective operations", (unsigned long long)last)
				: ss_say(j, "%llu of %llu collective operations", (unsigned long long)last,
					 (unsigned long long)meetings);
}

void ss_rule_straggler(struct ss_judge *j)
{
	const struct ss_judged_unit *late = latest(j);
	enum ss_time_class class;
	double frac = waited(j);
	uint64_t meetings = 0;
	bool without_steps = false;
	for (size_t i = 0; i < j->nunits; i++) {
		meetings += j->units[i].wait.meetings;
		without_steps |= !j->out->steps && ss_unit_step_frac(&j->units[i], SS_TIME_COLLECTIVE) > 0;
	}
	if (j->out->nhosts == 1 && j->late.nabsent) {
		ss_cannot_judge(j, SS_CAUSE_STRAGGLER, "participants are not in the recording");
		return;
	}
	if (!meetings) {
		ss_cannot_judge(j, SS_CAUSE_STRAGGLER,
				j->npresent	? "the devices of a program on a CPU are judged together"
				: j->of_threads ? "the recording does not show which devices take part in its collective operations"
				: j->nunits > 1 && without_steps
					? "who waits for whom is compared by step, and no step is marked"
				: j->nunits > 1 ? "no collective operation of several participants was recorded"
						: "only one participant was recorded");
		return;
	}
	if (!late || frac < SS_LEAST_SHARE || acquitted(j, late))
		return;
	struct ss_verdict_finding *f = ss_find(j, SS_CAUSE_STRAGGLER, frac);
	bool known = j->late.nsteps && j->late.host.n && same_host(j->late.host, late->h->name);
	struct ss_str name = known ? j->late.host : j->out->nhosts > 1 ? late->h->name : ss_judged_name(j, late),
		      why = excess_of(j, late, &class), often = how_often(j, late, known);
	if (!f)
		return;
	f->subject = name;
	/* Of processes, a host is one that their names share. */
	bool of_host = !j->out->of_processes || (known && !ss_str_eq(name, late->h->name));
	const char *what = j->out->nhosts == 1 ? "Device" : of_host ? "Host" : "Process";
	f->text = ss_say(
		j,
		"%s " SS_FMT " arrives last at " SS_FMT ": the others wait for it during %s of the time." SS_FMT, what,
		SS_ARG(name), SS_ARG(often), ss_percent_of(frac).s, SS_ARG(why));
	ss_prove(j, f, "share of the time that the others wait", frac, "share", late, "pod_viewer");
	ss_prove(j, f, "collective operations at which it arrived last", (double)late->wait.last, "count", late, "trace_viewer@");
	ss_prove(j, f, "meetings", (double)late->wait.meetings, "count", late, "trace_viewer@");
	if (known && j->late.steps_frac > 0)
		ss_prove(j, f, "share of the steps in which it holds up the others", j->late.steps_frac, "share", late,
			 "stragglers");
}

/*
 * Exposed communication without what is waiting for somebody who is late; over slow links all of it
 * is transfer.
 */
static double transfer_frac(const struct ss_judge *j, const struct ss_judged_unit *u)
{
	return ss_unit_step_frac(u, SS_TIME_COLLECTIVE) - (network_is_slow(j) ? 0 : u->wait_frac);
}

/*
 * Do devices of a program on a CPU wait for the last of them for most of the exposed communication?
 */
static bool threads_wait(const struct ss_judge *j, const struct ss_judged_unit *u)
{
	return j->npresent && j->transfer_frac > 0 && 2 * j->transfer_frac < ss_unit_step_frac(u, SS_TIME_COLLECTIVE);
}

static struct ss_str what_it_is(struct ss_judge *j, const struct ss_judged_unit *worst)
{
	if (network_is_slow(j) && j->late.host.n)
		return ss_say(j, "the transfers of " SS_FMT " take longer than those of the other hosts, so its links are slow",
			      SS_ARG(j->late.host));
	if (worst->wait.meetings && j->late.nabsent && j->out->nhosts > 1)
		return SS_STR("participants are missing in the recording, or cut short in it, so waiting for them and the "
			      "transfer cannot be told apart");
	if (worst->wait.meetings && !j->late.nabsent)
		return SS_STR("this is the transfer itself, not waiting for a participant");
	if (threads_wait(j, worst))
		return ss_say(j,
			      "all %u participants are devices of this host, and the transfer takes at most %s; the rest is "
			      "waiting for the last of them",
			      j->npresent, ss_percent_of(j->transfer_frac).s);
	if (j->npresent)
		return ss_say(j,
			      "all %u participants are devices of this host, and none of them computes meanwhile",
			      j->npresent);
	if (j->of_threads && !j->late.nabsent)
		return SS_STR("the recording does not show which devices take part, so waiting for them and the transfer cannot "
			      "be told apart");
	if (j->nunits > 1 && j->out->nhosts > 1)
		return SS_STR("the recording does not show which operations of different participants belong together, so waiting "
			      "for them and the transfer cannot be told apart");
	return SS_STR("the other participants are not in the recording, so waiting for them and the transfer cannot be told "
		      "apart");
}

/*
 * What participants wait for each other where nobody in particular is late; 0 where somebody is, or
 * it cannot be told.
 */
static double waited_for_any(const struct ss_judge *j, const struct ss_judged_unit *worst)
{
	bool known = worst->wait.meetings && !j->late.nabsent && !network_is_slow(j);
	for (size_t i = 0; known && i < j->found.n; i++)
		known = j->found.v[i].cause != SS_CAUSE_STRAGGLER;
	double frac = known ? waited(j) : 0;
	return frac >= SS_LEAST_SHARE ? frac : 0;
}

/* For whom participants wait where nobody in particular is late: "" where that is not known. */
static const char *for_whom(const struct ss_judge *j)
{
	if (j->late.nsteps && j->late.kind == SS_STRAGGLER_ROTATING)
		return ", now for one, now for another";
	if (j->late.nsteps && j->late.kind == SS_STRAGGLER_UNEVEN)
		return ", as several hosts, or devices of them, have more work in each step";
	return "";
}

/* "; participants wait for each other during another 44.9%, now for one, now for another". */
static struct ss_str waiting(struct ss_judge *j, struct ss_verdict_finding *f, const struct ss_judged_unit *worst)
{
	double frac = waited_for_any(j, worst);
	if (!(frac > 0))
		return SS_STR("");
	ss_prove(j, f, "share of the time that participants wait for each other", frac, "share", worst, "pod_viewer");
	return ss_say(j, ". Participants wait for each other during another %s%s", ss_percent_of(frac).s, for_whom(j));
}

/* Hardly any transfer, and much waiting, for nobody in particular. */
static void find_waiting(struct ss_judge *j)
{
	const struct ss_judged_unit *worst = j->nunits ? &j->units[0] : NULL;
	for (size_t i = 1; i < j->nunits; i++)
		worst = j->units[i].wait_frac > worst->wait_frac ? &j->units[i] : worst;
	double frac = worst ? waited_for_any(j, worst) : 0;
	struct ss_verdict_finding *f = frac > 0 ? ss_find(j, SS_CAUSE_COLLECTIVE, frac) : NULL;
	if (!f)
		return;
	const struct ss_time_subject *s = ss_largest(worst, SS_TIME_COLLECTIVE, false);
	const char *whom = for_whom(j);
	bool open = j->late.nsteps && j->late.kind == SS_STRAGGLER_INCONCLUSIVE;
	f->traits |= SS_TRAIT_WAITS_FOR_OTHERS;
	f->subject = s ? ss_cut(ss_shown_name(j, s), SS_MOST_SUBJECT_BYTES) : SS_STR("collective operations");
	f->text = ss_say(j,
			 "Participants wait for each other at collective operations during %s of the time%s, mostly in " SS_FMT
			 ".",
			 ss_percent_of(frac).s,
			 *whom ? whom
			 : open ? ", and the steps are too few to say for whom"
				: ", and no single one is late in most steps",
			 SS_ARG(f->subject));
	ss_prove(j, f, "share of the time that participants wait for each other", frac, "share", worst, "pod_viewer");
	if (s)
		ss_point_at(j, f, worst, s->begin_ps, s->end_ps);
}

/*
 * Of the participants that transfer for about as long, the one that waits least: its operations
 * last no longer than their transfers.
 */
static const struct ss_judged_unit *least_waiting(const struct ss_judge *j, const struct ss_judged_unit *worst)
{
	const struct ss_judged_unit *least = worst;
	double max = transfer_frac(j, worst);
	for (size_t i = 0; i < j->nunits && worst->wait.meetings; i++)
		if (transfer_frac(j, &j->units[i]) >= SS_AFFECTED_FRAC * max && j->units[i].wait_frac < least->wait_frac)
			least = &j->units[i];
	return least;
}

/* The same operation on another unit; NULL. */
static const struct ss_time_subject *same_operation(const struct ss_judged_unit *u, const struct ss_time_subject *s)
{
	for (size_t i = 0; i < u->u->nsubjects; i++)
		if (u->u->subjects[i].class == s->class && ss_str_eq(u->u->subjects[i].name, s->name))
			return &u->u->subjects[i];
	return NULL;
}

void ss_rule_collective(struct ss_judge *j)
{
	const struct ss_judged_unit *worst = NULL;
	double max = 0, sum = 0;
	size_t n = 0;
	for (size_t i = 0; i < j->nunits; i++) {
		double frac = transfer_frac(j, &j->units[i]);
		if (frac > max) {
			max = frac;
			worst = &j->units[i];
		}
	}
	for (size_t i = 0; i < j->nunits; i++) {
		double frac = transfer_frac(j, &j->units[i]);
		if (frac >= SS_AFFECTED_FRAC * max && frac > 0) {
			sum += frac;
			n++;
		}
	}
	double frac = n ? sum / (double)n : 0;
	if (!worst || frac < SS_LEAST_SHARE) {
		find_waiting(j);
		return;
	}
	const struct ss_time_subject *s = ss_largest(least_waiting(j, worst), SS_TIME_COLLECTIVE, false);
	struct ss_verdict_finding *f = ss_find(j, SS_CAUSE_COLLECTIVE, frac);
	if (!f)
		return;
	f->subject = s ? ss_cut(ss_shown_name(j, s), SS_MOST_SUBJECT_BYTES) : SS_STR("collective operations");
	struct ss_str what = what_it_is(j, worst), others = waiting(j, f, worst);
	f->traits |= threads_wait(j, worst) ? SS_TRAIT_WAITS_FOR_OTHERS : 0;
	f->text = ss_say(j,
			 "Exposed communication (nothing computes meanwhile) takes %s of the time, the largest part in " SS_FMT
			 ": " SS_FMT SS_FMT ".",
			 ss_percent_of(frac).s, SS_ARG(f->subject), SS_ARG(what), SS_ARG(others));
	ss_prove(j, f, ss_say(j, SS_FMT ": communication", SS_ARG(ss_say_share(j, worst))).p,
		 ss_unit_step_frac(worst, SS_TIME_COLLECTIVE), "share", worst, "hlo_stats");
	s = s ? same_operation(worst, s) : NULL;
	if (s)
		ss_point_at(j, f, worst, s->begin_ps, s->end_ps);
	if (threads_wait(j, worst))
		ss_prove(j, f, "exposed transfers of the device that has most", j->transfer_frac, "share", worst,
			 "exposed_communication");
	if (worst->wait.meetings && worst->wait_frac > 0)
		ss_prove(j, f, "of that, waiting for others", worst->wait_frac, "share", worst, "pod_viewer");
}
