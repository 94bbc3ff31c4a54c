#!/usr/bin/env python3
"""Jobs on several slices (slices.py), opened by stepscope and by XProf 2.24.2 itself: all tables, and the trace for Perfetto.

What docs/parity.md says of `megascale_stats` is left out: arrows of recv-done, moments before the profile's begin, our own words. SEED in the
environment chooses other jobs.
"""
import base64
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import against_xprof
import perfetto_trace
import serving
import slices

JOBS = 12
KNOWN = re.compile(r'recv_stall')
# Run by the python that has xprof installed: paths on stdin, a trace a line
ASK = """
import base64, sys
from xprof.convert import raw_to_tool_data
for path in sys.stdin.read().split():
    data, _ = raw_to_tool_data.xspace_to_tool_data([path], 'megascale_stats', {'host': 'host0', 'perfetto': True})
    print(base64.b64encode(data or b'').decode(), flush=True)
"""


def whole(ties):
    """Those with two ends, recv-done left out, which has none in XProf."""
    return {ends for ends in ties if len(ends) > 1}


def plain(trace):
    """Events that can be compared."""
    out = set()
    for where, time, kind, name, arguments in trace.events:
        if not str(name).startswith('recv-done') and 0 < time < 1 << 63:
            out.add((where, time, kind, name, tuple(a for a in arguments if a[0] != 'description')))
    return out


def differences(ref, got):
    if ref.tracks != got.tracks:
        yield f'tracks {ref.tracks.items() ^ got.tracks.items()}'
    for event in plain(ref) ^ plain(got):
        yield f'event {event} in one only'
    for tie in whole(ref.ties) - whole(got.ties):
        yield f'tie {tie} in XProf only'


def traces(logdirs):
    """{label: (XProf's trace or None, ours)} of the first host."""
    paths = [os.path.join(logdir, 'plugins/profile/run/host0.xplane.pb') for logdir in logdirs.values()]
    done = subprocess.run([against_xprof.XPROF, '-c', ASK], input='\n'.join(paths), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for (label, logdir), theirs in zip(logdirs.items(), done.stdout.split()):
        with serving.Server(f'{against_xprof.BIN} serve --logdir {{logdir}} --port {{port}}', logdir) as server:
            _, body = server.get(serving.DATA, {'run': 'run', 'tag': 'megascale_stats', 'host': 'host0', 'perfetto': 'true'})
        yield label, perfetto_trace.Trace(base64.b64decode(theirs)), perfetto_trace.Trace(body)


class Judge(against_xprof.Judge):
    def one(self, label, tool, reply, got, nhosts):
        super().one(label, tool, reply, got, nhosts)
        if self.tallies[tool]:
            self.tallies[tool][-1].forgive(KNOWN)


def main():
    judge, passed, failed = Judge(), 0, 0
    seed = os.environ.get('SEED', '1')
    with tempfile.TemporaryDirectory() as scratch:
        logdirs = {f'slices {seed}/{k}': against_xprof.layout(scratch, f'job-{k}', slices.files(f'{seed}/{k}')) for k in range(JOBS)}
        for label, ref, got in traces(logdirs):
            wrong = list(differences(ref, got))
            passed, failed = passed + (not wrong), failed + bool(wrong)
            for w in wrong[:4]:
                print(f'{label}: {w}')
        judge.judge(list(logdirs.items()))
    judge.report()
    for tallies in judge.tallies.values():
        good = all(t.whole for t in tallies)
        passed, failed = passed + good, failed + (not good)
    print(f'{passed} passed, {failed} failed')
    return 0 if passed and not failed else 1


if __name__ == '__main__':
    sys.exit(main())
