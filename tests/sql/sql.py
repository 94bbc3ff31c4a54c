#!/usr/bin/env python3
"""`stepscope sql`: 25 questions with the rows that an independent reading of the files gave, the same as questions with a name,
what every table must agree on with the others, formats, and statements that mean ill.

    sql.py [--bin build/stepscope] [--rewrite]      --rewrite: the answers in docs/sql.md, written anew
"""
import argparse
import csv
import io
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import profiles
from blockers import blockers
from walks import walks

TPU, GPU, CPU, MANY = 'synth_tpu_2cores', 'gpu_mi300_gemm', 'jax_mlp_train', 'synth_tpu_3hosts'
DOC = os.path.join(ROOT, 'docs', 'sql.md')


class Checks:
    def __init__(self, binary, scratch):
        self.binary, self.scratch, self.passed, self.failed = binary, scratch, 0, 0

    def check(self, what, good, shown=''):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print(f'FAILED {what}: {str(shown)[:500]}')

    def run(self, profile, *args, given=None, timeout=90):
        return subprocess.run([self.binary, 'sql', profiles.logdir(profile, self.scratch), *args], input=given, text=True,
                              stdin=None if given else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)

    def rows(self, profile, query, *args):
        p = self.run(profile, '--format', 'json', query, *args)
        if p.returncode:
            self.check(query, False, p.stderr)
            return []
        return json.loads(p.stdout)


def same(a, b):
    if isinstance(a, float) or isinstance(b, float):
        return isinstance(a, (int, float)) and isinstance(b, (int, float)) and abs(a - b) <= max(1e-9, 1e-6 * max(abs(a), abs(b)))
    return type(a) is type(b) and a == b


def questions(c):
    with open(os.path.join(HERE, 'questions.json')) as f:
        todo = json.load(f)
    for q in todo:
        values = [x for k, v in q['values'].items() for x in ('--value', f'{k}={v}')]
        for what, args in (('query', (q['sql'],)), ('saved', ('--saved', q['id'], *values))):
            p = c.run(q['profile'], '--format', 'json', *args)
            got = json.loads(p.stdout) if p.returncode == 0 else []
            good = len(got) == len(q['expected']) and all(
                list(r) == list(g)[:len(r)] and set(g) - set(r) <= {'host'} and all(same(r[k], g[k]) for k in r) for r, g in zip(q['expected'], got))
            c.check(f"{q['id']}, as a {what}", good, p.stderr or got[:1])
    names = re.findall(r'^SAVED\("(\w+)"', open(os.path.join(ROOT, 'src', 'sql', 'saved.def')).read(), re.M)
    c.check('every question with a name has its rows here', sorted(names) == sorted(q['id'] for q in todo), names)


def by_host(c):
    """Devices of several hosts have the same names: a question with a name answers of each as if its host were alone."""
    for name, keys in (('top_ops', ('device', 'hlo_op', 'n', 'self_ns')), ('overlap', ('plane', 'pairs', 'overlap_ps')), ('busy_time', ('plane', 'busy_ps')),
                       ('categories', ('plane', 'category', 'self_ps', 'pct')), ('program_gaps', ('plane', 'gaps', 'gap_ps', 'longest_ps'))):
        def rows(*more):
            return {tuple(r[k] for k in (*keys, 'host')) for r in json.loads(c.run('synth_tpu_3hosts', '--format', 'json', '--saved', name, *more).stdout)}
        alone = set().union(*(rows('--host', f'host{i}') for i in range(3)))
        got = rows()
        c.check(f'{name} of three hosts', got and (got == alone if name != 'top_ops' else got <= alone), (got, alone))


# What one part says of a profile and another part says, too: both sides give one number.
AGREE = [
    (TPU, "SELECT SUM(count) FROM tool_event_stats", "SELECT COUNT(*) FROM events"),
    (CPU, "SELECT MAX(total_ps) FROM tool_event_stats", "SELECT 1.0 * MAX(ps) FROM (SELECT SUM(dur_ps) AS ps FROM events GROUP BY plane, name)"),
    (CPU, "SELECT p90_ps FROM tool_event_stats ORDER BY count DESC, total_ps LIMIT 1",
     "SELECT percentile(dur_ps, 90) FROM events GROUP BY plane, name ORDER BY COUNT(*) DESC, SUM(dur_ps) LIMIT 1"),
    (CPU, "SELECT SUM(busy_ps + host_wait_ps + unknown_ps) FROM tool_host_boundness", "SELECT SUM(window_ps) FROM tool_host_boundness"),
    (CPU, "SELECT SUM(host_wait_ps) FROM tool_host_boundness_2", "SELECT SUM(host_wait_ps) FROM tool_host_boundness"),
    (CPU, "SELECT SUM(host_wait_ps) FROM tool_host_boundness_3", "SELECT SUM(host_wait_ps - between_ps) FROM tool_host_boundness"),
    (CPU, "SELECT SUM(pairs) FROM tool_fusion_blockers_2", "SELECT COUNT(*) FROM tool_fusion_blockers"),
    (CPU, "SELECT SUM(value_bytes) FROM tool_fusion_blockers_2", "SELECT SUM(value_bytes) FROM tool_fusion_blockers"),
    ('tpu_v6e_inference', "SELECT CAST(self_time_ps AS INTEGER) FROM tool_hlo_query WHERE instruction = 'copy-done.2'",
     "SELECT CAST(SUM(stat(event_id, 'device_duration_ps')) AS INTEGER) FROM events WHERE line = 'XLA Ops' AND display_name = 'copy-done.2'"),
    ('tpu_v6e_inference', "SELECT CAST(total_self_time AS INTEGER) FROM tool_hlo_stats WHERE hlo_op_name = 'copy-done.2'",
     "SELECT CAST(self_time_ps / 1000000 AS INTEGER) FROM tool_hlo_query WHERE instruction = 'copy-done.2'"),
    (MANY, "SELECT MAX(dur_ps) FROM tool_event_stats_2", "SELECT 1.0 * MAX(dur_ps) FROM events"),
    (TPU, "SELECT SUM(events) FROM hosts", "SELECT COUNT(*) FROM events"),
    (TPU, "SELECT SUM(events) FROM planes", "SELECT SUM(events) FROM lines"),
    (MANY, "SELECT COUNT(DISTINCT host) FROM events", "SELECT COUNT(*) FROM hosts"),
    (CPU, "SELECT SUM(dur_ps) FROM events WHERE depth = 0", "SELECT SUM(self_ps) FROM events"),
    (CPU, "SELECT COUNT(*) FROM events WHERE parent_id IS NULL", "SELECT COUNT(*) FROM events WHERE depth = 0"),
    (CPU, "SELECT COUNT(*) FROM events AS e JOIN events AS p ON p.event_id = e.parent_id WHERE p.start_ps <= e.start_ps AND p.end_ps >= e.end_ps",
     "SELECT COUNT(*) FROM events WHERE parent_id IS NOT NULL"),
    (CPU, "SELECT COUNT(*) FROM (SELECT name FROM events GROUP BY name)", "SELECT COUNT(DISTINCT name) FROM events"),
    (CPU, "SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM events GROUP BY host, plane, line_id, name)", "SELECT COUNT(*) FROM events"),
    (CPU, "SELECT COUNT(*) FROM events WHERE name GLOB 'Thunk*'", "SELECT COUNT(*) FROM events WHERE substr(name, 1, 5) = 'Thunk'"),
    (CPU, "SELECT COUNT(*) FROM events WHERE name LIKE 'Thunk%'", "SELECT COUNT(*) FROM events WHERE name || '' GLOB 'Thunk*'"),
    (CPU, "SELECT COUNT(*) FROM events WHERE name IN ('dot', 'train', 'nothing')", "SELECT COUNT(*) FROM events WHERE name || '' IN ('dot', 'train')"),
    (CPU, "SELECT COUNT(*) FROM events WHERE name > 'd' AND name < 'e'", "SELECT SUM(name || '' > 'd' AND name || '' < 'e') FROM events"),
    (CPU, "SELECT COUNT(*) FROM events WHERE start_ps >= 1e11 AND end_ps < 150000000000.5", "SELECT SUM(+start_ps >= 1e11 AND +end_ps < 150000000000.5) FROM events"),
    (CPU, "SELECT COUNT(*) FROM events WHERE start_ps < 150000000000 AND end_ps > 149000000000",
     "SELECT SUM(+start_ps < 150000000000 AND +end_ps > 149000000000) FROM events"),
    (CPU, "SELECT COUNT(*) FROM events WHERE dur_ps >= 100000000", "SELECT SUM(+dur_ps >= 100000000) FROM events"),
    (CPU, "SELECT COUNT(*) FROM events WHERE dur_ps = 0", "SELECT SUM(+dur_ps = 0) FROM events"),
    (CPU, "SELECT COUNT(*) FROM events WHERE start_ns >= (SELECT MIN(start_ns) FROM events) + 1000000 AND start_ns <= (SELECT MAX(start_ns) FROM events)",
     "SELECT SUM(+start_ns >= (SELECT MIN(start_ns) FROM events) + 1000000) FROM events"),
    (CPU, "SELECT COUNT(*) FROM events WHERE start_ps > '100000000000'", "SELECT SUM(start_ps + 0 > 100000000000) FROM events"),
    (CPU, "SELECT COUNT(*) FROM events WHERE start_ps < 'x'", "SELECT COUNT(*) FROM events"),
    (CPU, "SELECT COUNT(*) FROM events WHERE start_ps > NULL", "SELECT 0"),
    (CPU, "SELECT COUNT(*) FROM events WHERE event_id = 3.0 OR event_id = 4.5 OR event_id = -1", "SELECT 1"),
    (CPU, "SELECT COUNT(*) FROM events WHERE plane = '/HOST:cpu' COLLATE NOCASE", "SELECT COUNT(*) FROM events WHERE plane = '/host:CPU'"),
    (CPU, "SELECT COUNT(*) FROM events WHERE NOT plane GLOB '/host:*'", "SELECT SUM(plane NOT LIKE '/host:%') FROM events"),
    (GPU, "SELECT COUNT(*) FROM events WHERE stat(event_id, 'correlation_id') IS NOT NULL", "SELECT COUNT(*) FROM stats WHERE key = 'correlation_id'"),
    (GPU, "SELECT COUNT(*) FROM stats WHERE event_id = 100", "SELECT SUM(event_id = 100) FROM stats"),
    (GPU, "SELECT COUNT(*) FROM events AS h JOIN events AS d ON stat(d.event_id, 'correlation_id') = stat(h.event_id, 'correlation_id')",
     "SELECT COUNT(*) FROM (SELECT value AS v FROM stats WHERE key = 'correlation_id') AS h JOIN (SELECT value AS v FROM stats WHERE key = 'correlation_id') AS d ON d.v = h.v"),
    (GPU, "SELECT COUNT(*) FROM events AS h, events AS d WHERE d.correlation_id = h.correlation_id AND h.plane <> d.plane",
     "SELECT COUNT(*) FROM events AS h, events AS d WHERE stat(d.event_id, 'correlation_id') + 0 = stat(h.event_id, 'correlation_id') + 0 AND h.plane <> d.plane"),
    (GPU, "SELECT COUNT(*) FROM xprof_events WHERE device = 'cpu:0'", "SELECT COUNT(*) FROM events WHERE plane = '/host:CPU'"),
    (GPU, "SELECT SUM(instructions) FROM modules", "SELECT COUNT(*) FROM instructions"),
    (GPU, "SELECT SUM(operand_count) FROM instructions", "SELECT COUNT(*) FROM edges"),
    (GPU, "SELECT COUNT(*) FROM computations WHERE is_entry", "SELECT COUNT(*) FROM modules"),
    (GPU, "SELECT COUNT(*) FROM instructions AS i JOIN computations AS c ON c.module = i.module AND c.root_id = i.id AND c.name = i.computation_name", "SELECT SUM(is_root) FROM instructions"),
    ('synth_counters_v6e', "SELECT COUNT(*) FROM counters", "SELECT COUNT(*) FROM events WHERE stat(event_id, 'counter_value') IS NOT NULL"),
    ('tpu_v6e_inference', "SELECT COUNT(*) FROM memory_events", "SELECT COUNT(*) FROM events WHERE name IN ('MemoryAllocation', 'MemoryDeallocation')"),
    (TPU, "SELECT value FROM run WHERE key = 'events'", "SELECT CAST(COUNT(*) AS TEXT) FROM events"),
    (TPU, "SELECT COUNT(*) FROM tool_hlo_stats", "SELECT COUNT(rank) FROM tool_hlo_stats"),
    # Functions.
    (TPU, "SELECT regexp_extract('jit(f)/a/b.12', '([a-z]+)[.]([0-9]+)', 2)", "SELECT '12'"),
    (TPU, "SELECT regexp_extract('abc', 'x')", "SELECT NULL"),
    (TPU, "SELECT 'Fusion.3' REGEXP '(?i)^fusion'", "SELECT 1"),
    (TPU, "SELECT percentile(column1, 25) FROM (VALUES (1), (2), (3), (NULL), (10))", "SELECT 1.75"),
    (TPU, "SELECT median(column1) FROM (VALUES (1), (2))", "SELECT 1.5"),
    (TPU, "SELECT quantile_cont(column1, 1) FROM (VALUES (1), (2))", "SELECT 2.0"),
    (TPU, "SELECT median(column1) FROM (VALUES (NULL))", "SELECT NULL"),
    (TPU, "SELECT fmt_ps(1234567)", "SELECT '1.235 us'"),
    (TPU, "SELECT 'a%c' LIKE 'a!%_' ESCAPE '!', 1", "SELECT 1"),
    (TPU, "SELECT 'ABC' LIKE 'abc'", "SELECT 0"),
    (TPU, "SELECT 'häh' GLOB 'h?h' AND 'a]b' GLOB 'a[]]b' AND 'abc' GLOB '[^x-z]*c'", "SELECT 1"),
    (TPU, "SELECT instr('häh', 'h') || instr('häh', 'äh') || instr('a', 'b')", "SELECT '120'"),
    (TPU, "SELECT instr(hex(zeroblob(9000000)), hex(zeroblob(4000000)) || '1')", "SELECT 0"),
    # Hours, if every letter of the text is compared with every one of the set.
    (TPU, "SELECT length(trim(hex(zeroblob(8000000)), printf('%.*c', 200000, '1') || '0'))", "SELECT 0"),
    (TPU, "SELECT length(unhex(printf('%.*c', 4000000, '-'), printf('%.*c', 4000000, 'x') || '-'))", "SELECT 0"),
    (TPU, "SELECT trim('äxbä', 'äx') || ltrim('€1€', '€') || rtrim('x😀é😀', 'é😀') || trim('a', '') || trim(55, 5)", "SELECT 'b1€xa'"),
    (TPU, "SELECT hex(trim(x'ff61c3ff', x'ffc3')) || ifnull(trim('a', NULL), '-') || ifnull(trim(NULL, 'a'), '-')", "SELECT '61--'"),
    (TPU, "SELECT hex(unhex('0a€0B ', ' €')) || ifnull(unhex('0a0'), '-') || ifnull(unhex('0-a', '-'), '-') || ifnull(unhex('0x'), '-')", "SELECT '0A0B---'"),
    (CPU, "SELECT median(dur_ps) FROM events",
     "SELECT AVG(dur_ps) FROM (SELECT dur_ps FROM events ORDER BY dur_ps LIMIT 2 - (SELECT COUNT(*) FROM events) % 2 OFFSET (SELECT (COUNT(*) - 1) / 2 FROM events))"),
    (CPU, "SELECT quantile_cont(dur_ps * (CASE event_id % 3 WHEN 0 THEN -1e-3 ELSE 0.5 END), 0) + percentile(start_ps, 100) FROM events",
     "SELECT MIN(dur_ps * (CASE event_id % 3 WHEN 0 THEN -1e-3 ELSE 0.5 END)) + MAX(start_ps) FROM events"),
    (CPU, "SELECT quantile_cont(event_id * 7919 % (SELECT COUNT(*) FROM events), 0.25) FROM events", "SELECT (COUNT(*) - 1) * 0.25 FROM events"),
    (TPU, "SELECT replace('a-b-c', '-', '::') || replace('x', '', 'y')", "SELECT 'a::b::cx'"),
    (TPU, "SELECT printf('%d|%5.2f|%-6d|%06d|%,d|%x|%+d|%e|%s|%.2s|%3c|%.3c|%q|%Q|%Q|%u|%5%|%*d|%-*.*f|', 1, 2.346, 7, 8, 1234567, 255, 9, 1.5, 'a', 'bcd', 'äx', "
          "'€', 'it''s', 'b', NULL, -1, 4, 3, 6, 2, 3.14159)",
     "SELECT '1| 2.35|7     |000008|1,234,567|ff|+9|1.500000e+00|a|bc|  ä|€€€|it''''s|''b''|NULL|18446744073709551615|    %|   3|3.14  |'"),
    (TPU, "SELECT format('a%') || format('b%yc', 1) || format('%d%s', 5) || ifnull(format(NULL), '-') || length(format('%.*c', 1000000, 'x'))", "SELECT 'a%b5-1000000'"),
]


def agreement(c):
    for profile, one, two in AGREE:
        a, b = c.rows(profile, one), c.rows(profile, two)
        if a and b:
            x, y = list(a[0].values())[0], list(b[0].values())[0]
            c.check(f'{one} = {two}', same(x, y), (x, y))
    for profile in (TPU, CPU, 'tf_keras_fast', 'tpu_v6e_inference', 'gpu_v100_2hosts'):  # steps of devices, marked by programs, inferred
        said = subprocess.run([c.binary, 'summary', profiles.logdir(profile, c.scratch), '--format', 'json'], stdout=subprocess.PIPE, check=False).stdout
        n, rows = json.loads(said)['steps']['count'], c.rows(profile, 'SELECT COUNT(DISTINCT step_num) AS n FROM tool_host_boundness_3')
        c.check(f'the steps of {profile}', n > 0 and rows == [{'n': n}], (n, rows))


def order(c):
    """Rows in the order that is asked for, whether SQLite sorts or the table does."""
    for profile in (CPU, MANY):
        for cols in ('name', 'name DESC', 'host, plane, line_id, name', 'display_name, name', 'line DESC, name'):
            got = [r['k'] for r in c.rows(profile, f"SELECT name || '|' || coalesce(display_name, '') || '|' || host || plane || line_id AS k FROM events ORDER BY {cols}")]
            names = ', '.join('+' + w.strip() for w in cols.split(','))
            sorted_by_sqlite = c.rows(profile, f"SELECT name || '|' || coalesce(display_name, '') || '|' || host || plane || line_id AS k FROM events ORDER BY {names}")
            pick = {'name': 0, 'name DESC': 0, 'display_name, name': slice(0, 2), 'line DESC, name': 0}.get(cols, slice(0, 3))
            key = lambda k: k.split('|')[pick]
            c.check(f'{profile} ordered by {cols}', [key(k) for k in got] == [key(r['k']) for r in sorted_by_sqlite], got[:2])


def formats(c):
    query = "SELECT 1 AS a, 2.5 AS b, 'x,\"y\"' AS c, NULL AS d, '' AS e, x'00ff' AS f, 1e999 AS g"
    p = c.run(TPU, '-f', 'json', query)
    c.check('json', json.loads(p.stdout) == [{'a': 1, 'b': 2.5, 'c': 'x,"y"', 'd': None, 'e': '', 'f': '00ff', 'g': None}], p.stdout)
    p = c.run(TPU, '-f', 'csv', query)
    c.check('csv', list(csv.reader(io.StringIO(p.stdout, newline=''))) == [list('abcdefg'), ['1', '2.5', 'x,"y"', '', '', '00ff', '']], p.stdout)
    c.check('csv: a text without letters is no NULL', ',,"",' in p.stdout, p.stdout)
    p = c.run(TPU, '-f', 'jsonl', "SELECT column1 AS n FROM (VALUES (1), (2))")
    c.check('jsonl', [json.loads(x) for x in p.stdout.splitlines()] == [{'n': 1}, {'n': 2}], p.stdout)
    p = c.run(TPU, "SELECT 1500000 AS t_ps, 'x' AS name")
    c.check('table', 'name' in p.stdout and '1.5' in p.stdout, p.stdout)
    c.check('table, raw', '1500000' in c.run(TPU, '--raw', 'SELECT 1500000 AS t_ps').stdout.replace(',', ''))
    p = c.run(TPU, '-f', 'json', '-n', '2', 'SELECT event_id FROM events')
    c.check('--limit', len(json.loads(p.stdout)) == 2 and 'only the first 2 rows' in p.stderr, p.stderr)
    p = c.run(TPU, '-f', 'json', '-', given='SELECT 7 AS n -- from standard input\n;')
    c.check('standard input', p.stdout.strip() and json.loads(p.stdout) == [{'n': 7}], p.stderr)
    p = c.run(TPU, '-f', 'json', '-v', 'x=5', '-v', 'y=abc', 'SELECT :x + 1 AS x, :y AS y')
    c.check('values', p.stdout.strip() and json.loads(p.stdout) == [{'x': 6, 'y': 'abc'}], p.stderr)
    p = c.run(TPU, "SELECT x'00ff41' AS blob, 1e999 AS most, -1e999 AS least UNION ALL SELECT 'text', 'text', 2.5")
    c.check('table: blobs are hexadecimal, infinities are NULL', '00ff41' in p.stdout and 'inf' not in p.stdout, p.stdout)
    c.check('tables of JSON', c.rows(TPU, "SELECT j.value, t.fullkey FROM json_each('[1,2]') AS j JOIN json_tree('{\"a\":[3]}') AS t ON t.atom = 3") ==
            [{'value': 1, 'fullkey': '$.a[0]'}, {'value': 2, 'fullkey': '$.a[0]'}])
    c.check('numbers in texts', c.rows(TPU, "SELECT percentile(column1, 50) AS p FROM (VALUES ('1'), (3), (NULL))") == [{'p': 2.0}])
    c.check('explain, in full', c.rows(TPU, 'EXPLAIN SELECT 1')[0]['opcode'] == 'Init')
    c.check('no rows', c.rows(TPU, 'SELECT 1 WHERE 0') == [])
    c.check('a comment first', c.rows(TPU, '-- one\n-- two\nSELECT 1 AS a') == [{'a': 1}])
    c.check('several hosts', len(c.rows(MANY, 'SELECT host FROM hosts')) == 3)
    c.check('one host', [r['host'] for r in c.rows(MANY, 'SELECT host FROM hosts', '--host', 'host1')] == ['host1'])
    c.check('explain', any('VIRTUAL' in r['detail'] for r in c.rows(TPU, 'EXPLAIN QUERY PLAN SELECT * FROM events')))
    listed = subprocess.run([c.binary, 'sql', '--tables'], stdout=subprocess.PIPE, text=True).stdout
    for table in re.findall(r'^(\w+) ', listed.split('\n\n')[0], re.M):
        c.check(f'table {table}', c.run(GPU, f'SELECT * FROM {table} LIMIT 1').returncode == 0)
    for table in re.findall(r'^"?tool_.*', listed.split('\n\n')[0], re.M):
        p = c.run(GPU, f'SELECT * FROM {table} LIMIT 1')
        c.check(f'table {table}: the name can be used', not re.search('token|syntax|no such table', p.stderr), p.stderr)


# What is refused, or ended, with its status and a piece of its sentence.
REFUSED = [
    (2, "INSERT INTO events(name) VALUES('x')", 'may only read'),
    (2, "DELETE FROM steps", 'may not be modified|may only read'),
    (2, "CREATE TABLE t(x)", 'may only read'),
    (2, "CREATE TEMP VIEW v AS SELECT 1", 'may only read'),
    (2, "CREATE VIRTUAL TABLE t USING fts5(x)", 'may only read'),
    (2, "ATTACH DATABASE '{scratch}/written' AS x", 'may only read.*other databases are not allowed'),
    (2, "VACUUM INTO '{scratch}/written'", 'may only read'),
    (2, "PRAGMA writable_schema = 1", 'may only read'),
    (2, "SELECT * FROM pragma_database_list", "may only read.*SQLite's own tables are|no such table"),
    (2, "BEGIN", 'may only read.*transactions are not allowed'),
    (2, "INSERT INTO json_each(value) VALUES(1)", 'may not be modified|may only read'),
    (2, "SELECT value FROM json_each('[1]') RETURNING *", 'syntax error'),
    (2, "CREATE VIRTUAL TABLE t USING json_each", 'may only read'),
    (2, "CREATE TABLE json_each(x)", 'may only read'),
    (2, "CREATE TEMP TABLE t AS SELECT * FROM json_tree('[1]')", 'may only read'),
    (2, "SELECT * FROM sqlite_dbpage", 'may only read|no such table|prohibited|authorized'),
    (2, "SELECT * FROM dbstat", 'may only read|no such table|prohibited|authorized'),
    (2, "SELECT * FROM bytecode('SELECT 1')", 'may only read|no such table|prohibited|authorized'),
    (2, "SELECT * FROM json_each('[1')", 'malformed'),
    (124, "SELECT COUNT(*) FROM json_each('[1' || replace(hex(zeroblob(1000000)), '00', ',1') || ']') AS a JOIN json_each('[1' || replace(hex(zeroblob(1000000)), '00', ',1') || ']') AS b", 'was stopped.*--timeout S'),
    (2, "SELECT percentile('abc', 50)", 'take numbers'),
    (2, "SELECT median(x'00')", 'take numbers'),
    (2, "SELECT percentile(1, 'abc')", '0 to 100'),
    (2, "SELECT percentile(1, NULL)", '0 to 100'),
    (2, "SELECT 1; SELECT 2", 'one at a time'),
    (2, "SELECT 1; -- nothing\n /* more */ ; x", 'one at a time'),
    (2, "", 'empty'),
    (2, "/* only a comment */", 'empty'),
    (2, "SELECT load_extension('/tmp/x.so')", 'function'),
    (2, "SELECT readfile('/etc/passwd')", 'readfile'),
    (2, "SELECT json_patch('{}', '{}')", 'the function json_patch is not allowed'),
    (2, "SELECT length(zeroblob(2000000000))", 'MiB'),
    # SQLite's own goes on for hours, and asks nobody whether time is up.
    (2, "SELECT length(printf('" + '%.*c' * 60 + "'" + ", 2147483647, 'x'" * 30 + '))', 'MiB'),
    (2, "SELECT printf('%2000000000d', 1)", 'MiB'),
    ((1, 124), 'WITH a0 AS (SELECT 1 AS x), ' + ', '.join(f'a{i + 1} AS (SELECT p.x FROM a{i} AS p, a{i} AS q)' for i in range(40)) + ' SELECT x FROM a40', 'memory|was stopped'),
    ((2, 124), "SELECT replace(hex(zeroblob(20000000)), '0', 'xxxxxxxx')", 'MiB|was stopped'),
    (2, "SELECT colour FROM events", 'no such column: colour.*LIMIT 1 shows its columns'),
    (2, "SELECT * FROM colours", 'no such table: colours: the tables are events, stats,.* and tool_NAME'),
    (2, "SELECT * FROM tool_memory_snapshot", 'no such table'),
    (2, "SELECT regexp_extract('abc', '(b)', 2)", 'there is no group 2: the pattern has 1'),
    (2, "SELECT regexp_extract('abc', '(b)', -1)", 'there is no group -1'),
    (2, "-- a comment", 'the query is empty'),
    (2, "-- a comment\nSELECT colour FROM events", 'no such column'),
    (2, "SELECT * FROM tool_hlo_stats_16", 'has'),
    (2, "SELECT FROM", 'syntax error'),
    (2, "SELECT 1 WHERE 'x' REGEXP '('", "without its"),
    (2, "SELECT 'x' REGEXP '(((a{1000}){1000}){1000})'", 'too long'),
    (2, "SELECT :missing", 'has no value'),
    (2, "SELECT " + "(" * 5000 + "1" + ")" * 5000, 'deep|overflow'),
    (2, "SELECT percentile(1, 200)", '0 to 100'),
    ((1, 124), "WITH RECURSIVE n(i, t) AS (SELECT 1, hex(zeroblob(1000000)) UNION ALL SELECT i + 1, t || '' FROM n) SELECT * FROM n ORDER BY t, i", 'memory|was stopped'),
    (124, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT SUM(i) FROM n", 'was stopped'),
    (124, "SELECT COUNT(*) FROM events AS a, events AS b, events AS c, events AS d", 'was stopped'),
    (124, "SELECT SUM(hex(zeroblob(20000000)) LIKE '%1%' || a.event_id) FROM events AS a, events AS b", 'was stopped'),
    (124, "SELECT hex(zeroblob(10000000)) REGEXP '(0*)*(0*)*(0*)*(0*)*[a-f]{300}1'", 'was stopped'),
]


# A set of 300,000 letters, each of which a letter of the text may be.
LONG_SET = "SELECT hex(zeroblob(2000000)) REGEXP '[" + ''.join(chr(i) for i in range(0x4e00, 0x9000, 2)) * 18 + "]'"


def refused(c):
    written = os.path.join(c.scratch, 'written')
    for status, query, words in REFUSED:
        begin = time.monotonic()
        p = c.run(CPU, '-f', 'json', '--timeout', '2', query.replace('{scratch}', c.scratch))
        took = time.monotonic() - begin
        c.check(f'{query[:80]}: status {status}', p.returncode in (status if isinstance(status, tuple) else (status,)), (p.returncode, p.stderr))
        c.check(f'{query[:80]}: says why', re.search(words, p.stderr) and len(p.stderr.splitlines()) <= 2, p.stderr)
        c.check(f'{query[:80]}: in time', took < 30, took)
    cpu_s = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    begin = cpu_s()
    p = c.run(CPU, '-f', 'json', 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT SUM(i * i) FROM n')
    took = cpu_s() - begin
    # A machine that gives it less than a second of the 30 stops it by the clock.
    c.check('a recursion without an end: stopped long before the time is up', p.returncode == 124 and took < 15 and
            ('no end' in p.stderr or 'was stopped after' in p.stderr), (p.returncode, took, p.stderr))
    p = c.run(CPU, '-f', 'csv', 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000) SELECT COUNT(*) FROM n')
    c.check('a recursion of a million rows', p.returncode == 0 and p.stdout.split() == ['COUNT(*)', '1000000'], (p.returncode, p.stdout, p.stderr))
    c.check('nothing is written', not os.path.exists(written))
    p = subprocess.run([c.binary, 'sql', os.path.join(c.scratch, 'none'), 'SELECT 1'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    c.check('no such profile: status 1', p.returncode == 1 and 'none' in p.stderr, p.stderr)
    p = subprocess.run([c.binary, 'sql', '-', '-'], input='SELECT 1', stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    c.check('two from standard input', p.returncode == 2 and 'cannot both be read from standard input' in p.stderr, p.stderr)
    p = c.run(CPU, '--saved', 'contentz')
    c.check('a slip in a name', p.returncode == 2 and "did you mean 'contents'" in p.stderr, p.stderr)
    p = c.run(CPU, 'SELECT 1', '--saved', 'contents')
    c.check('a name and a query', p.returncode == 2 and 'and no QUERY' in p.stderr, p.stderr)
    p = c.run(CPU, '--limit', '0', 'SELECT 1')
    c.check('no row at most', p.returncode == 2 and not p.stdout and 'from 1 on' in p.stderr, (p.stdout, p.stderr))
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    p = c.run(CPU, '-f', 'csv', '-', given=LONG_SET)
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - used
    c.check('a regular expression with a long set', p.returncode == 0 and p.stdout.endswith('\r\n0\r\n') or p.stdout.endswith('\n0\n'), (p.returncode, p.stdout[-100:], p.stderr))
    c.check('a regular expression with a long set: in time', used < 2, used)
    p = c.run(CPU, '--saved', 'contents', '-v', 'x=1')
    c.check('an unknown value', p.returncode == 2 and 'no parameter' in p.stderr, p.stderr)
    for value, words in (('gap_us=abc', "gap_us of longest_gaps takes a number, not 'abc'"), ('gap_us=nan', "takes a number, not 'nan'"),
                         ('rows=-1', "takes a whole number of at least 0, not '-1'"), ('rows=1.5', "not '1.5'"), ('rows=', "not ''")):
        p = c.run(CPU, '--saved', 'longest_gaps', '-v', value)
        c.check(f'--saved longest_gaps --value {value}', p.returncode == 2 and words in p.stderr, (p.returncode, p.stderr))
    p = c.run(CPU, '-f', 'csv', 'SELECT typeof(:x) AS x, typeof(:y) AS y', '--text', 'x=12', '-v', 'y=12')
    c.check('--text', p.stdout.split() == ['x,y', 'text,integer'], (p.stdout, p.stderr))
    p = c.run(TPU, '-f', 'csv', "SELECT COUNT(*) > 0 AS n FROM tool_hlo_stats t JOIN modules m ON printf('%u', m.program_id) = t.program_id")
    c.check('program_id of a tool and of modules', p.stdout.split() == ['n', '1'], (p.stdout, p.stderr))
    for argv, words in ((('SELECT :x', '-v', 'x=1', '-v', 'x=2'), 'the parameter :x is given twice'), (('SELECT ?1',), 'give it a name, as :name'),
                        (("SELECT json_patch('{}', '{}')",), 'the function json_patch is not allowed'), (("SELECT fmt_ps('x')",), 'fmt_ps takes a number')):
        p = c.run(CPU, *argv)
        c.check(f'refused: {argv}', p.returncode == 2 and words in p.stderr, (p.returncode, p.stderr))
    p = subprocess.run([c.binary, 'sql', os.path.join(ROOT, 'tests', 'data', 'memory/torch_snapshot/run/rank1.pickle'), 'SELECT 1'], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    c.check('a file without events', p.returncode == 1 and "and so no events: 'stepscope tools PATH' lists" in p.stderr, (p.returncode, p.stderr))
    p = c.run(CPU, 'SELECT :x', '-v', 'x=1', '-v', 'y=2')
    c.check('a value without its parameter', p.returncode == 2 and 'the query has no parameter :y' in p.stderr, (p.returncode, p.stderr))
    p = c.run(CPU, '-f', 'json', 'SELECT :a AS x, :b AS x, :c AS x, typeof(:d) AS x_2, :e AS e', *(w for v in ('a=007', 'b=nan', 'c=0x10', 'd=-12', 'e=1e3') for w in ('-v', v)))
    c.check('values that are no decimal number are texts, and each column has a name', json.loads(p.stdout or 'null') ==
            [{'x': '007', 'x_2': 'nan', 'x_3': '0x10', 'x_2_2': 'integer', 'e': 1000}], (p.stdout, p.stderr))
    c.check('memory stays bounded', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2200000, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)


def answers(c):
    """The part of docs/sql.md that shows an answer of each question with a name."""
    with open(os.path.join(HERE, 'questions.json')) as f:
        todo = json.load(f)
    out = []
    for q in todo:
        listed = subprocess.run([c.binary, 'sql', '--tables'], stdout=subprocess.PIPE, text=True).stdout
        doc = re.search(rf"^{q['id']} +(.*)$", listed, re.M).group(1)
        got = subprocess.run([c.binary, 'sql', profiles.logdir(q['profile'], c.scratch), '--saved', q['id'], '-n', '4', '-f', 'csv'],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode().replace('\r', '')
        lines = [x if len(x) <= 140 else x[:139] + '…' for x in got.splitlines()[:5]]
        out.append(f"### {q['id']}\n\n{doc[0].upper()}{doc[1:]}. The first rows for the sample `{q['profile']}`:\n\n```\n" + '\n'.join(lines) + '\n```\n')
    return '\n'.join(out)


def documents(c, rewrite):
    with open(DOC) as f:
        text = f.read()
    head, mark, _ = text.partition('<!-- answers -->\n')
    fresh = head + mark + '\n' + answers(c)
    if rewrite:
        with open(DOC, 'w') as f:
            f.write(fresh)
    c.check('docs/sql.md shows what the program answers (sql.py --rewrite)', fresh == text)
    listed = subprocess.run([c.binary, 'sql', '--tables'], stdout=subprocess.PIPE, text=True).stdout
    for table in re.findall(r'^(\w+) ', listed.split('\n\n')[0], re.M):
        c.check(f'docs/sql.md describes {table}', f'`{table}`' in text)
        row = c.run(CPU, '-f', 'csv', f'SELECT * FROM {table} LIMIT 0').stdout.strip().split(',')
        missing = [col for col in row if f'`{col}`' not in text]
        c.check(f'docs/sql.md describes the columns of {table}', not missing, missing)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--bin', default=os.path.join(ROOT, 'build', 'stepscope'))
    ap.add_argument('--rewrite', action='store_true')
    a = ap.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        c = Checks(os.path.abspath(a.bin), scratch)
        if a.rewrite:
            documents(c, True)
            return
        for stage in (questions, by_host, agreement, walks, blockers, order, formats, refused):
            stage(c)
        documents(c, False)
    print(f'{c.passed} passed, {c.failed} failed')
    sys.exit(c.failed > 0)


if __name__ == '__main__':
    main()
