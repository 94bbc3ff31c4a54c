#!/usr/bin/env python3
"""Compare a running stepscope with stored answers of XProf 2.24.2, value by value.

    parity.py --bin build/stepscope                       every case, each tool at its own minimum
    parity.py --only jax_mlp_train/overview --show 20     some cases, with their first differences
    parity.py --server 'CMD --logdir {logdir} --port {port}'   another server

A tool is covered by dropping in cases/<tool>.json and the answers it names under values/:
    {"tool": T, "min": 0.99, "cases": [{"profile": P, "query": {...}, "values": "P/x.json.gz"}]}
See add.py, which writes them. What counts as equal is told in ../lib/compare.py.
"""
import argparse
import collections
import gzip
import http.client
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import compare
import profiles
import serving


def load_cases(only):
    """(minimum by tool, cases by profile) from every file in cases/."""
    floor, by_profile = {}, collections.defaultdict(list)
    folder = os.path.join(HERE, 'cases')
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name)) as f:
            spec = json.load(f)
        for case in spec['cases']:
            if only in f"{case['profile']}/{spec['tool']}":
                floor[spec['tool']] = spec['min']
                by_profile[case['profile']].append(dict(case, tool=spec['tool']))
    return floor, by_profile


def reference(case):
    with gzip.open(os.path.join(HERE, 'values', case['values'])) as f:
        return json.load(f)


def ask(server, case):
    """(answer, remark): None with a remark when there is no answer to compare."""
    status, body = server.get(case.get('path', serving.DATA), case['query'])
    if status != 200:
        return None, f'HTTP {status}: {body[:200].decode("utf-8", "replace")}'
    if case.get('plain'):
        return body.decode('utf-8', 'replace'), ''
    try:
        return json.loads(body), ''
    except ValueError as e:
        return None, f'not JSON: {e}'


def judge(server, case):
    ref, tally = reference(case), compare.Tally()
    try:
        got, remark = ask(server, case)
    except (OSError, http.client.HTTPException) as e:   # a dropped connection is never an answer
        tally.lost('$', ref)
        return tally, f'{type(e).__name__}: {e}'
    if ref is None:             # the reference has no answer either: any refusal or answer will do
        tally.total = tally.equal = 1
    elif got is None:
        tally.lost('$', ref)
    else:
        tally = compare.compare(ref, got)
    return tally, remark


def show(case, tally, remark, limit):
    query = ' '.join(f'{k}={v}' for k, v in case['query'].items() if k not in ('run', 'tag'))
    print(f"-- {case['profile']}/{case['tool']} {query}: {tally.equal} of {tally.total} {remark}")
    for note in tally.notes[:limit]:
        print('   ' + note)


def report(floor, tallies):
    """The table of tools; returns how many stand at or above their minimum, and how many below."""
    passed = failed = 0
    print(f'{"tool":28} {"cases":>6} {"whole":>6} {"values":>8} {"equal":>8}   share')
    for tool in sorted(tallies):
        runs = tallies[tool]
        total, equal = sum(t.total for t in runs), sum(t.equal for t in runs)
        share = equal / total if total else 1.0
        good = share >= floor[tool]
        passed, failed = passed + good, failed + (not good)
        mark = '' if good else f'   below {floor[tool]}'
        print(f'{tool:28} {len(runs):6} {sum(t.whole for t in runs):6} {total:8} {equal:8}  {100 * share:6.2f} %{mark}')
    return passed, failed


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--bin', default='build/stepscope')
    ap.add_argument('--server', help='command with {logdir} and {port}; default: BIN serve ...')
    ap.add_argument('--only', default='', help='cases whose profile/tool contains this')
    ap.add_argument('--show', type=int, default=0, help='print so many differences of each case')
    args = ap.parse_args()
    command = args.server or f'{args.bin} serve --logdir {{logdir}} --port {{port}}'
    floor, by_profile = load_cases(args.only)
    tallies = collections.defaultdict(list)
    crashed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for profile in sorted(by_profile):
            with serving.Server(command, profiles.logdir(profile, scratch)) as server:
                for case in by_profile[profile]:
                    tally, remark = judge(server, case)
                    tallies[case['tool']].append(tally)
                    if args.show and not tally.whole:
                        show(case, tally, remark, args.show)
                if server.close() not in (0, -15):
                    print(f'{profile}: the server ended with status {server.proc.returncode}')
                    crashed += 1
    passed, failed = report(floor, tallies)
    print(f'{passed} passed, {failed + crashed} failed')
    return 1 if failed or crashed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
