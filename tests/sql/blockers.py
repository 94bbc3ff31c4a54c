"""fusion_blockers, held against pairs that are found here from the tables instructions and call_edges of SQL."""
import collections
import json
import re
import subprocess

import profiles

SAMPLES = ('jax_mlp_train', 'gpu_mi300_conv', 'gpu_v100_2hosts', 'tpu_v6e_inference', 'synth_tpu_2cores', 'synth_tpu_offload', 'synth_dcn_2hosts', 'synth_gpu_unlike_hosts')
THROUGH = {'bitcast', 'domain', 'add-dependency', 'opt-barrier'}
GIVEN = {'parameter', 'constant', 'after-all', 'partition-id', 'replica-id'}
APPLY = {'fusion', 'reduce', 'reduce-window', 'scatter', 'select-and-scatter', 'map', 'sort', 'all-reduce', 'all-reduce-start', 'reduce-scatter', 'custom-call'}
# The first that one side is.
REASONS = [
    ('control flow', {'while', 'conditional', 'call'}),
    ('communication', {'all-reduce', 'all-gather', 'all-to-all', 'ragged-all-to-all', 'reduce-scatter', 'collective-permute', 'collective-broadcast', 'send', 'recv'}),
    ('asynchronous', None),
    ('host transfer', {'infeed', 'outfeed'}),
    ('custom call', {'custom-call'}),
    ('kernel of its own', {'sort', 'fft', 'cholesky', 'triangular-solve'}),
]
BITS = {'pred': 8, 's8': 8, 'u8': 8, 's16': 16, 'u16': 16, 'f16': 16, 'bf16': 16, 's32': 32, 'u32': 32, 'f32': 32, 's64': 64, 'u64': 64, 'f64': 64, 'c64': 64,
        'c128': 128, 'f8e4m3fn': 8, 'f8e5m2': 8}


def parts(shape):
    """The elements of a tuple's text; None of an array."""
    if not shape.startswith('('):
        return None
    out, depth, at = [], 0, 1
    for i, ch in enumerate(shape[1:-1] + ',', 1):
        depth += (ch in '([{') - (ch in ')]}')
        if ch == ',' and not depth:
            out.append(shape[at:i].strip())
            at = i + 1
    return [p for p in out if p]


def size(shape):
    if parts(shape) is not None:
        return sum(size(p) for p in parts(shape))
    kind, dims = re.fullmatch(r'(\w+)\[([\d,]*)\]', re.sub(r'/\*.*?\*/', '', shape)).groups()
    n = BITS.get(kind, 0) // 8
    for d in filter(None, dims.split(',')):
        n *= int(d)
    return n


def is_part(opcode):
    return opcode.endswith(('-start', '-done', '-update'))


class Program:
    def __init__(self, c, sample, module):
        ask = lambda query: c.rows(sample, query, '--value', f'm={module}', '--limit', '1000000')
        self.all = {r['name']: r for r in ask('SELECT name, opcode, shape, computation_name, is_root, operands_json, expression FROM instructions WHERE module = :m')}
        called = {r['callee_comp_name'] for r in ask('SELECT caller_instr_id, callee_comp_name, caller.opcode AS op FROM call_edges JOIN instructions AS caller '
                                                     'ON caller.id = caller_instr_id AND caller.module = call_edges.module WHERE call_edges.module = :m') if r['op'] in APPLY}
        called |= {r['computation_name'] for r in ask('SELECT DISTINCT computation_name FROM instructions WHERE module = :m AND is_in_fusion')}
        self.outside = {n: r for n, r in self.all.items() if r['computation_name'] not in called}

    def operands(self, name):
        return json.loads(self.all[name]['operands_json'])

    def values(self, name, path=()):
        """What makes it: (producer, elements of elements)."""
        op = self.all[name]['opcode']
        if op in THROUGH:
            return self.values(self.operands(name)[0], path)
        if op == 'get-tuple-element':
            return self.values(self.operands(name)[0], (int(re.search(r'\), index=(\d+)', self.all[name]['expression'])[1]), *path))
        if op == 'tuple' and path:
            return self.values(self.operands(name)[path[0]], path[1:])
        return set().union(*(self.values(o) for o in self.operands(name))) if op == 'tuple' else {(name, path)}

    def shape(self, name, path):
        shape = self.all[name]['shape']
        for k in path:
            shape = parts(shape)[k]
        return shape

    def pairs(self):
        found, users, given = collections.defaultdict(set), collections.defaultdict(set), 0
        for name, r in self.outside.items():
            takes = set()
            if r['opcode'] not in THROUGH | {'get-tuple-element', 'tuple'}:
                takes = {v for o in self.operands(name) for v in self.values(o)}
            for to, these in ((name, takes), ('', self.values(name) if r['is_root'] else ())):
                for producer, path in these:
                    if self.shape(producer, path).startswith('token'):
                        continue
                    users[producer].add(to or f'root of {r["computation_name"]}')
                    if to:
                        found[producer, to].add(path)
        rows, halves = {}, 0
        for (a, b), paths in found.items():
            x, y = self.all[a]['opcode'], self.all[b]['opcode']
            if x in GIVEN:
                given += len(paths)
            elif y.endswith(('-done', '-update')) and x in (y.rpartition('-')[0] + end for end in ('', '-start', '-update')):
                halves += 1
            elif y not in GIVEN:
                rows[a, b] = (len(paths), sum(size(self.shape(a, p)) for p in paths), len(users[a]), self.reason(x, y, len(users[a])))
        return rows, halves, given

    def reason(self, x, y, users):
        for name, kinds in REASONS:
            if (is_part(x) or is_part(y)) if kinds is None else {x, y} & kinds:
                return name
        if {x, y} <= {'dot', 'convolution'}:
            return 'two products'
        return 'copy or transpose' if {x, y} & {'copy', 'transpose'} else 'several users' if users > 1 else ''


def blockers(c):
    seen = collections.Counter()
    for sample in SAMPLES:
        for module in (r['module'] for r in c.rows(sample, 'SELECT DISTINCT module FROM modules ORDER BY 1')):
            p = subprocess.run([c.binary, 'tool', 'fusion_blockers', profiles.logdir(sample, c.scratch), '--format', 'json', '-p', f'module_name={module}'],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=90, text=True)
            if p.returncode:
                c.check(f'{sample}: fusion_blockers of {module}', False, p.stderr)
                continue
            answer = json.loads(p.stdout)
            t, reasons = (next(t for t in answer['tables'] if t['name'] == name) for name in ('pairs', 'reasons'))
            rows = [dict(zip([x['id'] for x in t['cols']], row)) for row in zip(*t['data'])]
            got = {(r['producer'], r['consumer']): (r['values'], r['value_bytes'], r['users'], r['reason']) for r in rows}
            want, halves, given = Program(c, sample, module).pairs()
            c.check(f'{sample}: {module}: each pair once', len(got) == len(rows), rows[:2])
            c.check(f'{sample}: {module}: pairs', got == want, {'only there': sorted(want.items() - got.items())[:3], 'only here': sorted(got.items() - want.items())[:3]})
            props = {k: v['value'] for k, v in t['props'].items()}
            c.check(f'{sample}: {module}: what is left out', (props['pairs'], props['async_halves'], props['given_operands']) == (len(want), halves, given), (props, halves, given))
            said = ' '.join(n['text'] for n in answer['notes'])
            for n, words in ((halves, 'pairs? of the start and the end'), (given, 'operands? that nothing computes')):
                c.check(f'{sample}: {module}: {words}', bool(n) == bool(re.search(words, said)) and (not n or re.search(rf'\b{n} {words}', said)), said)
            sums = collections.Counter()
            for n, size_, _, why in want.values():
                sums[why, 'pairs'] += 1
                sums[why, 'bytes'] += size_
            table = dict(zip([x['id'] for x in reasons['cols']], reasons['data']))
            c.check(f'{sample}: {module}: by reason', {(w, n, b) for w, n, b in zip(table['reason'], table['pairs'], table['value_bytes'])} ==
                    {(w, sums[w, 'pairs'], sums[w, 'bytes']) for w in {k[0] for k in sums}}, table)
            seen += collections.Counter(r['reason'] for r in rows)
            seen['several values'] += sum(r['values'] > 1 for r in rows)
            seen['halves'] += halves
            seen['into loops'] += sum(r['consumer_opcode'] == 'while' for r in rows)
    c.check('the samples have all kinds', all(seen[k] for k in ('several values', 'halves', 'into loops', 'control flow', 'asynchronous', 'several users', 'copy or transpose', '')), seen)
