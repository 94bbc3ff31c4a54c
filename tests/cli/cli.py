#!/usr/bin/env python3
"""The command line: statuses, what goes to stdout and to stderr, and what is said about bad input."""
import collections
import contextlib
import csv
import gzip
import json
import os
import resource
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import checks
import profiles
import runs
import xspace
from xspace import varint

SAMPLE = os.path.join(profiles.ROOT, 'synth_tpu1')
FILE = os.path.join(SAMPLE, 'plugins', 'profile', 'run', 'host0.xplane.pb')


class Checks(checks.Counts):
    def __init__(self, binary):
        self.binary = binary

    def run(self, args, **more):
        return subprocess.run([self.binary, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                              stdin=subprocess.DEVNULL, **more)

    def case(self, args, status, out=None, err=None):
        """Run and check; `out` and `err` are regular expressions to be found, '' means that nothing is printed."""
        done = self.run(args)
        stdout, stderr = done.stdout.decode('utf-8', 'replace'), done.stderr.decode('utf-8', 'replace')
        good = done.returncode == status
        for want, got in ((out, stdout), (err, stderr)):
            if want is not None:
                good = good and (re.search(want, got, re.S) is not None if want else got == '')
        shown = f'status {done.returncode}, stdout {stdout[:200]!r}, stderr {stderr[:300]!r}'
        self.check(' '.join(args), good, shown)
        return stdout


def stray_file(c):
    """The first file of a run is no profile: the others are shown."""
    with tempfile.TemporaryDirectory() as d:
        for rank in ('rank-0.json.gz', 'rank-1.json.gz'):
            shutil.copy(os.path.join(os.path.dirname(HERE), 'data/torch/ranks', rank), d)
        with open(os.path.join(d, 'facts.json'), 'w', encoding='utf-8') as f:
            f.write('{"facts": 1}')
        c.case(['tools', d], 0, 'gpu_breakdown', None)
        c.case(['export', d, '--to', 'html', '-o', os.path.join(d, 'out.html')], 0)
        c.case(['export', os.path.join(d, 'facts.json'), '--to', 'html', '-o', os.path.join(d, 'none')], 1, '', 'is not a trace')
    snapshot = os.path.join(os.path.dirname(HERE), 'data/memory/torch_snapshot')
    c.case(['export', snapshot, '--to', 'folded'], 1, '', "and so no events: 'stepscope tools PATH' lists")


def misuse(c):
    c.case([], 2, '', 'usage')
    c.case([ROOT], 2, '', f"is a path, not a command: 'stepscope summary {ROOT}' shows it")
    c.case(['frobnicate'], 2, '', 'frobnicate')
    c.case(['stragglers', SAMPLE], 2, '', 'it is a tool: stepscope tool stragglers PATH')
    c.case(['tool'], 2, '', None)
    c.case(['summary'], 2, '', None)
    c.case(['summary', SAMPLE, '--nonsense'], 2, '', 'nonsense')
    for spelling in ('--num_queries', '--num-queries'):     # either way, in every command
        c.case(['monitor', '127.0.0.1:1', spelling, 'many'], 2, '', 'num_queries')
    c.case(['tool', 'overview_page', SAMPLE, '--format', 'yaml'], 2, '', 'yaml')
    c.case(['serve', '--port', '99999', '--logdir', SAMPLE], 2, '', '99999')
    c.case(['serve', '--port', 'x', '--logdir', SAMPLE], 2, '', 'x')


def help_and_version(c):
    c.case(['--help'], 0, 'serve.*summary|summary.*serve', '')
    c.case(['--version'], 0, r'^stepscope \d+\.\d+', '')
    for command in ('serve', 'summary', 'tool', 'tools'):
        c.case([command, '--help'], 0, command, '')


def answers(c):
    for path in (SAMPLE, os.path.dirname(FILE), FILE):      # a log directory, a run, a file
        c.case(['summary', path], 0, 'step', None)
    text = c.case(['summary', SAMPLE], 0)
    c.check('summary opens with the largest finding', re.search(r'\n\nNothing runs for 3\d\.\d% of the time', text), text[:400])
    c.check('summary says what to change', re.search(r'Nothing runs.*\n    - \S.*\n', text),
            text[-900:])
    c.check('summary is plain when piped', '\x1b' not in text, text[:100])
    c.case(['tools', SAMPLE], 0, 'overview_page', None)
    # Names of events and of statistics tell that a tool has nothing to show: no device and no program, no allocation, no collective.
    for run, without in (('tf_keras_fast', {'hlo_stats', 'roofline_model', 'critical_path', 'what_if', 'collectives'}),
                         ('jax_mlp_train', {'memory_profile', 'collectives'}), ('jax_2proc', {'memory_profile'})):
        path = os.path.join(profiles.ROOT, run)
        absent = {line.split()[0] for line in c.run(['tools', path]).stdout.decode().splitlines() if '(no data in this profile)' in line}
        c.check(f'{run}: tools without rows are marked', without <= absent and 'framework_op_stats' not in absent, str(sorted(without - absent)))
        for tool in without:
            t = json.loads(c.run(['tool', tool, path, '--format', 'json', '--host', 'ALL_HOSTS'] if tool == 'collectives' else
                                 ['tool', tool, path, '--format', 'json']).stdout or b'{"tables": []}')['tables']
            c.check(f'{run}: {tool} is empty', all(x['nrows'] == 0 for x in t if x['name'] != 'clocks'), str([(x['name'], x['nrows']) for x in t]))
    json.loads(c.case(['tool', 'overview_page', SAMPLE, '--format', 'json'], 0))
    answer = json.loads(c.case(['tool', 'overview_page', SAMPLE, '--format', 'xprof'], 0))
    c.check('XProf shape of the overview', isinstance(answer, list) and 'cols' in answer[0], str(answer)[:100])
    trace = json.loads(c.case(['tool', 'trace_viewer@', SAMPLE, '--format', 'xprof'], 0))
    c.check('trace events', len(trace['traceEvents']) > 100, str(len(trace['traceEvents'])))
    zoom = json.loads(c.case(['tool', 'trace_viewer@', SAMPLE, '--format', 'xprof', '--param', 'start_time_ms=0.2',
                              '--param', 'end_time_ms=0.3', '--param', 'resolution=8000'], 0))
    c.check('fewer in a window', len(zoom['traceEvents']) < len(trace['traceEvents']), str(len(zoom['traceEvents'])))
    csv = c.case(['tool', 'framework_op_stats', SAMPLE, '--format', 'csv'], 0)
    c.check('CSV has a header and rows', len(csv.splitlines()) > 1 and ',' in csv.splitlines()[0], csv[:100])
    c.case(['tool', 'framework_op_stats', SAMPLE], 0, r'\S+ +\S+', None)
    several = os.path.join(profiles.ROOT, 'synth_tpu_3hosts')
    c.case(['runs', several], 0, r'^run .* KiB  TPU v6 Lite x 6 +145\.7 us, 7 steps +host0 host1 host2\n$', '')
    c.case(['runs', '-q', several], 0, r'^run +\S+ \S+ +\S+ KiB  host0 host1 host2\n$', '')
    measured = c.run(['runs', several, '--steps']).stdout
    c.check('what is small is measured anyway', measured == c.run(['runs', several]).stdout, measured)
    c.case(['tool', 'overview_page', several, '--host', 'host1'], 0)
    c.case(['tool', 'overview_page', several, '--host', 'ALL_HOSTS'], 0)


def json_of(c, tool, path):
    done = c.run(['tool', tool, path, '--format', 'json'])
    return json.loads(done.stdout) if done.returncode == 0 else None


# Offered by what a file's planes and lines are called, before events are read.
BY_EVENTS = ('async_overlap', 'kernel_stats', 'megascale_stats', 'perf_counters', 'tf_data_bottleneck_analysis')


def conclusions(c):
    """Each tool that has data on a sample says there what it comes to, in sentences that a person can read."""
    data = os.path.join(os.path.dirname(HERE), 'data')
    samples = [os.path.join(data, d) for d in (
        'profiles/synth_tpu_3hosts', 'profiles/gpu_mi300_conv', 'profiles/synth_counters_v7x', 'profiles/synth_dcn_2hosts',
        'profiles/synth_tpu_serving', 'profiles/tf_keras_fast', 'profiles/synth_gpu_full_memory', 'hosts/late_input', 'torch/ranks',
        'others/nsys', 'memory/jax_memory', 'events/end_to_end', 'events/graph_text')]
    told, rows = {}, {}
    for path in samples:
        for line in c.run(['tools', path]).stdout.decode().splitlines():
            name = line.split(' ')[0]
            if not name or name.startswith('trace_viewer'):
                continue
            answer = json_of(c, name, path)
            if 'no data in this profile' in line:
                n = sum(t['nrows'] for t in answer['tables']) if answer else 0
                c.check(f'{name} of {os.path.basename(path)} is offered where it has rows', name not in BY_EVENTS or not n, f'{n} rows')
                continue
            if not answer:
                continue
            rows[name] = rows.get(name, 0) + sum(t['nrows'] for t in answer['tables'])
            if answer['conclusion']:
                said = [answer['conclusion']['text'], *answer['conclusion']['more']]
                told.setdefault(name, []).append((os.path.basename(path), said))
    for name in sorted(rows):
        c.check(f'{name} concludes on a sample', not rows[name] or name in told, f'{rows[name]} rows')
        for sample, said in told.get(name, []):
            bad = [s for s in said if not re.search(r'[.!:]$|https://\S+$', s) or len(s) > 500 or re.search(r'\bnan\b|\binf\b|\(null\)| {2}|^[a-z]', s)]
            c.check(f'{name} of {sample} speaks in sentences', not bad, str(bad))
    c.check('most tools were asked', len(told) > 30, str(sorted(told)))
    csv = c.case(['tool', 'kernel_stats', samples[1], '--format', 'csv', '--table', 'all'], 0)
    c.check('CSV of all tables begins with the conclusion', csv.startswith('# The kernel \'input_transpose_fusion'), csv[:200])
    csv = c.case(['tool', 'kernel_stats', samples[1], '--format', 'csv'], 0)
    c.check('CSV of one table is nothing but the table', csv.startswith('"rank"'), csv[:200])


def same_bytes_same_answer(c):
    for tool in ('overview_page', 'framework_op_stats', 'trace_viewer@'):
        path = os.path.join(profiles.ROOT, 'jax_mlp_train')
        first = c.run(['tool', tool, path, '--format', 'xprof']).stdout
        for _ in range(3):
            again = c.run(['tool', tool, path, '--format', 'xprof']).stdout
            c.check(f'{tool} twice', again == first, f'{len(first)} and {len(again)} bytes')


def bad_input(c, scratch):
    def file(name, data):
        path = os.path.join(scratch, name)
        with open(path, 'wb') as f:
            f.write(data)
        return path

    with open(FILE, 'rb') as f:
        data = f.read()
    c.case(['summary', os.path.join(scratch, 'nowhere')], 1, '', 'nowhere')
    os.mkdir(os.path.join(scratch, 'empty'))
    c.case(['summary', os.path.join(scratch, 'empty')], 1, '', 'profile')
    c.case(['summary', file('text.xplane.pb', b'hello, world\n')], 1, '', 'text.xplane.pb')
    for hosts in (3, 20):                                   # held open, and visited one after the other
        run = os.path.join(scratch, f'pod{hosts}', 'plugins', 'profile', 'run')
        os.makedirs(run)
        for i in range(hosts):
            file(os.path.join(run, f'h{i:02}.xplane.pb'), b'hello, world' if i == 1 else data)
        text = c.case(['summary', run], 0, 'Tasks +%d ' % (hosts - 1))
        c.check('the others are shown, and the one is named', re.search(r"warning: h01: .*h01\.xplane\.pb' is not a profile", text), text[-600:])
        c.case(['summary', run, '--host', 'h01'], 1, '', 'not a profile')
        for i in range(hosts):
            file(os.path.join(run, f'h{i:02}.xplane.pb'), b'hello, world')
        c.case(['summary', run], 1, '', 'h00.xplane.pb')
    c.case(['tool', 'nonsense', SAMPLE], 1, '', 'nonsense')
    c.case(['tool', 'overview_page', SAMPLE, '--host', 'nobody'], 1, '', 'nobody')
    c.case(['tool', 'overview_page', file('cut.xplane.pb', data[:len(data) // 2])], 0, None, 'truncated')
    for name in ('zero.xplane.pb', 'zero.pt.trace.json'):
        for more in ([], ['--format', 'json']):
            c.case(['summary', file(name, b''), *more], 1, '', f"{name}' is empty: the program may have been killed")
    run = os.path.join(scratch, 'one_empty', 'plugins', 'profile', 'run')
    os.makedirs(run)
    file(os.path.join(run, 'h0.xplane.pb'), data)
    file(os.path.join(run, 'h1.xplane.pb'), b'')
    text = c.case(['summary', run], 0, None)
    c.check('an empty file beside a good one is named once', text.count('is empty') == 1 and 'no step in common' not in text, text)
    denied = file('denied.xplane.pb', data)
    os.chmod(denied, 0)
    if os.geteuid():                                        # root may read everything
        c.case(['summary', denied], 1, '', 'denied.xplane.pb')
    os.mkfifo(os.path.join(scratch, 'pipe.xplane.pb'))
    c.case(['summary', os.path.join(scratch, 'pipe.xplane.pb')], 1, '', 'pipe.xplane.pb')   # and it does not hang


def older_files(c, scratch):
    """Traces and stored answers: as log directories, as single files, packed and damaged."""
    legacy = os.path.join(HERE, '..', 'data', 'legacy')
    inside = os.path.join('plugins', 'profile', 'run')
    pytorch = os.path.join(legacy, 'pytorch', 'run', 'worker.pt.trace.json')
    c.case(['summary', pytorch], 0, r'host: worker\n.*Steps\n  \d+ steps? of ', '')
    c.case(['tool', 'kernel_stats', pytorch, '--format', 'csv', '--table', 'kernel_stats'], 0, 'conv2d_kernel', '')
    c.case(['summary', os.path.join(legacy, 'tpu_v2')], 0, 'TPU v2', '')
    c.case(['runs', os.path.join(legacy, 'tpu_v2')], 0, 'TPU v2 x 8 +313.8 ms, 3 steps', '')
    c.case(['tool', 'overview_page', os.path.join(legacy, 'tpu_v2')], 0, 'res2b_branch2a', 'not computed here')
    c.case(['tool', 'memory_viewer', os.path.join(legacy, 'demo', inside, 'profile_demo.memory_viewer.json')], 0, '3.000 MiB', '')
    c.case(['tool', 'op_profile', os.path.join(legacy, 'demo', inside, 'profile_demo.op_profile.json')], 0, '%convolution', None)
    c.case(['tool', 'hlo_stats', os.path.join(legacy, 'tpu_v2')], 1, '', 'xplane')
    stored = os.path.join(legacy, 'tpu_v2', inside, '10.240.1.50.pod_viewer.json')
    with open(stored, 'rb') as f:
        same = c.run(['tool', 'pod_viewer', stored, '--format', 'xprof']).stdout.rstrip() == f.read().rstrip()
    c.check('stored JSON goes out as it is', same)
    offered = c.case(['tools', os.path.join(legacy, 'demo')], 0, 'op_profile.*memory_viewer', '')
    c.check('nothing that is not there', 'hlo_stats' not in offered and 'trace_viewer' not in offered, offered)
    with open(FILE, 'rb') as f:
        profile = f.read()
    packed = os.path.join(scratch, 'host0.xplane.pb.gz')
    with gzip.open(packed, 'wb') as f:
        f.write(profile)
    plain, again = (c.run(['tool', 'overview_page', path, '--format', 'json']).stdout for path in (FILE, packed))
    c.check('packed, the same', plain and json.loads(plain)['tables'] == json.loads(again)['tables'])
    with open(pytorch, 'rb') as f:
        cut = f.read()[:9000]
    for name, data, said in (('cut.trace.json', cut, 'truncated'), ('none.trace.json', b'{"a": 1}', 'trace events'),
                             ('not.trace', b'\xff\xff', 'not a trace'), ('bad.trace.json.gz', gzip.compress(cut)[:200], 'truncated')):
        path = os.path.join(scratch, name)
        with open(path, 'wb') as f:
            f.write(data)
        done = c.run(['tool', 'plane_stats', path])
        c.check(name, done.returncode in (0, 1) and said.encode() in done.stderr, f'{done.returncode} {done.stderr!r}')


def bombs(c, scratch):
    """A few megabytes that decompress to 900 take no more memory than a larger honest file does."""
    block = b'\x22\x06\x08\x01\x10\x64\x18\x01' * (1 << 17)                 # events of an XLine
    texts = b'\x22\x06worker' * (1 << 17)                                  # host names of an XSpace
    line = b'\x1a' + varint(900 * len(block))
    for name, head, block in (('events', b'\x0a' + varint(len(line) + 900 * len(block)) + line, block), ('messages', b'', texts)):
        path = os.path.join(scratch, f'{name}.xplane.pb.gz')
        with open(path, 'wb') as f:                                         # members of gzip are one text
            f.write(gzip.compress(head) + gzip.compress(block) * 900)
        with subprocess.Popen([c.binary, 'tool', 'overview_page', path], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as run:
            said = run.stderr.read()
            _, status, used = os.wait4(run.pid, 0)
            run.returncode = os.waitstatus_to_exitcode(status)
        c.check(f'{os.path.getsize(path) >> 10} KiB of {name} in bounded memory',
                run.returncode == (name == 'events') and said and used.ru_maxrss < 250 << 10, f'{run.returncode} {used.ru_maxrss} {said[:300]}')


def packed_packets(c, scratch):
    """Compressed packets of Perfetto are read up to a multiple of the trace: what came before is shown, and a note counts the others."""
    def message(field, body):
        return varint(field << 3 | 2) + varint(len(body)) + body

    track = message(1, message(60, b'\x08\x01' + message(4, b'\x08\x07\x10\x07' + message(5, b'worker'))))
    event = message(1, b'\x40\x05' + message(11, b'\x48\x03\x58\x01' + message(23, b'early')))
    path = os.path.join(scratch, 'packed.pftrace')
    with open(path, 'wb') as f:
        f.write(track + event + message(1, message(50, zlib.compress(b'\x0a\x00' * 250000))) * 1000)
    before = os.times()
    r = c.run(['tool', 'event_stats', path, '--format', 'json'])
    seconds = os.times().children_user - before.children_user
    c.check('packets that decompress to 1,000 times the trace', b'early' in r.stdout and
            b'compressed packets of the trace are left out' in r.stdout and b'truncated' not in r.stdout and seconds < 10,
            f'{seconds:.1f} s {r.stdout[:600]}')


def sums_are_told(c):
    """A sentence that names what takes most names the greatest sum over the rows of that name, not the greatest row."""
    data = os.path.join(os.path.dirname(HERE), 'data')

    def asked(tool, path, table):
        answer = json_of(c, tool, os.path.join(data, path))
        t = next(t for t in answer['tables'] if t['name'] == table)
        said = ' '.join([answer['conclusion']['text'], *answer['conclusion']['more']])
        return said, [dict(zip([col['id'] for col in t['cols']], row)) for row in zip(*t['data'])]

    said, rows = asked('collectives', 'torch/ranks', 'by_op')
    cost, times = {}, {}
    for r in rows:
        seen = r['occurrences'] - r['hidden']
        cost[r['op']] = cost.get(r['op'], 0) + (seen * (r['seen_wait_us'] + r['seen_transfer_us']) if seen else 0)
        times[r['op']] = times.get(r['op'], 0) + r['occurrences']
    most = max(cost, key=cost.get)
    c.check('collectives names the operation that costs most over all sizes', f"costs most is '{most}', executed {times[most]} times" in said, said)
    for path in ('torch/ranks', 'hosts/late_input', 'hosts/slow_gpu', 'profiles/synth_tpu_3hosts'):
        said, rows = asked('collectives', path, 'by_op')
        hidden = any(r['hidden'] for r in rows)
        c.check(f'collectives of {path} tell whether some are left out', 'costs most' not in said or hidden == ('among those that compute does not hide' in said), said)
    said, rows = asked('collectives', 'hosts/late_input', 'collectives')
    c.check('a collective without all participants is not said to transfer all the time',
            any(r['participants'] < r['expected'] for r in rows) and 'it transfers for' not in said and 'is not known' in said, said)


def work_of_a_cut_host(c, scratch):
    """What a recording that is cut does not hold is not told as 0."""
    shutil.copytree(os.path.join(os.path.dirname(HERE), 'data', 'hosts', 'late_input'), scratch)
    cut = os.path.join(scratch, 'plugins', 'profile', 'run', 'host1.xplane.pb')
    os.truncate(cut, os.path.getsize(cut) // 2)
    said = ' '.join(json_of(c, 'pod_viewer', scratch)['conclusion']['more'])
    c.check('no work of a core whose recording is cut', 'No work of core 1002 of' in said and not re.search(r'works least, 0\b', said), said)


def shares_agree(c):
    """A share of one thing has one value, whichever tool says it."""
    def answer(*args):
        return json.loads(c.run([*args, '--format', 'json']).stdout)

    def rows(tool, name, table):
        t = next(t for t in answer('tool', tool, os.path.join(profiles.ROOT, name))['tables'] if t['name'] == table)
        return [dict(zip([col['id'] for col in t['cols']], row)) for row in zip(*t['data'])], t.get('props', {})

    def near(a, b):
        return abs(a - b) <= 1e-6 * max(abs(a), abs(b), 1)

    for name, causes in (('tf_inputbound_steps', ['input']), ('synth_tpu_infeed', ['input', 'idle']), ('synth_tpu1', ['idle'])):
        found = {f['cause']: f['share'] for f in answer('summary', os.path.join(profiles.ROOT, name))['findings']}
        devices, _ = rows('host_boundness', name, 'devices')
        waits, _ = rows('host_boundness', name, 'causes')
        time = sum(d['window_ps'] for d in devices)
        told = {'input': sum(w['host_wait_ps'] for w in waits if w['cause'] == 'input') / time,
                'idle': sum(d['unknown_ps'] for d in devices) / time}
        for cause in causes:
            c.check(f'{name}: {cause} in the summary and in host_boundness', near(found[cause], told[cause]), f'{found[cause]} {told[cause]}')
    for name in ('synth_tpu1', 'synth_tpu_infeed', 'tpu_v6e_inference'):
        _, props = rows('overview_page', name, 'analysis')
        ops, _ = rows('framework_op_stats', name, 'with_idle')
        idle = [r['device_total_self_time_percent'] for r in ops if r['operation'] == 'IDLE' and r['host_or_device'] == 'Device'][0]
        hlo, _ = rows('hlo_stats', name, 'ops')
        whole, busy = (rows('op_profile', name, t)[0][0]['time_ps'] for t in ('by_program', 'by_program_exclude_idle'))
        shares = [props['device_idle_time_percent']['value'] / 100, idle, 1 - busy / whole, 1 - sum(r['total_self_time'] for r in hlo) * 1e6 / whole]
        c.check(f'{name}: idle in the overview, framework_op_stats, op_profile and hlo_stats', all(near(shares[0], s) for s in shares), str(shares))
        said = answer('tool', 'hlo_stats', os.path.join(profiles.ROOT, name))['conclusion']['text']
        c.check(f'{name}: the largest operation in the sentence of hlo_stats and in its table',
                f"({hlo[0]['total_self_time_percent']:.1f}%)" in said, f"{said} {hlo[0]['total_self_time_percent']}")


def names_lost(c, scratch):
    """A file that ends before the names of a core's operations: what ran is not known, but the core was not idle."""
    path = os.path.join(scratch, 'plugins', 'profile', 'run', 'host0.xplane.pb')
    os.makedirs(os.path.dirname(path))
    with open(os.path.join(profiles.ROOT, 'synth_tpu_2cores', 'plugins', 'profile', 'run', 'host0.xplane.pb'), 'rb') as f:
        space = xspace.parse(f.read())
    planes = xspace.get_all(space, 1)
    second = next(p for p in planes if xspace.text(p, 2) == '/device:TPU:1')
    lines = xspace.serialize([f for f in second if f[0] in (1, 2, 3)])
    whole = len(xspace.serialize(second))
    with open(path, 'wb') as f:
        f.write(xspace.serialize([[1, 2, p] for p in planes if p is not second]) + b'\x0a' + varint(whole) + lines)

    def idle_of(where):
        t = json.loads(c.run(['tool', 'framework_op_stats', where, '--format', 'json']).stdout)['tables'][0]
        rows = [dict(zip([col['id'] for col in t['cols']], row)) for row in zip(*t['data'])]
        return [r['total_self_time'] for r in rows if r['operation'] == 'IDLE' and r['host_or_device'] == 'Device'][0]

    whole, cut = idle_of(os.path.join(profiles.ROOT, 'synth_tpu_2cores')), idle_of(scratch)
    c.check('a core whose names are lost is idle as long as before', abs(whole - cut) < 1e-6, f'{whole} {cut}')


def programs(c, scratch):
    """What XLA dumps is a program without a profile: alone, or in a log directory."""
    sample = os.path.join(os.path.dirname(HERE), 'data', 'hlo', 'train_step.pb')
    logs = os.path.join(scratch, 'dumped')
    os.mkdir(logs)
    alone = os.path.join(logs, 'module_0001.train.hlo.pb')
    with open(sample, 'rb') as f:
        proto = f.read()
    with open(alone, 'wb') as f:
        f.write(proto)
    for path in (alone, logs):
        c.case(['tool', 'graph_viewer', path], 0, r"^The graph shows \d+ instructions? around '(?!tuple)", None)
        c.case(['tool', 'memory_viewer', path, '--format', 'json'], 0, '"module_name"', None)
    # The bytes of an asynchronous copy move between its start and its end: divided by the 2 ns of its start they were a million peaks.
    roofline = json.loads(c.run(['tool', 'roofline_model', os.path.join(profiles.ROOT, 'tpu_v6e_inference'), '--format', 'json']).stdout)
    t = roofline['tables'][0]
    cell = {col['id']: t['data'][i] for i, col in enumerate(t['cols'])}
    parts = [(v, cell['hbm_bw'][i]) for i, v in enumerate(cell['roofline_efficiency']) if cell['category'][i] in ('copy-start', 'copy-done')]
    c.check('the parts of an asynchronous copy have no rate', len(parts) >= 10 and all(p == (None, None) for p in parts) and
            max(v or 0 for v in cell['roofline_efficiency']) < 1 and not any('above 100' in n['text'] for n in roofline['notes']), str(parts[:3]))
    for number in ('-6255983156473747731', '12190760917235803885'):     # as SQL writes it, and as XProf does
        c.case(['tool', 'hlo_query', os.path.join(profiles.ROOT, 'tpu_v6e_inference'), '-p', f'program_id={number}'], 0,
               rf"^'jit_f\({2 ** 64 + int(number) if number[0] == '-' else number}\)' has 31 instructions", None)
    bad = os.path.join(scratch, 'bad.hlo.pb')
    named = re.search(rb'\x0a\x0d(dot_general\.0)', proto)
    with open(bad, 'wb') as f:      # the length of an instruction's name goes beyond the instruction
        f.write(proto[:named.start() + 1] + b'\xff\x7f' + proto[named.start() + 3:])
    for tool in ('graph_viewer', 'memory_viewer', 'hlo_query'):
        c.case(['tool', tool, bad], 0, None, r"'jit_train_step\(6\)' of 'bad' is damaged in 1 place: .* are missing here")
    for data in (b'', b'\x0a', b'\x08\x01', proto[:40], os.urandom(500)):
        with open(bad, 'wb') as f:
            f.write(data)
        done = c.run(['tool', 'graph_viewer', bad])
        said = done.stderr.decode('utf-8', 'replace')
        c.check('a program that is none is refused in words', done.returncode == 1 and said.startswith('stepscope: '), said)
        c.check('and nothing binary is printed', all(ch.isprintable() or ch == '\n' for ch in said), repr(said[:200]))


def programs_of_hosts(c, scratch):
    """All hosts' programs are offered; one name is told by host where what it names differs."""
    run = os.path.join(scratch, 'hosts', 'plugins', 'profile', 'run')
    os.makedirs(run)
    source = os.path.join(profiles.ROOT, '{}', 'plugins', 'profile', 'run', 'host0.xplane.pb')
    with open(source.format('synth_tpu1'), 'rb') as f:
        tpu = f.read()
    other = tpu.replace(b'dense/tanh', b'dense/tenh')
    c.check('the other program differs', other != tpu and len(other) == len(tpu))
    files = {'a': source.format('synth_gpu_unlike_hosts'), 'b': tpu, 'c': other, 'd': tpu}
    for host, data in files.items():
        if isinstance(data, str):
            with open(data, 'rb') as f:
                data = f.read()
        with open(os.path.join(run, f'{host}.xplane.pb'), 'wb') as f:
            f.write(data)
    logs = os.path.join(scratch, 'hosts')
    for tool in ('hlo_query', 'fusion_blockers', 'graph_viewer', 'memory_viewer'):
        for flags, want, shown in (([], [('b', '2'), ('c', '1')], 'b'), (['-H', 'c'], [('c', '1')], 'c'), (['-H', 'c,d'], [('c', '1'), ('d', '1')], 'c'), (['-H', 'd,b'], [('b', '2')], 'b')):
            done = c.run(['tool', tool, logs, '-f', 'csv', '-t', 'modules', *flags])
            rows = list(csv.DictReader(done.stdout.decode().splitlines()))
            c.check(f'{tool} {flags}: programs', [(r['host'], r['hosts']) for r in rows] == want and len({r['module_name'] for r in rows}) == 1, done.stdout + done.stderr)
            c.check(f'{tool} {flags}: a word where they differ', (f"differ between hosts: this is the program of '{shown}'" in done.stderr.decode()) == (len(want) > 1), done.stderr)
        done = c.run(['tool', tool, logs, '-H', 'a'])
        c.check(f'{tool} of a host without programs', done.returncode == 1 and b"host 'a' holds no compiled programs" in done.stderr, done.stderr)
    for host, word in (('b', b'dense/tanh'), ('c', b'dense/tenh'), ('ALL_HOSTS', b'dense/tanh')):
        done = c.run(['tool', 'hlo_query', logs, '-H', host, '-f', 'csv', '-p', 'opcode=tanh'])
        c.check(f'the program of {host}', word in done.stdout and len(done.stdout.splitlines()) > 1, done.stdout)
    times = {host: list(csv.DictReader(c.run(['tool', 'hlo_query', logs, '-H', host, '-f', 'csv']).stdout.decode().splitlines())) for host in ('b', 'ALL_HOSTS')}
    c.check('the times are those of one host', times['b'] == times['ALL_HOSTS'] and any(r['self_time_ps'] for r in times['b']), times['b'][:2])
    for host, told in (('b', False), ('ALL_HOSTS', True)):
        said, _ = sentences(c, 'hlo_query', logs, '-H', host)
        c.check(f'times of {host}: the sentence names the host where there are others', ("executions on 'b'." in said) == told, said)
    tools = c.run(['tools', logs, '--color=never']).stdout.decode()
    c.check('and are offered where the first host has none', re.search(r'^hlo_query +Inst.*[^)]$', tools, re.M), tools)


def one_answer_about_steps(c, scratch):
    """The list, the overview and the summary name the same steps, or none."""
    scale = {'ns': 1e3, 'us': 1e6, 'ms': 1e9, 's': 1e12}
    seen = 0
    for name in profiles.names():
        path = profiles.logdir(name, scratch)
        listed = c.run(['runs', path]).stdout.decode().splitlines()
        said = c.run(['summary', path, '--format', 'json'])
        if said.returncode or len(listed) != 1:
            continue
        steps = json.loads(said.stdout)['steps']
        cell = re.search(r'([\d.,]+) (ns|us|ms|s), (\d+) steps?\b', listed[0])
        seen += bool(cell)
        if not steps['count']:
            c.check(f'{name}: no steps in the list', not cell and ' no steps ' in listed[0], listed[0])
            continue
        c.check(f'{name}: the steps of the list', cell and int(cell[3]) == steps['count'] and
                abs(float(cell[1].replace(',', '')) * scale[cell[2]] / steps['mean_ps'] - 1) < 2e-3, f'{listed[0]} {steps}')
    c.check('profiles with steps', seen > 10, seen)


def full_disk(c):
    with open('/dev/full', 'wb') as full:
        done = subprocess.run([c.binary, 'tool', 'trace_viewer@', SAMPLE, '--format', 'xprof'], stdout=full,
                              stderr=subprocess.PIPE, timeout=60)
    c.check('output to a full disk', done.returncode == 1 and done.stderr, f'{done.returncode} {done.stderr[:200]}')


def versions(c):
    done = c.run(['--version', '-v'])
    said = done.stdout.decode() if isinstance(done.stdout, bytes) else done.stdout
    for library in ('stepscope', 'libmicrohttpd', 'nghttp2', 'zlib', 'libdeflate', 'sqlite', 'libzstd', 'libbrotlidec', 'openssl', 'libcurl'):
        c.check(f'the version of {library}', any(line.split()[0] == library and line.split()[1][0].isdigit()
                                                 for line in said.splitlines()), said)


def riegeli(c):
    """The same profile in another format of files gives the same answers, and half of it says that it is half."""
    sample = os.path.join(profiles.ROOT, 'synth_tpu_2cores', 'plugins', 'profile', 'run', 'host0.xplane.pb')
    packed = os.path.join(os.path.dirname(HERE), 'data', 'riegeli')
    for name in sorted(os.listdir(packed)):
        every = name.startswith(('brotli', 'cut'))
        tools = ['overview_page', 'hlo_stats', 'op_profile', 'trace_viewer@'] if every else ['hlo_stats']
        with tempfile.TemporaryDirectory() as top:
            for form, file in (('pb', sample), ('riegeli', os.path.join(packed, name))):
                run = os.path.join(top, form, 'plugins', 'profile', 'run')
                os.makedirs(run)
                shutil.copy(file, os.path.join(run, 'host0.xplane.' + form))
            for tool in tools:
                pb, other = (c.run(['tool', tool, '.', '--format', 'json'], cwd=os.path.join(top, form)) for form in ('pb', 'riegeli'))
                c.check(f'{tool} of {name}', (pb.returncode, pb.stdout) == (other.returncode, other.stdout), other.stderr[:300])
            whole = open(os.path.join(packed, name), 'rb').read()
            half = os.path.join(top, 'half.xplane.riegeli')
            with open(half, 'wb') as f:
                f.write(whole[:len(whole) // 2])
            done = c.run(['summary', half])
            c.check(f'half of {name}', re.search(b'cut short|ends at byte', done.stdout + done.stderr), done.stderr[:300])


def output_is_stdout(c):
    """--output - is stdout, as of other programs; no file of that name comes to be."""
    with tempfile.TemporaryDirectory() as top:
        for args in (['tool', 'overview_page', SAMPLE], ['export', SAMPLE, '--to', 'folded'], ['sql', SAMPLE, 'SELECT 1 AS one']):
            plain, dash = (subprocess.run([c.binary, *args, *more], cwd=top, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
                           for more in ([], ['--output', '-']))
            c.check(f'{args[0]} --output -', dash.returncode == 0 and dash.stdout == plain.stdout and dash.stdout, dash.stderr[:200])
        c.check('no file called -', not os.listdir(top), os.listdir(top))


def output_is_the_profile(c):
    """A profile is not replaced by what was made of it, whatever name leads to it."""
    with tempfile.TemporaryDirectory() as top:
        path, other = os.path.join(top, 'host.xplane.pb'), os.path.join(top, 'other')
        shutil.copy(os.path.join(SAMPLE, 'plugins/profile/run/host0.xplane.pb'), path)
        with open(path, 'rb') as f:
            before = f.read()
        os.link(path, os.path.join(top, 'hard'))
        os.symlink('host.xplane.pb', os.path.join(top, 'link'))
        for name in ('host.xplane.pb', 'hard', 'link'):
            for args in (['tool', 'overview_page', path], ['export', path, '--to', 'folded'], ['export', path, '--to', 'sqlite'],
                         ['export', path, '--to', 'html'], ['sql', path, 'SELECT 1 AS one'],
                         ['diff', path, SAMPLE], ['gate', SAMPLE, path]):
                done = c.run([*args, '--output', os.path.join(top, name)])
                with open(path, 'rb') as f:
                    kept = f.read() == before
                c.check(f'{args[0]} --output {name}', kept and done.returncode and b'the profile itself' in done.stderr, done.stderr[:200])
        c.check('nothing else is there', sorted(os.listdir(top)) == ['hard', 'host.xplane.pb', 'link'], os.listdir(top))
        c.check('another file is written', c.run(['tool', 'overview_page', path, '--output', other]).returncode == 0 and os.path.getsize(other))


def kept_output(c):
    """A file that --output names is replaced by a whole answer, or stays what it was."""
    ask = [c.binary, 'tool', 'trace_viewer@', SAMPLE, '--format', 'xprof', '--output']

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))

    with tempfile.TemporaryDirectory() as top:
        path, link, long = os.path.join(top, 'old'), os.path.join(top, 'link'), os.path.join(top, 'n' * 250)
        os.symlink('old', link)
        for name, at, restore in ((path, path, False), (path, path, True), (link, path, False), (long, long, False)):      # written in vain; killed by SIGXFSZ
            with open(at, 'w') as f:
                f.write('what was there')
            os.chmod(at, 0o640)
            done = subprocess.run(ask + [name], stderr=subprocess.PIPE, timeout=60, preexec_fn=limited, restore_signals=restore)
            with open(at) as f:
                kept = f.read()
            c.check('a file of which the new one could not be written', kept == 'what was there' and done.returncode != 0,
                    f'{done.returncode} {kept[:40]!r}')
            if not restore:
                c.check('said', b'cannot write' in done.stderr, done.stderr[:200])
            c.check('nothing beside it', set(os.listdir(top)) - {os.path.basename(long)} == {'link', 'old'}, str(os.listdir(top)))
            if at == long:
                os.remove(at)
        done = subprocess.run([c.binary, 'tool', 'no_such_tool', SAMPLE, '--output', path], stderr=subprocess.PIPE, timeout=60)
        with open(path) as f:
            c.check('a file of which there is no answer', f.read() == 'what was there' and done.returncode != 0, done.stderr[:100])
        done = subprocess.run(ask + [link], stderr=subprocess.PIPE, timeout=60)
        with open(path) as f:
            c.check('a link stays one', os.path.islink(link) and f.read().startswith('{') and done.returncode == 0, done.stderr[:100])
        c.check('its rights', os.stat(path).st_mode & 0o777 == 0o640, oct(os.stat(path).st_mode))


HOSTS = os.path.join(os.path.dirname(HERE), 'data', 'hosts')


def rows(c, tool, path, table, *params):
    done = c.run(['tool', tool, path, '--format', 'json', *params])
    if done.returncode:
        c.check(f'{tool} of {path}', False, done.stderr[:300])
        return []
    for t in json.loads(done.stdout)['tables']:
        if t['name'] == table:
            return [dict(zip([col['id'] for col in t['cols']], row)) for row in zip(*t['data'])]
    return []


def files_without_hostnames(c, scratch):
    """Every tool calls a host by its file; only XProf's own answers say localhost."""
    with open(sole_profile('synth_tpu_infeed'), 'rb') as f:
        data = f.read()
    run = os.path.join(scratch, 'unnamed', 'plugins', 'profile', 'run')
    os.makedirs(run)
    for name in ('w0', 'w1'):
        with open(os.path.join(run, f'{name}.xplane.pb'), 'wb') as f:
            f.write(data[:data.rindex(b'"\5host0')])
    top = os.path.join(scratch, 'unnamed')
    hosts = {row['host_name'] for table in ('cores', 'topology') for row in rows(c, 'pod_viewer', top, table)}
    shutil.copy(sole_profile('synth_tpu_infeed'), os.path.join(scratch, 'copy.pb'))
    tools = c.case(['tools', os.path.join(scratch, 'copy.pb')], 0, 'overview_page', None)
    c.check('a profile that is called .pb offers no graph of TensorFlow', 'tf_graph' not in tools, tools[:300])
    c.check('pod_viewer names hosts as other tools do', hosts == {'w0', 'w1'}, hosts)
    c.case(['tool', 'input_pipeline_analyzer', top], 0, 'Core name +w[01]:0', None)
    c.case(['tool', 'pod_viewer', top, '--format', 'xprof'], 0, '"hostName":"localhost"', None)


def late_hosts(c):
    """Made runs whose truth is known: who is late, why, since when, and what would be gained."""
    wanted = {
        'late_input': dict(kind='straggler', host='host1', device=-1, cause='input', pattern='constant'),
        'slow_gpu': dict(kind='straggler', host='host2', device=1, cause='compute', pattern='constant'),
    }
    for case, want in wanted.items():
        path = os.path.join(HOSTS, case)
        got = (rows(c, 'stragglers', path, 'verdict') or [{}])[0]
        c.check(f'verdict of {case}', {k: got.get(k) for k in want} == want, got)
        c.case(['tool', 'host_steps', path], 0, f"'{want['host']}' holds up the other hosts in [0-9.]+% of the steps: the figure lost_us")
        steps = rows(c, 'exposed_communication', path, 'device_steps')
        parts = ('compute_us', 'exposed_wait_us', 'exposed_transfer_us', 'copy_us', 'idle_input_us', 'idle_host_us', 'idle_other_us')
        c.check(f'parts of steps of {case}', steps and all(abs(sum(r[p] for p in parts) - r['step_us']) < 1e-6 for r in steps), steps[:1])
        path_us = {}
        for r in rows(c, 'critical_path', path, 'categories'):
            path_us[r['step_num']] = path_us.get(r['step_num'], 0) + r['path_frac']
        c.check(f'path of {case}', len(path_us) == 5 and all(abs(v - 1) < 1e-9 for v in path_us.values()), path_us)
        then = {r['scenario']: r for r in rows(c, 'what_if', path, 'scenarios')}
        c.check(f'scenarios of {case}', abs(then['as_recorded']['gain_frac']) < 0.001 and then['host_as_median']['target'] == want['host'] and
                then['host_as_median']['gain_frac'] > 0.1, then)
    for asked, says in (('scenario=perfect_input', 'With input that never makes a step wait, a step would take'), ('target_host=host1', "If 'host1' were like the other hosts, a step would take"),
                        ('op=fusion.200', "If 'fusion.200' were twice as fast, a step would take"), ('scenario=host_as_median', "If 'host2' were like the other hosts, a step would take")):
        done = c.run(['tool', 'what_if', os.path.join(HOSTS, 'slow_gpu'), '-p', asked])
        c.check(f'what if, {asked}', says in done.stdout.decode().split('\n')[0], done.stdout[:200])
    path = os.path.join(HOSTS, 'late_input')
    clocks = rows(c, 'collectives', path, 'clocks')
    c.check('clocks', [r['state'] for r in clocks] == ['good', 'corrected', 'corrected'] and all(r['uncertainty_us'] < 1 for r in clocks), clocks)
    seen = rows(c, 'collectives', path, 'collectives')
    c.check('participants', seen and all((r['participants'], r['expected']) == (3, 4) for r in seen), seen[:1])
    states = {r['host']: r['state'] for r in rows(c, 'host_steps', path, 'hosts')}
    c.check('a missing host', states == {'host0': 'ok', 'host1': 'ok', 'host2': 'missing', 'host3': 'ok'}, states)


def meeting_hosts(folder, work_us, steps=8, slow=()):
    """
    Hosts of a TPU each: a fusion of this work, a reduce-scatter of 60 us in which they meet, and an all-reduce of 280 us.
    Their clocks are more than a step apart. `slow`: (host, step, further work).
    """
    us, groups = 10 ** 6, '{{%s}}' % ','.join(map(str, range(len(work_us))))
    os.makedirs(folder)
    for h, own_us in enumerate(work_us):
        p = runs.Plane(2, '/device:TPU:0')
        p.stats = runs.field(6, p.stat('device_type_string', 'TPU v5')) + runs.field(6, p.stat('global_chip_id', h))
        marks, modules, ops = p.line('Steps'), p.line('XLA Modules'), p.line('XLA Ops')
        at = (1 + 1300 * h) * us
        for s in range(steps):
            more = [sum(m for host, step, m in slow if (host, step) == (i, s)) for i in range(len(work_us))]
            last_us = max(map(sum, zip(work_us, more)))
            begin = at
            for name, dur_us, channel in (('fusion.1', own_us + more[h], 0), ('reduce-scatter.1', last_us - own_us - more[h] + 60, 1),
                                          ('all-reduce.1', 280, 2)):
                kind = name[:-2]
                text = (f'%{name} = f32[1024] {kind}(f32[4096] %p), channel_id={channel}, replica_groups={groups}, use_global_device_ids=true, '
                        'to_apply=%add' if channel else '%fusion.1 = f32[1024] fusion(f32[1024] %p), kind=kLoop')
                p.event(ops, p.meta(text, name, {'hlo_category': kind if channel else 'loop fusion', 'program_id': 7}), at, dur_us * us)
                at += dur_us * us
            p.event(marks, p.meta(str(s + 3)), begin, at - begin)
            p.event(modules, p.meta('jit_step(7)'), begin, at - begin, {'run_id': 100 + s})
        with open(os.path.join(folder, f'host{h}.xplane.pb'), 'wb') as f:
            f.write(runs.field(1, p.bytes()) + runs.field(4, f'host{h}'))


def late_device(data):
    """Of devices of a program on a CPU, the last comes to each collective 1 ms before its end."""
    space = xspace.parse(data)
    host = next(p[2] for p in space if p[0] == 1 and xspace.text(p[2], 2) == '/host:CPU')
    of_event, of_stat = ({xspace.text(xspace.get(e, 2), 2): xspace.get(e, 1) for e in xspace.get_all(host, n)} for n in (4, 5))
    for line in xspace.get_all(host, 3):
        for event in xspace.get_all(line, 4):
            stats = {xspace.get(s, 1): xspace.get(s, 3, xspace.get(s, 4)) for s in xspace.get_all(event, 4)}
            dur_ps = xspace.get(event, 3, 0)
            if xspace.get(event, 1) == of_event['all-reduce'] and stats.get(of_stat['device_ordinal']) == 3 and dur_ps > 10 ** 9:
                xspace.put(event, 2, xspace.get(event, 2, 0) + dur_ps - 10 ** 9)
                xspace.put(event, 3, 10 ** 9)
    return xspace.serialize(space)


def transfers_and_waits(c, scratch):
    """What is transfer and what is waiting is told apart only where all participants are there, and the longest transfer is named."""
    meeting_hosts(scratch, (500, 500, 920, 900))
    transfer, open_ = 'this is the transfer itself', 'so waiting for them and the transfer cannot be told apart'
    c.case(['summary', scratch], 0, rf'largest part in all-reduce.1: {transfer}, not waiting for a participant. Participants wait for each other during '
                                    r'another 33.3%, as several hosts, or devices of them, have more work in each step\.')
    c.case(['tool', 'exposed_communication', scratch], 0, '420 us of it waiting for late participants and 340 us transferring')
    # Steps of these numbers on every host: the tools over one host's steps and those over many call them alike.
    for tool in ('pod_viewer', 'host_steps'):
        table = {'pod_viewer': 'steps', 'host_steps': 'matrix'}[tool]
        c.check(f'numbers of steps of {tool}', sorted({r['step_num'] for r in rows(c, tool, scratch, table)}) == list(range(3, 11)), tool)
    alone = c.case(['summary', scratch, '--host', 'host0'], 0, open_)
    c.check('one host knows no transfer', transfer not in alone, alone[:300])
    # Two devices of a host meet each other, and the devices of hosts that are not asked for.
    alone = c.case(['summary', os.path.join(HOSTS, 'slow_gpu'), '--host', 'host0'], 0, open_)
    c.check('a host of two devices knows no transfer', transfer not in alone and 'arrives last' not in alone, alone[:300])
    os.remove(os.path.join(scratch, 'host3.xplane.pb'))
    some = c.case(['summary', scratch], 0, open_)
    c.check('some hosts know no transfer', transfer not in some, some[:300])
    some = c.case(['tool', 'exposed_communication', scratch], 0, 'waiting for the participants without a recording is not known')
    c.check('some hosts tell no waiting', 'transferring' not in some, some[:300])
    # One operation that takes longer is no slower clock.
    meeting_hosts(scratch + '_one', (500, 500, 920))
    verdict = (rows(c, 'stragglers', scratch + '_one', 'verdict') or [{}])[0]
    c.check('one operation takes longer', [verdict.get(k) for k in ('kind', 'host', 'cause')] == ['straggler', 'host2', 'compute'], verdict)
    # All participants of a program on a CPU may be devices of one process: nothing is missing then.
    of = os.path.join(HOSTS, 'cpu_devices')
    taking_part = {(r['participants'], r['expected']) for r in rows(c, 'collectives', of, 'collectives')}
    c.check('participants on one CPU', taking_part == {(4, 4)}, taking_part)
    c.case(['summary', of], 0, r'largest part in all-reduce: all 4 participants are devices of this host, and none of them computes meanwhile\.'
                               r'(.|\n)*straggler: the devices of a program on a CPU are judged together\n')
    # Without its program the recording does not say that these are all.
    with open(os.path.join(of, 'plugins', 'profile', 'run', 'vm.xplane.pb'), 'rb') as f:
        planes = xspace.parse(f.read())
    with open(scratch + '_late.xplane.pb', 'wb') as f:
        f.write(late_device(xspace.serialize(planes)))
    c.case(['summary', scratch + '_late.xplane.pb'], 0, r'all 4 participants are devices of this host, and the transfer takes at most \d+\.\d%; the rest is waiting '
                                                        r'for the last of them\.\n    - Give the participants equal work')
    bare = xspace.serialize([p for p in planes if p[0] != 1 or xspace.text(p[2], 2) != '/host:metadata'])
    with open(scratch + '_bare.xplane.pb', 'wb') as f:
        f.write(bare)
    c.case(['summary', scratch + '_bare.xplane.pb'], 0,
           r'all-reduce: the recording does not show which devices take part, so waiting for them and the transfer cannot be told apart\.'
           r'(.|\n)*straggler: the recording does not show which devices take part in its collective operations\n')
    c.case(['summary', os.path.join(profiles.ROOT, 'jax_2proc'), '--host', 'host0'], 0, r'straggler: participants are not in the recording\n', '')
    # A step is as long on all hosts: what the others do in it is wait.
    meeting_hosts(scratch + '_slow', (500, 505, 500), steps=12, slow=[(2, 7, 4000)])
    c.case(['summary', scratch + '_slow'], 0, '1 of 12 steps takes far longer .* step 10; the time goes to compute on host host2: fusion.1')
    # Too few steps: how many more would decide.
    for steps, more in ((5, '1 more step'), (4, '2 more steps')):
        meeting_hosts(f'{scratch}_{steps}', (500, 620), steps=steps)
        c.case(['tool', 'stragglers', f'{scratch}_{steps}'], 0, 'inconclusive',
               rf"'host1' held up the others in {steps - 1} of {steps - 1} steps, which may be chance: record at least {more} to learn")
    # Two processes of a host are no hosts of their own.
    of = os.path.join(ROOT, 'tests', 'data', 'torch', 'ranks')
    os.makedirs(scratch + '_ranks')
    for i, name in enumerate(sorted(os.listdir(of))):
        shutil.copyfile(os.path.join(of, name), os.path.join(scratch + '_ranks', f'node{i % 2}_{i}.' + name.split('.', 1)[1]))
    c.case(['summary', scratch + '_ranks'], 0, 'processes: node0_0, node0_2, node1_1, node1_3\n')
    # Ranks that name no host are no hosts, and how many hosts there are is not known.
    text = c.case(['summary', of], 0, r'processes: rank-0, rank-1, rank-2, rank-3\n.*Tasks +4\n')
    c.check('hosts that nobody names are not counted', 'Hosts' not in text and ' host rank-' not in text, text)
    c.case(['tool', 'host_steps', of], 0, 'of all 4 ranks are whole', 'each rank counts as a host of its own')
    c.case(['tool', 'distributed', of], 0, r'Total \(ms\) +Transfer \(ms\) +Waiting \(ms\)')


def verdict_of(c, path):
    done = c.run(['tool', 'stragglers', path, '--format', 'json'])
    answer = json.loads(done.stdout) if done.returncode == 0 else {'tables': [], 'notes': [], 'conclusion': {}}
    row = {col['id']: v[0] for t in answer['tables'] if t['name'] == 'verdict' for col, v in zip(t['cols'], t['data'])}
    return row.get('kind'), row.get('host'), json.dumps(answer['notes']), answer['conclusion'].get('text', '')


def number_of(b):
    return sum((x & 127) << 7 * i for i, x in enumerate(b))


# Nanoseconds since 1970 as a varint of nine bytes, in the years that the profiles are of.
start_of_recording = re.compile(rb'[\x80-\xff]{7}[\xeb-\xed]\x18')


def causes_that_devices_show(c):
    """A note that the host does not show why devices wait stands beside no cause."""
    for path, noted in (('profiles/synth_tpu1', True), ('profiles/synth_tpu_infeed', False), ('others/perfetto', False)):
        argv = ['tool', 'host_boundness', os.path.join(profiles.ROOT, '..', path), '--format', 'json']
        answer = json.loads(c.run(argv).stdout)
        causes = next(t['nrows'] for t in answer['tables'] if t['name'] == 'causes')
        note = 'does not show what the devices wait for' in json.dumps(answer['notes'])
        c.check(f'causes of {path}', (note, causes > 0) == (noted, not noted), (note, causes))


def steps_of_perfetto(c, scratch):
    """What marks steps in a trace of Perfetto, which knows neither Keras nor JAX; and it does mark them."""
    path = os.path.join(scratch, 'app.pftrace')

    def said(name):
        track = xspace.field(60, xspace.field(1, 7) + xspace.field(2, b'main')) + xspace.field(10, 1)
        packets = [track]
        for i in range(3):
            begin = xspace.field(9, 1) + xspace.field(11, 7) + xspace.field(23, f'{name}{i}'.encode())
            for at, event in ((0, begin), (900000, xspace.field(9, 2) + xspace.field(11, 7))):
                packets.append(xspace.field(8, 1000000 * (i + 1) + at) + xspace.field(10, 1) + xspace.field(11, event))
        with open(path, 'wb') as f:
            f.write(b''.join(xspace.field(1, p) for p in packets))
        return c.run(['summary', path]).stdout.decode()
    unmarked, marked = said('work'), said('ProfilerStep#')
    c.check('a trace of Perfetto is advised what it can hold', "'ProfilerStep#7'" in unmarked and 'Keras' not in unmarked, unmarked)
    c.check('what is advised marks steps', '3 steps of 900.0 us on average, marked by the program' in marked, marked)


def no_wrong_culprit(c, scratch):
    """Files of another job, copies, cut files and missing hosts among a run's: named, left out, and nobody is accused for them."""
    def made(name, case):
        run = os.path.join(scratch, name, 'plugins', 'profile', 'run')
        os.makedirs(run)
        for f in os.listdir(os.path.join(HOSTS, case, 'plugins', 'profile', 'run')):
            shutil.copyfile(os.path.join(HOSTS, case, 'plugins', 'profile', 'run', f), os.path.join(run, f))
        return os.path.join(scratch, name), run

    path, run = made('copied', 'slow_gpu')
    shutil.copyfile(os.path.join(run, 'host2.xplane.pb'), os.path.join(run, 'host7.xplane.pb'))
    kind, host, notes, _ = verdict_of(c, path)
    c.check('a copy', (kind, host) == ('straggler', 'host2') and "'host7' is a copy of 'host2'" in notes, (kind, host, notes))
    path, run = made('strange', 'slow_gpu')
    shutil.copyfile(os.path.join(HOSTS, 'late_input', 'plugins', 'profile', 'run', 'host1.xplane.pb'), os.path.join(run, 'host3.xplane.pb'))
    kind, host, notes, _ = verdict_of(c, path)
    c.check('a host of another job', (kind, host) == ('straggler', 'host2') and 'not compared with them: host3' in notes, (kind, host, notes))
    for host, hours in (('host1', 5), ('host2', -9), ('host1', 24 * 365)):
        path, run = made(f'{host}_{hours}', 'slow_gpu')
        with open(os.path.join(run, f'{host}.xplane.pb'), 'rb+') as f:
            moved = start_of_recording.sub(lambda m: varint(number_of(m[0]) + hours * 3600 * 10 ** 9), f.read())
            f.seek(0)
            f.write(moved)
        kind, who, notes, _ = verdict_of(c, path)
        months = '1 of 3 recordings began months after the first' in notes
        clocks = {r['host']: r for r in rows(c, 'collectives', path, 'clocks')}
        offset = clocks[host]['offset_us'] - (hours * 3.6e9 if hours < 1000 else 0)
        c.check(f'a clock {hours} hours off', (kind, who, months) == ('straggler', 'host2', hours > 1000) and clocks[host]['state'] == 'corrected' and
                all(r['uncertainty_us'] < 0.1 for r in clocks.values()) and (months or abs(offset) < 60), (kind, who, notes, clocks))
    path = os.path.join(scratch, 'unlinked')
    exports_of_nsys(path, {'a': {}, 'b': {}})
    kind, host, notes, _ = verdict_of(c, path)
    c.check('recordings that nothing links', (kind, host) == ('inconclusive', '') and 'of one job' in notes, (kind, host, notes))
    c.check('recordings of one time', 'another time' not in notes, notes)
    path = os.path.join(scratch, 'two_jobs')
    os.makedirs(path)
    for name in ('jax_mlp_train', 'tf_inputbound_steps'):
        shutil.copyfile(sole_profile(name), os.path.join(path, f'{name}.xplane.pb'))
    apart = r'1 of 2 hosts was recorded at another time .* tf_inputbound_steps \(\d+\.\d min later'
    c.case(['summary', path], 0, apart)
    c.case(['tool', 'stragglers', path], 0, None, apart)
    path, run = made('middle', 'slow_gpu')
    os.remove(os.path.join(run, 'host1.xplane.pb'))
    kind, host, notes, _ = verdict_of(c, path)
    c.check('a host in the middle is missing', host in ('host2', '') and kind != 'balanced' and 'have no recording here' in notes and 'host1' in notes, (kind, host, notes))
    path, run = made('cut_other', 'slow_gpu')
    with open(os.path.join(run, 'host0.xplane.pb'), 'rb+') as f:
        f.truncate(os.path.getsize(f.name) // 2)
    kind, host, notes, _ = verdict_of(c, path)
    c.check('a host that is in time is cut', host in ('host2', '') and kind != 'balanced' and 'end early and are not compared' in notes and 'host0' in notes, (kind, host, notes))
    came = {(r['participants'], r['expected']) for r in rows(c, 'collectives', path, 'collectives') if r['step_num'] >= 0}
    c.check('devices of a host that is cut before its program are expected', came == {(4, 6)}, came)
    for what in ('missing', 'cut'):
        path, run = made(what, 'slow_gpu')
        late = os.path.join(run, 'host2.xplane.pb')
        if what == 'cut':
            with open(late, 'rb+') as f:
                f.truncate(os.path.getsize(late) // 2)
        else:
            os.remove(late)
        kind, host, notes, text = verdict_of(c, path)
        c.check(f'the late host is {what}', (kind, host) == ('inconclusive', '') and 'wait for' in notes and 'host2' in notes and
                'do not say whether' in text, (kind, host, notes, text))


def exports_of_nsys(path, exports):
    """Copies of an export, each told when (seconds), for how long, on which machine and in which job of Slurm it was recorded."""
    os.makedirs(path)
    source = os.path.join(profiles.ROOT, '..', 'others', 'nsys', 'run', 'node7.sqlite')
    for name, told in exports.items():
        copy = os.path.join(path, f'{name}.sqlite')
        shutil.copyfile(source, copy)
        with contextlib.closing(sqlite3.connect(copy)) as db, db:
            db.execute('update TARGET_INFO_SESSION_START_TIME set utcEpochNs = utcEpochNs + ?', (told.get('at', 0) * 10 ** 9,))
            db.execute('update TARGET_INFO_SYSTEM_ENV set value = ?', (told.get('machine', 'node7'),))
            if 'lasts' in told:
                db.execute('create table ANALYSIS_DETAILS(globalVid, duration, startTime, stopTime)')
                db.execute('insert into ANALYSIS_DETAILS values (1, 0, 1000, ?)', (told['lasts'] * 10 ** 9,))
            if 'job' in told:
                db.execute('create table META_DATA_CAPTURE(name, value)')
                for variable, value in zip(('SLURM_JOB_ID', 'SLURM_STEP_ID'), told['job']):
                    db.execute('insert into META_DATA_CAPTURE values (?, ?)', ('PROCESS_0:ENVIRONMENT_VARIABLE', f'{variable}="{value}"'))


def runs_of(c, path):
    """The hosts of each run that is listed, by its name."""
    rows = [re.split(r' {2,}', line.strip()) for line in c.run(['runs', path, '--quick']).stdout.decode().splitlines()]
    return {row[0]: row[-1].split() for row in rows}


def exports_in_one_directory(c, scratch):
    """Exports of Nsight Systems are hosts of one run only if something says that they belong together."""
    one, apart = [['a', 'b']], [['a'], ['b']]
    for what, a, b, want in (
            ('an hour apart', {}, {'at': 3600}, apart),
            ('at one time', {'lasts': 60}, {'at': 50, 'lasts': 60}, one),
            ('one after the other on a machine', {'lasts': 4}, {'at': 5, 'lasts': 4}, apart),
            ('seconds apart on two machines', {'lasts': 4}, {'at': 5, 'lasts': 4, 'machine': 'node8'}, one),
            ('minutes apart on two machines', {'lasts': 4}, {'at': 300, 'lasts': 4, 'machine': 'node8'}, apart),
            ('minutes apart in a job on two machines', {'lasts': 4, 'job': (7, 0)}, {'at': 300, 'lasts': 4, 'machine': 'node8', 'job': (7, 0)}, one),
            ('at one time in two jobs', {'lasts': 60, 'job': (7, 0)}, {'lasts': 60, 'machine': 'node8', 'job': (8, 0)}, apart),
            ('in turn in a job', {'lasts': 4, 'job': (7, 0)}, {'at': 30, 'lasts': 4, 'job': (7, 0)}, apart)):
        path = os.path.join(scratch, what.replace(' ', '_'))
        exports_of_nsys(path, {'a': a, 'b': b})
        name = os.path.basename(path)
        c.check(f'exports {what}', runs_of(c, path) == {f'{name}.{hosts[0]}' if want is apart else name: hosts for hosts in want}, runs_of(c, path))
    path = os.path.join(scratch, 'messages')
    exports_of_nsys(path, {'a': {}})
    with contextlib.closing(sqlite3.connect(os.path.join(path, 'a.sqlite'))) as db, db:
        db.execute("delete from NVTX_EVENTS where text like 'step%' or text like 'aten%'")
        db.execute("update CUPTI_ACTIVITY_KIND_RUNTIME set end = end + 200000 where nameId = 4")
        db.executemany("insert into NVTX_EVENTS(start, end, eventType, text, globalTid) select ?, ?, 59, 'MPI_Recv', globalTid from ThreadNames",
                       [(at + 735_000, at + 1_000_000) for at in range(0, 4_000_000, 1_000_000)])
    text = c.run(['summary', path]).stdout.decode()
    c.check('calls of MPI are communication', re.search(r'Exposed communication .* MPI_Recv: the other participants are not in the recording', text) and
            'own code' not in text and 'NVTX range' in text, text)
    c.check('a program that shows no Python gets no advice on Python or training', not re.search('Python|batch|gradients', text), text)
    # The newest run is the one that was recorded last, not the file that was copied last.
    c.case(['summary', os.path.join(scratch, 'an_hour_apart')], 0, r'an_hour_apart\.b, ')
    many = os.path.join(scratch, 'chain')
    exports_of_nsys(many, {f'n{i}': {'at': 8 * i, 'lasts': 10} for i in range(5)})
    with open(os.path.join(many, 'torn.sqlite'), 'wb') as f:
        f.write(b'SQLite format 3\0' + bytes(300))
    want = {'chain.n0': [f'n{i}' for i in range(5)], 'chain.torn': ['torn']}
    c.check('exports that overlap one after the other', runs_of(c, many) == want, runs_of(c, many))


def advice_of_the_program(c, scratch):
    """PyTorch is recognised without its operators, and transfers between slices of TPUs are communication."""
    os.makedirs(scratch)
    for rank, late in ((0, 0), (1, 3000)):
        events = []
        for step in range(8):
            at = 10_000 * step
            events += [{'ph': 'X', 'cat': 'user_annotation', 'name': f'ProfilerStep#{step}', 'pid': 1, 'tid': 1, 'ts': at, 'dur': 9000},
                       {'ph': 'X', 'cat': 'cpu_op', 'name': 'c10d::allreduce_', 'pid': 1, 'tid': 1, 'ts': at + 3000 + late, 'dur': 50},
                       {'ph': 'X', 'cat': 'user_annotation', 'name': 'gloo:all_reduce', 'pid': 1, 'tid': 2, 'ts': at + 3005 + late, 'dur': 5000 - late}]
        trace = {'schemaVersion': 1, 'host_name': 'vm', 'distributedInfo': {'backend': 'gloo', 'rank': rank, 'world_size': 2}, 'traceEvents': events}
        with open(os.path.join(scratch, f'rank-{rank}.json'), 'w') as f:
            json.dump(trace, f)
    c.case(['summary', scratch], 0, r"DistributedDataParallel's no_sync\(\)")
    text = c.case(['summary', os.path.join(profiles.ROOT, 'synth_dcn_2hosts')], 0, 'Exposed communication .* in recv-done.1')
    c.check('transfers between slices are no copies', 'copies' not in text, text)


def sole_profile(name):
    for folder, _, files in os.walk(os.path.join(ROOT, 'tests', 'data', 'profiles', name)):
        for f in files:
            if f.endswith('.xplane.pb'):
                return os.path.join(folder, f)
    raise FileNotFoundError(name)


def scattered(c, scratch):
    """Hosts whose profilers began seconds apart are in runs of their own: one recording for every command, unless asked for one run."""
    of = os.path.join(HOSTS, 'late_input', 'plugins', 'profile', 'run')
    for i, f in enumerate(sorted(os.listdir(of))):
        run = os.path.join(scratch, 'plugins', 'profile', f'2026_11_20_10_00_0{3 * i}')
        os.makedirs(run)
        shutil.copyfile(os.path.join(of, f), os.path.join(run, f))
    together = os.path.join(HOSTS, 'late_input')
    for args in (['tool', 'stragglers'], ['tool', 'overview_page'], ['tool', 'hlo_stats'], ['summary']):
        got, want = (json.loads(c.run([*args, p, '--format', 'json']).stdout) for p in (scratch, together))
        hosts = [answer.get('profile', {}).get('hosts') for answer in (got, want)]
        c.check(f'{args[-1]} of scattered hosts', got.get('tables') == want.get('tables') and got.get('findings') == want.get('findings') and
                hosts[0] == hosts[1], str(got)[:300])
    first = '2026_11_20_10_00_00'
    c.case(['tool', 'stragglers', scratch], 0, None, 'recordings are taken from 3 runs: 2026_11_20_10_00_00, 2026_11_20_10_00_03, ')
    # A format says how an answer is written, not of which hosts.
    ask = ['tool', 'framework_op_stats', '--host', 'ALL_HOSTS', '--format', 'xprof']
    whole, got, alone = (c.run([*ask, *of]).stdout for of in ([together], [scratch, '--run', first], [scratch, '--run', first, '--alone']))
    c.check('scattered hosts in the format of XProf', got == whole and alone != whole, str(got)[:300])
    c.case(['summary', scratch, '--run', first], 0, r'hosts: host0, host1, host3.*1 of 4 hosts is not in the recording: host2')
    c.case(['summary', scratch, '--run', first, '--alone'], 0, r'host: host0\n')
    c.case(['tool', 'host_steps', scratch, '--run', first, '--alone', '--format', 'csv', '--table', 'hosts'], 0, '"host1","missing"')
    c.case(['tool', 'stragglers', scratch, '--run', first, '--alone'], 0, 'figures do not say', 'only one host has a complete recording')
    c.case(['summary', scratch, '--run', first, '--host', 'host3'], 0, r'host: host3\n')
    # Recorded on other days: their names alone say that they began seconds apart.
    apart = scratch + '_apart'
    for i, profile in enumerate(('jax_mlp_train', 'tf_inputbound_steps')):
        run = os.path.join(apart, 'plugins', 'profile', f'2026_11_20_10_00_0{i}')
        os.makedirs(run)
        shutil.copyfile(sole_profile(profile), os.path.join(run, f'machine{i}.xplane.pb'))
        c.case(['summary', apart, '--run', os.path.basename(run)], 0, rf'host: machine{i}\n')
    # Clocks that are seconds apart: the program that ran on the devices says that the recordings are one.
    for name, programs, hosts in (('clocks', (1234567890, 1234567890), 2), ('programs', (1234567890, 9876543210), 1)):
        for i, program in enumerate(programs):
            run = os.path.join(f'{scratch}_{name}', 'plugins', 'profile', f'2026_11_20_10_00_0{i}')
            os.makedirs(run)
            device, env = runs.Plane(1, '/device:TPU:0'), runs.Plane(2, 'Task Environment')
            device.event(device.line('XLA Modules'), device.meta(f'jit_step({program})'), 0, 10 ** 9)
            begin = 1790000000000000000 + i * 3 * 10 ** 9
            env.stats = b''.join(runs.field(6, env.stat(f'profile_{what}_time', at)) for what, at in (('start', begin), ('stop', begin + 10 ** 7)))
            with open(os.path.join(run, f'host{i}.xplane.pb'), 'wb') as f:
                f.write(runs.field(1, device.bytes()) + runs.field(1, env.bytes()))
        got = json.loads(c.run(['summary', f'{scratch}_{name}', '--format', 'json']).stdout)
        c.check(f'recordings seconds apart by their {name}', len(got['profile']['hosts']) == hosts, str(got['profile']))


def clocks_by_name(c, scratch):
    """host10 stands before host2 among files and behind it among hosts: each has its own clock, and arrows lead to its own tracks."""
    of = os.path.join(HOSTS, 'slow_gpu', 'plugins', 'profile', 'run')
    os.makedirs(scratch)
    for was, name in (('host0', 'host10'), ('host1', 'host2'), ('host2', 'host3')):
        shutil.copyfile(os.path.join(of, f'{was}.xplane.pb'), os.path.join(scratch, f'{name}.xplane.pb'))
    query = """SELECT MAX(at) - MIN(at) AS apart_ps, COUNT(*) AS hosts FROM (SELECT host, MAX(end_ps) AS at FROM events
               WHERE plane GLOB '/device:GPU:0' AND name GLOB 'nccl*AllReduce*' GROUP BY host)"""
    got = json.loads(c.run(['sql', scratch, query, '--clocks', 'aligned', '--format', 'json']).stdout)
    c.check('hosts leave a collective together, whatever the order of their names', got[0]['hosts'] == 3 and got[0]['apart_ps'] < 200000, str(got))
    c.case(['summary', scratch], 0, 'hosts: host2, host3, host10\n')
    for tool, table, column in (('plane_stats', 'planes', 'host'), ('host_boundness', 'devices', 'host'), ('pod_viewer', 'topology', 'host_name')):
        hosts = list(dict.fromkeys(r[column] for r in rows(c, tool, scratch, table)))
        c.check(f'the order of hosts in {tool}', hosts == ([] if tool == 'pod_viewer' else ['host2', 'host3', 'host10']), hosts)
    # A TPU's cores stand by step, and in it by host; XProf's clients get XProf's order.
    meeting_hosts(scratch + '_cores', [500] * 11, steps=2)
    hosts = [r['host_name'] for r in rows(c, 'pod_viewer', scratch + '_cores', 'cores')]
    c.check('the order of cores', hosts == [f'host{i}' for i in range(11)] * 2, hosts)
    got = c.run(['tool', 'pod_viewer', scratch + '_cores', '--format', 'xprof']).stdout.decode()
    c.check('the order of cores for XProf', re.findall(r'"hostName": *"(host\d+)"', got)[:4] in ([], ['host0', 'host1', 'host10', 'host2']), got[:300])


OF_PARTS = ('host_steps', 'stragglers', 'exposed_communication', 'collectives', 'critical_path', 'what_if', 'overview_page', 'input_pipeline_analyzer',
            'framework_op_stats', 'kernel_stats', 'host_boundness', 'pod_viewer', 'smart_suggestion', 'plane_stats', 'inference_profile',
            'megascale_stats', 'distributed', 'tf_data_bottleneck_analysis')


def parts_of_all_kinds(c, scratch):
    """Hosts of every kind in one, two and five shards, read in any order: each tool that parts answer, and the summary, as from the files."""
    samples = [os.path.join(profiles.ROOT, s) for s in ('jax_2proc', 'tf_server_2hosts', 'synth_tpu_serving', 'synth_dcn_2hosts', 'synth_gpu_unlike_hosts',
                                                        'synth_tpu_barriers', 'tpu_v6e_inference', 'synth_tpu_errors', 'tf_keras_fast')]
    os.makedirs(scratch)
    for path in [*samples, os.path.join(HOSTS, 'late_input'), os.path.join(HOSTS, 'slow_gpu'), os.path.join(HOSTS, '..', 'torch', 'ranks')]:
        name = os.path.basename(path)
        want = {t: c.run(['tool', t, path, '--host', 'ALL_HOSTS', '--format', 'json']).stdout for t in OF_PARTS}
        summary = c.run(['summary', path, '--format', 'json']).stdout
        for n in (1, 2, 5):
            out = os.path.join(scratch, f'{name}-{n}')
            for i in reversed(range(n)):
                c.run(['reduce', path, '--shard', f'{i}/{n}', '--out', out])
            for tool, answer in want.items():
                got = c.run(['tool', tool, out, '--format', 'json'])
                c.check(f'{tool} of {n} parts of {name}', got.returncode == 0 and got.stdout == answer, got.stderr[:300])
            got = c.run(['summary', out, '--format', 'json'])
            c.check(f'summary of {n} parts of {name}', got.returncode == 0 and got.stdout == summary, got.stderr[:300])
            for form in ('xprof', 'csv'):
                got, files = (c.run(['tool', 'overview_page', p, '--host', 'ALL_HOSTS', '--format', form]) for p in (out, path))
                c.check(f'overview_page of {n} parts of {name} as {form}', got.returncode == 0 and got.stdout == files.stdout, got.stderr[:300])


def elements_of_parts(c, scratch):
    """What input pipelines did for each element is of a part only where it is little of the recording: else its host is named."""
    os.makedirs(scratch)
    for n, holds in ((900, True), (1300, False)):
        host = runs.Plane(1, '/host:CPU')
        pool = host.line('tf_data_iterator_get_next')
        for i in range(n):
            host.event(pool, host.meta('Iterator::Range'), i * 1000000, 500000, {'id': 1})
        path, out = os.path.join(scratch, f'elements{n}.xplane.pb'), os.path.join(scratch, f'parts{n}')
        with open(path, 'wb') as f:
            f.write(runs.field(1, host.bytes()))
        files = c.run(['tool', 'tf_data_bottleneck_analysis', path, '--format', 'json'])
        rows = next(t['nrows'] for t in json.loads(files.stdout)['tables'] if t['name'] == 'calls')
        c.check(f'{n} elements', rows == n, rows)
        c.run(['reduce', path, '--out', out])
        got = c.run(['tool', 'tf_data_bottleneck_analysis', out, '--format', 'json'])
        if holds:
            c.check(f'{n} elements of a part', got.stdout == files.stdout, got.stderr)
        else:
            says = f"the input pipelines of 'elements{n}' have {n} stages of elements, more than a part holds: give its profile itself"
            c.check(f'{n} elements are too many for a part', got.returncode == 1 and says in got.stderr.decode(), got.stderr)
        c.case(['tool', 'plane_stats', out], 0, 'host:CPU')


def parts(c, scratch):
    """Shards in any order, retries, losses and damage: the same bytes as one process, or a refusal that names who and what."""
    for sample in ('jax_2proc', 'synth_tpu_3hosts'):
        path = os.path.join(profiles.ROOT, sample)
        ask = {t: c.run(['tool', t, path, '--format', 'json']).stdout for t in OF_PARTS}
        out = os.path.join(scratch, sample)
        for i in (2, 0, 1, 0):      # one of them twice
            c.case(['reduce', path, '--shard', f'{i}/3', '--out', out], 0, '', rf'shard {i}/3 by --shard')
        for merged in (False, True):
            for tool, want in ask.items():
                got = c.run(['tool', tool, out, '--format', 'json'])
                c.check(f'{tool} of parts of {sample}, merged {merged}', got.returncode == 0 and got.stdout == want, got.stderr[:300])
            c.case(['merge', out], 0, '', 'of .* hosts in')
        c.case(['tool', 'event_stats', out], 1, '', "event_stats needs the profiles themselves.*run 'stepscope tool event_stats LOGDIR'.*overview_page")
        summary = [c.run(['summary', p]).stdout.replace(p.encode(), b'PATH') for p in (path, out)]
        c.check(f'summary of parts of {sample}', summary[0] == summary[1], summary[1][:300])
    # Sums that the skeletons tell are not stored again.
    for sample, most in (('late_input', 0.2), ('slow_gpu', 0.09)):
        path, out = os.path.join(HOSTS, sample), os.path.join(scratch, 'small-' + sample)
        read = re.search(rb'(\d+) bytes read', c.run(['reduce', path, '--shard', '0/1', '--out', out]).stderr)
        size = os.path.getsize(os.path.join(out, 'part-0-of-1.ssp'))
        c.check(f'a part of {sample} is small', size < most * int(read[1]), f'{size} of {int(read[1])} bytes')
    path = os.path.join(profiles.ROOT, 'synth_tpu_3hosts')
    lost = os.path.join(scratch, 'lost')
    for i in (0, 2):
        c.run(['reduce', path, '--shard', f'{i}/3', '--out', lost])
    c.case(['merge', lost], 1, '', r'shard 1/3: host1 is lost.*1 of 3 parts are missing')
    c.case(['tool', 'stragglers', lost], 1, '', '1 of 3 parts are missing')
    c.case(['merge', lost, '--partial', '--output', os.path.join(scratch, 'two.ssp')], 0, '', '2 of 3 hosts')
    c.case(['tool', 'host_steps', os.path.join(scratch, 'two.ssp'), '--format', 'csv', '--table', 'hosts'], 0, '"host1","missing"')
    c.run(['reduce', path, '--shard', '1/4', '--out', lost])
    c.case(['merge', lost], 1, '', 'do not belong together')
    os.remove(os.path.join(lost, 'part-1-of-4.ssp'))
    c.run(['reduce', os.path.join(profiles.ROOT, 'jax_2proc'), '--shard', '1/3', '--out', lost])
    c.case(['merge', lost], 1, '', "both called 'run' and have other hosts: they do not belong together")
    part = os.path.join(lost, 'part-0-of-3.ssp')
    with open(part, 'rb') as f:
        whole = f.read()
    for damage, why in ((whole[:-9], 'truncated or damaged|cut short or damaged'), (whole[:60] + bytes([whole[60] ^ 1]) + whole[61:], 'damaged'),
                        (whole.replace(b'stepscope part ', b'stepscope part 9', 1), 'another version'), (b'', 'not a part')):
        with open(part, 'wb') as f:
            f.write(damage)
        c.case(['merge', lost], 1, '', why)


def shard_numbers(c, scratch):
    """Where a shard's number comes from: engines set it in the environment."""
    path = os.path.join(profiles.ROOT, 'synth_tpu_3hosts')
    clean = {k: v for k, v in os.environ.items() if not re.match('SLURM|OMPI|PMI|JOB_COMPLETION|STEPSCOPE', k)}
    cases = [
        ({'JOB_COMPLETION_INDEX': '1', 'STEPSCOPE_SHARDS': '3'}, [], 0, '1/3 by JOB_COMPLETION_INDEX'),
        ({'JOB_COMPLETION_INDEX': '1'}, [], 2, 'the number of shards is not known'),
        ({'JOB_COMPLETION_INDEX': '2'}, ['--shard', '/3'], 0, '2/3'),
        ({'SLURM_ARRAY_TASK_ID': '3', 'SLURM_ARRAY_TASK_MIN': '1', 'SLURM_ARRAY_TASK_COUNT': '5', 'SLURM_PROCID': '0', 'SLURM_NTASKS': '1'},
         [], 0, '2/5 by SLURM_ARRAY_TASK_ID'),
        ({'SLURM_ARRAY_TASK_ID': '8', 'SLURM_ARRAY_TASK_MIN': '4', 'SLURM_ARRAY_TASK_STEP': '2', 'SLURM_ARRAY_TASK_COUNT': '5'}, [], 0, '2/5'),
        ({'SLURM_ARRAY_TASK_ID': '3', 'SLURM_ARRAY_TASK_MIN': '3', 'SLURM_ARRAY_TASK_COUNT': '1'}, ['--shard', '/5'], 0, '3/5'),
        ({'OMPI_COMM_WORLD_RANK': '1', 'OMPI_COMM_WORLD_SIZE': '2'}, [], 0, '1/2 by OMPI'),
        ({'PMI_RANK': '0', 'PMI_SIZE': '2'}, [], 0, '0/2 by PMI_RANK'),
        ({'SLURM_PROCID': '1', 'SLURM_NTASKS': '2'}, [], 0, '1/2 by SLURM_PROCID'),
        ({}, ['--shard', '3/3'], 2, 'no shard 3 of 3'),
        ({}, ['--shard', 'x'], 2, 'not a shard'),
        ({}, ['--shard', '/3'], 2, 'the number of this one is not known'),
        ({}, [], 0, 'shard 0/1:'),
    ]
    for i, (env, args, status, says) in enumerate(cases):
        done = c.run(['reduce', path, *args, '--out', os.path.join(scratch, f'n{i}')], env={**clean, **env})
        err = done.stderr.decode()
        c.check(f'shard number of {env} {args}', done.returncode == status and says in err, f'status {done.returncode}, {err[:300]}')


# What acts on a terminal or reorders the text around it; a line may end.
ACTS = re.compile('[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]')


def terminal(c, scratch):
    """Names in profiles, and of files and directories, are text: none acts on the terminal, in any command."""
    with open(os.path.join(profiles.ROOT, 'tf_inputbound_steps', 'plugins', 'profile', 'run', 'vm.xplane.pb'), 'rb') as f:
        data = f.read()
    for i, (piece, hostile) in enumerate(((b'us', '\x1b['), (b'or', '\n\r'), (b'at', '\x9b'), (b'rat', '\u202e'), (b'on', '\x07\x7f'))):
        top = os.path.join(scratch, f'term{i}{hostile}31mx')
        run = os.path.join(top, 'plugins', 'profile', f'r{hostile}x')
        os.makedirs(run)
        with open(os.path.join(run, f'h{hostile}2J.xplane.pb'), 'wb') as f:
            f.write(data.replace(piece, hostile.encode()))
        history, parts_dir = os.path.join(scratch, f'history{i}'), os.path.join(scratch, f'term_parts{i}')
        commands = [['tool', tool, top] for tool in ('overview_page', 'framework_op_stats', 'memory_profile', 'trace_viewer', 'plane_stats', 'host_steps', 'stragglers', 'flame_graph', 'op_profile')]
        commands += [['summary', top], ['tools', top], ['runs', '--all', top], ['doctor', top], ['sql', top, 'SELECT * FROM events LIMIT 99'], ['sql', top, 'SELECT * FROM hosts'],
                     ['diff', top, SAMPLE], ['diff', '--format', 'md', top, os.path.join(profiles.ROOT, 'tf_inputbound_steps')], ['gate', top, SAMPLE],
                     ['track', 'add', history, top], ['track', 'show', history], ['track', 'check', history],
                     ['export', top, '--to', 'perfetto', '--output', os.path.join(scratch, 'term.out')],
                     ['reduce', top, '--out', parts_dir], ['merge', parts_dir], ['tool', 'none', top], ['summary', top + '/none']]
        for args in commands:
            done = c.run(args)
            text = done.stdout.decode() + done.stderr.decode()
            found = ACTS.search(text)
            c.check(f'{args[:2]} with {hostile!r} in its names', not found and done.returncode >= 0, text[max(0, found.start() - 80):found.end() + 20] if found else text)


def documents(c):
    manual = os.path.join(ROOT, 'man', 'stepscope.1')
    with open(manual) as f:
        synopsis = f.read().replace('\\-', '-').split('.SH SYNOPSIS')[1].split('.SH DESCRIPTION')[0].splitlines()
    for usage in c.run(['help']).stdout.decode().splitlines():
        if usage.startswith('stepscope '):
            c.check(f'manual: {" ".join(usage.split()[:2])}', usage in synopsis, f'the synopsis of {manual} lacks "{usage}"')
    tools = []
    for folder in ('tools', 'legacy'):
        with open(os.path.join(ROOT, 'src', folder, 'tools.def')) as f:
            tools += re.findall(r'^TOOL\((\w+)\)', f.read(), re.M)
    c.check('lists of tools', len(tools) > 20, tools)
    for tool in tools:
        # "trace_viewer@", which no identifier can be, shares the page of trace_viewer.
        path = os.path.join(ROOT, 'docs', 'tools', tool.removesuffix('_stream') + '.md')
        c.check(f'page of {tool}', os.path.exists(path), f'{path} is missing')


def sentences(c, tool, path, *flags):
    """What a tool concludes, and the rows of its first table."""
    answer = json.loads(c.run(['tool', tool, path, '--format', 'json', *flags]).stdout)
    t, said = answer['tables'][0], answer['conclusion'] or {'text': '', 'more': []}
    return ' '.join([said['text'], *said['more']]), [dict(zip([col['id'] for col in t['cols']], row)) for row in zip(*t['data'])]


def only_what_is_known(c):
    """What has no duration takes no time, and a saving is the largest of those that are known."""
    said, rows = sentences(c, 'event_stats', os.path.join(profiles.ROOT, 'synth_counters_v7x'))
    c.check('events without durations', rows and not any(r['total_ps'] for r in rows) and said == 'No event that matches has a duration.', said)
    for name, is_largest in (('gpu_mi300_gemm', False), ('synth_tpu_infeed', True), ('gpu_1080ti', True)):
        answer = json.loads(c.run(['tool', 'op_profile', os.path.join(profiles.ROOT, name), '--format', 'json']).stdout)
        t, said = answer['tables'][1], ' '.join([answer['conclusion']['text'], *answer['conclusion']['more']])
        rows = [dict(zip([col['id'] for col in t['cols']], row)) for row in zip(*t['data'])]
        saving = rows[int(t['props']['largest_target']['value'])]['wasted_frac']
        unknown = [r['name'] for r in rows if r['is_op'] and r['category'] != 'IDLE' and (r['time_frac'] or 0) > saving and r['wasted_frac'] is None]
        c.check(f'{name}: the largest saving', (not unknown) == is_largest and ('saving among the operations whose work (FLOPs, bytes) is known' in said) != is_largest, f'{said} {unknown[:9]}')


def largest_of_all_devices(c):
    """The largest operation has the time of all devices, one of which is slow at it."""
    path = os.path.join(os.path.dirname(HERE), 'data', 'hosts', 'slow_gpu')
    found = json.loads(c.run(['summary', path, '--format', 'json']).stdout)['findings']
    told = re.search(r'the largest is (\S+) at ([\d.]+)%', ' '.join(f['text'] for f in found))
    kernels = sentences(c, 'kernel_stats', path, '--host', 'ALL_HOSTS')[1]
    whole_us = sum(r['window_ps'] for r in sentences(c, 'host_boundness', path, '--host', 'ALL_HOSTS')[1]) / 1e6
    of_name = collections.Counter()
    for r in kernels:
        of_name[r['kernel_name']] += 100 * r['total_duration_us'] / whole_us
    right = told and abs(float(told.group(2)) - of_name[told.group(1)]) < 0.2
    c.check('the largest operation has the time of all devices', right, f'{told and told.group(0)} {of_name.most_common(3)}')


def kernels_by_full_name(c, scratch):
    """Kernels that share a short name are not one kernel, and nothing is said of operators that were not recorded."""
    os.makedirs(scratch)
    kernels = [(f'void k::reduce_kernel<float, {flag}>(float const*, int)', us) for flag, us in (('true', 60), ('false', 50))] + [('copy_kernel', 80)]
    events = [{'ph': 'X', 'cat': 'kernel', 'name': name, 'pid': 0, 'tid': 7, 'ts': 1000 * i, 'dur': us, 'args': {'device': 0, 'stream': 7, 'correlation': i + 1}}
              for i, (name, us) in enumerate(kernels)]
    path = os.path.join(scratch, 'rank-0.json')
    with open(path, 'w') as f:
        json.dump({'schemaVersion': 1, 'host_name': 'vm', 'deviceProperties': [{'id': 0, 'name': 'NVIDIA A100'}], 'traceEvents': events}, f)
    said, rows = sentences(c, 'kernel_stats', path)
    c.check('two kernels have one short name', len({r['kernel_name'] for r in rows}) == 3 and len({r['kernel_short'] for r in rows}) == 2, str(rows))
    c.check('sequences of unknown operators are not denied', sentences(c, 'kernel_sequences', path)[0] == '', sentences(c, 'kernel_sequences', path)[0])
    events += [{'ph': 'X', 'cat': 'cpu_op', 'name': 'aten::f', 'pid': 1, 'tid': 1, 'ts': 0, 'dur': 500}]
    events += [{'ph': 'X', 'cat': 'cuda_runtime', 'name': 'cudaLaunchKernel', 'pid': 1, 'tid': 1, 'ts': 10 + 10 * i, 'dur': 5, 'args': {'correlation': i + 1}} for i in range(3)]
    with open(os.path.join(scratch, 'rank-1.json'), 'w') as f:
        json.dump({'schemaVersion': 1, 'host_name': 'vm', 'deviceProperties': [{'id': 0, 'name': 'NVIDIA A100'}], 'traceEvents': events}, f)
    once, _ = sentences(c, 'kernel_sequences', os.path.join(scratch, 'rank-1.json'))
    c.check('a sequence that runs once', '3 kernels, 1 time, 190 us on the device' in once, once)
    c.check('the kernel of most time is one kernel', "The kernel 'copy_kernel' takes the most time: 80 us of 190 us (42.1%) of all kernels, in 1 launch." in said, said)


def check_all(binary, scratch):
    c = Checks(binary)
    for part in (misuse, stray_file, help_and_version, answers, conclusions, same_bytes_same_answer, sums_are_told, shares_agree, only_what_is_known, causes_that_devices_show, late_hosts, full_disk, riegeli, output_is_stdout,
                 kept_output, output_is_the_profile, versions, documents):
        part(c)
    for part in (bad_input, older_files, bombs, packed_packets, one_answer_about_steps, parts, steps_of_perfetto, no_wrong_culprit, shard_numbers, programs, programs_of_hosts, terminal,
                 files_without_hostnames):
        part(c, scratch)
    parts_of_all_kinds(c, os.path.join(scratch, 'kinds'))
    elements_of_parts(c, os.path.join(scratch, 'elements'))
    advice_of_the_program(c, os.path.join(scratch, 'advice'))
    work_of_a_cut_host(c, os.path.join(scratch, 'cut_host'))
    names_lost(c, os.path.join(scratch, 'names_lost'))
    transfers_and_waits(c, os.path.join(scratch, 'meeting'))
    scattered(c, os.path.join(scratch, 'scattered'))
    exports_in_one_directory(c, os.path.join(scratch, 'exports'))
    clocks_by_name(c, os.path.join(scratch, 'names'))
    largest_of_all_devices(c)
    kernels_by_full_name(c, os.path.join(scratch, 'kernels'))
    return c


if __name__ == '__main__':
    sys.exit(checks.main('cli', check_all))
