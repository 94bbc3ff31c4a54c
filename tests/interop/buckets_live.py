#!/usr/bin/env python3
"""s3:// from moto, which computes every signature anew and holds to policies, filled by boto3; gs:// from an emulator of Google Cloud Storage.

Which credentials are found is held against botocore: the same files and environments, the same access key."""
import hashlib
import http.server
import itertools
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
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
trust = {'Version': '2012-10-17', 'Statement': [{'Effect': 'Allow', 'Principal': {'AWS': '*'}, 'Action': 'sts:AssumeRole'}]}
iam.create_role(RoleName='guest', AssumeRolePolicyDocument=json.dumps(trust))
iam.put_role_policy(RoleName='guest', PolicyName='p', PolicyDocument=json.dumps({'Version': '2012-10-17', 'Statement': [
    {'Effect': 'Allow', 'Action': ['s3:ListBucket', 's3:GetObject'], 'Resource': ['arn:aws:s3:::logs', 'arn:aws:s3:::logs/*']}]}))
caller = user('caller', 'sts:AssumeRole', '*')
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
print(json.dumps({'reader': reader, 'nobody': nobody, 'caller': caller}))
"""
UNCHECKED = 14      # requests before moto checks: four users, their policies and their keys, a role and its policy


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
        role(c, scratch, at, url, keys)
    finally:
        p.terminate()
        p.wait(30)


def role(c, scratch, at, url, keys):
    """Who may read nothing may assume a role that reads."""
    with open(f'{scratch}/config', 'w') as f:
        for name in 'caller', 'nobody':
            f.write(f'[profile {name}]\n' + ''.join(f'{k.lower()} = {v}\n' for k, v in keys[name].items()))
            f.write(f'[profile by-{name}]\nregion = us-east-1\nrole_arn = arn:aws:iam::123456789012:role/guest\nsource_profile = {name}\n')
    env = {'AWS_CONFIG_FILE': f'{scratch}/config', 'AWS_ENDPOINT_URL': url}
    c.run('who may not by itself', ['runs', at], 1, r'AccessDenied', AWS_PROFILE='caller', AWS_REGION='us-east-1', **env)
    c.run('a role that may', ['runs', at], 0, rf'{OTHERS + 3} objects', AWS_PROFILE='by-caller', **env)
    c.run('who may not assume it', ['runs', at], 1, r"refuses the role .* to the credentials of the profile 'nobody': AccessDenied", AWS_PROFILE='by-nobody', **env)


# What botocore finds in each of the environments, one JSON a line.
FIND = """
import json, os, sys
import botocore.session
for env in json.load(sys.stdin):
    os.environ.clear()
    os.environ.update(env)
    try:
        found = botocore.session.Session().get_credentials()
        print(json.dumps(found.get_frozen_credentials().access_key if found else 'nobody'))
    except Exception as e:
        print(json.dumps('refused'))
"""
STATIC = '{0}aws_access_key_id = {1}\n{0}aws_secret_access_key = s\n'
ROLE = 'role_arn = arn:aws:iam::1:role/{}\n'
SSO = 'sso_start_url = https://s/\nsso_region = us-west-2\nsso_account_id = 1\nsso_role_name = R\n'


class Sources(http.server.BaseHTTPRequestHandler):
    """Gives keys whose names tell what they were given for, and refuses everybody who asks S3."""

    def log_message(self, *args):
        pass

    def answer(self, status, body):
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    @staticmethod
    def key(*parts):
        return 'ASIA' + hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    def caller(self):
        found = re.search(r'Credential=([^/]*)/', self.headers.get('Authorization', ''))
        return found[1] if found else None

    def do_POST(self):
        q = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers['Content-Length'])).decode()))
        name = q['RoleSessionName'] if q['RoleSessionName'].startswith('set-') else ''
        key = self.key(self.caller(), q['Action'], q['RoleArn'], name, q.get('WebIdentityToken'), q.get('ExternalId'), q.get('DurationSeconds'))
        self.answer(200, f'<{q["Action"]}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{q["Action"]}Result><AssumedRoleUser><Arn>a</Arn><AssumedRoleId>i</AssumedRoleId></AssumedRoleUser>'
                         f'<Credentials><AccessKeyId>{key}</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2199-01-01T00:00:00Z</Expiration></Credentials>'
                         f'</{q["Action"]}Result></{q["Action"]}Response>')

    def do_GET(self):
        if self.path.startswith('/federation/'):
            token = self.headers.get('x-amz-sso_bearer_token')
            key = self.key(sorted(urllib.parse.parse_qsl(self.path.partition('?')[2])), token)
            return self.answer(200 if token == 'good' else 401, json.dumps({'roleCredentials': {'accessKeyId': key, 'secretAccessKey': 's', 'sessionToken': 't', 'expiration': 7226582400000}}))
        if self.path.startswith('/container'):
            key = self.key(self.path, self.headers.get('Authorization'))
            return self.answer(200, json.dumps({'AccessKeyId': key, 'SecretAccessKey': 's', 'Token': 't', 'Expiration': '2199-01-01T00:00:00Z'}))
        self.server.asked = self.caller() or 'nobody'
        return self.answer(403, '<Error><Code>AccessDenied</Code></Error>')


def source_cases(scratch, url):
    """What, config, credentials, environment."""
    def static(key, indent=''):
        return STATIC.format(indent, key)
    keys = {'AWS_ACCESS_KEY_ID': 'ENV', 'AWS_SECRET_ACCESS_KEY': 's'}
    web = {'AWS_WEB_IDENTITY_TOKEN_FILE': f'{scratch}/token', 'AWS_ROLE_ARN': 'arn:aws:iam::1:role/env'}
    box = {'AWS_CONTAINER_CREDENTIALS_FULL_URI': url + '/container', 'AWS_CONTAINER_AUTHORIZATION_TOKEN': 'Bearer b'}
    process = f"credential_process = {sys.executable} '{scratch}/gives.py' PROC\n"
    web_profile = f'web_identity_token_file = {scratch}/token\n' + ROLE.format('web')
    both = '[default]\n' + static('CONFIG'), '[default]\n' + static('SHARED')
    p = {'AWS_PROFILE': 'p'}
    yield from (
        ('nothing', '', '', {}), ('environment', *both, keys), ('environment and a profile', '', '[p]\n' + static('P'), {**keys, **p}), ('a secret alone', *both, {'AWS_SECRET_ACCESS_KEY': 's'}),
        ('a key alone', *both, {'AWS_ACCESS_KEY_ID': 'ENV'}), ('both files', *both, {}), ('config', both[0], '', {}), ('a profile that there is not', *both, p), ('that, with an environment', *both, {**keys, **p}),
        ('default that there is not', '', '', {'AWS_PROFILE': 'default'}), ('two variables', '', '[p]\n' + static('P') + '[q]\n' + static('Q'), {**p, 'AWS_DEFAULT_PROFILE': 'q'}),
        ('a profile in config without its word', '[p]\n' + static('P'), '', p), ('a profile with its word', '[profile p]\n' + static('P'), '', p), ('in quotes', '[profile "p q"]\n' + static('P'), '', {'AWS_PROFILE': 'p q'}),
        ('a word in credentials', '', '[profile p]\n' + static('P'), p), ('profile default', '[profile default]\n' + static('P'), '', {}), ('indented', '[default]\n' + static('P', '   '), '', {}),
        ('with colons', '', '[default]\n' + static('P').replace('=', ':'), {}), ('with capitals', '', '[default]\n' + static('P').upper().replace(' = S', ' = s'), {}),
        ('comments', '# a\n[default]\n; b\n' + static('P').replace('\n', '\n  # c\n\n'), '', {}), ('nested', '[default]\ns3 =\n  aws_access_key_id = NO\n' + static('P'), '', {}),
        ('half of the keys', '', '[default]\naws_access_key_id = P\n', {}), ('a secret in the profile', '', '[default]\naws_secret_access_key = P\n', {}),
        ('keys in two files', '[default]\naws_secret_access_key = s\n', '[default]\naws_access_key_id = P\n', {}),
        ('web identity', '', '', web), ('web identity before files', *both, web), ('environment before web identity', *both, {**web, **keys}), ('a token without a role', *both, {k: v for k, v in web.items() if 'FILE' in k}),
        ('a role without a token', *both, {'AWS_ROLE_ARN': 'r'}), ('web identity of a profile', '[default]\n' + web_profile + static('P'), '', {}), ('role of the environment for it', '[default]\n' + web_profile, '', {'AWS_ROLE_ARN': 'arn:aws:iam::1:role/other'}),
        ('an empty token file', '[default]\n' + web_profile + static('P'), '', {'AWS_WEB_IDENTITY_TOKEN_FILE': ''}),
        ('single sign-on', '[default]\n' + SSO, '', {}), ('single sign-on before keys', '[default]\n' + SSO + static('P'), '', {}), ('keys of a file after it', '[default]\n' + SSO, '[default]\n' + static('P'), {}),
        ('a session of it', '[default]\nsso_session = good\nsso_account_id = 1\nsso_role_name = R\n[sso-session good]\nsso_start_url = https://s/\nsso_region = us-west-2\n', '', {}),
        ('a session that differs', '[default]\nsso_session = good\n' + SSO + '[sso-session good]\nsso_start_url = https://t/\nsso_region = us-west-2\n', '', {}),
        ('a session that there is not', '[default]\nsso_session = no\n' + SSO, '', {}), ('a start page alone', '[default]\nsso_start_url = https://s/\n' + static('P'), '', {}), ('no region of it', '[default]\n' + SSO.replace('sso_region', 'x'), '', {}),
        ('a token that has expired', '[default]\n' + SSO.replace('https://s/', 'https://old/'), '', {}), ('process', '[default]\n' + process, '', {}), ('process before config', '[default]\n' + process + static('P'), '', {}),
        ('process after credentials', '[default]\n' + process, '[default]\n' + static('P'), {}), ('process in credentials', '', '[default]\n' + process, {}), ('a process that fails', '[default]\ncredential_process = false\n' + static('P'), '', {}),
        ('a container', '', '', box), ('a container after files', *both, box), ('a container of another host', '', '', {**box, 'AWS_CONTAINER_CREDENTIALS_FULL_URI': 'http://192.0.2.1/'}))
    roles = {'keys': '[profile b]\n' + static('B'), 'a process': '[profile b]\n' + process, 'single sign-on': '[profile b]\n' + SSO, 'web identity': '[profile b]\n' + web_profile,
             'a role': '[profile b]\n' + ROLE.format('b') + 'source_profile = c\n[profile c]\n' + static('C'), 'a role with keys': '[profile b]\n' + ROLE.format('b') + 'source_profile = c\n' + static('B'),
             'itself': '[profile b]\n' + ROLE.format('b') + 'source_profile = b\n' + static('B'), 'a ring': '[profile b]\n' + ROLE.format('b') + 'source_profile = p\n', 'nothing': '[profile b]\nregion = us-east-1\n',
             'no profile': ''}
    for name, text in roles.items():
        yield f'role for {name}', '[profile p]\n' + ROLE.format('p') + 'source_profile = b\nexternal_id = e+e\nrole_session_name = set-me\nduration_seconds = 1000\n' + static('P') + text, '', p
    yield 'role for itself', '', '[default]\n' + ROLE.format('d') + 'source_profile = default\n' + static('D'), {}
    yield 'role before web identity', '[default]\n' + ROLE.format('d') + 'source_profile = b\n' + roles['keys'], '', web
    for named, env in itertools.product(('Environment', 'EcsContainer', 'environment', 'Ec2InstanceMetadata'), ({}, box)):
        yield f'role for {named}', '[default]\n' + ROLE.format('d') + f'credential_source = {named}\n', '', env
    yield 'both sources', '[default]\n' + ROLE.format('d') + 'credential_source = Environment\nsource_profile = b\n' + roles['keys'], '', {}
    yield 'neither source', '[default]\n' + ROLE.format('d') + static('P'), '', {}
    yield 'a role in credentials', '[default]\nsource_profile = b\n' + roles['keys'], '[default]\n' + ROLE.format('d'), {}


def sources(c, scratch):
    """The same files and environment give the same access key to stepscope and to botocore."""
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Sources)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f'http://127.0.0.1:{server.server_address[1]}'
    with open(f'{scratch}/token', 'w') as f:
        f.write('the-token')
    with open(f'{scratch}/gives.py', 'w') as f:
        f.write('import json, sys\nprint(json.dumps({"Version": 1, "AccessKeyId": sys.argv[1], "SecretAccessKey": "s"}))\n')
    os.makedirs(f'{scratch}/.aws/sso/cache')
    for of, end in {'https://s/': 2199, 'good': 2199, 'https://old/': 2001}.items():
        with open(f'{scratch}/.aws/sso/cache/{hashlib.sha1(of.encode()).hexdigest()}.json', 'w') as f:
            json.dump({'accessToken': 'good', 'expiresAt': f'{end}-01-01T00:00:00Z'}, f)
    cases = list(source_cases(scratch, url))
    environments = []
    for i, (_, config, credentials, env) in enumerate(cases):
        for name, text in (('config', config), ('credentials', credentials)):
            with open(f'{scratch}/{i}.{name}', 'w') as f:
                f.write(text)
        environments.append({'PATH': os.environ['PATH'], 'HOME': scratch, 'AWS_CONFIG_FILE': f'{scratch}/{i}.config', 'AWS_SHARED_CREDENTIALS_FILE': f'{scratch}/{i}.credentials', 'AWS_ENDPOINT_URL': url,
                             'AWS_DEFAULT_REGION': 'us-east-1', 'AWS_EC2_METADATA_DISABLED': 'true', **env})
    done = subprocess.run([f'{VENV}/python', '-c', FIND], input=json.dumps(environments), stdout=subprocess.PIPE, check=True, timeout=600, text=True, env={'PATH': os.environ['PATH'], 'HOME': scratch})
    found = {}
    for (what, config, credentials, env), environment, want in zip(cases, environments, map(json.loads, done.stdout.splitlines())):
        server.asked = 'refused'
        said = subprocess.run([BIN, 'runs', 's3://logs/x'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, env={**environment, 'STEPSCOPE_CACHE': f'{scratch}/cache'}, check=False).stderr
        c.check(f'credentials: {what}', server.asked == want, f'{server.asked}, botocore: {want}; {said[:400]!r}; {config!r} {credentials!r} {env}')
        found[want] = found.get(want, 0) + 1
    c.check('the cases differ', len(cases) >= 60 and len(found) > 15 and found['refused'] < len(cases) / 2, found)
    server.shutdown()


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
        sources(c, scratch)
        s3(c, scratch, want)
        gs(c, scratch, want)
    print(f'{c.passed} passed, {c.failed} failed')
    return c.failed > 0


if __name__ == '__main__':
    sys.exit(main())
