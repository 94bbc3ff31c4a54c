#!/usr/bin/env python3
"""Add cases to the parity tests from answers recorded elsewhere.

    add.py --from DIR --tools overview_page,hosts [--min 0.99]

DIR holds cases.json ({"cases": [{"profile", "tool", "query", "path"?, "golden"}]}) and the answers
it names, gzip'ed bodies as a server sent them. Kept are the values alone: prose, markup, labels and
tooltips are masked (lib/compare.py), trace events are cut down to what is compared. The cases of a
tool given here replace those stored before.
"""
import argparse
import gzip
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import compare


def write_gz(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    text = json.dumps(value, ensure_ascii=False, separators=(',', ':'))
    with open(path, 'wb') as f:     # mtime 0: the same values make the same file
        f.write(gzip.compress(text.encode(), 9, mtime=0))


def convert(source, case):
    """One stored case: the answer masked and written, or marked as refused where it is no answer."""
    with gzip.open(os.path.join(source, case['golden'])) as f:
        body = f.read()
    kept = {'profile': case['profile'], 'query': case['query']}
    if 'path' in case:
        kept['path'] = case['path']
    try:
        value = compare.mask(json.loads(body))
    except ValueError:
        value = None
        if case.get('plain'):
            kept['plain'], value = True, body.decode()
    name = os.path.basename(case['golden']).removesuffix('.gz')
    kept['values'] = f"{case['profile']}/{name}.json.gz"
    write_gz(os.path.join(HERE, 'values', kept['values']), value)
    return kept


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--from', dest='source', required=True)
    ap.add_argument('--tools', required=True)
    ap.add_argument('--min', type=float, default=0.99)
    args = ap.parse_args()
    with open(os.path.join(args.source, 'cases.json')) as f:
        cases = json.load(f)['cases']
    for tool in args.tools.split(','):
        kept = [convert(args.source, c) for c in cases if c['tool'] == tool]
        lines = ',\n'.join(' ' + json.dumps(c, ensure_ascii=False) for c in kept)
        head = f'{{"tool": {json.dumps(tool)}, "min": {args.min}, "cases": [\n'
        with open(os.path.join(HERE, 'cases', tool.rstrip('@') + '.json'), 'w') as f:
            f.write(head + lines + '\n]}\n')
        print(f'{tool}: {len(kept)} cases')


if __name__ == '__main__':
    main()
