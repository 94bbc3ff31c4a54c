#!/usr/bin/env python3
"""Compiled programs that nobody has seen, in stepscope's graph viewer and memory viewer and in XProf's own.

Programs that JAX compiles here (record_programs.py), programs written by hand and drawn at random (odd_programs.py), those of the samples, and memory
at random (invent_buffers.py). Drawings around their instructions, neighbours, both texts, the protos, and memory in three memory spaces must be
XProf's, but for what docs/parity.md names. SEED in the environment chooses others.
"""
import difflib
import json
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import against_xprof
import dot_text
import invent_buffers
import profiles
import serving
import xspace

SEED = os.environ.get('SEED', '1')
DRAWN = 24              # programs at random
INVENTED = 120          # memories at random
LARGEST = 60_000        # bytes of a program that is given another memory
WIDTHS = (0, 1, 2, 3, 3, 5, 9)
TELLING = ('fusion', 'while', 'conditional', 'call', 'custom-call', 'tuple', 'parameter', 'sort', 'reduce', 'async-start', 'bitcast')
SHOWN = 6               # differences printed

xspace.MESSAGES.update(hlo={1: 'hlo_module'}, hlo_module={3: 'hlo_computation'}, hlo_computation={2: 'hlo_instruction'}, hlo_instruction={})


def run_recorder(script, *args):
    done = subprocess.run([against_xprof.RECORD, os.path.join(HERE, script), *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=600, check=False)
    if done.returncode:
        sys.exit(f'{script} failed:\n{done.stdout[-2000:]}')


def programs_of(path):
    """HloProtos in a profile."""
    with open(path, 'rb') as f:
        space = xspace.parse(f.read())
    for plane in xspace.get_all(space, 1):
        for entry in xspace.get_all(plane, 4) if xspace.text(plane, 2) == '/host:metadata' else ():
            for stat in xspace.get_all(xspace.get(entry, 2, []), 5):
                if xspace.get(stat, 6):
                    yield xspace.get(stat, 6)


def collect(scratch):
    odd, recorded = os.path.join(scratch, 'odd'), os.path.join(scratch, 'recorded')
    os.makedirs(odd)
    run_recorder('odd_programs.py', odd, SEED, str(DRAWN))
    run_recorder('record_programs.py', recorded)
    out = []
    for name in sorted(os.listdir(odd)):
        with open(os.path.join(odd, name), 'rb') as f:
            out.append(xspace.serialize([[1, 2, f.read()]]))
    _, folder, files = against_xprof.run_folder(recorded)
    out += [p for f in files for p in programs_of(os.path.join(folder, f))]
    for name in profiles.names():
        if not profiles.is_packed(name):
            out += [p for path in profiles.files(name, scratch)[:1] for p in programs_of(path)]
    return out


class Program:
    def __init__(self, data, number):
        module = xspace.get(xspace.parse(data, 'hlo'), 1, [])
        self.data, self.name = data, f'{xspace.text(module, 1)}({number})'
        computations = xspace.get_all(module, 3)
        self.computations = [xspace.text(c, 1) for c in computations]
        self.instrs = [(xspace.text(i, 1), xspace.text(i, 2), xspace.get(i, 35, 0), xspace.get(i, 3, b''))
                       for c in computations for i in xspace.get_all(c, 2)]
        fused = [repr(xspace.get_all(i, 38)) for c in computations for i in xspace.get_all(c, 2) if xspace.text(i, 2) == 'fusion']
        self.shares_fusions = len(set(fused)) < len(fused)      # whose fusion it is drawn in, XProf decides by addresses
        self.has_memory = any(f[0] == 3 for f in xspace.parse(data, 'hlo'))


def with_other_memory(programs, rnd):
    some = [p for p in programs if len(p.data) < LARGEST and p.instrs]
    for k in range(INVENTED):
        p = rnd.choice(some)
        fields = [f for f in xspace.parse(p.data, 'hlo') if f[0] != 3]
        memory = invent_buffers.assignment(rnd, [(name, ident, shape) for name, _, ident, shape in p.instrs])
        yield Program(xspace.serialize(fields + [[3, 2, memory]]), 1000 + k)


def store(programs, scratch):
    """One run that holds them all; XProf looks for programs in files of their own beside it."""
    folder = os.path.join(scratch, 'log', 'plugins', 'profile', 'run')
    beside = os.path.join(scratch, 'beside')
    os.makedirs(folder)
    os.makedirs(beside)
    plane = [[1, 0, 1], [2, 2, b'/host:metadata'], [5, 2, [[1, 0, 1], [2, 2, [[1, 0, 1], [2, 2, b'Hlo Proto']]]]]]
    for i, p in enumerate(programs):
        plane.append([4, 2, [[1, 0, i + 1], [2, 2, [[1, 0, i + 1], [2, 2, p.name.encode()], [5, 2, [[1, 0, 1], [6, 2, p.data]]]]]]])
        with open(os.path.join(beside, p.name + '.hlo_proto.pb'), 'wb') as f:
            f.write(p.data)
    space = xspace.serialize([[1, 2, plane], [1, 2, [[1, 0, 2], [2, 2, b'/host:CPU']]]])
    for where in (folder, beside):
        with open(os.path.join(where, 'vm.xplane.pb'), 'wb') as f:
            f.write(space)
    return os.path.join(scratch, 'log'), os.path.join(beside, 'vm.xplane.pb')


def questions(programs, invented, rnd):
    """[(tool, {parameter: text})]"""
    flag = lambda share: 'true' if rnd.random() < share else 'false'
    for p in programs:
        telling = [i for i in p.instrs if i[1] in TELLING]
        nodes = [i[0] for among in (p.instrs, telling) for i in rnd.sample(among, min(5, len(among)))]
        for node in [] if p.shares_fusions else nodes + rnd.sample(p.computations, min(2, len(p.computations))):
            yield 'graph_viewer', {'module_name': p.name, 'type': 'graph', 'format': 'dot', 'node_name': node,
                                   'graph_width': str(rnd.choice(WIDTHS)), 'show_metadata': flag(0.5), 'merge_fusion': flag(0.3)}
        for node in nodes[:4]:
            yield 'graph_viewer', {'module_name': p.name, 'type': 'adj_nodes', 'node_name': node}
        for kind in ('short_txt', 'long_txt', 'pb', 'pbtxt'):
            yield 'graph_viewer', {'module_name': p.name, 'type': kind, 'show_metadata': flag(0.5)}
    for p in [p for p in programs if p.has_memory] + invented:
        for space in ('0', '1', '5'):
            yield 'memory_viewer', {'module_name': p.name, 'memory_space': space}


def for_xprof(ident, path, tool, query):
    params = dict(query)
    if tool == 'graph_viewer':
        for k in ('show_metadata', 'merge_fusion', 'graph_width'):
            if k in params:
                params[k] = int(params[k]) if params[k].isdigit() else int(params[k] == 'true')
        params = {'graph_viewer_options': params}
    return {'id': ident, 'files': [path], 'tool': tool, 'params': params, 'binary': True}


def memory(answer):
    """What lives as long as the program comes in the order of a hash table, and colours are ours."""
    value = json.loads(answer, parse_int=float)      # 1 and 1.0 are one
    if 'indefiniteLifetimes' in value:
        value['indefiniteLifetimes'].sort(key=lambda one: one.get('id', ''))
    for block in value.get('bufferBlocks', ()):
        block.pop('color', None)
    return json.dumps(value, sort_keys=True, indent=0)


def form(tool, kind, body):
    if tool == 'memory_viewer':
        return memory(body)
    if kind == 'graph':
        return dot_text.form(body.decode())
    if kind == 'pbtxt':         # entries of maps come in any order
        return '\n'.join(sorted(body.decode().split('\n')))
    return bytes(sorted(body)).hex() if kind == 'pb' else body.decode()


def differs(tool, query, reply, status, body):
    """'' or what differs. None: there is nothing to compare."""
    if not reply.get('hex'):    # XProf broke down, or refused; ours must still be there and say something
        return None if body else 'no answer at all'
    kind = query.get('type', '')
    if status != 200:
        return f'status {status}: {body[:200]}'
    want, got = form(tool, kind, bytes.fromhex(reply['hex'])), form(tool, kind, body)
    if kind == 'graph' and 'statistics={' in want:      # they colour XProf's drawing
        return None
    return '' if want == got else '\n'.join(list(difflib.unified_diff(want.split('\n'), got.split('\n'), 'xprof', 'ours', n=0, lineterm=''))[:12])


def main():
    rnd = random.Random(SEED)
    with tempfile.TemporaryDirectory() as scratch:
        programs = [Program(data, i + 1) for i, data in enumerate(collect(scratch))]
        invented = list(with_other_memory(programs, rnd))
        logdir, path = store(programs + invented, scratch)
        asked = list(questions(programs, invented, rnd))
        replies = against_xprof.ask_xprof([for_xprof(str(i), path, *q) for i, q in enumerate(asked)])
        tally, shown = {}, 0
        with serving.Server(f'{against_xprof.BIN} serve --logdir {{logdir}} --port {{port}}', logdir) as server:
            for i, (tool, query) in enumerate(asked):
                status, body = server.get(serving.DATA, {'run': 'run', 'host': 'vm', 'tag': tool, **query})
                what = differs(tool, query, replies[str(i)], status, body)
                key = re.sub(r'_viewer$', '', tool) + ' ' + query.get('type', '')
                one = tally.setdefault(key, [0, 0, 0])
                one[2 if what is None else 1 if what else 0] += 1
                if what and shown < SHOWN:
                    shown += 1
                    print(f'{tool} {query}:\n{what[:1500]}')
    for key, (equal, unequal, skipped) in sorted(tally.items()):
        print(f'{key:20} {equal:6} equal {unequal:4} not, {skipped} not compared, {len(programs)} programs')
    print(f'{sum(t[0] for t in tally.values())} passed, {sum(t[1] for t in tally.values())} failed')
    return 1 if any(t[1] for t in tally.values()) else 0


if __name__ == '__main__':
    sys.exit(main())
