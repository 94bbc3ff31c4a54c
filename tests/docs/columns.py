#!/usr/bin/env python3
"""Every column of every table that a tool answers must stand in docs/tools/<tool>.md, by its id.

    columns.py [--bin build/stepscope] [--missing]      --missing: print the rows that are missing, to be written into the pages
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import profiles

PAGES = os.path.join(ROOT, 'docs', 'tools')
# Pages that explain tables of another one, which links there
SHARED = {'overview_page': ('input_pipeline_analyzer',)}


def words(tool):
    text = ''
    for page in (tool, *SHARED.get(tool, ())):
        with open(os.path.join(PAGES, page + '.md')) as f:
            text += f.read()
    return set(re.findall(r'\w+', text))


def columns(binary, tool, logdir):
    """[(table, column)] of one answer; none where the tool has no answer or no tables."""
    done = subprocess.run([binary, 'tool', tool, logdir, '--format', 'json'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        tables = json.loads(done.stdout).get('tables', []) if not done.returncode else []
    except ValueError:
        return []
    return [(t['name'], c) for t in tables for c in t['cols']]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--bin', default=os.path.join(ROOT, 'build', 'stepscope'))
    parser.add_argument('--missing', action='store_true')
    args = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        logdirs = [profiles.logdir(n, scratch) for n in profiles.names()]
        for tool in sorted(p.removesuffix('.md') for p in os.listdir(PAGES)):
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                answers = pool.map(lambda d: columns(args.bin, tool, d), logdirs)
            known = {(table, c['id']): c for found in answers for table, c in found if not c['id'].isdigit()}   # a column a step
            there = words(tool)
            missing = [k for k in sorted(known) if not set(re.findall(r'\w+', k[1])) <= there]
            passed, failed = passed + (not missing), failed + bool(missing)
            for table, column in missing:
                c = known[table, column]
                print(f'{tool}: | `{table}` | `{column}` | {c["unit"]} | {c["doc"] or c["label"]} |' if args.missing
                      else f'{tool}: no word about column {column} of {table}')
    print(f'{passed} passed, {failed} failed')
    return 0 if passed and not failed else 1


if __name__ == '__main__':
    sys.exit(main())
