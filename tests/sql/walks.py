"""hlo_query's neighbourhoods, paths and expressions, held against the tables instructions, edges and call_edges of SQL."""
import collections
import json
import re
import subprocess

import profiles

SAMPLES = ('synth_tpu_2cores', 'jax_mlp_train', 'gpu_mi300_conv')


class Graph:
    """A program as SQL has it."""

    def __init__(self, c, sample, module):
        ask = lambda query: c.rows(sample, query, '--value', f'm={module}', '--limit', '1000000')
        self.nodes = {r['id']: r for r in ask('SELECT id, name, opcode, shape, computation_name, is_root FROM instructions WHERE module = :m')}
        self.ids = {}
        for i, r in self.nodes.items():
            self.ids.setdefault(r['name'], i)
        self.operands, self.users, self.called, self.callers = (collections.defaultdict(list) for _ in range(4))
        for e in ask('SELECT src_id, dst_id FROM edges WHERE module = :m'):
            self.operands[e['dst_id']].append(e['src_id'])
            self.users[e['src_id']].append(e['dst_id'])
        for e in ask('SELECT caller_instr_id, callee_comp_name FROM call_edges WHERE module = :m'):
            self.called[e['caller_instr_id']].append(e['callee_comp_name'])
            self.callers[e['callee_comp_name']].append(e['caller_instr_id'])
        self.doors, self.roots = collections.defaultdict(list), {}
        for i, r in self.nodes.items():
            if r['opcode'] == 'parameter':
                self.doors[r['computation_name']].append(i)
            if r['is_root']:
                self.roots[r['computation_name']] = i

    def near(self, i, direction):
        return (self.operands[i] if direction != 'users' else []) + (self.users[i] if direction != 'operands' else [])

    def near_and_called(self, i, direction):
        into = self.near(i, direction)
        for c in self.called[i]:
            into += (self.doors[c] if direction != 'operands' else []) + ([self.roots[c]] if direction != 'users' and c in self.roots else [])
        return into

    def next(self, i, way):
        r, out = self.nodes[i], []
        root, door = r['is_root'], r['opcode'] == 'parameter'
        if 'down' in way:
            out += self.users[i] + (self.callers[r['computation_name']] if root else [])
            for c in self.called[i]:
                out += self.doors[c] + ([self.roots[c]] if c in self.roots else [])
        if 'up' in way:
            out += self.operands[i] + (self.callers[r['computation_name']] if root or door else [])
        return out


def distances(start, step, most=10 ** 9):
    far, queue = {start: 0}, collections.deque([start])
    while queue:
        at = queue.popleft()
        for to in step(at) if far[at] < most else ():
            if to not in far:
                far[to] = far[at] + 1
                queue.append(to)
    return far


def ask(c, sample, module, **params):
    flags = [x for k, v in {'module_name': module, **params}.items() for x in ('-p', f'{k}={v}')]
    p = subprocess.run([c.binary, 'tool', 'hlo_query', profiles.logdir(sample, c.scratch), '--format', 'json', *flags],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=90, text=True)
    if p.returncode:
        c.check(f'hlo_query {flags}', False, p.stderr)
        return [], {}
    t = next(t for t in json.loads(p.stdout)['tables'] if t['name'] == 'instructions')
    rows = [dict(zip([x['id'] for x in t['cols']], row)) for row in zip(*t['data'])]
    return rows, {k: v.get('value') for k, v in t['props'].items()}


def neighbourhoods(c, sample, module, g, name):
    for radius, direction, into in ((1, 'both', 0), (2, 'both', 0), (3, 'users', 0), (5, 'operands', 0), (0, 'both', 0), (1, 'both', 1), (4, 'both', 1),
                                    (6, 'users', 1), (6, 'operands', 1)):
        want = distances(g.ids[name], lambda i: (g.near_and_called if into else g.near)(i, direction), radius)
        rows, _ = ask(c, sample, module, instruction=name, radius=radius, direction=direction, follow_calls=('false', 'true')[into])
        c.check(f'{sample}: {direction} of {name}, {radius} edges, calls {into}', sorted((r['instruction'], r['distance']) for r in rows) ==
                sorted((g.nodes[i]['name'], d) for i, d in want.items()), rows)


def paths(c, sample, module, g, name, others):
    for other in others:
        found = [distances(g.ids[name], lambda i: g.next(i, way)).get(g.ids[other]) for way in (('down',), ('up',), ('down', 'up'))]
        want = next((n for n in found if n is not None), None)
        rows, props = ask(c, sample, module, instruction=name, path_to=other)
        good = not rows if want is None else (props['path_edges'] == want == len(rows) - 1 and rows[-1]['instruction'] == other)
        c.check(f'{sample}: path from {name} to {other}', good, (want, rows))


def walks(c):
    for sample in SAMPLES:
        module = c.rows(sample, 'SELECT module FROM modules ORDER BY instructions DESC LIMIT 1')[0]['module']
        g = Graph(c, sample, module)
        names = sorted(g.ids)
        for name in names[::max(1, len(names) // 4)]:
            neighbourhoods(c, sample, module, g, name)
            paths(c, sample, module, g, name, names[::max(1, len(names) // 5)])
        for column, pattern in (('opcode', '^(copy|fusion)$'), ('shape', 'f32'), ('name', r'[.]\d+$')):
            rows, props = ask(c, sample, module, **{column: pattern})
            want = [r['name'] for r in g.nodes.values() if re.search(pattern, r[column])]
            c.check(f'{sample}: {column} {pattern}', sorted(r['instruction'] for r in rows) == sorted(want) and props['matching'] == len(want), rows[:3])
    for params, sentence in (({'instruction': 'none'}, "no program has an instruction named 'none'"), ({'path_to': 'x'}, 'no instruction named'), ({'radius': '-1'}, 'radius'),
                             ({'direction': 'left'}, 'direction'), ({'follow_calls': 'yes'}, 'true or false'), ({'name': '('}, 'regular expression')):
        p = subprocess.run([c.binary, 'tool', 'hlo_query', profiles.logdir(SAMPLES[0], c.scratch), *(x for k, v in params.items() for x in ('-p', f'{k}={v}'))],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=90, text=True)
        c.check(f'hlo_query {params}', p.returncode not in (0, -6, -11) and sentence in p.stderr, p.stderr)
