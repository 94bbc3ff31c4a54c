#!/usr/bin/env python3
"""stepscope diff and gate on runs whose difference is known: verdicts, sums, matching, formats, limits, bad input."""
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import checks
import runs
import serving

OPS = 'compute', 'exposed_communication', 'copies', 'input', 'output'


class Checks(checks.Counts):
    def __init__(self, binary, scratch):
        self.binary, self.scratch = binary, scratch

    def run(self, args, env=None):
        done = subprocess.run([self.binary, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                              stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def side(self, name, **args):
        return runs.side(os.path.join(self.scratch, name), **args)

    def diff(self, base, new, *more):
        code, out, err = self.run(['diff', '--format', 'json', *sides(base, new), *more])
        self.check('diff answers', code == 0 and out.startswith('{'), f'status {code}: {err}')
        return Answer(json.loads(out))

    def gate(self, base, new, limits, *more):
        code, out, err = self.run(['gate', '--format', 'json', '--max', limits, *sides(base, new), *more])
        answer = Answer(json.loads(out)) if out.startswith('{') else None
        self.check('gate says its status', answer is None or answer.all['exit'] == code, f'status {code}: {err}')
        return code, answer


def sides(base, new):
    return [x for p in base for x in ('--base', p)] + [x for p in new for x in ('--new', p)]


class Answer:
    def __init__(self, result):
        self.all = result
        self.tables = {t['name']: t for t in result['tables']}

    def rows(self, name):
        t = self.tables[name]
        return [dict(zip((c['id'] for c in t['cols']), r)) for r in zip(*t['data'])]

    def prop(self, table, name):
        return self.tables[table]['props'][name]['value']

    def metric(self, name):
        return next(r for r in self.rows('metrics') if r['metric'] == name)

    def part(self, name):
        return next(r for r in self.rows('breakdown') if r['component'] == name)

    def words(self):
        return ' '.join([self.all['conclusion']['text'], *self.all['conclusion']['more']])


def adds_up(c, what, a):
    rows = a.rows('breakdown')
    total = sum(r['delta_us'] for r in rows)
    c.check(f'{what}: rows sum to the period', abs(total - a.prop('breakdown', 'step_period_delta_us')) < 0.05, total)
    ops, parts = sum(r['delta_us'] for r in a.rows('ops')), sum(r['delta_us'] for r in rows if r['component'] in OPS)
    c.check(f'{what}: operations sum to their components', abs(ops - parts) < 0.05, (ops, parts))
    step = a.metric('step_time')
    c.check(f'{what}: interval', step['ci_low'] <= step['delta'] <= step['ci_high'] and step['mde'] > 0, step)


def verdicts(c):
    base, step = c.side('base')
    same, _ = c.side('same', seed=7)
    a = c.diff(base, same)
    c.check('the same program', a.all['verdict'] == 'no_significant_change', a.all['conclusion'])
    c.check('nothing is blamed', not [r for r in a.rows('ops') + a.rows('host') if r['significant']])
    c.check('all is matched', a.prop('ops', 'matched_new_frac') == 1 and not [r for r in a.rows('ops') if r['match'] != 'path' and r['base_path']])
    adds_up(c, 'the same program', a)
    c.check('several runs need no warning', not [n for n in a.all['notes'] if n['severity'] == 'warning'], a.all['notes'])

    slow, slower = c.side('collective', seed=7, ops=runs.change(runs.program(), 'all-reduce.1', 1.6))
    a = c.diff(base, slow)
    first = a.rows('ops')[0]
    c.check('a slower collective', a.all['verdict'] == 'slower' and a.part('exposed_communication')['significant'], a.all['conclusion'])
    c.check('it leads', first['base_name'] == 'all-reduce.1' and first['significant'] and abs(first['delta_us'] - 180) < 15, first)
    c.check('the step grew as the file says', abs(a.metric('step_time')['delta'] - (slower - step)) < 0.005 * step, a.metric('step_time'))
    c.check('it is said', 'all-reduce.1' in a.words() and 'communication' in a.words(), a.words())
    adds_up(c, 'a slower collective', a)
    back = c.diff(slow, base)
    c.check('the other way round', back.all['verdict'] == 'faster' and
            abs(back.metric('step_time')['delta'] + a.metric('step_time')['delta']) < 1e-6, back.all['conclusion'])

    ops = runs.change(runs.change(runs.change(runs.program(), 'all-reduce.1', 1.6), 'fusion.1', 1.36), 'infeed.1', 4)
    third = c.diff(base, c.side('thirds', seed=7, ops=ops)[0])
    parts = [third.part(n)['delta_us'] for n in ('compute', 'exposed_communication', 'input')]
    c.check('no part of three alike is said to be most', third.all['verdict'] == 'slower' and max(parts) < third.metric('step_time')['delta'] / 2 and
            'Most of it' not in third.words() and re.search(r'[\d.]+ us of this [\d.]+ us are ', third.words()), third.words())
    c.check('one part alone is most of it', 'Most of it is' in c.diff(base, slow).words())

    twice = c.diff([*base, base[0]], slow)
    c.check('a recording that is given twice', any('same recording' in n['text'] and 'left out' in n['text'] and n['severity'] == 'warning'
                                                   for n in twice.all['notes']), twice.all['notes'])
    once = c.diff(base, slow)
    c.check('is left out', twice.metric('step_time') == once.metric('step_time') and twice.rows('ops') == once.rows('ops'), twice.metric('step_time'))
    tables = [c.diff(side, slow, '--tool', 'hlo_stats').tables for side in ([base[0], base[0], *base[1:]], base)]
    c.check('of the tables of a tool as well', tables[0] == tables[1])
    pair = c.diff(base[:2], slow[:2])
    c.check('two runs a side see 7 %', pair.all['verdict'] == 'slower' and pair.rows('ops')[0]['significant'], pair.all['conclusion'])
    alone = c.diff(base[:1], slow[:1])
    c.check('one run a side is warned of', any('one run' in n['text'] and n['severity'] == 'warning' for n in alone.all['notes']), alone.all['notes'])
    hiccups, _ = c.side('hiccups', seed=3, outliers=(5, 11, 17, 21), outlier_us=1500)
    a = c.diff(base, hiccups)
    c.check('steps that take far longer make the verdict', a.all['verdict'] == 'slower' and a.part('outlier_steps')['significant'], a.all['conclusion'])
    c.check('and not the typical step', abs(a.metric('step_time')['delta']) < 0.01 * step, a.metric('step_time'))
    adds_up(c, 'hiccups', a)
    c.check('how many they are, and how long', 'are 12 of 72 (base: 0 of 72; the longest is step' in a.words(), a.words())
    few, _ = c.side('few_hiccups', runs=1, seed=3, outliers=(5,), outlier_us=4000)
    a = c.diff(base[:1], few)
    c.check('a single hiccup is told, and may be chance', 'are 1 of 24 (base: 0 of 24; the longest is step 5 ' in a.words() and
            'may be chance (p 1)' in a.words() and a.all['verdict'] == 'no_significant_change', a.words())
    one, two = (c.side(name, seed=3, outliers=at, outlier_us=1500)[0] for name, at in (('one_hiccup', (5,)), ('two_hiccups', (5, 11))))
    a = c.diff(one, two)
    c.check('runs with one hiccup each, and with two', a.all['verdict'] == 'no_significant_change' and not a.part('outlier_steps')['significant'] and
            'are 6 of 72 (base: 3 of 72;' in a.words() and 'may be chance' in a.words(), a.words())
    c.check('no hiccup, no word', 'Outliers' not in c.diff(base, same).words())

    thin = [runs.op(f'fusion.{i}', 'loop fusion', 10, f'jit(train)/layer{i}/mul') for i in range(200)]
    few, many = (c.side(name, seed=seed, ops=[dict(o, us=o['us'] * f) for o in thin])[0]
                 for name, seed, f in (('thin', 1, 1), ('thin_slow', 900, 1.12)))
    a = c.diff(few, many)
    c.check('many operations together: said, and the largest', a.part('compute')['significant'] and not [r for r in a.rows('ops') if r['significant']] and
            'none of its 200 operations changed by more than noise and 0.1% of the step on its own; the largest changes are +1.' in a.words(), a.words())

    hosts = {}
    for name, factor in (('hosts', 1), ('slow_host', 1.3)):
        hosts[name] = os.path.join(c.scratch, name, 'run')
        for i in range(4):
            ops = runs.change(runs.program(), 'fusion.3', factor) if i == 2 else runs.program()
            wait = 210 if factor > 1 and i != 2 else 0
            runs.write(os.path.join(hosts[name], f'host{i}.xplane.pb'), seed=70 + i, ops=[dict(o, us=o['us'] + wait * (o['name'] == 'all-reduce.1')) for o in ops])
    a = c.diff([hosts['hosts']], [hosts['slow_host']])
    c.check('the slow host of four', 'host2 caused the change (4 hosts were compared): computing took 2.1' in a.words() and a.all['verdict'] == 'slower', a.words())
    c.check('no host where all change', 'hosts' not in c.diff([hosts['hosts']], [hosts['hosts']]).words())

    wait, _ = c.side('wait', seed=5, host_us=400)
    a = c.diff(base, wait)
    c.check('the host is waited for', a.part('host')['significant'] and abs(a.part('host')['delta_us'] - 400) < 5, a.part('host'))
    c.check('and which function it is', a.rows('host')[0]['function'] == 'load_batch' and 'load_batch' in a.words(), a.words())
    device, _ = c.side('gpu', seed=5, gpu=True, host_us=20)
    held_up, _ = c.side('gpu_host', seed=6, gpu=True, host_us=420)
    a = c.diff(device, held_up)
    c.check('a GPU waits for the host before its first kernel', a.all['verdict'] == 'slower' and a.part('host')['significant'] and
            abs(a.part('host')['delta_us'] - 400) < 30 and abs(a.part('outside_steps')['delta_us']) < 30 and 'load_batch' in a.words(), a.rows('breakdown'))
    adds_up(c, 'a GPU that waits', a)
    moved, _ = c.side('moved', seed=5, ops=runs.change(runs.program(), 'copy.1', 4))
    a = c.diff(base, moved)
    c.check('formatting data is no computing', a.part('copies')['significant'] and abs(a.part('copies')['delta_us'] - 120) < 5, a.rows('breakdown'))
    pauses, _ = c.side('pauses', seed=5, gap_us=450)
    a = c.diff(base, pauses)
    c.check('time between steps is none of the step', a.all['verdict'] == 'no_significant_change' and a.part('outside_steps')['significant'], a.all)
    c.check('but it is said', '450 us pass between steps' in a.words(), a.words())
    adds_up(c, 'pauses', a)
    code, a = c.gate(base, pauses, 'step_time=+3%')
    c.check('a limit of the step says what it does not see', code == 0 and 'limit step_period as well' in a.rows('limits')[0]['reason'], a.rows('limits'))
    c.check('and one of the period does', c.gate(base, pauses, 'step_period=+3%')[0] == 1)
    more, _ = c.side('more', seed=5, peak=1 << 30)
    less, _ = c.side('less', seed=6, peak=1 << 29)
    a = c.diff(less, more)
    c.check('peak memory', a.metric('peak_memory')['delta'] == 1 << 29 and a.all['verdict'] == 'no_significant_change', a.metric('peak_memory'))
    return base, slow


def matching(c, base):
    numbers = {1: 3, 3: 4, 4: 1, 2: 5, 5: 2}
    other = [dict(o, name='fusion.%d' % numbers[int(o['name'][7:])]) if o['name'].startswith('fusion') else
             dict(o, name=o['name'].replace('.1', '.9')) for o in runs.program()]
    a = c.diff(base, c.side('numbers', seed=8, ops=other)[0])
    c.check('other numbers', a.all['verdict'] == 'no_significant_change' and a.prop('ops', 'matched_base_frac') == 1, a.all['conclusion'])
    c.check('nothing is added', not [r for r in a.rows('ops') if r['match'] in ('added', 'removed') or r['significant']], a.rows('ops')[:2])
    a = c.diff(base[:1], c.side('numbers', seed=8, ops=other)[0][:1], '--tool', 'framework_op_stats')
    alone = [r['operation'] for t in a.tables if t.startswith('with') for r in a.rows(t) if r['on'] != 'both']
    c.check('other numbers of operations without a path', 'with_idle' in a.tables and not alone, (list(a.tables), alone))
    scoped = [dict(o, path=o['path'].replace('block', 'layer')) for o in runs.program()]
    a = c.diff(base, c.side('scopes', seed=9, ops=scoped)[0])
    pairs = [(r['base_path'], r['new_path']) for r in a.rows('ops') if 'block' in r['base_path']]
    c.check('scopes of another name', len(pairs) == 4 and all(b.replace('block', 'layer') == n for b, n in pairs), pairs)
    split = []
    for o in runs.program():
        split += [dict(o, us=450), dict(o, name='fusion.31', category='loop fusion', us=330, path='jit(train)/model/block0/mlp/gelu/tanh')] \
            if o['name'] == 'fusion.3' else [o]
    parts = c.side('split', seed=10, ops=split)[0]
    for what, how, a in (('split', 'split', c.diff(base, parts)), ('merged', 'merged', c.diff(parts, base))):
        row = next(r for r in a.rows('ops') if 'fusion.31' in r['base_name'] + r['new_name'])
        c.check(what, row['match'] == how and ' + ' in row['base_name'] + row['new_name'] and abs(abs(row['delta_us']) - 80) < 10, row)
    c.check('what has no partner is not told where all has one', 'no partner' not in a.words(), a.words())
    gone = [o for o in runs.program() if o['name'] != 'all-reduce.1'] + [runs.op('sort.1', 'sort', 200, 'jit(train)/top/rank/sort', 'x.py:1')]
    a = c.diff(base, c.side('gone', seed=11, ops=gone)[0])
    match = {r['base_name'] or r['new_name']: r['match'] for r in a.rows('ops')}
    c.check('the share without a partner is told', re.search(r'11\.\d% of the base.s operation time and 8\.\d%', a.words()), a.words())
    more = runs.program() + [runs.op('sort.1', 'sort', 200, 'jit(train)/top/rank/sort', 'x.py:1')]
    words = c.diff(base, c.side('more', seed=14, ops=more)[0]).words()
    c.check('a side that has partners for all is not told', re.search(r'\d% of the operation time of the new one has no partner', words), words)
    c.check('added and removed', match['all-reduce.1'] == 'removed' and match['sort.1'] == 'added', match)
    for by, table, key in (('scope', 'scopes', 'jit(train)/grads'), ('module', 'modules', 'jit_train'), ('source', 'sources', 'train.py:5')):
        a = c.diff(base, parts, '--by', by)
        rows = a.rows(table)
        c.check(f'by {by}', key in [r['key'] for r in rows] and
                abs(sum(r['delta_us'] for r in rows) - sum(r['delta_us'] for r in a.rows('ops'))) < 0.01, rows[:3])


def comparable(c, base):
    v, _ = c.side('device', seed=2, device='TPU v4')
    a = c.diff(base, v)
    c.check('another device', a.all['verdict'] == 'not_comparable' and a.all['refused'][0]['what'] == 'device_type', a.all['conclusion'])
    c.check('the gate cannot tell', c.gate(base, v, 'step_time=+50%')[0] == 2)
    v, _ = c.side('cores', seed=2, cores=2)
    c.check('more cores', c.diff(base, v).all['verdict'] == 'not_comparable' and c.gate(base, v, 'step_time=+50%')[0] == 2)
    both, one = os.path.join(c.scratch, 'both'), os.path.join(c.scratch, 'one')
    for i, path in enumerate((both + '/host0', both + '/host1', one + '/host0')):
        runs.write(path + '.xplane.pb', seed=30 + i)
    a = c.diff([both], [one])
    said = [r for r in a.rows('comparability') if r['what'] == 'hosts']
    c.check('a host is missing: the hosts of both are compared, and which is left out is said', a.all['verdict'] == 'no_significant_change' and
            said and said[0]['reason'] == '1 host that both sides have is compared; left out of base: host1', (a.all['conclusion'], said))
    c.check('as if it had been chosen', a.rows('metrics') == c.diff([both], [one], '--host', 'host0').rows('metrics'))
    code, _ = c.gate([both], [one], 'step_time=+50%')[:2]
    c.check('the gate judges the hosts of both', code == 0, code)
    with open(base[0], 'rb') as f, open(os.path.join(c.scratch, 'no_marks.xplane.pb'), 'wb') as to:
        data = f.read()
        to.write(data[:data.index(b'/host:CPU') + 20])    # in the host's plane: the marks are lost, the device is whole
    a = c.diff(base[:1], [to.name])
    said = {r['what']: r['reason'] for r in a.rows('comparability')}
    c.check('a cut that takes the marks', a.all['verdict'] == 'not_comparable' and a.all['refused'][0]['what'] == 'steps' and
            'only from the device' in said['steps'] and 'of new is incomplete' in said['recording'], said)
    c.check('no gate either', c.gate(base[:1], [to.name], 'step_time=+3%')[0] == 2)
    cpus, cpu = os.path.join(c.scratch, 'cpus'), os.path.join(c.scratch, 'cpu')
    for i, path in enumerate((cpus + '/host0', cpus + '/host1', cpu + '/host2')):
        runs.write(path + '.xplane.pb', seed=30 + i, host_us=400, cores=0)
    c.check('another number of CPU hosts', c.diff([cpus], [cpu]).all['verdict'] == 'not_comparable')
    python, _ = c.side('python', seed=2, host_us=400, function='$train.py:3 load_batch')
    plain, _ = c.side('plain', seed=3, host_us=400)
    a = c.diff(plain, python)
    said = {r['what']: r['reason'] for r in a.rows('comparability')}
    c.check('Python on one side alone', not a.rows('host') and 'load_batch' not in a.words() and 'base did not record Python' in said['tracer'], (said, a.words()))
    heap = {}
    for name, apart in (('one_by_one', 5), ('at_once', 0)):
        heap[name] = os.path.join(c.scratch, name)
        for i in range(3):
            begin = 1_700_000_000_000_000_000 + i * apart * 10 ** 9
            runs.write(os.path.join(heap[name], f'file{i}.xplane.pb'), seed=40 + i, recorded_ns=(begin, begin + 10 ** 9))
    a = c.diff([heap['one_by_one']], base, '--runs', 'all')
    c.check('files of one directory, recorded one after the other, are runs', len({r['run'] for r in a.rows('steps') if r['side'] == 'base'}) == 3 and
            not a.all['refused'], a.all['conclusion'])
    a = c.diff([heap['one_by_one']], [heap['at_once']])
    c.check('as hosts they are warned of', [n['text'] for n in a.all['notes'] if 'one after the other' in n['text']] and
            len(a.rows('hosts')) == 3, a.all['notes'])
    a = c.diff([heap['at_once']], [heap['at_once']], '--runs', 'all')
    c.check('those recorded at once are hosts', len(a.rows('hosts')) == 3, a.rows('hosts'))
    c.check('one host of both', c.diff([both], [one], '--host', 'host0').all['verdict'] == 'no_significant_change')
    v, _ = c.side('batch', seed=2, batch=128, ops=[dict(o, us=2 * o['us']) for o in runs.program()])
    a = c.diff(base, v)
    c.check('another batch', a.all['verdict'] == 'not_comparable' and a.all['refused'][0]['what'] == 'batch_size', a.all['conclusion'])
    c.check('the gate cannot tell of another batch', c.gate(base, v, 'step_time=+500%')[0] == 2)
    each = c.diff(base, v, '--per-example')
    c.check('per example', each.all['verdict'] != 'not_comparable' and abs(each.metric('compute')['delta']) < 20, each.all['conclusion'])
    said = each.words()
    rates = each.metric('steps_per_second')
    c.check('what is divided is not called a step', 'divided by 2' in each.all['conclusion']['text'] and ' per step' not in said, said)
    c.check('steps in a second are those that were recorded', abs(rates['new'] * each.metric('step_period')['new'] * 2 - 1e6) < 1 and
            rates['verdict'] == 'unknown', rates)
    hosts, _ = c.side('batch_host', seed=4, batch=128, host_us=900, ops=[dict(o, us=2 * o['us']) for o in runs.program()])
    c.check('nor on the host', "load_batch takes 450 us for the base's batch (before: 0 us)" in c.diff(base, hosts, '--per-example').words(),
            c.diff(base, hosts, '--per-example').words())
    for option, words in (('--band', '2% or 0.02'), ('--alpha', '5% or 0.05'), ('--steps', '10-50')):
        code, _, err = c.run(['diff', option, '10', *base[:2]])
        c.check(f'{option}: what it takes', code == 2 and words in err, err)
    few, _ = c.side('few', runs=1, seed=2, steps=2)
    a = c.diff(base, few)
    c.check('two steps', a.all['verdict'] == 'not_comparable' and a.all['refused'][0]['what'] == 'steps', a.all['conclusion'])
    c.check('the gate cannot tell of two steps', c.gate(base, few, 'step_time=+50%')[0] == 2)
    warm, _ = c.side('warm', runs=1, seed=2, steps=40, outliers=(0,), outlier_us=20000)
    a = c.diff(c.side('warmed', runs=1, seed=3, steps=40)[0], warm)
    c.check('a first step that warms up is no change', a.all['verdict'] == 'no_significant_change' and not a.part('outlier_steps')['significant'], a.all['conclusion'])
    noisy, _ = c.side('noisy', runs=1, seed=2, steps=8, noise=0.2)
    a = c.diff(noisy, c.side('noisy2', runs=1, seed=4, steps=8, noise=0.2)[0])
    c.check('too noisy', a.all['verdict'] in ('too_noisy', 'no_significant_change'), a.all['conclusion'])


def limits(c, base, slow):
    for text, status in (('step_time=+3%', 1), ('step_time=+20%', 0), ('compute=+3%', 0), ('exposed_communication=+10us', 1),
                         ('op:all-reduce.*=+20us', 1), ('scope:jit(train)/model=+3%', 0), ('step_time=+20%,op:psum=+1us', 1),
                         ('op:no_such=+3%', 2), ('host:no_such=+1ms', 2), ('peak_memory=+5%', 2), ('step_time=+1s', 0)):
        code, a = c.gate(base, slow, text)
        c.check(f'gate {text}', code == status and a.tables['limits'], (code, a and a.rows('limits')))
    code, a = c.gate(base, slow, 'step_time=+3%', '--accept', 'step_time', '--reason', 'new loss')
    c.check('an accepted regression', code == 0 and 'new loss' in a.rows('limits')[0]['reason'], a and a.rows('limits'))
    c.check('too few runs', c.gate(base, base, 'step_time=+3%', '--min-runs', '5')[0] == 2)
    c.check('one run a side cannot tell 1 %', c.gate(base[:1], base[1:2], 'step_time=+1%')[0] == 2)
    for bad in ('step_time=fast', 'speed=+3%', 'step_time=+nan%', 'step_time=+0%', 'step_time=3%', '', 'op:(=+3%', 'step_time=+3KiB', 'peak_memory=+3us', 'peak_memory=+0%', 'step_time=+0.00us'):
        code, out, err = c.run(['gate', '--max', bad, base[0], slow[0]])
        c.check(f'limit {bad!r}', code == 2 and err, (code, err))
    code, _, err = c.run(['gate', '--max', 'peak_memory=+0%', base[0], slow[0]])
    c.check('a limit of 0 is told apart from one that cannot be read', 'peak_memory=+1B' in err and 'is no limit' not in err, err)
    c.check('accepted without a reason', c.run(['gate', '--accept', 'step_time', base[0], slow[0]])[0] == 2)


def formats(c, base, slow):
    both = sides(base, slow)
    code, out, _ = c.run(['diff', *both])
    c.check('text', code == 0 and re.search(r'slower.*Where the difference is.*all-reduce\.1', out, re.S), out)
    code, out, _ = c.run(['diff', '--format', 'md', *both])
    c.check('md', code == 0 and '|---|' in out and 'all-reduce.1' in out, out)
    code, out, _ = c.run(['diff', '--format', 'csv', *both])
    rows = list(csv.DictReader(io.StringIO(out)))
    c.check('csv', code == 0 and rows[0]['base_name'] == 'all-reduce.1', out)
    code, out, _ = c.run(['diff', '--format', 'csv', '--table', 'breakdown', *both])
    c.check('csv of another table', code == 0 and out.startswith('"component"'), out)
    c.check('csv of none', c.run(['diff', '--format', 'csv', '--table', 'nothing', *both])[0] == 2)
    code, out, _ = c.run(['gate', *both])
    c.check('gate in text', code == 1 and out.startswith('FAIL') and 'step_time=+3%' in out, out)
    code, out, _ = c.run(['gate', '--format', 'junit', '--max', 'step_time=+3%,compute=+50%,peak_memory=+1%', *both])
    cases = list(ET.fromstring(out).iter('testcase'))
    c.check('junit', code == 1 and [len(list(x.iter(t))) for x, t in zip(cases, ('failure', 'system-out', 'error'))] == [1, 1, 1], out)
    page = os.path.join(c.scratch, 'summary.md')
    code, out, _ = c.run(['gate', '--format', 'github', *both], {'GITHUB_STEP_SUMMARY': page})
    c.check('github', code == 1 and out.startswith('::error title=step_time=+3%25::'), out)
    with open(page) as f:
        c.check('the summary page', 'stepscope gate: regression' in f.read())


def few_steps(c):
    """Steps without noise are equal, whatever sums of them round to; short and noisy runs answer with intervals that can be."""
    for steps in (6, 9, 24, 60):
        exact = dict(runs=1, steps=steps, noise=0, run_noise=0)
        base, _ = c.side(f'exact{steps}', **exact)
        slow, _ = c.side(f'exact_slow{steps}', ops=[dict(o, us=o['us'] * 1.2) for o in runs.program()], **exact)
        step = c.diff(base, slow).metric('step_time')
        c.check(f'{steps} steps without noise', step['verdict'] == 'more' and 0 < step['ci_high'] - step['ci_low'] < 0.01, step)
        same = c.diff(base, base)
        c.check('and the same', same.all['verdict'] == 'no_significant_change' and 'have shown is 2.0%' in same.words(), same.words())
    for seed in range(1, 9):
        base, mean = c.side(f'noisy{seed}', runs=1, steps=10, noise=0.1, correlation=0.5, seed=seed)
        new, _ = c.side(f'noisy_new{seed}', runs=1, steps=10, noise=0.1, correlation=0.5, seed=seed + 50)
        a = c.diff(base, new)
        step, needed = a.metric('step_time'), a.prop('metrics', 'needed')
        c.check('10 noisy steps', -mean <= step['ci_low'] and step['ci_high'] < mean and needed < 30000, (step, needed))
        c.check('what could be shown', step['verdict'] != 'no_change' or step['mde'] >= 0.02 * mean, step)
        c.check('is said where no change is', ('could have shown' in a.words()) == (step['verdict'] == 'no_change'), a.words())


def equal_bytes(c):
    """Operations of equal deltas stand in the order of the program, whatever seed a process draws for its hash tables."""
    base, _ = c.side('quiet', runs=1, noise=0)
    for more in (['--format', 'text'], ['--format', 'json'], ['--format', 'csv'], ['--format', 'json', '--by', 'scope'],
                 ['--format', 'json', '--by', 'module'], ['--format', 'json', '--by', 'kernel'],
                 ['--format', 'json', '--by', 'source'], ['--format', 'json', '--tool', 'hlo_stats']):
        answers = {c.run(['diff', *sides(base, base), *more]) for _ in range(4)}
        c.check(f'equal bytes, equal answers: {more}', len(answers) == 1 and answers.pop()[0] == 0, more)


def tool_tables(c, base, slow):
    numbers = {'fusion.1': 'fusion.3', 'fusion.3': 'fusion.1'}
    swapped = [dict(o, name=numbers.get(o['name'], o['name'])) for o in runs.change(runs.program(), 'fusion.1', 1.4)]
    new, _ = c.side('tool_swapped', seed=12, steps=12, ops=swapped)    # half the steps, other numbers
    for b, n, what in ((base, new, 'several runs'), (base[:1], new[:1], 'one run a side')):
        a = c.diff(b, n, '--tool', 'hlo_stats')
        rows = {r['hlo_op_name']: r for r in a.rows('ops')}
        slower = rows['fusion.3']    # as the new side calls it
        c.check(f'{what}: the row of both sides', a.rows('ops')[0] is not None and slower['on'] == 'both' and len(rows) == 8 and
                abs(slower['delta_total_self_time'] - 200) < 25 and abs(slower['delta_step_us'] - 200) < 25, slower)
        c.check(f'{what}: the largest first, and significant', a.rows('ops')[0]['hlo_op_name'] == 'fusion.3' and slower['verdict'] == 'more' and
                not [r for r in rows.values() if r['verdict'] != 'no_change' and r is not slower], list(rows.values()))
        c.check(f'{what}: totals are of a step', abs(rows['fusion.4']['base_total_self_time'] - 700) < 15 and
                abs(rows['fusion.4']['new_occurrences'] - 1) < 0.1, rows['fusion.4'])
    tree = c.diff(base, new, '--tool', 'op_profile')
    rows = tree.rows('by_program')
    leaf = next(r for r in rows if r['name'] == 'fusion.3')
    c.check('a tree stays one', leaf['verdict'] == 'more' and rows[leaf['parent']]['name'] == 'output fusion' and
            [r['parent'] for r in rows].count(-1) == 1, leaf)
    others = c.side('other_program', seed=13, program_id=17_000_000_000_000_000_000, ops=[dict(o, name='copy') if o['name'] == 'copy.1' else o for o in runs.program()])[0]
    rows = c.diff(base, others, '--tool', 'op_profile').rows('by_program')
    c.check('a program of another number is the same program', {r['on'] for r in rows} == {'both'}, rows)
    steps = {r['figure']: r for r in c.diff(base, slow, '--tool', 'exposed_communication').rows('device_steps')}
    grown = [f for f, r in steps.items() if r['verdict'] == 'more']
    c.check('a table of steps', any('transfer' in f for f in grown) and abs(steps[grown[0]]['delta'] - 180) < 30, steps)
    peak = c.diff(c.side('tool_less', seed=6, peak=1 << 29)[0], c.side('tool_more', seed=5, peak=1 << 30)[0], '--tool', 'memory_profile')
    row = peak.rows('allocators')[0]
    c.check('bytes of several runs', row['delta_peak_bytes'] == 1 << 29 and row['verdict'] == 'more', row)
    alone = c.diff(base[:1], slow[:1], '--tool', 'plane_stats')
    c.check('without repeated samples nothing is judged', {r['verdict'] for r in alone.rows('planes')} == {''} and
            {r['p_adjusted'] for r in alone.rows('planes')} == {None}, alone.rows('planes')[:2])
    gone = [o for o in runs.program() if o['name'] != 'all-reduce.1'] + [runs.op('sort.1', 'sort', 200, 'jit(train)/top/rank/sort', 'x.py:1')]
    on = {r['hlo_op_name']: (r['on'], r['verdict']) for r in c.diff(base, c.side('tool_gone', seed=11, ops=gone)[0], '--tool', 'hlo_stats').rows('ops')}
    c.check('what is on one side alone', on['all-reduce.1'] == ('base', 'less') and on['sort.1'] == ('new', 'more'), on)
    split = []
    for o in runs.program():
        split += [dict(o, us=450), dict(o, name='fusion.31', category='loop fusion', us=630, path='jit(train)/model/block0/mlp/gelu/tanh')] \
            if o['name'] == 'fusion.3' else [o]
    parts = {r['hlo_op_name']: (r['on'], r['verdict']) for r in c.diff(base, c.side('tool_split', seed=10, ops=split)[0], '--tool', 'hlo_stats').rows('ops')}
    c.check('the part that keeps its name stands beside it', parts['fusion.3'] == ('both', 'less') and parts['fusion.31'] == ('new', 'more'), parts)
    v, _ = c.side('tool_device', seed=2, device='TPU v4')
    refused = c.diff(base, v, '--tool', 'hlo_stats')
    c.check('what cannot be compared is not judged', {r['verdict'] for r in refused.rows('ops')} == {''}, refused.rows('ops')[:1])
    code, out, _ = c.run(['diff', base[0], slow[0], '--tool', 'hlo_stats'])
    c.check('a tool in text', code == 0 and out.index('all-reduce.1') < out.index('fusion.1') and 'slower' in out, out)
    code, out, _ = c.run(['diff', base[0], slow[0], '--tool', 'hlo_stats', '--format', 'csv'])
    c.check('a tool as CSV', code == 0 and list(csv.DictReader(io.StringIO(out)))[0]['hlo_op_name'] == 'all-reduce.1', out[:200])
    code, out, _ = c.run(['diff', base[0], slow[0], '--tool', 'hlo_stats', '--format', 'md'])
    lines = [line for line in out.splitlines() if line.startswith('| ')]
    c.check('a tool in Markdown', code == 0 and out.startswith('## stepscope diff') and '| all-reduce.1 | both |' in lines[1] and
            len({line.count('|') - line.count('\\|') for line in lines}) == 1, out[:1500])
    units = [re.findall(r'(?:Base|New|Delta): [^|]*\((\w+)\) \|', line) for line in lines[:1]]
    c.check('one unit in a row', units and len(units[0]) >= 6 and len(set(units[0])) <= 2 and units[0][0] == units[0][1] == units[0][2], lines[0])
    for args in (['--tool', 'nothing'], ['--param', 'a=b'], ['--tool', 'hlo_stats', '--param', 'a=b']):
        c.check(f'diff {args}', c.run(['diff', base[0], slow[0], *args])[0] == 2)


def every_table(c):
    """Of every tool of a recording against itself: each table is compared or left alone on purpose, and nothing differs."""
    profiles = os.path.join(os.path.dirname(HERE), 'data', 'profiles')
    for name in ('synth_tpu_3hosts', 'jax_mlp_train', 'tf_inputbound_steps', 'synth_gpu_2hosts', 'synth_tpu_serving', 'synth_counters_v6e'):
        path = os.path.join(profiles, name)
        tools = [line.split()[0] for line in c.run(['tools', path])[1].splitlines() if line and not line.startswith(' ')]
        for tool in tools:
            code, out, err = c.run(['diff', path, path, '--tool', tool, '--format', 'json'])
            if code == 2 and ('has no steps' in err or 'holds no' in err):
                continue
            a = Answer(json.loads(out))
            c.check(f'{name} {tool}: all is compared', not [n for n in a.all['notes'] if 'is not compared' in n['text']], a.all['notes'])
            for table in a.tables:
                for row in a.rows(table):
                    bad = [k for k, v in row.items() if k.startswith('delta') and v and abs(v) > 1e-9]
                    c.check(f'{name} {tool} {table}: nothing differs', not bad and row.get('on', 'both') == 'both' and
                            row.get('verdict', '') in ('', 'no_change'), row)


def bad_input(c, base):
    empty, notes, none = (os.path.join(c.scratch, n) for n in ('empty.xplane.pb', 'notes.xplane.pb', 'none.xplane.pb'))
    nothing = os.path.join(c.scratch, 'nothing')
    no_steps = os.path.join(os.path.dirname(HERE), 'data', 'profiles', 'gpu_1080ti')
    os.makedirs(nothing)
    open(empty, 'w').close()
    with open(notes, 'w') as f:
        f.write('no profile ' * 50)
    for command in ('diff', 'gate'):
        for bad in (empty, notes, none, nothing, no_steps):
            for pair, name in (((base[0], bad), 'new: '), ((bad, base[0]), 'base: ')):
                code, out, err = c.run([command, *pair])
                c.check(f'{command} {pair}', code == 2 and not out and name in err, (code, out, err))
        for args in ([], [base[0]], [base[0], base[1], base[2]], ['--base', base[0]], ['--base', base[0], base[1]], ['--band', '-1', base[0], base[1]],
                     ['--steps', '5', base[0], base[1]], ['--format', 'yaml', base[0], base[1]]):
            c.check(f'{command} {args}', c.run([command, *args])[0] == 2)
    for path, words in ((empty, 'is empty'), (cut_short(c, base[0], 60), 'is truncated')):
        code, _, err = c.run(['diff', base[0], path])
        c.check(f'no step is left: {words}', code == 2 and words in err and 'mark them' not in err, err)
    code, _, err = c.run(['diff', '--steps', '900-1000', *base[:2]])
    c.check('numbers that no step has', code == 2 and 'from 900 to 1000: it has 0 to 23' in err, err)
    cut = os.path.join(c.scratch, 'cut.xplane.pb')
    with open(base[1], 'rb') as f, open(cut, 'wb') as to:
        data = f.read()
        to.write(data[:len(data) * 3 // 4])
    code, out, err = c.run(['diff', '--format', 'json', base[0], cut])
    a = Answer(json.loads(out)) if code == 0 else None
    steps = [r['side'] for r in a.rows('steps')] if a else []
    c.check('a cut file: its whole steps, and the cut is said', a and any('cut.xplane.pb' in n['text'] for n in a.all['notes']) and
            0 < steps.count('new') <= steps.count('base'), (code, err, out[:300]))


def cut_short(c, path, n):
    with open(path, 'rb') as f, open(os.path.join(c.scratch, 'short.xplane.pb'), 'wb') as to:
        to.write(f.read(n))
    return to.name


def lead_back(path, table):
    """Lead the pages of a table back to each other: 500 times the same page below the root, and so on for five levels."""
    with sqlite3.connect(path) as db:
        root, = db.execute('SELECT rootpage FROM sqlite_schema WHERE name = ?', (table,)).fetchone()
    db.close()
    with open(path, 'rb') as f:
        data = bytearray(f.read())
    size = struct.unpack('>H', data[16:18])[0]
    leaf = data[(root - 1) * size:root * size]
    rows = leaf[0] == 10    # in an index, and so WITHOUT ROWID, cells have rows
    pages = [leaf]
    for _ in range(5):
        child, cell = len(data) // size + len(pages), bytes([3, 2, 1, 0]) if rows else bytes([1])
        cell = struct.pack('>I', child) + cell
        page = bytearray(struct.pack('>BHHHBI', 2 if rows else 5, 0, 400, size - 400 * len(cell), 0, child))
        page += b''.join(struct.pack('>H', size - (i + 1) * len(cell)) for i in range(400))
        pages.append(page.ljust(size - 400 * len(cell), b'\0') + 400 * cell)
    data[(root - 1) * size:root * size] = pages.pop()
    data += b''.join(pages)
    data[28:32] = struct.pack('>I', len(data) // size)
    with open(path, 'wb') as f:
        f.write(data)


def served_history(c, name):
    """More runs of large programs than SQLite sorts without a file; `serve` can make none."""
    large = os.path.join(c.scratch, 'large.db')
    shutil.copyfile(name, large)
    with sqlite3.connect(large) as db:
        for i in range(1000, 2000):
            db.execute('INSERT INTO run VALUES(?, ?, ?, ?, 9, "TPU", 4, ?)', (i, f'{i:032}', f'/runs/{i}', i, 'jit_step ' + 400 * 'f32[16,16] '))
            db.execute("INSERT INTO figure VALUES(?, 'step_time', 'us', ?, 1, 9)", (i, 100 + i % 7))
    db.close()
    with serving.Server(f'{c.binary} serve --logdir {{logdir}} --port {{port}} --history {large}', c.scratch) as server:
        status, body = server.get('/api/track', {'metric': 'step_time'})
        c.check('a large history is served', status == 200 and len(Answer(json.loads(body)).rows('figures')) == 1016, body[:300])


def logged_history(c, name):
    """The index of a write-ahead log is mapped where it is shared, and whoever shortens it ends a program that does: it stays as it is."""
    logged = os.path.join(c.scratch, 'logged.db')
    shutil.copyfile(name, logged)
    db = sqlite3.connect(logged)
    db.execute('PRAGMA journal_mode = WAL')
    db.execute("UPDATE run SET path = '/in/the/log'")
    db.commit()
    copy = os.path.join(c.scratch, 'copy.db')
    for end in ('', '-wal'):
        shutil.copyfile(logged + end, copy + end)
    db.close()
    open(copy + '-shm', 'wb').close()
    code, out, err = c.run(['track', 'show', copy, '--format', 'json', '--metric', 'step_time'])
    c.check('a history with a log', code == 0 and '/in/the/log' in out and not os.path.getsize(copy + '-shm'), (code, out[:300], err))


def history(c):
    name = os.path.join(c.scratch, 'history.db')
    paths = []
    for i in range(16):
        ops = runs.change(runs.program(), 'fusion.3', 1.3) if i >= 10 else None
        outliers = {'outliers': tuple(range(24)), 'outlier_us': 900} if i == 4 else {}    # one bad run is no change
        paths.append(os.path.join(c.scratch, 'tracked', f'run{i}.xplane.pb'))
        runs.write(paths[-1], seed=50 + i, ops=ops, **outliers)

    def add(to, numbers, **labels):
        for i in numbers:
            code, _, err = c.run(['track', 'add', to, paths[i], '--time', f'2026-11-{i + 1:02}T10:00:00Z', '--label', f'commit=c{i}',
                                  *[x for k, v in labels.items() for x in ('--label', f'{k}={v}')]])
            c.check(f'track add {i}', code == 0 and 'added' in err, err)
    add(name, range(10))
    code, out, _ = c.run(['track', 'check', name])
    c.check('nothing changed', code == 0 and 'No change' in out and 'series' not in out, out)
    odd = os.path.join(c.scratch, 'odd.db')
    shutil.copyfile(name, odd)
    runs.write(os.path.join(c.scratch, 'tracked', 'device.xplane.pb'), device='TPU v4')
    c.run(['track', 'add', odd, os.path.join(c.scratch, 'tracked', 'device.xplane.pb')])
    code, out, _ = c.run(['track', 'check', odd])
    c.check('a series that is too short is told', code == 0 and '1 series is too short to judge' in out, out)
    add(name, range(10, 16), branch='slow')
    code, out, _ = c.run(['track', 'check', name, '--format', 'json', '--last', '6'])
    a = Answer(json.loads(out))
    row = a.rows('changes')[0]
    c.check('since when', code == 1 and row['label_commit'] == 'c10' and row['last_good'] == paths[9] and row['worse'] and
            abs(row['delta_frac'] - 0.075) < 0.02 and (row['runs_before'], row['runs_after']) == (10, 6), (code, a.rows('changes')))
    c.check('one change in each of two metrics', sorted(r['metric'] for r in a.rows('changes')) == ['mean_step_time', 'step_time'], a.rows('changes'))
    here = os.getcwd()
    os.chdir(c.scratch)
    logs = os.path.join(c.scratch, 'logs', 'plugins', 'profile')
    for i in range(2):
        runs.write(os.path.join(logs, f'run{i}', 'host0.xplane.pb'), seed=80 + i)
        runs.write(os.path.join(logs, f'run{i}', 'host1.xplane.pb'), seed=90 + i)
        c.run(['track', 'add', 'relative.db', 'logs/'])
    code, out, _ = c.run(['track', 'show', 'relative.db', '--format', 'json', '--metric', 'step_time'])
    os.chdir(here)
    where = [r['path'] for r in Answer(json.loads(out)).rows('figures')]
    c.check('each run is where it lies', where == [os.path.join(os.path.realpath(logs), f'run{i}') for i in range(2)], where)
    code, _, err = c.run(['track', 'add', os.path.join(c.scratch, 'cut.db'), cut_short(c, paths[0], os.path.getsize(paths[0]) - 100)])
    c.check('a cut file is warned of', code == 0 and 'warning' in err and 'truncated' in err, err)
    c.check('not lately', c.run(['track', 'check', name, '--last', '3'])[0] == 0)
    code, _, err = c.run(['track', 'add', name, paths[0]])
    c.check('a profile that is there already is not added again', code == 0 and 'already there' in err, err)
    rest = os.path.join(c.scratch, 'rest.db')
    code, _, err = c.run(['track', 'add', rest, paths[0], os.path.join(c.scratch, 'not_there'), paths[1]])
    c.check('a profile that is not there hides no other', code == 1 and err.count('added \'') == 2 and 'No such file' in err and
            '1 of 3 profiles were not added' in err, err)
    code, out, _ = c.run(['track', 'show', name, '--format', 'csv', '--metric', 'compute', '--where', 'branch=slow'])
    rows = list(csv.DictReader(io.StringIO(out)))
    c.check('figures with a label', code == 0 and len(rows) == 6 and rows[0]['labels'] == 'branch=slow, commit=c10', out)
    c.check('too few runs', c.run(['track', 'check', name, '--where', 'branch=slow'])[0] == 2)
    c.check('an unknown metric', c.run(['track', 'check', name, '--metric', 'speed'])[0] == 2)
    better = os.path.join(c.scratch, 'better.db')
    for i, k in enumerate([*range(10, 16), *range(6)]):
        c.run(['track', 'add', better, paths[k], '--time', str(1000 + i)])
    c.check('faster is no alarm', c.run(['track', 'check', better, '--last', '6'])[0] in (0,))
    several = [subprocess.Popen([c.binary, 'track', 'add', os.path.join(c.scratch, 'shared.db'), p], stderr=subprocess.DEVNULL) for p in paths[:6]]
    c.check('several writers wait for each other', all(p.wait() == 0 for p in several))
    code, out, _ = c.run(['track', 'show', os.path.join(c.scratch, 'shared.db'), '--format', 'csv', '--metric', 'step_time'])
    c.check('and nothing is lost', out.count('\n') == 7, out)
    text, other = os.path.join(c.scratch, 'text.db'), os.path.join(c.scratch, 'other.db')
    with open(text, 'w') as f:
        f.write('no database ' * 200)
    with sqlite3.connect(other) as db:
        db.execute('CREATE TABLE run(id)')
    db.close()
    # A history with another table in it: of 30 KB it would make gigabytes of labels.
    computed = os.path.join(c.scratch, 'computed.db')
    shutil.copyfile(name, computed)
    with sqlite3.connect(computed) as db:
        db.execute('DROP TABLE label')
        db.execute('CREATE TABLE label(run INTEGER NOT NULL, key TEXT NOT NULL, value TEXT AS (hex(zeroblob(8000000))), '
                   'PRIMARY KEY(run, key)) WITHOUT ROWID')
        for i in range(2000):
            db.execute('INSERT INTO label(run, key) VALUES(?, ?)', (1 + i % 6, f'k{i}'))
    db.close()
    triggered = os.path.join(c.scratch, 'triggered.db')
    shutil.copyfile(name, triggered)
    with sqlite3.connect(triggered) as db:
        db.execute('CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM figure; END')
    db.close()
    code, _, err = c.run(['track', 'check', computed])
    served_history(c, name)
    logged_history(c, name)
    for table in ('label', 'run'):
        looped = os.path.join(c.scratch, f'{table}.db')
        c.run(['track', 'add', looped, paths[0], '--label', 'branch=main'])
        lead_back(looped, table)
        code, _, err = c.run(['track', 'show', looped])
        c.check(f'a history whose pages of {table} lead back to each other ends', code == 1 and 'longer than such a file' in err, (code, err))
    code, _, err = c.run(['track', 'check', computed])
    c.check('tables that are not ours', code == 2 and 'tables are not those' in err, err)
    for bad in (text, other, computed, triggered):
        with open(bad, 'rb') as f:
            before = f.read()
        c.check('a file that is something else', c.run(['track', 'add', bad, paths[0]])[0] == 1 and c.run(['track', 'check', bad])[0] == 2)
        with open(bad, 'rb') as f:
            c.check('is left as it is', f.read() == before)
    c.check('no file', c.run(['track', 'check', os.path.join(c.scratch, 'none.db')])[0] == 2 and not os.path.exists(os.path.join(c.scratch, 'none.db')))
    folder, ways = os.path.join(c.scratch, 'folder'), os.path.join(c.scratch, 'ways')
    os.makedirs(folder)
    os.symlink(folder, ways)
    os.symlink(name, os.path.join(folder, 'link.db'))
    os.symlink('nowhere.db', os.path.join(folder, 'dangling.db'))
    os.mkfifo(os.path.join(folder, 'pipe.db'))
    code, _, err = c.run(['track', 'add', os.path.join(ways, 'h.db'), paths[0]])
    c.check('a history in a folder that a link leads to', code == 0 and os.path.exists(os.path.join(folder, 'h.db')), err)
    for odd, says in (('link.db', 'is a link'), ('dangling.db', 'is a link'), ('pipe.db', 'cannot open'), ('', 'Is a directory'), ('none/h.db', 'No such file')):
        code, _, err = c.run(['track', 'add', os.path.join(folder, odd), paths[0]])
        c.check(f'no history: {odd}', code == 1 and says in err, err)
    c.check('nothing is made', sorted(os.listdir(folder)) == ['dangling.db', 'h.db', 'link.db', 'pipe.db'], os.listdir(folder))
    os.chdir(folder)
    code, _, err = c.run(['track', 'add', ':memory:', paths[0]])
    os.chdir(here)
    c.check("SQLite's names are files", code == 0 and os.path.exists(os.path.join(folder, ':memory:')), err)
    for args in ([], ['remove', name], ['add', name], ['add', name, paths[0], '--label', 'x'], ['add', name, paths[0], '--time', 'noon'],
                 ['show', name, '--format', 'yaml']):
        c.check(f'track {args}', c.run(['track', *args])[0] == 2)


def check_all(binary, scratch):
    c = Checks(binary, scratch)
    base, slow = verdicts(c)
    matching(c, base)
    comparable(c, base)
    limits(c, base, slow)
    formats(c, base, slow)
    few_steps(c)
    equal_bytes(c)
    tool_tables(c, base, slow)
    every_table(c)
    bad_input(c, base)
    history(c)
    return c


if __name__ == '__main__':
    sys.exit(checks.main('diff', check_all))
