#!/usr/bin/env python3
"""Archives and standard input as PATH: answers are those of the directory, and damaged and hostile archives are told in sentences."""
import gzip
import io
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tarfile
import time
import urllib.request
import zipfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import checks
import profiles

SAMPLE = os.path.join(profiles.ROOT, 'synth_tpu_3hosts')
INSIDE = 'plugins/profile/run'
HOSTS = ['host0', 'host1', 'host2']
PROFILE = open(os.path.join(SAMPLE, INSIDE, 'host0.xplane.pb'), 'rb').read()


class Checks(checks.Counts):
    def __init__(self, binary, scratch):
        self.binary, self.scratch = binary, scratch
        self.tmp = os.path.join(scratch, 'tmp')
        os.mkdir(self.tmp)
        self.env = {**os.environ, 'TMPDIR': self.tmp}

    def run(self, *args, data=None):
        given = {'stdin': subprocess.DEVNULL} if data is None else {'input': data}
        return subprocess.run([self.binary, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, env=self.env, **given)

    def case(self, what, args, status, err, data=None):
        done = self.run(*args, data=data)
        said = done.stderr.decode('utf-8', 'replace')
        self.check(what, done.returncode == status and (re.search(err, said, re.S) if err else said == ''),
                   f'status {done.returncode}, {said[:600]!r}, {done.stdout[-200:]!r}')
        self.check(f'{what}: nothing is left', self.left() == [], str(self.left()))
        return done.stdout

    def left(self):
        return [os.path.join(d, n) for d, _, names in os.walk(os.path.join(self.tmp, f'stepscope-{os.geteuid()}')) for n in names]

    def path(self, name, data):
        path = os.path.join(self.scratch, name)
        with open(path, 'wb') as f:
            f.write(data)
        return path


def member(name, data=b'', **more):
    """An entry of a tar archive."""
    m = tarfile.TarInfo(name)
    m.size = len(data)
    m.mtime = 1790000000
    for key, value in more.items():
        setattr(m, key, value)
    return m, data


def tar_of(entries, form=tarfile.PAX_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode='w', format=form) as t:
        for m, data in entries:
            t.addfile(m, io.BytesIO(data))
    return out.getvalue()


def zip_of(entries, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, 'w', method) as z:
        for name, data in entries:
            z.writestr(name, data)
    return out.getvalue()


class Pipe(io.RawIOBase):
    """What cannot be written to again: zip then has the sizes behind each member."""
    def __init__(self):
        self.data = b''

    def writable(self):
        return True

    def write(self, b):
        self.data += bytes(b)
        return len(b)


def packed_by(tool, data):
    return subprocess.run(tool, input=data, stdout=subprocess.PIPE, check=True).stdout


def whole_archives():
    files = [(f'{INSIDE}/{h}.xplane.pb', open(os.path.join(SAMPLE, INSIDE, f'{h}.xplane.pb'), 'rb').read()) for h in HOSTS]
    rest = [('checkpoints/model.bin', b'\0' * 100000), ('README.md', b'# words\n')]
    plain = tar_of([member(n, d) for n, d in rest + files])
    streamed = Pipe()
    with zipfile.ZipFile(streamed, 'w', zipfile.ZIP_DEFLATED) as z:
        for name, data in files:
            z.writestr(name, data)
    yield 'a.tar', plain
    yield 'gnu.tar', tar_of([member(n, d) for n, d in files], tarfile.GNU_FORMAT)
    yield 'ustar.tar', tar_of([member(n, d) for n, d in files], tarfile.USTAR_FORMAT)
    yield 'dots.tar', tar_of([member('.', type=tarfile.DIRTYPE)] + [member('./' + n, d) for n, d in files])
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):       # names longer than a header has room for
        yield f'long{form}.tar', tar_of([member('d' * 90 + '/' + 'e' * 90 + '/' + n, d) for n, d in files], form)
    yield 'a.tar.gz', gzip.compress(plain)
    yield 'a.tgz', gzip.compress(plain[:3000]) + gzip.compress(plain[3000:])    # two members of gzip are one text
    yield 'a.tar.zst', packed_by(['zstd', '-q', '-c'], plain)
    yield 'a.zip', zip_of(rest + files)
    yield 'stored.zip', zip_of(files, zipfile.ZIP_STORED)
    yield 'streamed.zip', streamed.data
    yield 'comment.zip', zip_of(files)[:-2] + struct.pack('<H', 5) + b'PK\5\6!'


def same_answers(c):
    def answers(path, data=None):
        done = [c.run('tool', t, path, '--format', 'json', data=data) for t in ('overview_page', 'stragglers', 'host_steps')]
        for d in done:
            c.check(f'{path}: status', d.returncode == 0, d.stderr.decode()[:300])
        return [json.loads(d.stdout)['tables'] if d.stdout else None for d in done]

    want = answers(SAMPLE)
    for name, data in whole_archives():
        path = c.path(name, data)
        c.check(f'{name} answers as the directory', answers(path) == want)
        c.check(f'{name} from a pipe', answers('-', data) == want)
        runs = c.case(f'{name}: runs', ['runs', path], 0, None).decode()
        c.check(f'{name}: its hosts', all(h in runs for h in HOSTS), runs)
    c.check('nothing is left in $TMPDIR', c.left() == [], str(c.left()))
    at = time.strftime('%Y-%m-%d %H:%M', time.localtime(1790000000)).encode()
    text = c.case('the time of a member', ['runs', c.path('t.tar', tar_of([member('r/h.xplane.pb', PROFILE)]))], 0, '')
    c.check('is that of the archive', at in text, text[:300])


def single_files(c):
    for name, data in (('a profile', PROFILE), ('a packed profile', gzip.compress(PROFILE)), ('zstd', packed_by(['zstd', '-q', '-c'], PROFILE))):
        text = c.case(f'{name} from a pipe', ['summary', '-'], 0, '', data).decode()
        c.check(f'{name} is shown', 'host: stdin' in text and 'step' in text, text[:200])
    path = c.path('h7.xplane.pb.zst', packed_by(['zstd', '-q', '-c'], PROFILE))
    c.check('one file in zstd has its own name', b'host: h7\n' in c.case('zstd', ['summary', path], 0, ''))
    with open(os.path.join(HERE, '..', 'data', 'others', 'nsys', 'run', 'node7.sqlite'), 'rb') as f:
        sqlite = f.read()
    c.case('the only file of an archive has any name', ['summary', c.path('one.zip', zip_of([('report', sqlite)]))], 0, '')
    c.case('an empty pipe', ['summary', '-'], 1, "standard input \\('-'\\) is empty", b'')
    c.case('any bytes', ['summary', '-'], 1, "'-' is a text", b'hello, world, this is text\n')
    both = c.run('diff', SAMPLE, '-', data=dict(whole_archives())['a.tar'])
    c.check('one side of a comparison', both.returncode == 0, both.stderr[:300])


GOOD = (f'{INSIDE}/good.xplane.pb', PROFILE)


def hostile_tars(c):
    good = member(*GOOD)
    cases = {
        'an absolute path': (member('/etc/x.xplane.pb', PROFILE), "'[^']*:/etc/x.xplane.pb' is not read: .*absolute path"),
        'dots': (member('a/../../x.xplane.pb', PROFILE), "'[^']*:a/../../x.xplane.pb' is not read: .*'..', which leads out"),
        'a link': (member(f'{INSIDE}/l.xplane.pb', type=tarfile.SYMTYPE, linkname='/etc/passwd'), 'l.xplane.pb. is not read: it is a link'),
        'a hard link': (member(f'{INSIDE}/l.xplane.pb', type=tarfile.LNKTYPE, linkname='/etc/passwd'), 'l.xplane.pb. is not read: it is a link'),
        'a pipe': (member(f'{INSIDE}/l.xplane.pb', type=tarfile.FIFOTYPE), 'device or a pipe'),
        'a directory that is a link': (member('plugins', type=tarfile.SYMTYPE, linkname='/tmp'), "plugins' is not read: it is a link"),
        'a long name': (member('n' * 300 + '.xplane.pb', PROFILE), 'name is too long'),
        'a deep name': (member('n/' * 100 + 'x.xplane.pb', PROFILE), 'nested too deep'),
        'a very long name': (member('n/' * 5000 + 'x.xplane.pb', PROFILE), 'name is too long'),
        'a name twice': (member(*GOOD), 'more than once: the last copy is read'),
        'a file that is a directory, too': (member('plugins/x.json', PROFILE), ''),
    }
    for what, (bad, said) in cases.items():
        for order in ((bad, good), (good, bad)):
            if what == 'a file that is a directory, too':
                order = (bad, member('plugins/x.json/y.xplane.pb', PROFILE), good)
                said = 'its name collides with that of another member'
            text = c.case(what, ['summary', c.path('hostile.tar', tar_of(order))], 0, said).decode()
            c.check(f'{what}: the good member is shown', 'host: good' in text, text[:200])
        c.case(f'{what} is a failure of --strict', ['summary', '--strict', os.path.join(c.scratch, 'hostile.tar')], 1, r'incomplete \(--strict\)')
    alone = c.path('alone.tar', tar_of([member('../x.xplane.pb', PROFILE)]))
    c.case('nothing but a bad member', ['summary', alone], 1, "nothing of '.*alone.tar' can be read: .*leads out")
    c.case('the doctor names it', ['doctor', alone], 1, '')
    sparse = member(f'{INSIDE}/s.xplane.pb', PROFILE)[0]
    sparse.pax_headers = {'GNU.sparse.major': '1', 'GNU.sparse.minor': '0'}
    text = c.case('a sparse file', ['summary', c.path('sparse.tar', tar_of([(sparse, PROFILE), good]))], 0, 'sparse file').decode()
    c.check('a sparse file: the good member', 'host: good' in text, text[:100])


def damaged_tars(c):
    plain = tar_of([member(f'{INSIDE}/good.xplane.pb', PROFILE), member(f'{INSIDE}/last.xplane.pb', PROFILE)])
    at = plain.index(b'last.xplane.pb') // 512 * 512
    first = len(PROFILE) + 511 & ~511
    c.case('cut in a member', ['summary', c.path('cut.tar', plain[:at + 512 + 2000])], 0, "last.xplane.pb' is truncated: the archive ends")
    c.case('cut in a header', ['summary', c.path('cut.tar', plain[:at + 100])], 0, 'is cut short')
    c.case('cut between members', ['summary', c.path('cut.tar', plain[:at])], 0, 'without the mark of its end')
    c.case('cut where it is packed', ['summary', c.path('cut.tar.gz', gzip.compress(plain)[:-1500])], 0, 'cut short|truncated')
    long = tar_of([member(f'{INSIDE}/good.xplane.pb', PROFILE), member('x.json', os.urandom(300000))])      # several blocks of zstd
    zst = packed_by(['zstd', '-q', '-c'], long)
    text = c.case('cut in zstd', ['summary', c.path('cut.tar.zst', zst[:-300])], 0, "x.json' is truncated.*is damaged or truncated").decode()
    c.check('cut in zstd: what stands before it is shown', 'host: good' in text, text[:100])
    flipped = bytearray(gzip.compress(plain))
    flipped[-6] ^= 1
    c.case('a wrong checksum of gzip', ['summary', c.path('crc.tar.gz', bytes(flipped))], 0, 'damaged')
    bad = bytearray(plain)
    bad[at + 150] ^= 7                                      # its header's checksum
    text = c.case('a damaged header', ['summary', c.path('bad.tar', bytes(bad))], 0, 'members are missing where a header')
    c.check('what stands before it is shown', b'host: good' in text, text[:100])
    c.check('a damaged header: sizes', first > 0 and at > first)
    c.case('no tar', ['summary', c.path('no.tar', b'words ' * 500)], 1, "has the name of an archive, but is not one")
    c.case('no zip', ['summary', c.path('no.zip', b'words ' * 500)], 1, "has the name of an archive, but is not one")
    c.case('an archive without profiles', ['summary', c.path('none.zip', zip_of([('a.txt', b'a'), ('b.txt', b'b')]))], 1,
           "none of its 2 members has the name")
    spoilt = tar_of([member(f'{INSIDE}/good.xplane.pb', PROFILE), member(f'{INSIDE}/spoilt.xplane.pb', b'\xff\1\xfd' * 33)])
    for what, given, shown in (('file', ['summary', c.path('spoilt.tar', spoilt)], c.path('spoilt.tar', spoilt)), ('pipe', ['summary', '-'], '-')):
        text = c.case(f'a damaged member of a {what}', given, 0, None, data=spoilt if shown == '-' else None).decode()
        c.check(f'a damaged member of a {what} is named as the user named it', f"'{shown}:{INSIDE}/spoilt.xplane.pb' is not a profile" in text
                and c.tmp not in text, text[:400])
    for what, data in (('cut', PROFILE[:-3]), ('malformed', PROFILE + b'\xff' * 30)):
        done = c.run('summary', c.path('part.tar', tar_of([member(f'{INSIDE}/part.xplane.pb', data)])))
        said = (done.stdout + done.stderr).decode()
        c.check(f'a {what} member is named as the user named it', f"part.tar:{INSIDE}/part.xplane.pb' is" in said and c.tmp not in said, said)
    c.case('a damaged member alone', ['tool', 'overview_page', c.path('spoilt.tar', spoilt), '--host', 'spoilt'], 1,
           f"spoilt.tar:{INSIDE}/spoilt.xplane.pb' is not a profile")
    win = zip_of([(f'{INSIDE}/a.xplane.pb', PROFILE), (f'{INSIDE}/b.xplane.pb', PROFILE)])
    win = win.replace(f'{INSIDE}/'.encode(), f'{INSIDE}/'.replace('/', '\\').encode())
    for what, data in (('', win), (' without its directory', win[:win.index(b'PK\1\2')])):
        text = c.case(f'backslashes{what}', ['runs', c.path('win.zip', data)], 0, '' if not what else 'cut|directory|end').decode()
        c.check(f'backslashes{what}: two hosts of a run', re.search(r'\brun\b', text) and '\\' not in text, text)
    c.case('an empty zip', ['summary', c.path('empty.zip', zip_of([]))], 1, "is an empty archive: it has no members")
    c.case('an empty tar', ['summary', c.path('empty.tar', tar_of([]))], 1, "is an empty archive: it has no members")
    begun = tar_of([member(f'{INSIDE}/good.xplane.pb', PROFILE), member(f'{INSIDE}/cut.xplane.pb', PROFILE)])
    begun = begun[:begun.rindex(PROFILE)]
    for doctor in (['doctor', c.path('begun.tar', begun)], ['doctor', '-']):
        text = c.case(f'{doctor}: nothing is left of a member', doctor, 1, None, data=begun if doctor[1] == '-' else None).decode()
        c.check(f'{doctor}: the archive is blamed, and by its name', text.count('cut.xplane.pb') == 1 and 'the archive ends within it' in text
                and 'is empty' not in text and 'just now' not in text and c.tmp not in text, text)
    text = c.case('doctor of a profile that is piped', ['doctor', '-'], 1, None, data=PROFILE[:-3]).decode()
    c.check('doctor of a profile that is piped: no name of a temporary file', 'is truncated' in text and c.tmp not in text and 'ago' not in text, text)


def hostile_zips(c):
    def reject(what, bad, said, good=r'hosts?: (\w+, )?good'):
        text = c.case(what, ['summary', c.path('hostile.zip', bad)], 0, said).decode()
        c.check(f'{what}: the good member is shown', re.search(good, text), text[:200])

    for name, said in (('/etc/x.xplane.pb', 'absolute path'), ('../x.xplane.pb', "'..', which leads out"), ('n' * 300 + '.xplane.pb', 'too long')):
        reject(name[:20], zip_of([(name, PROFILE), GOOD]), said)
    link = zipfile.ZipInfo(f'{INSIDE}/l.xplane.pb')
    link.create_system, link.external_attr = 3, 0o120777 << 16
    reject('a link', zip_of([(link, b'/etc/passwd'), GOOD]), 'it is a link')
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        reject('a name twice', zip_of([GOOD, GOOD]), 'more than once')
    reject('another method', bz2_and_good(), 'another method than deflate and zstd')
    flags = bytearray(zip_of([(f'{INSIDE}/secret.xplane.pb', PROFILE), GOOD]))
    for at in (flags.index(b'PK\3\4') + 6, flags.index(b'PK\1\2') + 8):
        flags[at] |= 1
    reject('an encrypted member', bytes(flags), 'it is encrypted')
    two = zip_of([(f'{INSIDE}/a.xplane.pb', PROFILE), GOOD], zipfile.ZIP_STORED)
    crc = bytearray(two)
    crc[two.index(PROFILE) + 40] ^= 1
    reject('a wrong checksum', bytes(crc), 'its checksum or its length')
    size = bytearray(two)
    size[two.index(b'PK\1\2') + 42:two.index(b'PK\1\2') + 46] = struct.pack('<I', 7)
    reject('a member that is elsewhere', bytes(size), 'not where the archive says')
    packed = zip_of([GOOD, (f'{INSIDE}/z.xplane.pb', PROFILE)])
    reject('without its end', packed[:packed.index(b'PK\1\2')], 'its end with the list of members is missing')
    reject('cut in the last member', packed[:packed.index(b'PK\1\2') - 3000], 'end with the list of members is missing.*truncated')
    streamed = Pipe()
    with zipfile.ZipFile(streamed, 'w', zipfile.ZIP_DEFLATED) as z:
        z.writestr(*GOOD)
        z.writestr(f'{INSIDE}/z.xplane.pb', PROFILE)
    cut = streamed.data[:streamed.data.index(b'PK\1\2') - 4000]
    reject('cut, and sizes behind members', cut, 'damaged or truncated')
    apple = b'\0\5\x16\7\0\2\0\0Mac OS X        ' + bytes(100)
    macos = c.path('macos.zip', zip_of([GOOD, ('__MACOSX/plugins/profile/run/._good.xplane.pb', apple), (f'{INSIDE}/._good.xplane.pb', apple)]))
    for command in ('doctor', 'runs'):
        done = c.run(command, macos)
        c.check(f'{command} of an archive of macOS', done.returncode == 0 and b'._' not in done.stdout and b'__MACOSX' not in done.stdout + done.stderr, done)
    directory = bytearray(packed)
    directory[packed.rindex(b'PK\1\2')] = 0
    reject('a damaged directory', bytes(directory), 'members are missing')


def bz2_and_good():
    out = io.BytesIO()
    with zipfile.ZipFile(out, 'w') as z:
        z.writestr(f'{INSIDE}/b.xplane.pb', PROFILE, zipfile.ZIP_BZIP2)
        z.writestr(*GOOD)
    return out.getvalue()


def bombs(c):
    """A few hundred KiB that become hundreds of megabytes end at the bound, and the disk holds no more of them than that."""
    zeros = b'\0' * (1 << 20)
    big = member(f'{INSIDE}/z.xplane.pb')[0]
    big.size = 400 << 20
    pack = zlib.compressobj(9, wbits=31)
    bomb = pack.compress(tar_of([member(*GOOD)])[:512 + (len(PROFILE) + 511 & ~511)] + big.tobuf())
    for _ in range(400):
        bomb += pack.compress(zeros)
    bomb += pack.flush()
    zipped = zip_of([GOOD, (f'{INSIDE}/z.xplane.pb', zeros * 300)])
    for name, data in (('bomb.tgz', bomb), ('bomb.zip', zipped)):
        path = c.path(name, data)
        begin = os.times()
        text = c.case(f'{name} of {len(data) >> 10} KiB', ['summary', path, '--host', 'good'], 0, 'exceeds the limit of a profile').decode()
        c.check(f'{name}: the good member is shown', 'host: good' in text, text[:200])
        spent = os.times()
        c.check(f'{name}: in bounded time', spent.children_user + spent.children_system - begin.children_user - begin.children_system < 5)
        smaller = subprocess.run(['sh', '-c', f'ulimit -f {(24 * len(data) + (64 << 20)) // 512 + 2048}; exec "$0" summary "$1" --host good',
                                  c.binary, path], env=c.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
        c.check(f'{name}: no larger file than the bound', smaller.returncode == 0, smaller.stderr[:300])
    full = subprocess.run(['sh', '-c', 'ulimit -f 8; trap "" XFSZ; exec "$0" summary "$1"', c.binary, os.path.join(c.scratch, 'a.tar')],
                          env=c.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
    c.check('a full disk is told', full.returncode == 1 and b'cannot unpack' in full.stderr, full.stderr[:300])


def addresses(c):
    for address, advice in (('ftp://host/a.zip', 'Copy it to this machine'), ('az://bucket/logs', 'Copy it to this machine')):
        for command in (['summary'], ['runs'], ['serve', '--port', '0', '--logdir'], ['tool', 'overview_page'], ['sql']):
            more = ['select 1'] if command == ['sql'] else []
            c.case(f'{command[0]} {address}', [*command, address, *more], 1, re.escape(address) + '.*' + advice)


def served(c):
    """serve shows an archive, also under its sandbox, and removes what it unpacked; what a killed program left is removed by the next."""
    path = os.path.join(c.scratch, 'a.tar.gz')

    def start():
        s = subprocess.Popen([c.binary, 'serve', '--port', '0', '--logdir', path], stderr=subprocess.PIPE, env=c.env)
        for line in s.stderr:
            found = re.search(rb'http://127\.0\.0\.1:(\d+)/', line)
            if found:
                return s, int(found[1])
        raise SystemExit('serve did not start')

    s, port = start()
    with urllib.request.urlopen(f'http://127.0.0.1:{port}/api/runs') as r:
        answer = json.load(r)
    c.check('serve lists the run of an archive', [h['name'] if isinstance(h, dict) else h for h in answer['runs'][0]['hosts']] == HOSTS, str(answer)[:300])
    c.check('serve calls it as the user does', answer['logdir'] == path and answer['runs'][0]['path'].startswith(path + ':'), str(answer)[:300])
    c.check('serve calls it as the user does', c.tmp not in str(answer), str(answer)[:300])
    with urllib.request.urlopen(f'http://127.0.0.1:{port}/data/plugin/profile/data?run=run&tag=overview_page') as r:
        c.check('serve answers from it', len(r.read()) > 1000)
    c.check('files are there meanwhile', len(c.left()) == 3, str(c.left()))
    other = c.run('runs', path)
    c.check('another program leaves them alone', other.returncode == 0 and len(c.left()) == 3, str(c.left()))
    s.send_signal(signal.SIGTERM)
    s.wait(10)
    s.stderr.close()
    c.check('and gone at the end', c.left() == [] and os.listdir(os.path.join(c.tmp, f'stepscope-{os.geteuid()}')) == [], str(c.left()))
    s, port = start()
    s.kill()
    s.wait(10)
    s.stderr.close()
    c.check('a killed program leaves files', len(c.left()) == 3, str(c.left()))
    c.case('which the next one removes', ['runs', path], 0, '')


def scratch_directory(c):
    """A directory that somebody else may write to is not used."""
    bad = os.path.join(c.scratch, 'open')
    os.makedirs(os.path.join(bad, f'stepscope-{os.geteuid()}'))
    os.chmod(os.path.join(bad, f'stepscope-{os.geteuid()}'), 0o777)
    done = subprocess.run([c.binary, 'runs', os.path.join(c.scratch, 'a.tar')], env={**c.env, 'TMPDIR': bad}, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    c.check('a shared directory is refused', done.returncode == 1 and b'of your user alone' in done.stderr, done.stderr[:300])


def commands(c):
    """Every command that takes a profile takes an archive."""
    a = os.path.join(c.scratch, 'a.tar.gz')
    parts = os.path.join(c.scratch, 'parts')
    os.mkdir(parts)
    c.case('reduce', ['reduce', a, '--shard', '0/2', '--out', parts], 0, 'written')
    c.case('reduce', ['reduce', a, '--shard', '1/2', '--out', parts], 0, 'written')
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode='w:gz') as t:
        t.add(parts, '.')
    one, joined = c.path('parts.tgz', out.getvalue()), os.path.join(c.scratch, 'joined.ssp')
    c.case('merge wants to know where', ['merge', one], 1, 'is an archive: name the file to be written')
    c.case('merge of an archive', ['merge', one, '--output', joined], 0, '3 of 3 hosts')
    c.case('what it made', ['tool', 'stragglers', joined], 0, None)
    c.run('track', 'add', os.path.join(c.scratch, 'h.db'), a)
    shown = c.run('track', 'show', os.path.join(c.scratch, 'h.db'), '--format', 'json').stdout.decode()
    c.check('a history names the archive', a in shown and c.tmp not in shown, shown[:400])
    for args in (['summary', a], ['runs', a], ['tools', a], ['tool', 'overview_page', a], ['sql', a, 'select count(*) from events'],
                 ['export', a, '--host', 'host0', '--to', 'chrome', '--output', os.path.join(c.scratch, 'x.json')],
                 ['export', a, '--to', 'html', '--output', os.path.join(c.scratch, 'x.html')], ['diff', a, a], ['gate', a, a],
                 ['track', 'add', os.path.join(c.scratch, 'h.db'), a], ['doctor', a]):
        done = c.run(*args)
        c.check(f'{args[0]} of an archive', done.returncode == 0, f'{done.returncode} {done.stderr.decode()[:300]}')
        c.check(f'{args[0]}: nothing is left', c.left() == [], str(c.left()))


def check_all(binary, scratch):
    c = Checks(binary, scratch)
    for part in (same_answers, single_files, hostile_tars, damaged_tars, hostile_zips, bombs, addresses, served, scratch_directory, commands):
        part(c)
    return c


if __name__ == '__main__':
    sys.exit(checks.main('archives', check_all))
