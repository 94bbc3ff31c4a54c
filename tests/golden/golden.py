#!/usr/bin/env python3
"""Every tool on the small samples, compared with the text expected/ holds.

    golden.py [--bin build/stepscope]       compare
    golden.py --rewrite                     write what is expected anew; review the diff

Tools come from the registry (`stepscope tools`), so a new one needs no line here. What is printed for a person is what is kept: it
changes when a number, a unit or an order does. Long answers are kept as their first lines and a checksum of all.
"""
import argparse
import concurrent.futures
import difflib
import hashlib
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import profiles
import serving

EXPECTED = os.path.join(HERE, 'expected')
OTHERS = [os.path.join(os.path.dirname(HERE), 'data', d) for d in ('events', 'legacy', 'memory', 'others')]
SMALL = 40000       # bytes of the largest profile file
LINES = 120         # kept of an answer


def small_profiles(scratch):
    return [n for n in profiles.names()
            if not profiles.is_packed(n) and max(map(os.path.getsize, profiles.files(n, scratch))) <= SMALL]


def others():
    """The log directories without a profile, whose other files are small."""
    return {n: os.path.join(d, n) for d in OTHERS for n in sorted(os.listdir(d))}


def tools_of(binary, logdir):
    """[(tool, host, is a timeline)] that the registry offers for the run: every tool on its first host or on all."""
    with serving.Server(f'{binary} serve --logdir {{logdir}} --port {{port}}', logdir) as server:
        tools = json.loads(server.get('/api/tools', {'run': 'run'})[1])['tools']
    return [(t['name'], t['preset_host'] or None, t['kind'] == 'timeline') for t in tools]


def events_by_line(text):
    """Trace JSON, an event a line."""
    trace = json.loads(text)
    events = trace.pop('traceEvents')
    return '\n'.join(json.dumps(e) for e in [trace, *events]) + '\n'


def ask(binary, logdir, tool, host, form):
    argv = [binary, 'tool', tool, logdir, '--format', form] + (['--host', host] if host else [])
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)


def answer(binary, logdir, tool, host, timeline):
    """As a person reads it; of a timeline its events as well."""
    done = ask(binary, logdir, tool, host, 'text')
    text = done.stdout.decode('utf-8', 'replace')
    if timeline and done.returncode == 0:
        text += '\n' + events_by_line(ask(binary, logdir, tool, host, 'xprof').stdout)
    lines = text.splitlines()
    if len(lines) > LINES:
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        lines = lines[:LINES] + [f'... {len(lines) - LINES} more lines, checksum of all {digest}']
    if done.returncode:
        lines += [f'status {done.returncode}: ' + done.stderr.decode('utf-8', 'replace').strip().replace(logdir, 'LOGDIR')]
    return '\n'.join(line.rstrip() for line in lines) + '\n'


def differs(path, got):
    """NULL, or the difference as text."""
    try:
        with open(path) as f:
            want = f.read()
    except FileNotFoundError:
        return 'no such file: run ./dev golden\n'
    if want == got:
        return None
    return ''.join(list(difflib.unified_diff(want.splitlines(True), got.splitlines(True), 'expected', 'got'))[:40])


def rewrite(path, got):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as f:
        f.write(got)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--bin', default='build/stepscope')
    ap.add_argument('--rewrite', action='store_true')
    args = ap.parse_args()
    passed = failed = 0
    seen = set()
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(2) as pool:
        logdirs = {n: profiles.logdir(n, scratch) for n in small_profiles(scratch)}
        for name, logdir in {**logdirs, **others()}.items():
            todo = tools_of(args.bin, logdir)
            texts = pool.map(lambda t: answer(args.bin, logdir, *t), todo)
            for (tool, _, _), got in zip(todo, texts):
                path = os.path.join(EXPECTED, name, tool + '.txt')
                seen.add(path)
                if args.rewrite:
                    rewrite(path, got)
                wrong = differs(path, got)
                passed, failed = passed + (not wrong), failed + bool(wrong)
                if wrong:
                    print(f'{name}/{tool}:\n{wrong}')
    for folder, _, files in os.walk(EXPECTED):
        for path in (os.path.join(folder, f) for f in files):
            if path not in seen:        # a tool or profile that is gone
                failed += not args.rewrite
                print(f'{path}: nothing gives this answer any more')
                if args.rewrite:
                    os.remove(path)
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
