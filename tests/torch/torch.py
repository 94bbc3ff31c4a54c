#!/usr/bin/env python3
"""Traces of PyTorch, compared with values that were computed elsewhere: by HTA, by PyTorch's plug-in and by key_averages.

    torch.py [--bin build/stepscope]

expected/*.json names a trace in tests/data/torch and blocks: tool, parameters, table, key columns, columns, rows. With `group` an
answer may have several rows of one key; they are added up (min_*, max_*: least, greatest). Whole numbers and texts are compared
exactly, times within half a nanosecond. A row that is not expected is a failure, too. Odd forms of a trace must answer as the trace
does: cut short, packed or not, without labels, with events before everything else.
"""
import argparse
import gzip
import json
import os
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DATA = os.path.join(ROOT, 'tests', 'data', 'torch')


def same(a, b):
    if a is None:
        return True
    if b is None or isinstance(a, str) or isinstance(b, str):
        return a == b
    if isinstance(a, (bool, int)):
        return a == b
    return abs(a - b) <= max(0.0015 if abs(a) > 1 else 1e-6, 1e-6 * max(abs(a), abs(b)))


def ask(binary, block, path):
    cmd = [binary, 'tool', block['tool'], path, '--format', 'json']
    for k, v in sorted(block.get('params', {}).items()):
        cmd += ['--param', f'{k}={v}']
    done = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        return None, done.stderr.decode('utf-8', 'replace').strip()
    return json.loads(done.stdout), ''


def merge(block, old, new):
    out = []
    for col, a, b in zip(block['cols'], old, new):
        out.append(min(a, b) if col.startswith('min_') else max(a, b) if col.startswith('max_') else a + b)
    return out


def rows(block, answer):
    """{key: values} of the block's table, None where there is no such table."""
    for table in answer['tables']:
        if table['name'] != block['table']:
            continue
        cols = {c['id']: d for c, d in zip(table['cols'], table['data'])}
        if any(c not in cols for c in block['key'] + block['cols']):
            return None
        found = {}
        for i in range(len(cols[block['key'][0]])):
            key = tuple(cols[k][i] for k in block['key'])
            values = [cols[c][i] for c in block['cols']]
            found[key] = merge(block, found[key], values) if key in found and block.get('group') else values
        return found
    return None


def differences(block, answer):
    found = rows(block, answer)
    if found is None:
        return ['no table with these columns']
    out = []
    nkey = len(block['key'])
    wanted = {tuple(r[:nkey]): r[nkey:] for r in block['rows']}
    for key, values in wanted.items():
        if key not in found:
            out.append(f'no row {key}')
            continue
        out += [f'{key} {c}: {a} expected, {b} got' for c, a, b in zip(block['cols'], values, found[key]) if not same(a, b)]
    return out + [f'row {key} is not expected' for key in found if key not in wanted]


def odd_forms(path, scratch):
    """The trace in other forms, each of which says the same."""
    with gzip.open(path) as f:
        trace = json.load(f)
    events = trace['traceEvents']
    metadata_last = {'traceEvents': events, **{k: v for k, v in trace.items() if k != 'traceEvents'}}
    bare = [e for e in events if e.get('ph') != 'M']
    infinite = [*events, {'ph': 'C', 'cat': 'x', 'name': 'y', 'pid': 1, 'tid': 1, 'ts': events[0].get('ts', 0), 'args': {'v': float('inf')}}]
    as_text = [{**e, 'args': {k: str(v) if k in ('External id', 'correlation') else v for k, v in e['args'].items()}} if 'args' in e else e
               for e in events]
    forms = {'metadata_last': metadata_last, 'bare_array': bare, 'inf': {**trace, 'traceEvents': infinite},
             'text_ids': {**trace, 'traceEvents': as_text}}
    for name, form in forms.items():
        at = os.path.join(scratch, name + '.json')
        with open(at, 'w') as f:
            f.write(json.dumps(form).replace('Infinity', 'inf'))
        yield name, at
    at = os.path.join(scratch, 'cut.json')
    with open(at, 'w') as f:
        f.write(json.dumps({**{k: v for k, v in trace.items() if k != 'traceEvents'}, 'traceEvents': events})[:-3])
    yield 'cut', at


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--bin', default=os.path.join(ROOT, 'build', 'stepscope'))
    binary = os.path.abspath(parser.parse_args().bin)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in sorted(os.listdir(os.path.join(HERE, 'expected'))):
            with open(os.path.join(HERE, 'expected', name)) as f:
                expected = json.load(f)
            path = os.path.join(DATA, expected['path'])
            cases = [(expected['path'], path)]
            if name == 'mi250_toy.json':
                cases += [(f'{expected["path"]} ({n})', p) for n, p in odd_forms(path, scratch)]
            for label, at in cases:
                for block in expected['blocks']:
                    answer, why = ask(binary, block, at)
                    wrong = differences(block, answer) if answer else [why]
                    passed += not wrong
                    failed += bool(wrong)
                    for line in wrong[:5]:
                        print(f'{label}: {block["tool"]} {block["table"]}: {line}')
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    raise SystemExit(main())
