#!/usr/bin/env python3
"""`stepscope mcp`: the protocol, every tool, pages and their cursors, hostile messages, and a conversation that finds the cause in programs whose
bottleneck is known (tests/diagnosis). With --peers the reference client, `mcp` of PyPI, holds it.

    mcp.py [--bin build/stepscope] [--peers]
"""
import argparse
import csv
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import profiles

UNWRITTEN = os.path.join(tempfile.gettempdir(), f'stepscope-mcp-{os.getpid()}')    # nobody else makes it

passed = failed = 0


def check(what, good, shown=''):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f'FAILED {what}: {str(shown)[:400]}')


class Server:
    """A client of our own, which knows no more than the specification."""
    def __init__(self, binary, root, *args):
        self.binary, self.n = binary, 0
        self.p = subprocess.Popen([binary, 'mcp', root, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def raw(self, line):
        self.p.stdin.write(line if isinstance(line, bytes) else line.encode())
        self.p.stdin.write(b'\n')
        self.p.stdin.flush()
        return json.loads(self.p.stdout.readline())

    def tell(self, method, params=None):
        self.p.stdin.write(json.dumps({'jsonrpc': '2.0', 'method': method, **({'params': params} if params else {})}).encode() + b'\n')

    def ask(self, method, params=None):
        self.n += 1
        got = self.raw(json.dumps({'jsonrpc': '2.0', 'id': self.n, 'method': method, **({'params': params} if params is not None else {})}))
        check(f'{method}: id and version', got.get('id') == self.n and got.get('jsonrpc') == '2.0' and ('result' in got) != ('error' in got), got)
        return got

    def call(self, tool, **arguments):
        return self.ask('tools/call', {'name': tool, 'arguments': arguments}).get('result', {})

    def text(self, tool, **arguments):
        got = self.call(tool, **arguments)
        check(f'{tool} {arguments}: no error', got.get('isError') is False, got)
        return got['content'][0]['text'] if got.get('content') else ''

    def close(self):
        self.p.stdin.close()
        status = self.p.wait(10)
        check('the end of the input ends it', status == 0 and not self.p.stderr.read(), status)


def protocol(s):
    for version in ('2025-06-18', '2024-11-05'):
        got = s.ask('initialize', {'protocolVersion': version, 'capabilities': {}, 'clientInfo': {'name': 'test', 'version': '1'}})['result']
        check('the version that was asked for', got['protocolVersion'] == version and got['serverInfo']['name'] == 'stepscope' and 'tools' in got['capabilities'], got)
    check('an unknown version', re.fullmatch(r'20\d\d-\d\d-\d\d', s.ask('initialize', {'protocolVersion': '1999-01-01'})['result']['protocolVersion']))
    s.tell('notifications/initialized')
    check('ping', s.ask('ping')['result'] == {})
    tools = s.ask('tools/list')['result']['tools']
    names = {t['name'] for t in tools}
    check('tools', names == {'runs', 'summary', 'findings', 'tools', 'tool', 'sql', 'saved_sql', 'events', 'hlo_neighborhood', 'diff'}, names)
    for t in tools:
        schema = t['inputSchema']
        check(f'{t["name"]}: schema', schema['type'] == 'object' and set(schema['required']) <= set(schema['properties']) and len(t['description']) > 20, t)
        check(f'{t["name"]}: arguments are explained', all(len(p['description']) > 5 for p in schema['properties'].values()), schema)
    check('an unknown method', s.ask('resources/list')['error']['code'] == -32601)
    check('an unknown tool', s.ask('tools/call', {'name': 'rm'})['error']['code'] == -32602)
    got = s.raw('{"jsonrpc":"2.0","id":"a\\"b","method":"ping"}')
    check('an id that is a text', got == {'jsonrpc': '2.0', 'id': 'a"b', 'result': {}}, got)


def repeat(s, got):
    """The command of an answer, run in a shell, prints it."""
    words = shlex.split(got['structuredContent']['command'])
    done = subprocess.run([s.binary, *words[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return words[0] == 'stepscope' and done.returncode == 0 and done.stdout == got['content'][0]['text']


def answers(s):
    train = {'profile': 'jax_mlp_train'}
    calls = [('runs', train), ('summary', train), ('findings', train), ('tools', train), ('tool', {**train, 'name': 'plane_stats'}),
             ('tool', {'profile': 'synth_tpu_3hosts', 'name': 'op_profile', 'host': 'host1'}),
             ('sql', {**train, 'query': "SELECT name, COUNT(*) AS n FROM events WHERE name <> 'it''s' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT :rows", 'values': {'rows': 5}}),
             ('saved_sql', {'profile': 'gpu_mi300_gemm', 'name': 'longest_gaps', 'values': {'rows': 3}}),
             ('events', {**train, 'start_ps': 10**11, 'end_ps': 10**11 + 10**9, 'plane': '/host:CPU', 'min_dur_ps': 10**6}),
             ('hlo_neighborhood', {'profile': 'synth_tpu1', 'instruction': 'dot.5', 'radius': 1}),
             ('diff', {'profile': 'synth_tpu1', 'new_profile': 'synth_tpu1', 'anyway': True})]
    for tool, arguments in calls:
        got = s.call(tool, **arguments)
        origin = got.get('structuredContent', {})
        check(f'{tool}: answers', got.get('isError') is False and got['content'][0]['text'], got)
        check(f'{tool}: where it is from', origin.get('profile') == os.path.join(profiles.ROOT, arguments['profile']) and 'window' in origin and
              (tool == 'runs' or origin.get('run') == 'run' and origin['hosts']), origin)
        check(f'{tool}: the text says so, too', json.loads(got['content'][-1]['text']) == origin, got['content'][-1])
        check(f'{tool}: its command repeats it', repeat(s, got), origin)
    got = s.call('sql', profile='jax_mlp_train', query='SELECT typeof(:a) AS a, typeof(:b) AS b, typeof(:c) AS c', values={'a': '12', 'b': 12, 'c': 'x'})
    check('sql: a string stays text', json.loads(got['content'][0]['text']) == {'a': 'text', 'b': 'integer', 'c': 'text'} and repeat(s, got), got)
    for what, call in (('it asks for the longest gaps between kernels on a GPU stream', ('saved_sql', {**train, 'name': 'longest_gaps'})),
                       ('the query has no rows', ('events', {**train, 'start_ps': 10**12, 'end_ps': 5}))):
        got = s.call(call[0], **call[1])
        check(f'{call[0]}: no rows are told', got.get('isError') is False and any(what in c['text'] for c in got['content']), got)
    shown = [json.loads(x) for x in s.text('events', profile='synth_tpu1', name='fusion*').splitlines()]
    check('events: a name as displayed', shown and all(r['name'].startswith('fusion') for r in shown), shown[:1])
    got = s.call('events', **calls[8][1])
    rows = [json.loads(x) for x in got['content'][0]['text'].splitlines()]
    check('events: of the window', rows and got['structuredContent']['window'] == {'start_ps': 10**11, 'end_ps': 10**11 + 10**9} and
          all(r['start_ps'] < 10**11 + 10**9 and r['start_ps'] + r['dur_ps'] > 10**11 and r['plane'] == '/host:CPU' and r['dur_ps'] >= 10**6 for r in rows), rows[:2])
    got = s.call('hlo_neighborhood', **calls[9][1])
    rows = list(csv.DictReader(got['content'][0]['text'].splitlines()))
    done = subprocess.run([s.binary, 'tool', 'hlo_query', os.path.join(profiles.ROOT, 'synth_tpu1'), '-f', 'csv', '-p', 'instruction=dot.5', '-p', 'radius=1'],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True)
    check('a neighbourhood is that of hlo_query', [r['instruction'] for r in rows] == ['dot.5', 'param_0', 'param_1', 'tanh.5'] and done.stdout == got['content'][0]['text'], rows)
    other = s.call('hlo_neighborhood', profile='synth_gpu_unlike_hosts', instruction='while.35049', radius=9, max_bytes=1000)
    check('of a program that the first host lacks', other['isError'] is False and other['content'][0]['text'].splitlines()[1].startswith('"while.35049"') and
          other['structuredContent']['truncated'], other)
    got, whole = other, ''
    while True:
        whole += got['content'][0]['text']
        if not got['structuredContent']['truncated']:
            break
        got = s.call('hlo_neighborhood', profile='synth_gpu_unlike_hosts', instruction='while.35049', radius=9, max_bytes=1000, cursor=got['structuredContent']['next_cursor'])
    words = shlex.split(other['structuredContent']['command'])[1:]
    want = subprocess.run([s.binary, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True).stdout
    check('and its pages are what the command prints', whole == want and want.count('\n') > 5, (whole, want))
    got = s.call('tool', profile='synth_tpu1', name='graph_viewer', params={'merge_fusion': True})
    check('true as a parameter', got['isError'] is False and 'merge_fusion=true' in got['structuredContent']['command'], got)
    check('the host is said', s.call(*calls[5][:1], **calls[5][1])['structuredContent']['host'] == 'host1')


def runs_that_come(s):
    """A page of runs, and a run that is recorded before the next page is asked for."""
    with tempfile.TemporaryDirectory() as top:
        def record(i):
            name = os.path.join(top, f'plugins/profile/run{i:02}')
            shutil.copytree(glob.glob(os.path.join(profiles.ROOT, 'jax_mlp_train', 'plugins', 'profile', '*'))[0], name)
        for i in range(20):
            record(i)
        mine = Server(s.binary, top)
        protocol(mine)
        cursor = mine.call('runs', max_bytes=1000)['structuredContent']['next_cursor']
        check('the next runs', not mine.call('runs', max_bytes=1000, cursor=cursor)['isError'])
        record(20)
        got = mine.call('runs', max_bytes=1000, cursor=cursor)
        check('pages of other runs do not fit together', got['isError'] and 'cursor' in got['content'][0]['text'], got)
        mine.close()


def pages(s):
    ask = {'profile': 'jax_mlp_train', 'query': "SELECT event_id, name || ' \u00e9\u4e2d\u6587' AS name FROM events ORDER BY event_id", 'max_bytes': 5000}
    want = subprocess.run([s.binary, 'sql', os.path.join(profiles.ROOT, 'jax_mlp_train'), ask['query'], '-f', 'jsonl'], stdout=subprocess.PIPE, check=True).stdout.decode()
    got, cursor, n, whole = '', None, 0, True
    while n == 0 or cursor:
        page = s.call('sql', **ask, **({'cursor': cursor} if cursor else {}))
        text, origin = page['content'][0]['text'], page['structuredContent']
        whole = whole and len(text.encode()) <= 5000 and text.endswith('\n') and origin['truncated'] == ('next_cursor' in origin)
        got, cursor, n = got + text, origin.get('next_cursor'), n + 1
    check('pages are the whole answer', got == want and n > 10 and whole, (n, len(got), len(want)))
    first = s.call('sql', **ask)['structuredContent']['next_cursor']
    for what, arguments in (('another profile', {**ask, 'profile': 'synth_tpu1'}), ('another question', {**ask, 'query': 'SELECT * FROM events ORDER BY event_id'})):
        got = s.call('sql', **arguments, cursor=first)
        check(f'a cursor of {what}', got['isError'] and 'cursor' in got['content'][0]['text'], got)
    mark, at = first.split('-')
    for wrong in (f'{mark}-{at[:-1]}', f'{mark}-0', f'{mark}-99999999999', f'{mark}-{2**64 - 1}', f'{mark}-{2**64}', f'{mark}--5', f'-{first}', f'0x{first}', first[:9]):
        got = s.call('sql', **ask, cursor=wrong)
        check(f'a cursor that is none: {wrong}', got['isError'] and 'cursor' in got['content'][0]['text'], got)
    long = s.call('sql', profile='jax_mlp_train', query="SELECT hex(zeroblob(5000000)) || '\u00e9' AS x", max_bytes=1000)
    check('a line longer than a page', len(long['content'][0]['text']) == 1000 and long['structuredContent']['truncated'], long['structuredContent'])
    text = s.call('sql', profile='jax_mlp_train', query=f"SELECT '{'x' * 989}' || replace(hex(zeroblob(500)), '0', '\u00e9') AS x", max_bytes=1000)['content'][0]['text']
    check('a page ends with a letter', '\ufffd' not in text and len(text.encode()) in (999, 1000), text[-5:])


def refused(s):
    """(tool, arguments, words): each an answer that says why, and the server lives on."""
    t = {'profile': 'synth_tpu1'}
    cases = [
        ('summary', {}, "needs 'profile'"), ('summary', {'profile': 'none'}, 'there is no profile'), ('summary', {'profile': '/etc/passwd'}, 'there is no profile'),
        ('summary', {'profile': '../..'}, 'there is no profile'), ('summary', {'profile': 'a\0b'}, 'zero byte'), ('summary', {'profile': 5}, 'there is no profile'),
        ('summary', {'profile': ['x']}, 'must be a text'), ('summary', {**t, 'nosuch': 1}, "no argument 'nosuch'"), ('summary', {**t, 'run': 'none'}, "no run 'none'"),
        ('tool', {**t, 'name': f'--output={UNWRITTEN}'}, 'there is no tool'), ('tool', {**t, 'name': 'op_profile', 'params': {'x': 1}}, 'no parameter'),
        ('tool', {**t, 'name': 'op_profile', 'params': [1]}, 'must be an object'), ('tool', {**t, 'name': 'op_profile', 'params': {'x': {}}}, 'must be a text'),
        ('tool', {**t, 'name': 'op_profile', 'host': 'none'}, 'none'),
        ('sql', {**t, 'query': 'DROP TABLE events'}, 'not allowed'), ('sql', {**t, 'query': '-'}, 'empty'), ('sql', {**t, 'query': f'--output={UNWRITTEN}'}, 'empty'),
        ('sql', {**t, 'query': "SELECT load_extension('x')"}, 'not '), ('sql', {**t, 'query': f"ATTACH '{UNWRITTEN}' AS x"}, 'not allowed'),
        ('sql', {**t, 'query': 'SELECT zeroblob(1000000000)'}, '64 MiB'), ('sql', {**t, 'query': 'SELECT ' + '(' * 500 + '1' + ')' * 500}, ''),
        ('sql', {**t, 'query': 'SELECT 1', 'values': {f'v{i}': i for i in range(80)}}, ''),
        ('saved_sql', {**t, 'name': 'zz'}, "there is no named query 'zz': there are top_ops, longest_gaps, "),
        ('saved_sql', {**t, 'name': 'longest_gaps', 'values': {'zz': 1}}, "longest_gaps has no parameter 'zz': it has gap_us, rows"),
        ('tool', {**t, 'name': 'event_stats', 'params': {'qq': 1}}, "event_stats has no parameter 'qq': it has "),
        ('tool', {**t, 'name': 'nope'}, "the tool 'tools' lists them"), ('events', {**t, 'start_ps': 'soon'}, 'whole number'), ('events', {**t, 'query': 'SELECT 1'}, "no argument 'query'"),
        ('diff', {**t, 'new_profile': 'synth_tpu1', 'anyway': 'yes'}, 'true or false'), ('hlo_neighborhood', {**t, 'instruction': 'dot.5', 'direction': 'up'}, 'both, operands or users'),
        ('hlo_neighborhood', {**t, 'instruction': 'nosuch'}, "named 'nosuch'"), ('hlo_neighborhood', {**t, 'instruction': 'dot.5', 'module': 'zz'}, "no program 'zz'"),
        ('events', {**t, 'max_bytes': 10**9}, 'max_bytes'), ('events', {**t, 'cursor': 'x'}, 'not a cursor'), ('events', {**t, 'cursor': 'f' * 16 + '-' + '9' * 30}, 'not a cursor'),
        ('events', {**t, 'cursor': '0' * 16 + '-99999999999'}, 'cursor'),
    ]
    for tool, arguments, words in cases:
        got = s.call(tool, **arguments)
        said = ' '.join(c['text'] for c in got.get('content', []))
        check(f'{tool} {str(arguments)[:80]}: refused', got.get('isError') is True and words in said and len(said) > 10 and 'usage:' not in said, got)
        check(f'{tool} {str(arguments)[:80]}: its first text says something', got['content'][0]['text'].strip() != '', got)
    check('no file was written', not os.path.exists(UNWRITTEN))
    bad = [('{', -32700), ('', None), ('nonsense', -32700), ('\xff\xfe', -32700), ('[]', -32600), ('5', -32600), ('{}', -32600), ('{"id":1,"method":"ping"}', -32600),
           ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600), ('{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', -32600), ('{"jsonrpc":"2.0","id":1}{}', -32700),
           ('{"jsonrpc":"2.0","id":7,"method":5}', None), ('[' * 100000, -32700), ('{"a":' * 600 + '1' + '}' * 600, -32700), ('"' + 'x' * (2 << 20) + '"', -32700),
           ('{"jsonrpc":"2.0","id":1,"method":"' + 'x' * 500000 + '"}', -32601),
           # What the answer could not repeat: it would be no JSON.
           ('{"jsonrpc":"2.0","id":"\x1b[2J","method":"ping"}', -32600), ('{"jsonrpc":"2.0","id":"\xff\xfe","method":"ping"}', -32600), ('{"jsonrpc":"2.0","id":-inf,"method":"ping"}', -32600),
           ('{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32600), ('{"jsonrpc":"2.0","id":"\\u001b\xc3\xa4","method":"x"}', -32601), ('{"jsonrpc":"2.0","id":-1.5e3,"method":"x"}', -32601)]
    for line, code in bad:
        if code is None:
            s.p.stdin.write(line.encode('latin1') + b'\n')
            continue
        got = s.raw(line.encode('latin1'))
        check(f'{line[:40]!r}: refused', got.get('error', {}).get('code') == code and got['error']['message'], got)
    check('it lives', s.ask('ping')['result'] == {})
    with open(f'/proc/{s.p.pid}/status') as f:
        kb = int(re.search(r'VmRSS:\s+(\d+)', f.read()).group(1))
    check('its memory is bounded', kb < 100000, kb)


# Takes hours.
LONG = 'SELECT COUNT(*) FROM events AS a, events AS b, events AS c, events AS d, events AS e, events AS f'


def late(binary):
    s = Server(binary, profiles.ROOT, '--timeout', '1')
    got = s.call('sql', profile='synth_tpu1', query=LONG)
    check('an endless question is stopped', got['isError'] and '1 s' in got['content'][0]['text'], got)
    endless = 'WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t) SELECT i FROM t'
    rows = s.call('sql', profile='synth_tpu1', query=endless)
    check('endless rows are cut', rows['isError'] is False and rows['structuredContent']['truncated'] and len(rows['content'][0]['text']) <= 20000)
    s.close()


def cancelled(binary):
    """A call that the client cancels ends without an answer, in its turn or before; others are answered."""
    s = Server(binary, profiles.ROOT, '--timeout', '50')

    def send(*messages):
        s.p.stdin.write(b''.join(json.dumps({'jsonrpc': '2.0', **m}).encode() + b'\n' for m in messages))
        s.p.stdin.flush()

    def call(i, query):
        return {'id': i, 'method': 'tools/call', 'params': {'name': 'sql', 'arguments': {'profile': 'synth_tpu1', 'query': query, 'max_bytes': 1000}}}

    def cancel(i):
        return {'method': 'notifications/cancelled', 'params': {'requestId': i, 'reason': 'enough'}}

    begin = time.monotonic()
    send(call('a', LONG))
    time.sleep(0.5)
    children = subprocess.run(['pgrep', '-P', str(s.p.pid)], stdout=subprocess.PIPE, text=True).stdout.split()
    send(cancel('b'), {'id': 1, 'method': 'ping'})      # another one's: the call goes on
    send(cancel('a'))
    got = json.loads(s.p.stdout.readline())
    check('a call is cancelled', got == {'jsonrpc': '2.0', 'id': 1, 'result': {}} and time.monotonic() - begin < 30, got)
    check('its process ends', children and not any(os.path.exists(f'/proc/{x}') for x in children), children)
    send(call(2, LONG), call(3, LONG), call(4, 'SELECT 4 AS four'), cancel(3), cancel(2), cancel(99), {'id': 5, 'method': 'ping'})
    got = [json.loads(s.p.stdout.readline()) for _ in range(2)]
    check('calls that wait are cancelled', [x['id'] for x in got] == [4, 5] and 'four' in got[0]['result']['content'][0]['text'], got)
    s.close()


def find_cause(text, call):
    """What an agent does: the findings, then the analysis that proves the first. The cause and what is quoted, or what is missing."""
    findings = json.loads(text('findings'))['findings']
    if not findings:
        return None, 'no finding'
    first = findings[0]
    if first['text'] not in ' '.join(text('summary').split()) and ' '.join(first['text'].split()) not in ' '.join(text('summary').split()):
        return None, f'the summary does not say: {first["text"]}'
    for tool in {e['tool'] for e in first['evidence']}:
        if not call('tool', name=tool.rstrip('@') if tool == 'trace_viewer@' else tool, table='all', max_bytes=1000):
            return None, f'{tool} has no answer'
    return first, ''


def conversation(binary):
    with open(os.path.join(ROOT, 'tests', 'diagnosis', 'cases.json')) as f:
        cases = json.load(f)
    with tempfile.TemporaryDirectory() as scratch:
        for recordings in glob.glob(os.path.join(ROOT, 'tests', 'diagnosis', 'profiles*.tar.xz')):
            with tarfile.open(recordings) as tar:
                tar.extractall(scratch)
        s = Server(binary, os.path.join(scratch, 'profiles'))
        right = 0
        for case in cases:
            first, why = find_cause(lambda tool, **a: s.text(tool, profile=case['name'], max_bytes=200000, **a),
                                    lambda tool, **a: s.text(tool, profile=case['name'], **a))
            check(f'{case["name"]}: the conversation ends', first or case['truth']['causes'] == ['none'], why)
            right += bool(first and first['cause'] in case['truth']['causes'] and re.search(case['truth']['subject'], first['subject'] + first['text'], re.I))
        check(f'the cause of {right} of {len(cases)} programs', right >= 0.95 * len(cases))
        s.close()


CLIENT = '''
import asyncio, json, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
async def main(binary, root):
    out = {}
    async with stdio_client(StdioServerParameters(command=binary, args=["mcp", root])) as (r, w):
        async with ClientSession(r, w) as s:
            out["server"] = (await s.initialize()).model_dump(mode="json", by_alias=True)["serverInfo"]["name"]
            out["tools"] = [t.name for t in (await s.list_tools()).tools]
            await s.send_ping()
            for name, arguments in json.loads(sys.argv[3]):
                got = (await s.call_tool(name, arguments)).model_dump(mode="json", by_alias=True)
                out.setdefault("answers", []).append(got)
    print(json.dumps(out))
asyncio.run(main(sys.argv[1], sys.argv[2]))
'''


def peers(binary):
    home = os.path.expanduser('~/.cache/stepscope/mcp')
    python = os.path.join(home, 'bin', 'python')
    if subprocess.run([python, '-c', 'import mcp'], stderr=subprocess.DEVNULL).returncode if os.path.exists(python) else True:
        subprocess.run([sys.executable, '-m', 'venv', home], check=True)
        subprocess.run([python, '-m', 'pip', 'install', '-q', 'mcp'], check=True)
    calls = [('runs', {}), ('summary', {'profile': 'jax_mlp_train'}), ('findings', {'profile': 'jax_mlp_train'}), ('tool', {'profile': 'jax_mlp_train', 'name': 'overview_page'}),
             ('events', {'profile': 'jax_mlp_train', 'max_bytes': 2000}), ('summary', {'profile': '/etc'})]
    p = subprocess.run([python, '-c', CLIENT, binary, profiles.ROOT, json.dumps(calls)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    check('the reference client', p.returncode == 0, p.stderr[-400:])
    got = json.loads(p.stdout) if p.returncode == 0 else {'server': '', 'tools': [], 'answers': []}
    check('the reference client: server and tools', got['server'] == 'stepscope' and len(got['tools']) == 10, got)
    check('the reference client: answers', [a['isError'] for a in got['answers']] == [False] * 5 + [True], got['answers'])
    check('the reference client: where they are from', got['answers'] and got['answers'][4]['structuredContent']['next_cursor'], got['answers'][4:5])
    finding = json.loads(got['answers'][2]['content'][0]['text'])['findings'][0]['text'] if got['answers'] else '?'
    check('the reference client: the cause', got['answers'] and finding in got['answers'][1]['content'][0]['text'], finding)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--bin', default=os.path.join(ROOT, 'build', 'stepscope'))
    ap.add_argument('--peers', action='store_true')
    a = ap.parse_args()
    binary = os.path.abspath(a.bin)
    if a.peers:
        peers(binary)
    else:
        s = Server(binary, profiles.ROOT)
        for part in (protocol, answers, pages, runs_that_come, refused):
            part(s)
        s.close()
        late(binary)
        cancelled(binary)
        conversation(binary)
        for args, words in ((['/none'], 'cannot be read'), (['.', '--timeout', '0'], 'seconds'), (['a', 'b'], 'usage')):
            p = subprocess.run([binary, 'mcp', *args], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            check(f'mcp {args}', p.returncode and words in p.stderr, p)
    print(f'{passed} passed, {failed} failed')
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
