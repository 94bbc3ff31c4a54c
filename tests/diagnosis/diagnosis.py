#!/usr/bin/env python3
"""Recorded programs whose bottleneck is known, because it was put there and measured by the program itself: does the verdict name it?

    diagnosis.py [--bin build/stepscope] [--only REGEX] [--verbose]

cases.json says for each profile what holds it up (`causes`, each of them is true), who or what that is (`subject`, an expression), what
must not be claimed (`forbidden`), and what the steps are. profiles*.tar.xz have the recordings. What is claimed wrongly fails at once; of
steps and shares, which a viewer may draw elsewhere, 95 of 100 must be right. All other samples are asked as well: what they answer must
hold together."""
import argparse
import collections
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import made_up
import waits
from xspace import read_varint

DATA = os.path.join(os.path.dirname(HERE), 'data')
CAUSES = set('''input host_code dispatch sync compile transfer compute collective straggler callback outside_steps outlier_steps memory_capacity
    memory_growth fragmentation precision lock gc idle none'''.split())
# They divide the time of a program: what the true cause leaves over may be theirs, and of the second set some more, for pauses of threads.
DIVIDE = {'input', 'transfer', 'outside_steps', 'host_code', 'dispatch', 'sync', 'compute', 'idle'}
PAUSES, PAUSES_AT_MOST = {'host_code', 'dispatch', 'sync', 'compute', 'idle'}, 0.35
SMALL = 0.02
MARKER = re.compile(r"^['\"]?(train|step|epoch|Profiled batch|ProfilerStep(#\d+|\*)?)['\"]?$")
passed, failed = 0, 0


def check(what, good, *details):
    global passed, failed
    passed += bool(good)
    failed += not good
    if not good:
        print(f'{what}: wrong', *details)


def summary(binary, path, *args):
    return subprocess.run([binary, 'summary', path, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)


def is_number(v):
    return isinstance(v, (int, float)) and not isinstance(v, bool)


def form(o):
    """What is wrong with an answer, whatever it is about."""
    wrong = []
    if o['schema'] != 1 or set(o) != {'schema', 'profile', 'steps', 'verdict', 'findings', 'incomplete', 'not_judged'}:
        wrong.append('members')
    if set(o['profile']) != {'run', 'hosts', 'framework', 'device'}:
        wrong.append('profile')
    steps = o['steps']
    if steps['source'] not in ('marked', 'derived', 'inferred', 'none') or (steps['count'] == 0) != (steps['source'] == 'none'):
        wrong.append('steps')
    if (steps['confidence'] is None) != (steps['source'] != 'inferred') or (steps['mean_ps'] is None) != (steps['count'] == 0):
        wrong.append('mean or confidence of steps')
    if (o['verdict'] is None) != (not o['findings']):
        wrong.append('verdict')
    for f in o['findings']:
        name = f['cause']
        if name not in CAUSES or not f['text'] or not f['subject'] or len(f['text']) > 500 or len(f['subject']) > 200:
            wrong.append(f'{name}: cause, text or subject')
        if f['share'] is not None and not 0 <= f['share'] <= 1:
            wrong.append(f'{name}: share {f["share"]}')
        if not f['evidence'] or not f['advice']:
            wrong.append(f'{name}: nothing proves it, or nothing helps')
        if MARKER.match(f['subject']):
            wrong.append(f'{name}: the step itself is named')
        for e in f['evidence']:
            if set(e) != {'what', 'value', 'unit', 'host', 'tool', 'link'} or e['value'] is None or not e['tool'] or not e['link']:
                wrong.append(f'{name}: evidence {e}')
    causes = [f['cause'] for f in o['findings']]
    if len(set(causes)) != len(causes) or set(causes) & {n['cause'] for n in o['not_judged']}:
        wrong.append(f'{causes}: said twice, or not judged and said')
    if {'compute', 'none'} <= set(causes):
        wrong.append('computes, and does not')
    return wrong


# A figure of a sentence: what it is printed with, and what 1 of it is in the units of evidence.
UNITS = {'%': ('share', 0.01), 'us': ('ps', 1e6), 'ms': ('ps', 1e9), 's': ('ps', 1e12), 'MiB': ('bytes', 2**20), 'GiB': ('bytes', 2**30)}
FIGURE = re.compile(r'(?<![\w.])([<>]?)(\d+(?:\.(\d+))?) ?(%|us|ms|s|MiB|GiB)(?![\w])')
# Times that add up to the recording: two of them cannot both take most of it.
PARTS = ('input', 'transfer', 'host_code', 'dispatch', 'sync', 'compile', 'callback', 'lock', 'gc', 'idle', 'compute', 'none')


def unproved(f):
    """Figures of a sentence that are not those of its evidence. Names of operations and places may hold numbers of their own."""
    text = f['text']
    for name in [f['subject']] + [e['what'] for e in f['evidence']] + [str(e['value']) for e in f['evidence'] if isinstance(e['value'], str)]:
        text = text.replace(name, '')
    known = [('share', f['share'])] + [(e['unit'], e['value']) for e in f['evidence'] if is_number(e['value'])]
    wrong = []
    for bound, figure, decimals, unit in FIGURE.findall(text):
        of, scale = UNITS[unit]
        # "<0.1%" and ">99.9%" are what would be rounded to 0.0% and 100.0%.
        half = 0.5 * 10 ** -len(decimals) * (2.002 if bound else 1.001)
        if not any(u == of and v is not None and abs(v / scale - float(figure)) <= half for u, v in known):
            wrong.append(f'{figure} {unit}')
    return wrong


def contradictions(o):
    """Sentences of one answer that cannot be true together."""
    wrong = [f'{f["cause"]}: {x} is in no evidence' for f in o['findings'] for x in unproved(f)]
    everywhere = [f for f in o['findings'] if 'This holds for' not in f['text']]
    parts = sum(f['share'] for f in everywhere if f['cause'] in PARTS and f['share'] is not None)
    if parts > 1.005:
        wrong.append(f'the parts of the time are {parts:.3f} of it')
    share = {f['cause']: f['share'] for f in o['findings']}
    if share.get('none') and share.get('idle', 0) > 0.15:
        wrong.append('well used, and idle')
    idle = next((f for f in o['findings'] if f['cause'] == 'idle'), None)
    if idle and 'Python\'s calls were not recorded' in idle['text'] and any('.py:' in f['subject'] for f in o['findings']):
        wrong.append('Python was not recorded, and is named')
    late = re.search(r'Host (\S+) comes last .* busy with ([a-z ]+)[:.]', ' '.join(f['text'] for f in o['findings'] if f['cause'] == 'straggler'))
    for f in everywhere_but_compute(o):
        if late and re.search(r'This holds for 1 of', f['text']) and late.group(1) in f['text'] and f['share'] > 0.5 and late.group(2) == 'compute':
            wrong.append(f'the late host computes, and {f["cause"]} takes most of its time')
    return wrong


def everywhere_but_compute(o):
    return [f for f in o['findings'] if f['cause'] in PARTS and f['cause'] not in ('compute', 'none', 'idle')]


def answers_agree(binary, path, o):
    """Every tool that speaks of time says what the summary says."""
    wrong, said = [], [f['text'] for f in o['findings']]
    by_cause = {f['cause']: f for f in o['findings']}
    for tool in ('overview_page', 'smart_suggestion', 'input_pipeline_analyzer'):
        done = subprocess.run([binary, 'tool', tool, path, '--format', 'json'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            wrong.append(f'{tool}: {done.stderr}')
            continue
        answer = json.loads(done.stdout)
        conclusion = answer['conclusion'] or {'text': '', 'more': []}
        sentences = [conclusion['text'], *conclusion['more']]
        if tool != 'input_pipeline_analyzer' and said and sentences != said[:9]:
            wrong.append(f'{tool}: {sentences} instead of {said}')
        if tool == 'input_pipeline_analyzer':
            waits = re.match(r'Steps wait for an input pipeline during ([\d.]+)%', sentences[0])
            if ('input' in by_cause) != (sentences[0] == by_cause.get('input', {}).get('text')) or (waits and 'input' in by_cause):
                wrong.append(f'{tool}: {sentences}')
        for t in answer['tables']:
            wrong += [f'{tool}: XProf\'s {k} stands beside the findings' for k in t['props'] if k.endswith(('statement', '_conclusion'))]
    return wrong


def places_told(binary, path):
    """host_boundness names the place that its evidence has most time for, and that time."""
    done = subprocess.run([binary, 'tool', 'host_boundness', path, '--format', 'json'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return [f'host_boundness: {done.stderr}']
    answer = json.loads(done.stdout)
    told = re.search(r"The largest part of that is in (.*): ([\d.]+ \w+)\.", ' '.join([answer['conclusion']['text'], *answer['conclusion']['more']]))
    table = next(t for t in answer['tables'] if t['name'] == 'evidence')
    rows = [dict(zip((c['id'] for c in table['cols']), row)) for row in zip(*table['data'])]
    if not told:
        return []
    cause = re.search(r'The largest cause is ([\w ]+):', ' '.join(answer['conclusion']['more'])).group(1)
    sums = collections.Counter()
    for r in rows:
        if r['cause'] == cause:
            sums[f"'{r['detail']}' within '{r['name']}'" if r['detail'] else f"'{r['name']}'"] += r['host_wait_ps']
    number, unit = told.group(2).split()
    ps = float(number) * {'ps': 1, 'ns': 1e3, 'us': 1e6, 'ms': 1e9, 's': 1e12}[unit]
    place, most = sums.most_common(1)[0]
    return [] if told.group(1) == place and abs(ps - most) < 0.005 * most else [f'host_boundness: {told.group(0)} {sums}']


def operations_told(binary, path):
    """hlo_stats and op_profile name the same operation as that of most time, and its program where others have one of that name."""
    told = {}
    for tool in ('hlo_stats', 'op_profile'):
        done = subprocess.run([binary, 'tool', tool, path, '--format', 'json'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        answer = json.loads(done.stdout) if done.returncode == 0 else {'conclusion': None, 'tables': []}
        said = re.match(r"'([^']*)'(?: of program (\d+))? takes the most time of", (answer['conclusion'] or {'text': ''})['text'])
        if not said or '/' in said.group(1): # PyTorch's are op_profile's alone
            continue
        told[tool] = said.groups()
        if tool == 'hlo_stats':
            table = answer['tables'][0]
            rows = [dict(zip((c['id'] for c in table['cols']), row)) for row in zip(*table['data'])]
            programs = {r['program_id'] for r in rows if r['hlo_op_name'] == said.group(1)}
            if (len(programs) > 1) != (said.group(2) is not None):
                return [f'hlo_stats: {said.group(0)} {programs}']
    return [f'the operation of most time: {told}'] if 'hlo_stats' in told and len(set(told.values())) > 1 else []


def within(v, bounds):
    return is_number(v) and bounds[0] <= v <= bounds[1]


def claims(o, truth):
    """What is said that is not so."""
    wrong = []
    room = 1.1 - sum(truth['share']) / 2 if truth.get('share') else 0.1
    for i, f in enumerate(o['findings']):
        cause, share = f['cause'], f['share']
        allowed = max(room, PAUSES_AT_MOST) if cause in PAUSES else room if cause in DIVIDE else 0
        tiny = share is not None and share < truth.get('left', {}).get(cause, SMALL)
        if cause in truth['forbidden'] and (i == 0 or not tiny) and (i == 0 or share is None or share > allowed):
            wrong.append(f'{cause} {share}')
        for text in [f['text'], f['subject'], *f['advice']]:
            wrong += [m.group(0) for e in truth['forbidden_text'] for m in [re.search(e, text)] if m]
    return wrong


def is_named(o, truth):
    first = o['findings'][0] if o['findings'] else None
    if not first or first['cause'] not in truth['causes']:
        return False
    if first['cause'] == 'compute' and 'bound_by' in truth:
        if not any(e['what'] == 'bound_by' and e['value'] in truth['bound_by'] for e in first['evidence']):
            return False
    if not any(re.search(truth['subject'], first[k], re.I) for k in ('subject', 'text')):
        return False
    seen = {f['cause'] for i, f in enumerate(o['findings'][:3]) if i == 0 or f['share'] is None or f['share'] >= SMALL}
    return all(seen & set(a.split('|')) for a in truth['also'])


def figures(o, truth):
    """[(what, is it right)] of steps and shares."""
    out = []
    if truth.get('steps'):
        out.append(('steps', within(o['steps']['count'], truth['steps'])))
    if truth.get('step_ms'):
        out.append(('step time', o['steps']['mean_ps'] is not None and within(o['steps']['mean_ps'] / 1e9, truth['step_ms'])))
    first = o['findings'][0] if o['findings'] else None
    if first and truth.get('share') and first['cause'] == truth['causes'][0] != 'none':
        low, high = truth['share']
        out.append(('share', within(first['share'], [truth.get('op_share', low), 1] if first['cause'] == 'compute' else [low, high])))
    return out


def same_words(text, o):
    """The text is made of the same findings, in the same order."""
    plain, at = ' '.join(text.split()), 0
    for f in o['findings'][:3]:
        at = plain.find(' '.join(f['text'].split()), at)
        if at < 0:
            return False
    return True


def judge_cases(binary, only, verbose):
    figures_right = figures_all = 0
    with open(os.path.join(HERE, 'cases.json')) as f:
        cases = [c for c in json.load(f) if re.search(only, c['name'])]
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for recordings in glob.glob(os.path.join(HERE, 'profiles*.tar.xz')):
            with tarfile.open(recordings) as tar:
                tar.extractall(scratch)
        paths = [os.path.join(scratch, 'profiles', c['name']) for c in cases]
        answers = list(pool.map(lambda p: (summary(binary, p, '--format', 'json'), summary(binary, p)), paths))
        for case, wrong in zip(cases, pool.map(lambda p: places_told(binary, p), paths)):
            check(f'{case["name"]}: what host_boundness names', not wrong, wrong)
        for case, wrong in zip(cases, pool.map(lambda p: operations_told(binary, p), paths)):
            check(f'{case["name"]}: the operation of most time', not wrong, wrong)
        for case, path, answer in zip(cases, paths, answers):
            if case['name'] == 'jax_compute' and not answer[0].returncode:
                cpu_backend(binary, path, json.loads(answer[0].stdout)['findings'][0]['subject'])
        judge_halves(binary, cases, paths, only == '.')
    for case, (as_json, as_text) in zip(cases, answers):
        name, truth = case['name'], case['truth']
        if as_json.returncode or as_json.stderr:
            check(name, False, as_json.stderr)
            continue
        o = json.loads(as_json.stdout)
        said = [(f['cause'], f['share'], f['subject']) for f in o['findings'][:3]]
        check(f'{name}: form', not form(o), form(o))
        check(f'{name}: no sentence contradicts another', not contradictions(o), contradictions(o))
        check(f'{name}: the cause', is_named(o, truth), said, 'instead of', truth['causes'], truth['subject'], case['why'])
        check(f'{name}: what is claimed', not claims(o, truth), claims(o, truth))
        check(f'{name}: the text says the same', same_words(as_text.stdout, o))
        check(f'{name}: what else it says', re.search(truth.get('says', ''), o['findings'][0]['text']), o['findings'][0]['text'])
        marked = o['steps']['source'] == 'marked'
        check(f'{name}: nothing else is said of the steps', not (marked and 'No step marker' in as_text.stdout))
        for what, right in figures(o, truth):
            figures_right += right
            figures_all += 1
            if not right or verbose:
                print(f'{name}: {what} {"right" if right else "out of range"}', o['steps'], said[:1], truth.get('share'), truth.get('step_ms'))
    if figures_all:
        check('steps and shares', figures_right >= 0.95 * figures_all, figures_right, 'of', figures_all)


# What follows from a device's own events, with nothing of the host.
OF_DEVICES = {'compute', 'none', 'idle', 'collective', 'straggler', 'transfer', 'input', 'dispatch', 'outside_steps', 'outlier_steps', 'memory_capacity',
              'memory_growth', 'fragmentation', 'precision'}


def fields(b):
    """The fields of a message: [(number, begin, begin of the content, end)], those of bytes alone."""
    at, out = 0, []
    while at < len(b):
        begin = at
        tag, at = read_varint(b, at)
        if tag & 7 == 2:
            n, at = read_varint(b, at)
            out.append((tag >> 3, begin, at, at + n))
            at += n
        else:
            at = read_varint(b, at)[1] if tag & 7 == 0 else at + (8 if tag & 7 == 1 else 4)
    return out


def without(space, prefix):
    """An XSpace without the planes whose names begin so; None where it has none, or no others."""
    kept, dropped = [], 0
    for number, begin, content, end in fields(space):
        plane = space[content:end]
        name = next((plane[c:e] for n, _, c, e in fields(plane) if n == 2), b'') if number == 1 else b''
        if number == 1 and name.startswith(prefix):
            dropped += 1
        else:
            kept.append(space[begin:end])
    return b''.join(kept) if dropped and any(k[:1] == b'\n' for k in kept) else None


def half(binary, case, path, how, change):
    """The answer about a case of which each file was changed; None where there is nothing to change."""
    files = glob.glob(os.path.join(path, '**/*.xplane.pb'), recursive=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name in files:
            with open(name, 'rb') as f:
                changed = change(f.read())
            if changed is None:
                return None
            with open(os.path.join(scratch, os.path.basename(name)), 'wb') as f:
                f.write(changed)
        done = summary(binary, scratch, '--format', 'json') if files else None
    if done:
        check(f'{case["name"]}, {how}: is answered', done.returncode == 0, done.returncode, done.stderr)
    return json.loads(done.stdout) if done and done.returncode == 0 else None


def judge_halves(binary, cases, paths, everything):
    """Half of the evidence: what is said is still proved by the rest."""
    seen = {'no programs': 0, 'no host': 0, 'no device': 0, 'cut': 0}
    for case, path in zip(cases, paths):
        answers = {'no programs': half(binary, case, path, 'no programs', lambda b: without(b, b'/host:metadata')),
                   'no host': half(binary, case, path, 'no host', lambda b: without(b, b'/host:CPU')),
                   'no device': half(binary, case, path, 'no device', lambda b: without(b, b'/device:')),
                   'cut': half(binary, case, path, 'cut', lambda b: b[:len(b) * 2 // 3])}
        for how, o in answers.items():
            if o is None:
                continue
            seen[how] += 1
            wrong, causes = form(o) + contradictions(o), {f['cause'] for f in o['findings']}
            if how == 'no programs' and not is_named(o, case['truth']):
                wrong.append(f'another cause: {sorted(causes)}')
            if how == 'no host':
                wrong += sorted(causes - OF_DEVICES)
            if how == 'cut' and not o['incomplete']:
                wrong.append('nothing says that the file is cut')
            check(f'{case["name"]}, {how}', not wrong, wrong)
    check('profiles with half of the evidence', not everything or all(n > 5 for n in seen.values()), seen)


def cpu_backend(binary, path, subject):
    """What threads run for XLA is listed where people look, and where XProf's clients look it is not."""
    for tool, col in (('hlo_stats', 'hlo_op_name'), ('roofline_model', 'operation'), ('op_profile', 'name')):
        ours, theirs = (subprocess.run([binary, 'tool', tool, path, '--format', f], stdout=subprocess.PIPE, text=True).stdout for f in ('json', 'xprof'))
        t = json.loads(ours)['tables'][0]
        at = next((i for i, c in enumerate(t['cols']) if c['id'] == col), None)
        check(f'{tool}: operations of the CPU backend', at is not None and subject in ours and subject not in theirs, path, [c['id'] for c in t['cols']])


def judge_others(binary):
    """Profiles of all kinds: whatever is said holds together."""
    paths = sorted({os.path.dirname(p) for p in glob.glob(os.path.join(DATA, 'profiles/**/*.xplane.pb'), recursive=True)})
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda p: summary(binary, p, '--format', 'json'), paths))
    check('samples', len(paths) > 10, len(paths))
    for path, answer in zip(paths, answers):
        name = os.path.relpath(path, DATA)
        if check(f'{name}: is answered', answer.returncode == 0, answer.stderr) or answer.returncode:
            continue
        o = json.loads(answer.stdout)
        wrong = form(o) + contradictions(o) + answers_agree(binary, path, o)
        check(f'{name}: form, figures, and the other tools', not wrong, wrong)


def repeated_kernels(path):
    """A trace of PyTorch in which an operator launches the same three kernels six times."""
    events = []
    for i in range(6):
        events.append({'ph': 'X', 'cat': 'cpu_op', 'name': 'aten::foo', 'pid': 1, 'tid': 1, 'ts': 1000 * i, 'dur': 100, 'args': {'External id': i + 1}})
        for k in range(3):
            link = {'correlation': 3 * i + k + 1}
            events.append({'ph': 'X', 'cat': 'cuda_runtime', 'name': 'cudaLaunchKernel', 'pid': 1, 'tid': 1, 'ts': 1000 * i + 20 * k, 'dur': 5, 'args': link})
            events.append({'ph': 'X', 'cat': 'kernel', 'name': f'k{k}', 'pid': 0, 'tid': 7, 'ts': 1000 * i + 200 + 50 * k, 'dur': 40,
                           'args': {**link, 'device': 0, 'stream': 7}})
    with open(path, 'w') as f:
        json.dump({'schemaVersion': 1, 'deviceProperties': [{'id': 0, 'name': 'NVIDIA A100'}], 'traceEvents': events}, f)
    return path


def judge_conclusions(binary):
    """Each tool comes to a conclusion on some sample: the first line of its answer is a sentence."""
    tools, concluded = set(), set()
    with tempfile.TemporaryDirectory() as scratch:
        torch = {'distributed': os.path.join(DATA, 'torch', 'ranks'), 'modules': os.path.join(DATA, 'torch', 'cpu_lstm.pt.trace.json.gz'),
                 'kernel_sequences': repeated_kernels(os.path.join(scratch, 'worker0.pt.trace.json'))}
        first = [(tool, subprocess.run([binary, 'tool', tool, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout)
                 for tool, path in torch.items()]
    for path in glob.glob(os.path.join(os.path.dirname(HERE), 'golden', 'expected', '*', '*.txt')):
        with open(path, encoding='utf-8') as f:
            first.append((os.path.basename(path)[:-4], f.readline()))
    for tool, text in first:
        line = text.split('\n')[0]
        tools.add(tool)
        if line.endswith('.') and not line.startswith('No rows'):
            concluded.add(tool)
    check('every tool concludes', len(tools) > 30 and tools == concluded, tools - concluded)


def judge_missing(binary):
    """A host that the names of the others tell of."""
    files = glob.glob(os.path.join(DATA, 'hosts/late_input/**/*.xplane.pb'), recursive=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name in files:
            if not name.endswith('host1.xplane.pb'):
                shutil.copy(name, scratch)
        o = json.loads(summary(binary, scratch, '--format', 'json').stdout)
    check('a missing host', any('2 of 4 hosts are not in the recording: host1, host2.' in g for g in o['incomplete']), len(files), o['incomplete'])


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--bin', default='build/stepscope')
    ap.add_argument('--only', default='.')
    ap.add_argument('--verbose', action='store_true')
    a = ap.parse_args()
    judge_cases(a.bin, a.only, a.verbose)
    if a.only == '.':
        judge_others(a.bin)
        judge_missing(a.bin)
        judge_conclusions(a.bin)
        made_up.judge(a.bin, check)
        waits.judge(a.bin, check)
        refused = summary(a.bin, DATA, '--format', 'yaml')
        check('another format is refused', refused.returncode == 2 and 'json' in refused.stderr, refused.stderr)
    print(f'{passed} passed, {failed} failed')
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
