#!/usr/bin/env python3
"""s3:// from moto, which computes every signature anew and holds to policies, filled by boto3; gs:// from an emulator of Google Cloud Storage."""
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CACHE = os.path.join(os.environ.get('XDG_CACHE_HOME', os.path.expanduser('~/.cache')), 'stepscope')
VENV = os.path.join(CACHE, 'venv-buckets', 'bin')
BIN = os.path.join(ROOT, 'build', 'stepscope')
SAMPLE = os.path.join(ROOT, 'tests', 'data', 'profiles', 'synth_tpu_3hosts')
OTHERS = 2100       # objects that nothing reads: three pages of a list
LARGE = 20 << 20

# Prints the keys of a user that may read the bucket `logs`, and of one that may not.
FILL = """
import boto3, io, json, os, sys, tarfile
from concurrent.futures import ThreadPoolExecutor
url, sample, others, large = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
def client(name, key='a', secret='b'):
    return boto3.client(name, endpoint_url=url, region_name='us-east-1', aws_access_key_id=key, aws_secret_access_key=secret)
iam = client('iam')
def user(name, actions, resource):
    iam.create_user(UserName=name)
    iam.put_user_policy(UserName=name, PolicyName='p', PolicyDocument=json.dumps({'Version': '2012-10-17', 'Statement': [
        {'Effect': 'Allow', 'Action': actions, 'Resource': resource}]}))
    k = iam.create_access_key(UserName=name)['AccessKey']
    return k['AccessKeyId'], k['SecretAccessKey']
reader = user('reader', ['s3:ListBucket', 's3:GetObject'], ['arn:aws:s3:::logs', 'arn:aws:s3:::logs/*'])
nobody = user('nobody', ['s3:GetObject'], ['arn:aws:s3:::elsewhere/*'])
admin = user('admin', '*', '*')     # the last request without a check
s3 = client('s3', *admin)
s3.create_bucket(Bucket='logs')
for d, _, names in os.walk(sample):
    for n in names:
        p = os.path.join(d, n)
        s3.upload_file(p, 'logs', 'exp 1/r\\u00f6t+x/' + os.path.relpath(p, sample))
with ThreadPoolExecutor(4) as pool:
    list(pool.map(lambda i: s3.put_object(Bucket='logs', Key=f'exp 1/r\\u00f6t+x/ckpt/{i:06}.bin', Body=b'x'), range(others)))
out = io.BytesIO()
with tarfile.open(fileobj=out, mode='w') as t:
    t.add(sample, '.')
    m = tarfile.TarInfo('large.json')
    m.size = large
    t.addfile(m, io.BytesIO(os.urandom(large)))
open(sys.argv[5], 'wb').write(out.getvalue())
s3.upload_file(sys.argv[5], 'logs', 'run.tar')  # in parts: its ETag is no digest of its bytes
print(json.dumps({'reader': reader, 'nobody': nobody}))
"""
UNCHECKED = 9       # requests before moto checks: three users, their policies and their keys


class Checks:
    def __init__(self, scratch):
        self.passed = self.failed = 0
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(('AWS_', 'GOOGLE', 'CLOUDSDK', 'STORAGE', 'GCE'))}
        self.env.update(STEPSCOPE_CACHE=f'{scratch}/cache', HOME=scratch, AWS_EC2_METADATA_DISABLED='true', NO_GCE_CHECK='true')

    def check(self, what, good, shown=''):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        if not good:
            print(f'{what}: {shown}')

    def run(self, what, args, status, said, **env):
        done = subprocess.run([BIN, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, env={**self.env, **env}, check=False)
        text = done.stderr.decode()
        self.check(what, done.returncode == status and re.search(said, text, re.S), f'status {done.returncode}, {text[:600]!r}')
        return done.stdout


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def started(command, port, log, **env):
    p = subprocess.Popen(command, stdout=open(log, 'w'), stderr=subprocess.STDOUT, env={**os.environ, **env})
    for _ in range(600):
        with socket.socket() as s:
            if s.connect_ex(('127.0.0.1', port)) == 0:
                return p
        if p.poll() is not None:
            break
        time.sleep(0.1)
    p.kill()
    sys.exit(f'{command[0]} does not listen: {open(log).read()[-1500:]}')


def s3(c, scratch, want):
    port = free_port()
    url = f'http://127.0.0.1:{port}'
    p = started([f'{VENV}/moto_server', '-H', '127.0.0.1', '-p', str(port)], port, f'{scratch}/moto.log', INITIAL_NO_AUTH_ACTION_COUNT=str(UNCHECKED))
    try:
        filled = subprocess.run([f'{VENV}/python', '-c', FILL, url, SAMPLE, str(OTHERS), str(LARGE), f'{scratch}/run.tar'], stdout=subprocess.PIPE, check=True, timeout=600)
        keys = {name: dict(zip(('AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'), pair)) for name, pair in json.loads(filled.stdout).items()}
        at, reader = 's3://logs/exp 1/röt+x', {**keys['reader'], 'AWS_ENDPOINT_URL': url}
        got = c.run('a directory', ['tool', 'overview_page', at, '--format', 'json'], 0, rf'{OTHERS + 3} objects, 3 of them may be read \(3 requests\).*3 files fetched.*in 6 requests', **reader)
        c.check('its answer is that of the directory', json.loads(got or '{}').get('tables') == want)
        c.run('again', ['summary', at], 0, r'0 files fetched, 3 from the cache: 0\.00 MiB in 3 requests', **reader)
        got = c.run('an archive in ranges', ['tool', 'overview_page', 's3://logs/run.tar', '--format', 'json'], 0, r'20\.\d+ MiB in 3 requests', **reader)
        c.check('its answer is that of the directory, too', json.loads(got or '{}').get('tables') == want)
        c.run('an archive again', ['runs', 's3://logs/run.tar'], 0, r'has not changed: read from the cache \(1 request\)', **reader)
        c.run('who may not', ['runs', at], 1, r'\(AccessDenied\): the credentials of the environment do not allow it', **{**reader, **keys['nobody']})
        c.run('a wrong secret', ['runs', at], 1, 'SignatureDoesNotMatch', **{**reader, 'AWS_SECRET_ACCESS_KEY': 'wrong'})
        c.run('a wrong key', ['runs', at], 1, 'InvalidAccessKeyId', **{**reader, 'AWS_ACCESS_KEY_ID': 'AKIAWRONG'})
    finally:
        p.terminate()
        p.wait(30)


def post(url, data=b'', kind='application/octet-stream'):
    for _ in range(100):
        try:
            return urllib.request.urlopen(urllib.request.Request(url, data, {'Content-Type': kind}), timeout=60).read()
        except urllib.error.URLError as e:
            why = e
            time.sleep(0.2)
    sys.exit(f'{url}: {why}')


def gs(c, scratch, want):
    port = free_port()
    url = f'http://127.0.0.1:{port}'
    p = started([f'{VENV}/gcp-storage-emulator', 'start', '--host', '127.0.0.1', '--port', str(port), '--in-memory'], port, f'{scratch}/gs.log')
    try:
        post(f'{url}/storage/v1/b', b'{"name": "logs"}', 'application/json')
        for d, _, names in os.walk(SAMPLE):
            for n in names:
                with open(os.path.join(d, n), 'rb') as f:
                    name = urllib.parse.quote('exp 1/röt+x/' + os.path.relpath(os.path.join(d, n), SAMPLE), safe='')
                    post(f'{url}/upload/storage/v1/b/logs/o?uploadType=media&name={name}', f.read())
        at = 'gs://logs/exp 1/röt+x'
        for env in ({'STORAGE_EMULATOR_HOST': url}, {'STORAGE_EMULATOR_HOST': url.partition('//')[2]}):
            got = c.run('a directory', ['tool', 'overview_page', at, '--format', 'json'], 0, '3 objects, 3 of them may be read', **env)
            c.check('its answer is that of the directory', json.loads(got or '{}').get('tables') == want)
        c.run('again', ['summary', at], 0, r'0 files fetched, 3 from the cache: 0\.00 MiB in 1 request', **env)
        c.run('one object', ['summary', f'{at}/plugins/profile/run/host1.xplane.pb'], 0, r'MiB in \d requests?', **env)
        c.run('no such object', ['runs', 'gs://logs/none'], 1, "there is no 'gs://logs/none'", **env)
        c.run('no such bucket', ['runs', 'gs://none/x'], 1, "there is no bucket 'none'", **env)
    finally:
        p.terminate()
        p.wait(30)


def main():
    with tempfile.TemporaryDirectory(prefix='buckets-live-') as scratch:
        c = Checks(scratch)
        done = subprocess.run([BIN, 'tool', 'overview_page', SAMPLE, '--format', 'json'], stdout=subprocess.PIPE, check=True)
        want = json.loads(done.stdout)['tables']
        s3(c, scratch, want)
        gs(c, scratch, want)
    print(f'{c.passed} passed, {c.failed} failed')
    return c.failed > 0


if __name__ == '__main__':
    sys.exit(main())
