#!/usr/bin/env python3
"""`stepscope export`: the rules of each format, checked on the samples with nothing but Python's own library, and the counts against
`stepscope sql`. With --peers, readers that are not ours: Perfetto's protobuf, google/pprof, speedscope's schema.

    export.py [--bin build/stepscope] [--peers]
"""
import argparse
import base64
import collections
import gzip
import json
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import checks
import profiles

SAMPLES = ('synth_tpu_2cores', 'synth_tpu_3hosts', 'gpu_mi300_gemm', 'jax_mlp_train', 'synth_counters_v6e', 'tpu_v6e_inference')


class Checks(checks.Counts):
    def __init__(self, binary, scratch):
        self.binary, self.scratch, self.passed, self.failed = binary, scratch, 0, 0

    def export(self, profile, *args, status=0):
        p = subprocess.run([self.binary, 'export', profiles.logdir(profile, self.scratch), *args], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        self.check(f'{profile} {" ".join(args)}: status', p.returncode == status, (p.returncode, p.stderr))
        return p.stdout if status == 0 else p.stderr.decode()

    def sql(self, profile, query):
        p = subprocess.run([self.binary, 'sql', profiles.logdir(profile, self.scratch), '-f', 'json', query], stdout=subprocess.PIPE, check=True)
        return [tuple(r.values()) for r in json.loads(p.stdout)]


def fields(data):
    """(number, value) of a protobuf message; the value is a number or bytes."""
    at = 0
    while at < len(data):
        key = shift = 0
        while True:
            key |= (data[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if data[at - 1] < 128:
                break
        if key & 7 == 0:
            value = shift = 0
            while True:
                value |= (data[at] & 127) << shift
                at, shift = at + 1, shift + 7
                if data[at - 1] < 128:
                    break
        elif key & 7 == 1:
            value, at = struct.unpack_from('<Q', data, at)[0], at + 8
        elif key & 7 == 2:
            size = shift = 0
            while True:
                size |= (data[at] & 127) << shift
                at, shift = at + 1, shift + 7
                if data[at - 1] < 128:
                    break
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f'wire type {key & 7}')
        if at > len(data):
            raise ValueError('a field ends behind the message')
        yield key >> 3, value


WORK = "(plane NOT GLOB '/device:TPU:*' OR line = 'XLA Ops' OR plane GLOB '*Sparse*')"


def folded(c, profile):
    lines = c.export(profile, '--to', 'folded').decode().splitlines()
    c.check(f'{profile} folded: form', all(re.fullmatch(r'[^;]+(;[^;]+)* \d+', x) for x in lines), lines[:2])
    c.check(f'{profile} folded: sorted, each once', lines == sorted(lines, key=str.encode) and len(lines) == len({x.rsplit(' ', 1)[0] for x in lines}))
    total = sum(int(x.rsplit(' ', 1)[1]) for x in lines)
    want = c.sql(profile, f"SELECT SUM(self_ps) / 1000 FROM events WHERE {WORK}")[0][0]
    c.check(f'{profile} folded: sum', abs(total - (want or 0)) <= len(lines) + 50, (total, want))
    flame_graph(c, profile, lines, total)
    return lines


# Frames in which a recording starts or stops: an export has them, the tool does not.
PROFILER = re.compile(r'(^|;)(\$profiler\.py:\d+ (start_trace|stop_trace|stop_and_get_fdo_profile)|torch/(profiler/|autograd/profiler\.py)[^;]*)(;|$)')


def flame_graph(c, profile, lines, total):
    """The tool has the stacks of the export: those that it shows have the same time of their own, and nothing is missing from a plane."""
    p = subprocess.run([c.binary, 'tool', 'flame_graph', profiles.logdir(profile, c.scratch), '--format', 'json'], stdout=subprocess.PIPE, check=True)
    result = json.loads(p.stdout)
    table = result['tables'][0]
    rows = [dict(zip([x['id'] for x in table['cols']], r)) for r in zip(*table['data'])]
    want = {k: int(v) for k, v in (x.rsplit(' ', 1) for x in lines) if not PROFILER.search(k)}
    whole, paths = collections.Counter(), []
    for path, ns in want.items():
        whole[path.split(';')[0]] += ns
    for r in rows:
        frame = ''.join(':' if x == ';' else ' ' if x < ' ' else x for x in r['name'])
        paths.append((paths[r['parent']] + ';' if r['parent'] >= 0 else '') + frame)
    own = [(p, r['self_ps'] // 1000) for p, r in zip(paths, rows) if r['self_ps'] > 999]
    c.check(f'{profile} flame graph: the stacks of the export', bool(own) == bool(total) and all(want.get(p) == ns for p, ns in own), [(p, ns, want.get(p)) for p, ns in own if want.get(p) != ns][:3])
    c.check(f'{profile} flame graph: planes', all(abs(r['time_ps'] // 1000 - whole[p]) <= len(lines) for p, r in zip(paths, rows) if r['parent'] < 0), whole)
    c.check(f'{profile} flame graph: what is left out is short', sum(ns for p, ns in want.items() if p not in set(paths)) <= 0.05 * sum(want.values()) + len(lines))
    c.check(f'{profile} flame graph: says so', result['conclusion']['text'].startswith('On ' if total else 'No event'), result['conclusion'])


def pprof(c, profile):
    data = gzip.decompress(c.export(profile, '--to', 'pprof'))
    strings = [v.decode() for n, v in fields(data) if n == 6]
    locations = {dict(fields(v))[1] for n, v in fields(data) if n == 4}
    functions = {dict(fields(v))[1]: strings[dict(fields(v))[2]] for n, v in fields(data) if n == 5}
    c.check(f'{profile} pprof: strings, ids', strings[0] == '' and 0 not in locations and locations == set(functions), strings[:3])
    executions = self_ns = 0
    for n, v in fields(data):
        if n != 2:
            continue
        sample = collections.defaultdict(list)
        for k, x in fields(v):
            sample[k].append(x)
        path, at = [], 0
        for packed in sample[1]:
            numbers, value, shift = [], 0, 0
            for byte in packed:
                value |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    numbers.append(value)
                    value = shift = 0
            path += numbers
        values, value, shift = [], 0, 0
        for byte in sample[2][0]:
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                values.append(value)
                value = shift = 0
        c.failed += not (set(path) <= locations and len(values) == 2)
        executions, self_ns = executions + values[0], self_ns + values[1]
    want = c.sql(profile, f"SELECT COUNT(*), SUM(self_ps) / 1000 FROM events WHERE {WORK}")[0]
    c.check(f'{profile} pprof: sums', executions == want[0] and abs(self_ns - (want[1] or 0)) <= executions, (executions, self_ns, want))
    return executions


def speedscope(c, profile):
    doc = json.loads(c.export(profile, '--to', 'speedscope'))
    opens, good = 0, True
    for p in doc['profiles']:
        stack, last = [], -1
        for e in p['events']:
            good = good and e['at'] >= last and e['frame'] < len(doc['shared']['frames'])
            last = e['at']
            if e['type'] == 'O':
                stack.append(e['frame'])
                opens += 1
            else:
                good = good and stack and stack.pop() == e['frame']
        good = good and not stack and p['endValue'] >= last
    c.check(f'{profile} speedscope: rules', good)
    c.check(f'{profile} speedscope: events', opens == c.sql(profile, 'SELECT COUNT(*) FROM events')[0][0], opens)
    return doc


def perfetto(c, profile):
    data = c.export(profile, '--to', 'perfetto')
    tracks, open_, last = {}, collections.defaultdict(int), collections.defaultdict(int)
    names, keys, begins, counters, good, first = {}, {}, 0, 0, True, True
    for n, packet in fields(data):
        p = collections.defaultdict(list)
        for k, v in fields(packet):
            p[k].append(v)
        good = good and n == 1 and p[10] == [1] and p[13] == ([1] if first else [2]) and (p[87] == [1]) == first
        first = False
        for interned in p[12]:
            for k, v in fields(interned):
                entry = dict(fields(v))
                {2: names, 3: keys}[k][entry[1]] = entry[2].decode()
        for t in p[60]:
            t = dict(fields(t))
            good = good and t[1] not in tracks and t[1] != 0 and (5 not in t or t[5] in tracks)
            tracks[t[1]] = t
        for e in p[11]:
            f = collections.defaultdict(list)
            for k, v in fields(e):
                f[k].append(v)
            track, ns = f[11][0], p[8][0]
            good = good and track in tracks and ns >= last[track]
            last[track] = ns
            if f[9] == [1]:
                begins += 1
                open_[track] += 1
                good = good and f[10][0] in names and all(dict(fields(a))[1] in keys for a in f[4])
            elif f[9] == [2]:
                open_[track] -= 1
                good = good and open_[track] >= 0
            else:
                counters += 1
                good = good and 8 in tracks[track] and 44 in f
    c.check(f'{profile} perfetto: rules', good)
    c.check(f'{profile} perfetto: each begin ends', not any(open_.values()))
    c.check(f'{profile} perfetto: events', begins + counters == c.sql(profile, 'SELECT COUNT(*) FROM events')[0][0], (begins, counters))
    return begins


def sqlite(c, profile):
    path = os.path.join(c.scratch, f'{profile}.sqlite')
    c.export(profile, '--to', 'sqlite', '--output', path)
    db = sqlite3.connect(path)
    for query in ('SELECT COUNT(*), SUM(dur_ps), SUM(self_ps), MAX(depth) FROM events', 'SELECT COUNT(*) FROM stats', 'SELECT COUNT(*), MAX(end_ns) FROM xprof_events',
                  'SELECT COUNT(*) FROM instructions', 'SELECT * FROM hosts ORDER BY host', 'SELECT COUNT(*) FROM tool_plane_stats'):
        c.check(f'{profile} sqlite: {query}', db.execute(query).fetchall() == c.sql(profile, query), query)
    c.check(f'{profile} sqlite: whole', db.execute('PRAGMA integrity_check').fetchone() == ('ok',))
    db.close()
    link = os.path.join(c.scratch, f'{profile}.link')
    os.symlink(path, link)
    os.chmod(path, 0o640)
    c.export(profile, '--to', 'sqlite', '--output', link)
    c.check(f'{profile} sqlite: a link stays one', os.path.islink(link) and os.stat(path).st_mode & 0o777 == 0o640)
    c.check(f'{profile} sqlite: nothing beside it', [x for x in os.listdir(c.scratch) if '.part-' in x] == [])


class Compact:
    """Reads Thrift's compact protocol: structs as {field: value}."""
    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            b = self.byte()
            value |= (b & 127) << shift
            shift += 7
            if b < 128:
                return value

    def value(self, kind):
        if kind in (5, 6):
            v = self.varint()
            return v >> 1 ^ -(v & 1)
        if kind == 8:
            n = self.varint()
            self.at += n
            return self.data[self.at - n:self.at]
        if kind == 9:
            head = self.byte()
            n = self.varint() if head >> 4 == 15 else head >> 4
            return [self.value(head & 15) for _ in range(n)]
        if kind == 12:
            return self.struct()
        raise ValueError(f'kind {kind}')

    def struct(self):
        out, field = {}, 0
        while (head := self.byte()):
            field += head >> 4
            out[field] = self.value(head & 15)
        return out


def parquet(c, profile):
    """What the end of the file says, and that each page is where it says. Values are for readers that are not ours (tests/python)."""
    data = c.export(profile, '--to', 'parquet')
    size = struct.unpack('<I', data[-8:-4])[0]
    r = Compact(data[-8 - size:-8])
    meta = r.struct()
    c.check(f'{profile} parquet: ends', data[:4] == data[-4:] == b'PAR1' and r.at == size)
    want = c.sql(profile, 'SELECT COUNT(*) FROM xprof_events')[0][0]
    c.check(f'{profile} parquet: rows', meta[3] == want == sum(g[3] for g in meta[4]), (meta[3], want))
    names = [x[4] for x in meta[2][1:] if 1 in x or 5 in x]
    c.check(f'{profile} parquet: columns', len(meta[4][0][1]) == 31 and names[:3] == [b'device', b'stream_id', b'thread_id'] if want else not meta[4], names[:4])
    at = 4
    for g in meta[4]:
        for column in g[1]:
            m = column[3]
            begin = m.get(11, m[9])
            page = Compact(data[begin:begin + m[7]])
            head, good = page.struct(), begin == at and m[5] >= g[3]
            if 11 in m:
                good = good and head[1] == 2 and begin + page.at + head[3] == m[9]
                page.at += head[3]
                head = page.struct()
            good = good and head[1] == 0 and head[5][1] == m[5] and page.at + head[3] == m[7]
            c.check(f'{profile} parquet: pages of {m[3]}', good, (m, head))
            at = begin + m[7]
    first, last = c.sql(profile, 'SELECT MIN(start_ns), MAX(start_ns) FROM xprof_events')[0] if want else (None, None)
    starts = [g[1][11][3][12] for g in meta[4]]
    c.check(f'{profile} parquet: least and greatest', not want or (min(struct.unpack('<Q', x[6])[0] for x in starts), max(struct.unpack('<Q', x[5])[0] for x in starts)) == (first, last))


def arrow(c, profile):
    """The frame of the stream: a schema with the columns, batches, and the end. Values are for readers that are not ours (tests/python)."""
    data = c.export(profile, '--to', 'arrow')
    at, kinds, rows = 0, [], 0
    while at + 8 <= len(data):
        mark, size = struct.unpack_from('<II', data, at)
        at += 8
        if not size:
            break
        root = at + struct.unpack_from('<I', data, at)[0]
        vtable = root - struct.unpack_from('<i', data, root)[0]
        version, kind, header, body = (struct.unpack_from('<H', data, vtable + 4 + 2 * i)[0] for i in range(4))
        kinds.append(data[root + kind])
        length = struct.unpack_from('<q', data, root + body)[0] if body else 0
        table = root + header + struct.unpack_from('<I', data, root + header)[0]
        first = struct.unpack_from('<H', data, table - struct.unpack_from('<i', data, table)[0] + 4)[0]
        rows += struct.unpack_from('<q', data, table + first)[0] if kinds[-1] == 3 else 0
        c.check(f'{profile} arrow: a message', mark == 0xffffffff and size % 8 == length % 8 == 0 and data[root + version] == 4, (at, mark, size, length))
        at += size + length
    want = c.sql(profile, 'SELECT COUNT(*) FROM xprof_events')[0][0]
    c.check(f'{profile} arrow: schema, dictionaries and batches, end', at == len(data) and kinds[:1] == [1] and kinds[1:] in ([], [2] * 12 + [3]) and
            rows == want, (at, len(data), kinds, rows, want))
    c.check(f'{profile} arrow: columns', b'kernel_name\0' in data and b'dcn_payload_size_bytes\0' in data)


# Asked for with the places of their nodes.
GRAPHS = ('graph_viewer', 'tf_graph', 'tf_data_bottleneck_analysis')


def page(c, profile):
    """The page as one file: every answer in it is what the routes say, and nothing in it leads elsewhere. A browser opens it in tests/web."""
    data = c.export(profile, '--to', 'html').decode()
    c.check(f'{profile} html: size', len(data.encode()) <= 10_000_000, len(data))
    scripts = re.findall(r'<script[^>]*>(.*?)</script>', data, re.S)
    c.check(f'{profile} html: one file', len(scripts) == 2 and not re.search(r'<(link|script|img)[^>]+(src|href)=', data[:data.index('<script')]) and
            "default-src 'none'" in data, len(scripts))
    saved = json.loads(scripts[0])
    answers = {k: gzip.decompress(base64.b64decode(v)) for k, v in saved['answers'].items()}
    run = saved['run']
    tools = [t for t in json.loads(answers[f'api/tools?run={run}'])['tools'] if t['available'] and t['kind'] != 'timeline']
    address = {t['name']: f'api/tool/{t["name"]}?' + ('drawing=true&' if t['name'] in GRAPHS else '') for t in tools}
    missing = [t['name'] for t in tools for h in t['hosts'] if f'{address[t["name"]]}host={h}&run={run}' not in answers and 'ALL_HOSTS' not in t['hosts']]
    c.check(f'{profile} html: tools', tools and not missing and not saved['left_out'], (missing, saved['left_out']))
    graphs = [json.loads(v) for k, v in answers.items() if 'drawing=true' in k]
    c.check(f'{profile} html: graphs are drawn', all({'places', 'routes'} <= {t['name'] for t in g['tables']} for g in graphs), len(graphs))
    whole = [v for k, v in answers.items() if k.startswith('api/timeline/slices')]
    c.check(f'{profile} html: the timeline', len(whole) == len(saved['windows']) and any(b'"complete":true' in v for v in whole), len(whole))
    plain = subprocess.run([c.binary, 'tool', 'plane_stats', profiles.logdir(profile, c.scratch), '--format', 'json'], stdout=subprocess.PIPE).stdout
    got = [v for k, v in answers.items() if k.startswith('api/tool/plane_stats')]
    c.check(f'{profile} html: an answer', json.loads(plain)['tables'] in [json.loads(v)['tables'] for v in got])


def hostile_names(c):
    """Names in a page of one file are texts, whatever they say."""
    run = os.path.join(c.scratch, 'hostile/plugins/profile/<!--<script>x')
    os.makedirs(run)
    with open(os.path.join(profiles.logdir('synth_tpu1', c.scratch), 'plugins/profile/run/host0.xplane.pb'), 'rb') as f:
        data = f.read()
    name = b'<!--<script></script>'
    for old in {m for m in re.findall(rb'jit_[a-z_]+', data) if len(m) <= len(name)}:
        data = data.replace(old, name[-len(old):])
    with open(os.path.join(run, 'h.xplane.pb'), 'wb') as f:
        f.write(data)
    page = os.path.join(c.scratch, 'hostile.html')
    p = subprocess.run([c.binary, 'export', os.path.join(c.scratch, 'hostile'), '--to', 'html', '--output', page], stderr=subprocess.PIPE)
    with open(page, encoding='utf-8') as f:
        saved = re.search(r'<script type="application/json" id="saved">(.*?)</script>', f.read(), re.S).group(1)
    c.check('html: names are no markup', p.returncode == 0 and '<' not in saved and 'script>x' in json.loads(saved)['run'], saved[:200])


def deep(c):
    """Events 5,000 deep: each stack written out would take the square of it. Time is kept, deeper than 1,024 frames in the frame there."""
    path = os.path.join(c.scratch, 'deep.trace.json')
    with open(path, 'w') as f:
        json.dump({'traceEvents': [{'ph': 'X', 'name': f'f{i}', 'pid': 1, 'tid': 1, 'ts': i, 'dur': 10000 - 2 * i} for i in range(5000)]}, f)
    for form in ('folded', 'pprof'):
        p = subprocess.run([c.binary, 'export', path, '--to', form], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        c.check(f'deep {form}: says so', p.returncode == 0 and b'1,024 frames' in p.stderr, p.stderr)
        if form == 'folded':
            lines = [line.rsplit(' ', 1) for line in p.stdout.decode().splitlines()]
            c.check('deep folded: depth', max(stack.count(';') + 1 for stack, _ in lines) == 1024)
            c.check('deep folded: time', sum(int(ns) for _, ns in lines) == 10000 * 1000, len(lines))
            c.check('deep folded: the outermost stand first', all(stack.startswith(lines[0][0].split(';')[0]) for stack, _ in lines))


def parts(c):
    """A range of time, a plane, a host; and what is refused."""
    profile = 'jax_mlp_train'
    doc = json.loads(c.export(profile, '--to', 'speedscope', '--start', '100ms', '--end', '0.2s'))
    got = sum(e['type'] == 'O' for p in doc['profiles'] for e in p['events'])
    c.check('a range of time', got == c.sql(profile, 'SELECT COUNT(*) FROM events WHERE start_ps >= 100000000000 AND start_ps < 200000000000')[0][0], got)
    lines = c.export('gpu_mi300_gemm', '--to', 'folded', '--plane', '^/device:GPU').decode().splitlines()
    c.check('a plane', lines and all(x.startswith('/device:GPU') for x in lines), lines[:2])
    data = c.export('gpu_mi300_gemm', '--to', 'parquet', '--plane', '^/device:GPU', '--start', '1ms')
    got = Compact(data[-8 - struct.unpack('<I', data[-8:-4])[0]:-8]).struct()[3]
    c.check('parquet: a plane, a time', got == c.sql('gpu_mi300_gemm', "SELECT COUNT(*) FROM events WHERE plane GLOB '/device:GPU*' AND start_ps >= 1000000000")[0][0] > 0, got)
    lines = c.export('synth_tpu_3hosts', '--to', 'folded', '--host', 'host1').decode()
    c.check('a host', 'host0' not in lines and '/device:TPU' in lines, lines[:100])
    fifo = os.path.join(c.scratch, 'fifo')
    os.mkfifo(fifo)
    for args, status, words in ((('--to', 'perfeto'), 2, "did you mean 'perfetto'"), ((), 2, 'format'), (('--to', 'folded', '--start', '5'), 2, 'unit'),
                                (('--to', 'folded', '--plane', '('), 2, "without its ')'"), (('--to', 'sqlite'), 2, '--output'),
                                (('--to', 'folded', '--host', 'none'), 1, 'none'), (('--to', 'sqlite', '--start', '1ms', '--output', os.path.join(c.scratch, 'part')), 2, 'whole tables'),
                                (('--to', 'sqlite', '--output', fifo), 2, 'not a regular file'), (('--to', 'html', '--plane', 'x'), 2, 'whole run'),
                                (('--to', 'html', '--run', 'none'), 1, 'none'),
                                (('--to', 'sqlite', '--output', os.path.join(c.scratch, 'no', 'where')), 1, 'cannot write')):
        said = c.export(profile, *args, status=status)
        c.check(f'{" ".join(args)}: says why', words in said, said)
    doc = json.loads(c.export('synth_tpu_3hosts', '--to', 'chrome', '--plane', '^/device', '--start', '100us'))
    got = sum(e['ph'] == 'X' for e in doc['traceEvents'])
    c.check('chrome: planes, a time, several hosts', got == c.sql('synth_tpu_3hosts', "SELECT COUNT(*) FROM events WHERE plane GLOB '/device*' AND start_ps >= 100000000")[0][0] > 0, got)


def chrome(c, profile):
    """Every event of the file is in the trace, nests on its thread, and reads back as it was."""
    whole = c.sql(profile, 'SELECT COUNT(*), SUM(dur_ps) FROM events')[0]
    path = os.path.join(c.scratch, 'traces', os.path.basename(profile), 'a.trace.json')
    os.makedirs(os.path.dirname(path))
    c.export(profile, '--to', 'chrome', '--output', path)
    with open(path) as f:
        events = [e for e in json.load(f)['traceEvents'] if e['ph'] != 'M']
    c.check(f'{profile} chrome: events', len(events) == whole[0], len(events))
    threads = collections.defaultdict(list)
    for e in events:
        if e['ph'] == 'X':
            threads[e['pid'], e['tid']].append((round(e['ts'] * 1e6), -round(e['dur'] * 1e6)))
    good = True
    for thread in threads.values():
        ends = []
        for start, length in sorted(thread):
            while ends and ends[-1] <= start:
                ends.pop()
            good = good and (not ends or start - length <= ends[-1] + 2)
            ends.append(start - length)
    c.check(f'{profile} chrome: threads nest', good)
    p = subprocess.run([c.binary, 'sql', path, '-f', 'json', 'SELECT COUNT(*) AS n, SUM(dur_ps) AS ps FROM events'], stdout=subprocess.PIPE, check=True)
    c.check(f'{profile} chrome: reads back', tuple(json.loads(p.stdout)[0].values()) == whole, (p.stdout, whole))


def accounts(c, profile):
    """What a format does not hold is counted: what is written and what is said to be lost are all events."""
    whole = c.sql(profile, 'SELECT COUNT(*) FROM events')[0][0]
    for form in ('perfetto', 'chrome', 'sqlite', 'folded', 'pprof', 'parquet', 'arrow', 'speedscope'):
        path = os.path.join(c.scratch, 'accounts')
        p = subprocess.run([c.binary, 'export', profiles.logdir(profile, c.scratch), '--to', form, '--output', path], stderr=subprocess.PIPE, text=True, check=True)
        lost = [re.fullmatch(r'stepscope: (\d+) of (\d+) events (?:is|are) not in the file: .+', x) for x in p.stderr.splitlines()]
        c.check(f'{profile} {form}: what is lost is said', all(lost) and all(int(m.group(2)) == whole for m in lost), p.stderr)
        lost = sum(int(m.group(1)) for m in lost if m)
        if form in ('parquet', 'pprof'):
            table = 'SELECT COUNT(*) FROM xprof_events' if form == 'parquet' else f'SELECT COUNT(*) FROM events WHERE {WORK}'
            c.check(f'{profile} {form}: the rest is written', whole - lost == c.sql(profile, table)[0][0], lost)
        elif form not in ('folded', 'arrow'):
            c.check(f'{profile} {form}: nothing is lost', lost == 0, p.stderr)


def ranges(c):
    """Names of NVTX ranges are no paths of scopes: one frame each, whatever is in them."""
    top = os.path.join(c.scratch, 'nvtx')
    os.makedirs(top)
    shutil.copy(os.path.join(profiles.ROOT, '..', 'others', 'nsys', 'run', 'node7.sqlite'), os.path.join(top, 'a.sqlite'))
    os.chmod(os.path.join(top, 'a.sqlite'), 0o600)
    db = sqlite3.connect(os.path.join(top, 'a.sqlite'))
    db.execute("UPDATE NVTX_EVENTS SET text = 'epoch 1/9: a/b' WHERE text LIKE 'aten::mm%'")
    db.commit()
    db.close()
    p = subprocess.run([c.binary, 'export', top, '--to', 'folded', '--plane', '^/device'], stdout=subprocess.PIPE, text=True, check=True)
    c.check('folded: a range is one frame', '/device:GPU:0;epoch 1/9: a/b;void gemm' in p.stdout, p.stdout)
    for tool, args in (('flame_graph', ()), ('op_profile', ('-p', 'group_by=provenance'))):
        p = subprocess.run([c.binary, 'tool', tool, top, '--format', 'csv', *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
        c.check(f'{tool}: a range is one frame', '"epoch 1/9: a/b"' in p.stdout, p.stdout)


def peers(c):
    """Readers that are not ours. They are installed below ~/.cache/stepscope."""
    home = os.path.expanduser('~/.cache/stepscope/export')
    python = os.path.join(home, 'venv', 'bin', 'python')
    if not os.path.exists(python):
        subprocess.run([sys.executable, '-m', 'venv', os.path.join(home, 'venv')], check=True)
        subprocess.run([python, '-m', 'pip', 'install', '-q', 'perfetto', 'protobuf', 'jsonschema'], check=True)
    schema = os.path.join(home, 'schema.json')
    if not os.path.exists(schema):
        with tempfile.TemporaryDirectory() as d:
            subprocess.run(['npm', 'pack', '--silent', 'speedscope'], cwd=d, check=True, stdout=subprocess.DEVNULL)
            tar = [x for x in os.listdir(d) if x.endswith('.tgz')][0]
            subprocess.run(['tar', 'xzf', tar], cwd=d, check=True)
            with open(os.path.join(d, 'package', 'dist', 'release', 'file-format-schema.json'), 'rb') as f, open(schema, 'wb') as g:
                g.write(f.read())
    go = os.path.join(home, 'bin', 'pprof')
    if not os.path.exists(go):
        subprocess.run(['go', 'install', 'github.com/google/pprof@latest'], env=dict(os.environ, GOBIN=os.path.dirname(go)), check=True)
    for profile in SAMPLES:
        made = {f: os.path.join(c.scratch, f'{profile}.{f}') for f in ('perfetto', 'speedscope', 'pprof')}
        for f, path in made.items():
            c.export(profile, '--to', f, '--output', path)
        code = ('import sys; from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace; d = open(sys.argv[1], "rb").read(); t = Trace.FromString(d); '
                'assert Trace.FromString(t.SerializeToString()) == t; print(sum(p.track_event.type == 1 or p.track_event.type == 4 for p in t.packet))')
        got = subprocess.run([python, '-c', code, made['perfetto']], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        want = c.sql(profile, 'SELECT COUNT(*) FROM events')[0][0]
        c.check(f'{profile}: perfetto reads it', got.stdout.strip() == str(want), (got.stdout, got.stderr[-300:], want))
        code = 'import sys, json, jsonschema; jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))'
        got = subprocess.run([python, '-c', code, made['speedscope'], schema], stderr=subprocess.PIPE, text=True)
        c.check(f'{profile}: speedscope\'s schema', got.returncode == 0, got.stderr[-300:])
        got = subprocess.run([go, '-raw', made['pprof']], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        samples = re.findall(r'^ +(\d+) +(\d+):', got.stdout, re.M)
        want = c.sql(profile, f'SELECT COUNT(*) FROM events WHERE {WORK}')[0][0]
        c.check(f'{profile}: pprof reads it', got.returncode == 0 and sum(int(a) for a, _ in samples) == want, (got.stderr[-300:], len(samples), want))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--bin', default=os.path.join(ROOT, 'build', 'stepscope'))
    ap.add_argument('--peers', action='store_true')
    a = ap.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        c = Checks(os.path.abspath(a.bin), scratch)
        if a.peers:
            peers(c)
        else:
            for profile in (*SAMPLES, profiles.broken_names(scratch)):
                for fn in (folded, pprof, speedscope, perfetto, parquet, arrow, chrome, accounts):
                    fn(c, profile)
            for profile in ('synth_tpu_2cores', 'gpu_mi300_gemm'):
                sqlite(c, profile)
                page(c, profile)
            hostile_names(c)
            deep(c)
            parts(c)
            ranges(c)
    print(f'{c.passed} passed, {c.failed} failed')
    sys.exit(c.failed > 0)


if __name__ == '__main__':
    main()
