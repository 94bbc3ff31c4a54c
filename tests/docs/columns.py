#!/usr/bin/env python3
"""Every column of every table that a tool answers must stand in docs/tools/<tool>.md, by its id and in its unit. What
README.md shows is what is printed, and the commands of the documentation give answers.

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
import entrances
import examples
import profiles
import readme

PAGES = os.path.join(ROOT, 'docs', 'tools')
# Pages that explain tables of another one, which links there
SHARED = {'overview_page': ('input_pipeline_analyzer',)}


# How the pages write the units of the registry; a column without one may say anything
UNITS = {'us': ('µs', 'us'), 'frac': ('fraction', '0..1', 'share'), 'percent': ('%', 'percent'), 'gflop_per_s': ('GFLOP/s',), 'gib_per_s': ('GiB/s',),
         'gb_per_s': ('GB/s',), 'flop_per_byte': ('FLOP/byte',), 'flops': ('FLOPs', 'FLOP'), 'ps': ('ps',), 'ms': ('ms',), 'bytes': ('bytes',)}


def read(tool):
    text = ''
    for page in (tool, *SHARED.get(tool, ())):
        with open(os.path.join(PAGES, page + '.md')) as f:
            text += f.read()
    return text


def names(text):
    """What stands in backquotes; `a_*` stands for all that begin so."""
    text = re.sub(r'```.*?```', '', text, flags=re.S)
    return {n for quoted in re.findall(r'`([^`]+)`', text) for n in (quoted, *re.split(r'[\s,]+', quoted))}


def units(text):
    """{column: its units} by the tables that have a column "unit"."""
    found, head = {}, []
    for line in text.splitlines():
        cells = re.split(r'\s*\|\s*', line)[1:-1] if line.startswith('|') else []
        if not cells:
            head = []
        elif not head:
            head = cells
        elif 'unit' in head and len(cells) > head.index('unit'):
            for n in names(' '.join(cells[:head.index('unit')])):
                found.setdefault(n, []).append(cells[head.index('unit')])
    return found


def told(column, known):
    return any(n == column or (n.endswith('*') and column.startswith(n[:-1])) for n in known)


def columns(binary, tool, logdir):
    """[(table, column)] of one answer; none where the tool has no answer or no tables."""
    done = subprocess.run([binary, 'tool', tool, logdir, '--format', 'json'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        tables = json.loads(done.stdout).get('tables', []) if not done.returncode else []
    except ValueError:
        return []
    if tool.startswith('trace_viewer') and not done.returncode:
        return timeline_columns(binary, tool, logdir)
    return [(t['name'], c) for t in tables for c in t['cols']]


def timeline_columns(binary, tool, logdir):
    """A timeline is a table only as CSV: its tracks, or the events of a search."""
    found = []
    for table, params in (('tracks', []), ('events', ['--param', 'search_prefix=a'])):
        done = subprocess.run([binary, 'tool', 'trace_viewer@', logdir, '--format', 'csv', *params], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        head = done.stdout.decode('utf-8', 'replace').split('\n')[0]
        found += [(table, {'id': c, 'unit': 'ps' if c.endswith('_ps') else '', 'doc': '', 'label': c}) for c in re.findall(r'"([^"]+)"', head)]
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--bin', default=os.path.join(ROOT, 'build', 'stepscope'))
    parser.add_argument('--missing', action='store_true')
    args = parser.parse_args()
    passed, failed = (sum(n) for n in zip(readme.run(args.bin), examples.run(args.bin), entrances.run()))
    with tempfile.TemporaryDirectory() as scratch:
        logdirs = [profiles.logdir(n, scratch) for n in profiles.names()]
        for tool in sorted(p.removesuffix('.md') for p in os.listdir(PAGES)):
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                answers = pool.map(lambda d: columns(args.bin, tool, d), logdirs)
            known = {(table, c['id']): c for found in answers for table, c in found if not c['id'].isdigit()}   # a column a step
            text = read(tool)
            there, written = names(text), units(text)
            missing = [k for k in sorted(known) if not told(k[1], there)]
            wrong = [f'{tool}: {column} of {table} is in {c["unit"]}, not in {written[column]}' for (table, column), c in sorted(known.items())
                     if c['unit'] in UNITS and column in written and not any(u in w.split(', ') for w in written[column] for u in UNITS[c['unit']])]
            passed, failed = passed + (not missing and not wrong), failed + bool(missing or wrong)
            print('\n'.join(wrong), end='\n' if wrong else '')
            for table, column in missing:
                c = known[table, column]
                print(f'{tool}: | `{table}` | `{column}` | {c["unit"]} | {c["doc"] or c["label"]} |' if args.missing
                      else f'{tool}: no word about column {column} of {table}')
    print(f'{passed} passed, {failed} failed')
    return 0 if passed and not failed else 1


if __name__ == '__main__':
    sys.exit(main())
