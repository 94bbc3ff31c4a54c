#!/usr/bin/env python3
"""
The limits that docs/security.md lists, each as it stands there: of the HTTP server by trying, below it and beyond it, of gRPC the
values in the sources, whose effects test_grpc_limits has.
"""
import argparse
import http.client
import json
import os
import re
import socket
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
sys.path.insert(0, HERE)
import hostile
import limits
import serving

UNITS = {'KiB': 1 << 10, 'MiB': 1 << 20, 'GiB': 1 << 30, 's': 1, 'minutes': 60, '': 1}


def rows(heading):
    """The table below a heading: {what: the cell of limits}."""
    with open(os.path.join(TOP, 'docs/security.md'), encoding='utf-8') as f:
        text = f.read().split(f'\n## {heading}\n')[1].split('\n## ')[0]
    cells = [re.split(r' *\| *', line.strip())[1:-1] for line in text.splitlines() if line.startswith('| ')]
    return {c[0]: c[1] for c in cells if c[0] != 'what'}


class Table:
    """A table whose every row has to be asked for."""

    def __init__(self, heading):
        self.rows, self.asked = rows(heading), set()

    def value(self, what, nth=0):
        """The nth number of the row that begins so, in bytes, seconds or pieces."""
        name = next(k for k in self.rows if k.startswith(what))
        self.asked.add(name)
        number, unit = re.findall(r'(\d[\d,]*) *(KiB|MiB|GiB|minutes|s\b)?', self.rows[name])[nth]
        return int(number.replace(',', '')) * UNITS[unit]


def connect(port, host='127.0.0.1'):
    return socket.create_connection((host, port), 30)


def ends_after(sock, most, begin):
    """Seconds until the server closes the connection; None: it has not."""
    sock.settimeout(most)
    try:
        while sock.recv(65536):
            pass
    except TimeoutError:
        return None
    except OSError:
        pass
    return time.monotonic() - begin


def near(took, want):
    return took is not None and want - 2 <= took <= want + 8


def request_time(c, t, port, top):
    want = t.value('a request, from its first')
    s, begin = connect(port), time.monotonic()
    s.sendall(b'GET /runs HTTP/1.1\r\nHost: localhost\r\nX: ')
    took = ends_after(s, want + 20, begin)
    c.check('an unfinished request', near(took, want), took)


def idle_time(c, t, port, top):
    want = t.value('a connection between')
    s = connect(port)
    s.sendall(b'GET /runs HTTP/1.1\r\nHost: localhost\r\n\r\n')
    begin = time.monotonic()
    took = ends_after(s, want + 20, begin)
    c.check('a connection between two requests', near(took, want), took)


def reading_time(c, t, port, top):
    """A long answer that nobody reads: after the limit there is no more of it than the sockets hold."""
    want = t.value('a client that does not read')
    whole = len(http_get(port, '/data/plugin/profile/data?run=big&tag=trace_viewer&host=h')[1])
    early, late = [], []
    for after, to in ((want - 15, early), (want + 15, late)):
        s = connect(port)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        s.sendall(b'GET /data/plugin/profile/data?run=big&tag=trace_viewer&host=h HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
        to += [s, after]
    begin = time.monotonic()
    for s, after in (early, late):
        time.sleep(max(0, begin + after - time.monotonic()))
        s.settimeout(60)
        n = 0
        try:
            while piece := s.recv(1 << 20):
                n += len(piece)
        except OSError:
            pass
        c.check(f'an answer that is read after {after} s', (n >= whole) == (after < want), f'{n} of {whole} bytes')


def query_time(c, t, port, top):
    want = t.value('time of a query')
    class At:                           # what hostile.ask_sql wants
        pass
    At.port = port
    status, _, took, head = hostile.ask_sql(At, hostile.HOURS % 7)
    c.check('time of a query', status == 503 and near(took, want), f'{status} {took} {head}')
    most = t.value('time of a query', 1)
    status, n, took, _ = hostile.ask_sql(At, hostile.LONG % 1, '&limit=1000000')
    c.check('time of a query with its reader', status == 0 and took < most + 8, f'{status} {took}')


def http_get(port, url, method='GET', body=None):
    conn = http.client.HTTPConnection('127.0.0.1', port, timeout=120)
    try:
        conn.request(method, url, body)
        reply = conn.getresponse()
        return reply.status, reply.read()
    finally:
        conn.close()


def raw(port, data):
    with connect(port) as s:
        try:
            s.sendall(data)
            s.settimeout(20)
            return s.recv(2000)
        except OSError:
            return b''


def status_of(answer):
    return int(answer.split()[1]) if answer.startswith(b'HTTP/') else 0


def connections(c, t, port):
    """One more than there may be: the oldest gives way, and only it."""
    most = t.value('connections')
    sockets = []
    for _ in range(most):
        sockets.append(connect(port))
        time.sleep(0.002)
    time.sleep(1)

    def closed(s):
        s.setblocking(False)
        try:
            return s.recv(1) == b''
        except BlockingIOError:
            return False
        except OSError:
            return True
    c.check(f'{most} connections', not any(map(closed, sockets)), sum(map(closed, sockets)))
    sockets.append(connect(port))
    time.sleep(1)
    gone = [i for i, s in enumerate(sockets) if closed(s)]
    c.check('one more', gone == [0], gone)
    for s in sockets:
        s.close()
    time.sleep(1)


def own_address():
    """An address of this machine that is none of the loopback; None: it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(('192.0.2.1', 9))
            return s.getsockname()[0]
        except OSError:
            return None


def of_one_address(c, t, binary, top):
    most, address = t.value('connections of one address'), own_address()
    if not address:
        print('skipped: connections of one address: this machine has no address but the loopback')
        return
    with serving.Server(f'{binary} serve --logdir {{logdir}} --port {{port}} --bind 0.0.0.0 --no-token', top) as server:
        sockets = []
        for _ in range(most + 1):
            sockets.append(connect(server.port, address))
            time.sleep(0.01)
        time.sleep(1)
        for i, s in enumerate(sockets):
            s.settimeout(0.01)
            try:
                is_open = s.recv(1) != b''
            except TimeoutError:
                is_open = True
            except OSError:
                is_open = False
            if is_open != (i < most):
                c.check(f'connection {i + 1} of one address', False, 'open' if is_open else 'closed')
            s.close()
        c.check('this machine itself has no such limit', http_get(server.port, '/runs')[0] == 200)


def sizes(c, t, port):
    most = t.value('request line and headers')
    for bytes_, good in ((most * 3 // 4, True), (most + 64, False)):
        head = b'GET /runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: '
        status = status_of(raw(port, head + b'x' * (bytes_ - len(head)) + b'\r\n\r\n'))
        c.check(f'headers of {bytes_} bytes', status == 200 if good else status in (0, 413, 414, 431), status)
    most = t.value('a body')
    for bytes_, want in ((most, 400), (most + (1 << 18), 0)):
        head = b'POST /api/sql?run=mine HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n' % bytes_
        c.check(f'a body of {bytes_} bytes', status_of(raw(port, head + b' ' * bytes_)) == want)
    most = t.value('parameters')
    for n, want in ((most, 200), (most + 1, 400)):
        status = http_get(port, '/runs?' + '&'.join(f'p{i}=v' for i in range(n)))[0]
        c.check(f'{n} parameters', status == want, status)
    t.asked.add(next(k for k in t.rows if k.startswith('`Host`')))
    for hosts, want in ((0, 400), (1, 200), (2, 400)):
        status = status_of(raw(port, b'GET /runs HTTP/1.1\r\n' + b'Host: localhost\r\n' * hosts + b'Connection: close\r\n\r\n'))
        c.check(f'{hosts} Host headers', status == want, status)
    claims(c, t, port)


def claims(c, t, port):
    """Who asks is said once."""
    row = next(k for k in t.rows if k.startswith('`Authorization`'))
    t.asked.add(row)
    values = {'Authorization': 'Bearer x', 'Origin': f'http://localhost:{port}', 'Sec-Fetch-Site': 'same-origin'}
    for name in re.findall(r'`([A-Z][\w-]*)`', row):
        line = f'{name}: {values[name]}\r\n'
        for said, want in ((line, 200), (line * 2, 400), (f'{name}:\r\n', 400)):
            status = status_of(raw(port, f'GET /runs HTTP/1.1\r\nHost: localhost\r\n{said}Connection: close\r\n\r\n'.encode()))
            c.check(f'{said!r}', status == want, status)


def queries(c, t, port):
    def ask(query, more=''):
        return http_get(port, f'/api/sql?run=mine{more}', 'POST', query)
    most = t.value('a query')
    for bytes_, good in ((most, True), (most + 1, False)):
        query = 'SELECT 1 --'
        status, body = ask(query + 'x' * (bytes_ - len(query)))
        c.check(f'a query of {bytes_} bytes', status == (200 if good else 400), f'{status} {body[:200]}')
    preset, most = t.value('rows of a query'), t.value('rows of a query', 1)
    status, body = ask(hostile.NUMBERS + 'SELECT i FROM n')
    c.check('rows of a query', status == 200 and len(json.loads(body)['rows']) == preset, status)
    status, body = ask('SELECT 1', f'&limit={most}')
    c.check(f'limit={most}', status == 200, body[:200])
    c.check(f'limit={most + 1}', ask('SELECT 1', f'&limit={most + 1}')[0] == 400)
    most = t.value('a value in a query')
    c.check('a value', ask(f'SELECT length(zeroblob({most}))')[0] == 200)
    status, body = ask(f'SELECT length(zeroblob({most + 1}))')
    c.check('a longer value', status == 400 and b'%d MiB' % (most >> 20) in body, body[:200])
    most = t.value('memory of all queries')
    status, body = ask(hostile.NUMBERS.replace('n(i)', 'n(i, t)').replace('SELECT 1', 'SELECT 1, hex(zeroblob(1000000))')
                       .replace('i + 1', "i + 1, t || ''") + 'SELECT * FROM n ORDER BY t, i')
    c.check('memory of queries', status == 500 and b'%d MiB' % (most >> 20) in body, body[:200])


def in_work(c, t, port):
    """As many queries as are worked on: with one less there is room, with as many the next waits."""
    most, wait = t.value('queries in work'), 10

    class At:
        pass
    At.port = port
    for n in (most - 1, most):
        threads = [threading.Thread(target=hostile.ask_sql, args=(At, hostile.HOURS % (100 * n + i))) for i in range(n)]
        for thread in threads:
            thread.start()
        time.sleep(2)
        begin = time.monotonic()
        status, _ = http_get(port, '/api/sql?run=mine', 'POST', f'SELECT {n}')
        took = time.monotonic() - begin
        c.check(f'{n} queries in work', status == 200 and (took < 3 if n < most else 4 < took <= wait + 3), f'{status} {took}')
        for thread in threads:
            thread.join()
    # Clients that have left hold no place.
    for i in range(most + 1):
        query = hostile.HOURS % (1000 + i)
        with connect(port) as s:
            s.sendall(f'POST /api/sql?run=mine HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(query)}\r\n\r\n{query}'.encode())
            time.sleep(0.3)
    begin = time.monotonic()
    status, _ = http_get(port, '/api/sql?run=mine', 'POST', 'SELECT 9')
    took = time.monotonic() - begin
    c.check('queries of clients that left', status == 200 and took < 3, f'{status} {took}')
    most = t.value('comparisons')
    with open(os.path.join(TOP, 'src/serve/server.c'), encoding='utf-8') as f:
        c.check('comparisons in work', f'DIFFS_AT_ONCE {most}\n' in f.read())
    sides = int(re.search(r'at most (\d+) runs', next(k for k in t.rows if k.startswith('comparisons'))).group(1))
    for n, want in ((sides, 200), (sides + 1, 400)):
        status, body = http_get(port, '/api/diff?base=' + ','.join(['steps'] * n) + '&new=steps')
        c.check(f'{n} runs of a side', status == want, f'{status} {body[:200]}')


# What of gRPC stands where: the row, which of its numbers, the file, and what stands before the number there.
GRPC_SERVER = [
    ('connections', 0, 'grpc_server.c', r'max_connections : (.*);'),
    ('connections of one', 0, 'grpc_server.c', r'#define MOST_OF_ADDRESS (.*)'),
    ('calls in progress', 0, 'grpc_calls.c', r'max_calls : (.*);'),
    ('concurrent calls', 0, 'grpc_calls.c', r'#define STREAMS (\d+)'),
    ('headers of a call', 0, 'h2.h', r'#define SS_H2_HEADER_BYTES \(\(size_t\)(.*?)\)'),
    ('a request', 0, 'grpc_calls.c', r'max_request_bytes : \(uint64_t\)(.*);'),
    ('all unfinished', 0, 'grpc_calls.c', r'max_pending_bytes : \(uint64_t\)(.*);'),
    ('TLS handshake', 0, 'grpc_server.c', r'#define GREET_S (\d+)'),
    ('a request, from', 0, 'grpc_server.c', r'request_s : (.*);'),
    ('no data', 0, 'grpc_server.c', r'stall_s : (.*);'),
    ('a connection without', 0, 'grpc_server.c', r'idle_s : (.*);'),
    ('streams that a peer', 0, 'h2.c', r'#define RESETS_AT_ONCE (\d+)'),
    ('streams that a peer', 1, 'h2.c', r'#define RESETS_PER_S (\d+)'),
]
GRPC_CLIENT = [
    ('connecting', 0, 'grpc_client.c', r'#define CONNECT_MS (\d+)000\n'),
    ('an answer', 0, 'grpc_client.c', r'#define REPLY_BYTES \(\(uint64_t\)(.*)\)'),
    ('metrics', 0, '../capture/requests.c', r'#define ANSWER_BYTES \(\(uint64_t\)(.*)\)'),
    ('headers and trailers', 0, 'h2.h', r'#define SS_H2_HEADER_BYTES \(\(size_t\)(.*?)\)'),
    ('files in one', 0, '../capture/reply.c', r'#define MAX_FILES (\d+)'),
    ('an attempt', 0, '../capture/capture.c', r'#define MARGIN_MS (\d+)000\b'),
    ('an answer to `remote`', 0, '../../cli/remote.c', r'#define ANSWER_S (\d+)'),
]


def sources(c, table, places):
    for what, nth, file, pattern in places:
        name = next((k for k in table.rows if k == what), None) or next(k for k in table.rows if k.startswith(what))
        table.asked.add(name)
        want = re.findall(r'(\d[\d,]*) *(KiB|MiB|GiB|minutes|s\b)?', table.rows[name])[nth]
        want = int(want[0].replace(',', '')) * UNITS[want[1]]
        with open(os.path.join(TOP, 'src/rpc', file)) as f:
            found = re.search(pattern, f.read())
        got = [int(x) for x in re.findall(r'\d+', found.group(1))] if found else []
        got = got[0] << got[1] if len(got) > 1 else (got + [None])[0]
        c.check(f'{what} ({file})', got == want, f'{got}, the table has {want}')


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument('--bin', default='build/stepscope')
    args = ap.parse_args()
    c = hostile.Checks(os.path.abspath(args.bin))
    t, server, client = Table('Limits of the HTTP server'), Table('Limits of the gRPC server'), Table('Limits of the gRPC client')
    sources(c, server, GRPC_SERVER)
    sources(c, client, GRPC_CLIENT)
    server.asked.add(next(k for k in server.rows if k.startswith('queued frames')))      # nghttp2's own
    with tempfile.TemporaryDirectory() as top:
        hostile.write(f'{top}/plugins/profile/mine/h.xplane.pb', hostile.profile('event'))
        with open(os.path.join(TOP, 'tests/data/pairs/base/plugins/profile/run1/host0.xplane.pb'), 'rb') as f:
            hostile.write(f'{top}/plugins/profile/steps/h.xplane.pb', f.read())
        limits.big_profile(f'{top}/plugins/profile/big/h.xplane.pb', 400_000)
        with serving.Server(f'{c.binary} serve --logdir {{logdir}} --port {{port}}', top) as one:
            waiting = [threading.Thread(target=f, args=(c, t, one.port, top)) for f in (request_time, idle_time, reading_time)]
            for thread in waiting:
                thread.start()
            sizes(c, t, one.port)
            queries(c, t, one.port)
            query_time(c, t, one.port, top)
            in_work(c, t, one.port)
            of_one_address(c, t, c.binary, top)
            for thread in waiting:
                thread.join()
            connections(c, t, one.port)
    for table in (t, server, client):
        c.check('rows without a test', not set(table.rows) - table.asked, set(table.rows) - table.asked)
    print(f'{c.passed} passed, {c.failed} failed')
    return 1 if c.failed else 0


if __name__ == '__main__':
    sys.exit(main())
