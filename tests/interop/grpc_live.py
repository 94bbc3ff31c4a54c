#!/usr/bin/env python3
"""Our gRPC against grpcio, both ways: statuses and their words, deadlines, cancelling, long messages, many calls, GOAWAY, TLS."""
import concurrent.futures
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PYTHON = os.path.join(os.environ.get('XDG_CACHE_HOME', os.path.expanduser('~/.cache')), 'stepscope/venv-record/bin/python')
PEER = os.path.join(ROOT, 'build/tests/grpc_peer')
TLS = os.path.join(ROOT, 'tests/data/tls')
WORDS = '100% not so:\nd\u00fcnn'
LONG = 1 << 30
passed, failed = 0, 0

try:
    import grpc
except ImportError:
    grpc = None


def check(what, good, *details):
    global passed, failed
    passed += bool(good)
    failed += not good
    if not good:
        print(f'{what}: wrong', *details)


def pem(name):
    with open(os.path.join(TLS, name), 'rb') as f:
        return f.read()


class OurServer:
    def __init__(self, *tls):
        self.proc = subprocess.Popen([PEER, 'serve', *[os.path.join(TLS, t) for t in tls]], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
        self.port = int(self.proc.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.proc.stdin.close()
        status = self.proc.wait(20)
        self.proc.stdout.close()
        check('our server ends in order', status == 0, status)


def outcome(channel, method, request=b'', timeout=20):
    """(code, words, reply)"""
    try:
        return grpc.StatusCode.OK, '', channel.unary_unary(method)(request, timeout=timeout)
    except grpc.RpcError as e:
        return e.code(), e.details(), None


def peak_kb(pid):
    """The most memory that a process has had."""
    with open(f'/proc/{pid}/status') as f:
        return next(int(line.split()[1]) for line in f if line.startswith('VmHWM:'))


LIMITS = [('grpc.max_receive_message_length', -1), ('grpc.max_send_message_length', -1)]


def their_client():
    code = grpc.StatusCode
    with OurServer() as server:
        with grpc.insecure_channel(f'127.0.0.1:{server.port}', options=LIMITS) as channel:
            for size in (0, 1, 16383, 16384, 65536, 1 << 20, 12 << 20):
                request = bytes(i & 255 for i in range(256)) * (size // 256) + b'x' * (size % 256)
                check(f'echo of {size} bytes', outcome(channel, '/t.S/Echo', request) == (code.OK, '', request))
            check('fail', outcome(channel, '/t.S/Fail')[:2] == (code.FAILED_PRECONDITION, WORDS), outcome(channel, '/t.S/Fail'))
            check('unknown method', outcome(channel, '/t.S/No')[0] == code.UNIMPLEMENTED)
            check('too long', outcome(channel, '/t.S/Echo', bytes(17 << 20))[0] == code.RESOURCE_EXHAUSTED)
            check('deadline', outcome(channel, '/t.S/Sleep', timeout=0.2)[0] == code.DEADLINE_EXCEEDED)
            call = channel.unary_unary('/t.S/Sleep').future(b'', timeout=20)
            time.sleep(0.2)
            call.cancel()
            for _ in range(100):
                gone = outcome(channel, '/t.S/Gone')[2]
                if gone == b'2':
                    break
                time.sleep(0.02)
            check('handlers notice that nobody waits', gone == b'2', gone)
            reply = outcome(channel, '/t.S/Big', b'%d' % LONG, timeout=200)[2]
            check('1 GiB', reply is not None and len(reply) == LONG)
            check('and no more memory for it than for a byte', peak_kb(server.proc.pid) < 40000, peak_kb(server.proc.pid))
            with concurrent.futures.ThreadPoolExecutor(20) as pool:
                done = list(pool.map(lambda i: outcome(channel, '/t.S/Echo', b'%d' % i)[2] == b'%d' % i, range(1000)))
            check('1000 calls, 20 at once', all(done))
            check('compressed', compressed(channel) == code.UNIMPLEMENTED, compressed(channel))


def compressed(channel):
    try:
        channel.unary_unary('/t.S/Echo')(b'a' * 1000, timeout=20, compression=grpc.Compression.Gzip)
        return grpc.StatusCode.OK
    except grpc.RpcError as e:
        return e.code()


def their_tls_client():
    ca, cert, key = pem('ca.crt'), pem('client.crt'), pem('client.key')
    for files, ours, good in ((('server.crt', 'server.key'), grpc.ssl_channel_credentials(ca), True),
                              (('server.crt', 'server.key', 'ca.crt'), grpc.ssl_channel_credentials(ca, key, cert), True),
                              (('server.crt', 'server.key', 'ca.crt'), grpc.ssl_channel_credentials(ca), False)):
        with OurServer(*files) as server:
            with grpc.secure_channel(f'127.0.0.1:{server.port}', ours) as channel:
                result = outcome(channel, '/t.S/Echo', b'x' * 100000)
                check(f'TLS with {files}', (result[0] == grpc.StatusCode.OK) == good, result[:2])


class Handler(grpc.GenericRpcHandler if grpc else object):
    def service(self, details):
        name = details.method.rsplit('/', 1)[1].lower()
        fn = getattr(self, name, None)
        return grpc.unary_unary_rpc_method_handler(fn) if fn else None

    def echo(self, request, context):
        return request

    def fail(self, request, context):
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, WORDS)

    def sleep(self, request, context):
        time.sleep(1)
        return b''

    def big(self, request, context):
        return b'b' * LONG

    def packed(self, request, context):
        context.set_compression(grpc.Compression.Gzip)
        return b'a' * 10000


def our_call(target, method, size=0, timeout_ms=20000, *tls):
    done = subprocess.run([PEER, 'call', target, f'/t.S/{method}', str(size), str(timeout_ms), *[os.path.join(TLS, t) for t in tls]],
                          stdout=subprocess.PIPE, text=True, timeout=300)
    lines = done.stdout.split('\n')
    return lines[0], '\n'.join(lines[1:-2]), lines[-2] if len(lines) > 2 else ''


def their_server(credentials=None):
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(8), options=LIMITS)
    server.add_generic_rpc_handlers((Handler(),))
    port = server.add_secure_port('127.0.0.1:0', credentials) if credentials else server.add_insecure_port('127.0.0.1:0')
    server.start()
    return server, f'127.0.0.1:{port}'


def our_client():
    server, target = their_server()
    for size in (0, 1, 65536, 30 << 20):
        check(f'our echo of {size}', our_call(target, 'Echo', size) == ('OK', '', f'{size} {97 * size}'))
    check('our fail', our_call(target, 'Fail') == ('FAILED_PRECONDITION', WORDS, '0 0'), our_call(target, 'Fail'))
    check('our unknown', our_call(target, 'No')[0] == 'UNIMPLEMENTED')
    check('our deadline', our_call(target, 'Sleep', 0, 200)[0] == 'DEADLINE_EXCEEDED')
    check('our 1 GiB', our_call(target, 'Big', 0, 200000) == ('OK', '', f'{LONG} {98 * LONG}'))
    # A server that compresses although we said we take none: refused in words.
    packed = our_call(target, 'Packed')
    check('our compressed', packed[0] == 'UNIMPLEMENTED' and 'compressed' in packed[1], packed)
    proc = subprocess.Popen([PEER, 'call', target, '/t.S/Sleep', '0', '20000'], stdout=subprocess.PIPE, text=True)
    time.sleep(0.3)
    stopped = server.stop(5)        # GOAWAY; the call in work is finished
    check('our call goes on after GOAWAY', proc.communicate(timeout=20)[0].startswith('OK\n'))
    stopped.wait(10)
    check('nobody there', our_call(target, 'Echo')[0] == 'UNAVAILABLE')


def our_tls_client():
    pair = [(pem('server.key'), pem('server.crt'))]
    server, target = their_server(grpc.ssl_server_credentials(pair))
    check('our TLS', our_call(target, 'Echo', 100000, 20000, 'ca.crt')[0] == 'OK')
    check('our TLS, another authority', our_call(target, 'Echo', 1, 20000, 'other.crt')[0] == 'UNAVAILABLE')
    server.stop(0).wait(10)
    server, target = their_server(grpc.ssl_server_credentials(pair, pem('ca.crt'), True))
    check('our TLS on both sides', our_call(target, 'Echo', 1, 20000, 'ca.crt', 'client.crt', 'client.key')[0] == 'OK')
    check('our TLS without a certificate', our_call(target, 'Echo', 1, 20000, 'ca.crt')[0] == 'UNAVAILABLE')
    server.stop(0).wait(10)


def main():
    if grpc is None and sys.executable == PYTHON:
        sys.exit(f'{PYTHON} has no grpcio')
    if grpc is None:
        os.execv(PYTHON, [PYTHON, *sys.argv])
    for part in (their_client, their_tls_client, our_client, our_tls_client):
        part()
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
