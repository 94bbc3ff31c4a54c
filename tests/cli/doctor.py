#!/usr/bin/env python3
"""'stepscope doctor PATH': broken files and directories, each with its cause; and --strict, which makes a command fail on them."""
import base64
import gzip
import io
import os
import pickle
import re
import socket
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import checks
import profiles
from xspace import field, read_varint

SAMPLE = os.path.join(profiles.ROOT, 'synth_tpu1', 'plugins', 'profile', 'run', 'host0.xplane.pb')
RIEGELI = os.path.join(os.path.dirname(HERE), 'data', 'riegeli')
OLD = 1_600_000_000     # a time long ago: nobody is still writing
RUN = 'plugins/profile/run/'


def inside(message):
    """The values of field 1 of a message in which every field is a text or a message."""
    found, at = [], 0
    while at < len(message):
        key, at = read_varint(message, at)
        length, at = read_varint(message, at)
        found += [message[at:at + length]] * (key == 10)
        at += length
    return found


def tar_of(name, data):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode='w') as t:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        t.addfile(info, io.BytesIO(data))
    return out.getvalue()


def database(path, table):
    with sqlite3.connect(path) as db:
        db.execute(f'CREATE TABLE {table}(a)')
    db.close()
    with open(path, 'rb') as f:
        return f.read()


def layouts(scratch):
    """(name, {path: bytes, or None for a directory}, what is named: '' for the directory, what is said)."""
    with open(SAMPLE, 'rb') as f:
        whole = f.read()
    with open(os.path.join(RIEGELI, 'brotli-simple.xplane.riegeli'), 'rb') as f:
        riegeli = f.read()
    device = b'/job:localhost/replica:0/task:0/device:CPU:0'
    metadata = field(1, field(1, field(1, device) + field(2, field(1, b'node'))))
    no_events = field(1, field(1, 1) + field(2, b'/host:CPU'))
    host = RUN + 'host0.xplane.pb'
    apple = b'\0\5\x16\7\0\2\0\0Mac OS X        ' + bytes(100)
    trace = b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]}\n'
    text = b'This is what the program printed while it ran, and no profile.\n'
    headers = b'HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n'
    login = b'Welcome to this cluster.\nDefaulted container "main" out of: main, proxy\n'
    part = b'--------------------------d74496d6\r\nContent-Disposition: form-data; name="file"\r\n\r\n'
    of_google = b'{"kind": "storage#object", "id": "a/b/1", "mediaLink": "https://storage.googleapis.com/x", "name": "b"}'
    of_s3 = b'{"AcceptRanges": "bytes", "ContentLength": 11041, "ETag": "0"}'
    events = b'\x18' + bytes(7) + b'\xa3\x7f\x4b\x22\t' + bytes(8) + b'\x1a\rbrain.Event:2' + bytes(4)
    plain = pickle.dumps({'lr': [1, 2, 3]})
    return [
        # files of the profiler itself
        ('zero bytes', {host: b''}, '', 'host0.xplane.pb  is empty: the program may have been killed'),
        ('zero bytes, named', {host: b''}, host, 'is empty'),
        ('cut short', {host: whole[:len(whole) // 2]}, '', 'is truncated: it ends at byte'),
        ('cut short within the last plane', {host: whole[:-3]}, '', 'is truncated'),
        ('nothing but zeros', {host: bytes(8192)}, '', 'zero bytes where a profile begins'),
        ('zeros in place of its beginning', {host: bytes(4096) + whole[4096:]}, '', 'zero bytes where a profile begins'),
        ('a plane alone', {host: inside(whole)[0]}, '', 'is one plane of a profile'),
        ('a plane of names alone', {host: inside(whole)[2]}, '', 'is one plane of a profile'),
        ('without its first third', {host: whole[len(whole) // 3:]}, '', 'its front is missing, or other bytes stand before it'),
        ('without its first half', {host: whole[len(whole) // 2:]}, '', 'its front is missing, or other bytes stand before it'),
        ('a message of another kind', {host: field(1, 1) + field(2, field(1, b'serve'))}, '', 'is not a profile: no XSpace field'),
        ('planes without names', {host: field(1, field(9, 1)) * 2}, '', '2 planes have neither names nor events'),
        ('random bytes', {host: b'\xff\1\xfd' * 100}, '', 'no XSpace field can be read'),
        ('copied as text with another line end', {host: whole.replace(b'\n', b'\r\n')}, '', 'at its start. It was written or copied as text'),
        ('written with a mark of UTF-8', {host: b'\xef\xbb\xbf' + whole}, '', 'at its start. It was written or copied as text'),
        ('written in UTF-8', {host: whole.decode('latin-1').encode()}, '', 'It was written or copied as text'),
        ('malformed in the middle', {host: whole + b'\xff' * 30}, '', 'malformed from byte'),
        ('no plane', {host: field(4, b'host0')}, '', 'holds no plane: the profiler recorded nothing'),
        ('no event', {host: no_events}, '', '1 plane without events'),
        ('the profiler said why', {host: whole + field(2, b'failed to start tracing')}, '', 'the profiler reported: failed to start'),
        ('gzip, cut short', {host + '.gz': gzip.compress(whole)[:-200]}, '', 'compressed file is damaged'),
        ('gzip in gzip in gzip', {host + '.gz': gzip.compress(gzip.compress(gzip.compress(whole)))}, '', 'compressed more than twice'),
        ('gzip of nothing', {host + '.gz': gzip.compress(b'')}, '', 'is empty'),
        ('riegeli, cut short', {RUN + 'h.xplane.riegeli': riegeli[:-900]}, '', 'truncated, or still being written'),
        ('riegeli, a flipped bit', {RUN + 'h.xplane.riegeli': riegeli[:500] + b'\0\1\2' + riegeli[503:]}, '', 'chunks are damaged'),
        # names and places
        ('wrong suffix', {RUN + 'host0.pb': whole}, '', 'does not end in .xplane.pb'),
        ('a number behind the suffix', {RUN + 'host0.xplane.pb.1': whole}, '', 'does not end in .xplane.pb'),
        ('no host', {RUN + 'xplane.pb': whole}, '', 'has no host name before .xplane.pb'),
        ('a copy that has not finished', {RUN + 'host0.xplane.pb.part': whole[:90]}, '', 'copy or a download that has not finished'),
        ('an upload that has not finished', {RUN + 'host0.xplane.pb_.gstmp': whole[:90]}, '', 'copy or a download that has not finished'),
        ('a run without files', {RUN: None}, '', 'holds no .*xplane.pb file'),
        ('an empty directory', {'': None}, '', 'it is empty: no program has written'),
        ('HLO only', {RUN + 'jit_f(4).hlo_proto.pb': b'x'}, '', 'holds one HLO module, not a profile'),
        ('JSON that is no trace', {RUN + 'host0.xplane.json': b'{"a": 1}'}, '', 'is JSON'),
        ('only what the program printed', {'out.log': text}, '', 'no profile is in its 1 file:'),
        ('the wrong part of a log directory', {host: whole, RUN + 'notes/a.txt': text}, RUN + 'notes', 'no profile is in this part'),
        ('a profile below too many directories', {'/'.join('abcdefghij' * 8) + '/host0.xplane.pb': whole}, '', 'nested too deep'),
        ('another host was not readable', {host: whole, RUN + 'host1.xplane.pb': b''}, '', 'host1.*is empty'),
        # on its way
        ('behind HTTP headers', {host: headers + whole}, '', "with its HTTP headers .it begins with 'HTTP/1.1 200 OK'.: fetch the file again"),
        ('behind the lines of a login', {host: login + whole}, '', 'a profile behind lines of text'),
        ('packed, behind the lines of a login', {host + '.gz': login + gzip.compress(whole)}, '', 'a profile behind lines of text'),
        ('an upload of a form', {host: part + whole}, '', 'multipart/form-data'),
        ('a message of the shell', {host: b'cat: h.xplane.pb: No such file or directory\n'}, '', "it begins with 'cat: h.xplane.pb: No such file"),
        ('lines of a log', {host: b'[2026-11-02 10:00:00] step 1\n[2026-11-02 10:00:01] step 2\n'}, '', r"a text file, not a profile .it begins with '\[2026-11-02 10:00:00\] step 1'"),
        ('what YAML calls a map', {host: b'{step: 1, loss: 2.0}\n'}, '', 'a text file, not a profile'),
        ('in base64', {host: base64.encodebytes(whole)}, '', 'base64 -d'),
        ('packed with zlib', {host: zlib.compress(whole)}, '', 'packed with zlib'),
        ('written as JSON', {host: b'{"planes": [{"name": "/host:CPU"}]}'}, '', 'a profile that was written as JSON'),
        ('written as text', {host: b'planes {\n  name: "/host:CPU"\n}\n'}, '', 'a profile that was written as text'),
        ('the description of an object of Google', {host: of_google}, '', 'description of an object of Google Cloud Storage.*alt=media'),
        ('the description of an object of S3', {host: of_s3}, '', 'description of an object of S3.*aws s3 cp'),
        ('an answer of an object store without a declaration', {host: b'<Error><Code>SlowDown</Code></Error>'}, '', 'object store'),
        ('an answer of an object store with a mark', {host: b'\xef\xbb\xbf<?xml version="1.0"?><Error/>'}, '', 'object store'),
        ('a pointer of git-annex', {host: b'/annex/objects/SHA256E-s12--00.pb\n'}, '', 'git annex get'),
        ('a pointer of DVC', {host + '.dvc': b'outs:\n- md5: 00\n'}, '', 'dvc pull'),
        ('a copy of rsync in work', {RUN + '.host0.xplane.pb.aB12cD': whole[:90]}, '', 'copy or a download that has not finished'),
        ('a download of the AWS CLI in work', {host + '.6eF3bC9a': whole[:90]}, '', 'copy or a download that has not finished'),
        ('a file that iCloud holds', {RUN + '.host0.xplane.pb.icloud': b'bplist00'}, '', 'placeholder for a file in iCloud'),
        ('only the trace for Perfetto', {RUN + 'perfetto_trace.json.gz': gzip.compress(b'{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1}]}')}, '', 'JAX writes for Perfetto.*holds no'),
        ('directories without files', {'plugins/profile/a': None, 'plugins/profile/b': None}, '', 'hold no file that can be opened'),
        # files of other tools
        ('a pickle of something else', {host: plain}, '', 'is a pickle of Python, not a profile'),
        ('a pickle of something else, named', {'s.pickle': plain}, 's.pickle', 'is a pickle, but not a memory snapshot'),
        ('an event file under another name', {host: events}, '', 'an event file of TensorBoard under another name'),
        ('RunMetadata without times', {RUN + 'host0.xplane.pb': metadata}, '', '1 node has no times'),
        ('Nsight Systems', {'r.nsys-rep': b'\xafS\0\1'}, '', 'nsys export --type sqlite'),
        ('Nsight Systems, named', {'r.nsys-rep': b'\xafS\0\1'}, 'r.nsys-rep', 'nsys export --type sqlite'),
        ('Nsight Compute', {'r.ncu-rep': b'NVR\0'}, '', 'Nsight Compute'),
        ('Neuron', {'r.ntff': b'NTFF'}, '', 'neuron-profile'),
        ('the trace server', {RUN + 'h.tracetable': b'x'}, '', 'trace server'),
        ('perf', {'perf.data': b'PERFILE2' + bytes(20)}, 'perf.data', 'perf report'),
        ('cProfile', {'run.pstats': b'{\xa9\x03z\x01~'}, 'run.pstats', 'cProfile.*speedscope|cProfile.*jax.profiler'),
        ('a tar archive', {host: tar_of('host0.xplane.pb', whole)}, '', 'tar archive.*unpack'),
        ('a tar archive of a directory', {'run.tar.gz': gzip.compress(tar_of('a', whole))}, '', 'archive: give its own path'),
        ('a profile packed with zstd', {host + '.zst': b'\x28\xb5\x2f\xfd' + bytes(30)}, '', 'packed with zstd: give its own path'),
        ('a profile packed with xz', {host + '.xz': b'\xfd7zXZ\0' + bytes(30)}, '', 'packed with xz: unpack'),
        ('a name in capitals', {RUN + 'host0.XPLANE.PB': whole}, '', 'ending in capital letters'),
        ('a zip archive', {host: b'PK\3\4' + bytes(30)}, '', 'zip archive'),
        ('zstd', {host: b'\x28\xb5\x2f\xfd' + bytes(30)}, '', "zstd -d"),
        ('xz', {host: b'\xfd7zXZ\0' + bytes(30)}, '', "xz -d"),
        ('lz4', {host: b'\x04\x22\x4d\x18' + bytes(30)}, '', "lz4 -d"),
        ('a pointer of Git LFS', {host: b'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n'}, '', 'git lfs pull'),
        ('an answer of an object store', {host: b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>'}, '', 'object store'),
        ('an error in JSON', {host: b'{"error": {"code": 404, "message": "No such object"}}'}, '', 'error in JSON.*fetch the file again'),
        ('a web page', {host: b'<!DOCTYPE html><html><body>Sign in</body></html>'}, '', 'web page.*fetch the profile again'),
        ('text in UTF-16', {'t.json': '{"traceEvents": []}'.encode('utf-16')}, 't.json', 'UTF-16'),
        ('weights', {'model.h5': b'\x89HDF\r\n\x1a\n' + bytes(30)}, 'model.h5', 'HDF5'),
        ('a table', {'t.parquet': b'PAR1' + bytes(30)}, 't.parquet', 'Parquet'),
        ('a program', {'train': b'\x7fELF' + bytes(30)}, 'train', 'program.*stepscope record'),
        ('an execution trace of PyTorch', {'et.json': b'{"schema": "1.1.1-chakra.0.0.4", "nodes": []}'}, 'et.json', 'torch.profiler'),
        ('a text', {'t.txt': text}, 't.txt', 'a text file, not a profile'),
        ('a database of somebody else', {'d.sqlite': database(os.path.join(scratch, 'db'), 'users')}, '', 'tables are not those of a profiler'),
        ('a database that is cut short', {'d.sqlite': database(os.path.join(scratch, 'cut'), 'CUPTI_ACTIVITY_KIND_KERNEL')[:5000]}, '', 'the database is truncated: copy it again'),
        ('a file of macOS', {RUN + '._host0.xplane.pb': apple}, '', 'is a note of macOS about the file of this name'),
        ('a file of macOS, named', {RUN + '._host0.xplane.pb': apple}, RUN + '._host0.xplane.pb', 'note of macOS.*AppleDouble'),
        ('a conflict of Git', {'w0.pt.trace.json': b'<<<<<<< HEAD\n{"traceEvents": []}\n=======\n{}\n>>>>>>> x\n'}, '', 'that Git could not merge'),
        ('a picture', {'p.svg': b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"></svg>'}, 'p.svg', r'a picture \(SVG\)'),
        ('a RAR archive', {'a.rar': b'Rar!\x1a\7\1\0' + bytes(60)}, 'a.rar', 'a RAR archive: unpack'),
        ('gzip, cut within its header', {host + '.gz': gzip.compress(whole)[:10]}, '', 'nothing of it can be unpacked: copy it again'),
        ('two traces in one file', {'w0.pt.trace.json': trace + trace}, '', 'more text stands after the end of the trace'),
        ('a memory snapshot, cut short', {'s.pickle': pickle.dumps({'segments': [{'address': 1, 'blocks': []}] * 100, 'device_traces': [[]]})[:200]}, 's.pickle', 'memory snapshot is truncated or damaged'),
        ('a memory snapshot of nothing', {'s.pickle': pickle.dumps({'segments': [], 'device_traces': []})}, 's.pickle', 'holds no memory: call'),
        ('a pprof of CPU time', {'cpu.pb.gz': gzip.compress(field(1, field(1, 1) + field(2, 2)) + field(2, field(1, b'\1') + field(2, b'\1\2')) + field(6, b'') + field(6, b'samples') + field(6, b'count'))}, 'cpu.pb.gz', 'counts no bytes in use'),
        ('nvprof', {'d.sqlite': database(os.path.join(scratch, 'nvprof'), 'CUPTI_ACTIVITY_KIND_KERNEL_X')}, '', 'nvprof|not those of a profiler'),
    ]


class Checks(checks.Counts):
    def __init__(self, binary):
        self.binary = binary

    def run(self, *args, **more):
        return subprocess.run([self.binary, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, stdin=subprocess.DEVNULL,
                              universal_newlines=True, **more)


def lay_out(top, files):
    os.makedirs(top)
    for path, data in files.items():
        full = os.path.join(top, path)
        os.makedirs(full if data is None else os.path.dirname(full), exist_ok=True)
        if data is not None:
            with open(full, 'wb') as f:
                f.write(data)
            os.utime(full, (OLD, OLD))


def diagnoses(c, scratch):
    cases = layouts(scratch)
    c.check('forty layouts', len(cases) >= 40, len(cases))
    for i, (name, files, named, says) in enumerate(cases):
        top = os.path.join(scratch, str(i))
        lay_out(top, files)
        done = c.run('doctor', os.path.join(top, named) if named else top)
        fails = name != 'the profiler said why'
        c.check(name, re.search(says, done.stdout, re.S) and done.returncode == fails and ('the profiler reported' in done.stdout) != fails, f'{done.returncode} {done.stdout}{done.stderr}')
        c.check(f'{name}: causes alone', not re.search(r'signal|assert|\(null\)', done.stdout + done.stderr), done.stdout)


def of_the_system(c, scratch):
    """Causes that lie in the file system."""
    top = os.path.join(scratch, 'system')
    lay_out(top, {RUN + 'host0.xplane.pb': b'x'})
    run = os.path.join(top, RUN)
    missing = c.run('doctor', os.path.join(top, 'plugins', 'profil', 'run'))
    c.check('a path that is not there', missing.returncode == 1 and f"The path exists up to '{top}/plugins'" in missing.stdout, missing.stdout)
    os.remove(run + 'host0.xplane.pb')
    os.symlink('/nowhere', run + 'gone.xplane.pb')
    os.symlink('/etc/hostname', run + 'out.xplane.pb')
    os.mkfifo(run + 'pipe.xplane.pb')
    os.mkdir(run + 'folder.xplane.pb')
    done = c.run('doctor', top)
    for says in ('gone.xplane.pb +is a broken link', 'out.xplane.pb +is a link to a place outside', 'pipe.xplane.pb +is not a plain file'):
        c.check(says, re.search(says, done.stdout) and done.returncode == 1, done.stdout)
    for what in ('socket', 'fifo'):
        path = os.path.join(top, what)
        if what == 'fifo':
            os.mkfifo(path)
        else:
            s = socket.socket(socket.AF_UNIX)
            s.bind(path)
            s.close()
        done = c.run('doctor', path)
        c.check(what, done.returncode == 1 and 'neither a directory nor a plain file' in done.stdout, done.stdout)
    lay_out(os.path.join(top, 'fresh'), {})
    with open(os.path.join(top, 'fresh', 'h.xplane.pb'), 'wb') as f, open(SAMPLE, 'rb') as g:
        f.write(g.read()[:-5])
    done = c.run('doctor', os.path.join(top, 'fresh'))
    c.check('still being written', 'may still be writing it' in done.stdout and done.returncode == 1, done.stdout)


def permissions(c, scratch):
    """As somebody who may not read everything; root may, and cannot become nobody everywhere."""
    top = os.path.join(scratch, 'closed')
    with open(SAMPLE, 'rb') as f:
        lay_out(top, {RUN + 'host0.xplane.pb': f.read(), 'shut/a': b'x'})
    os.chmod(os.path.join(top, RUN, 'host0.xplane.pb'), 0)
    os.chmod(os.path.join(top, 'shut'), 0)
    if os.getuid() == 0:
        for path in (scratch, top):
            os.chmod(path, 0o755)
        argv = ['setpriv', '--reuid', '65534', '--clear-groups', c.binary, 'doctor', top]
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, universal_newlines=True)
    else:
        done = c.run('doctor', top)
    os.chmod(os.path.join(top, 'shut'), 0o700)
    c.check('a file that may not be read', re.search('host0.xplane.pb.*[Pp]ermission denied', done.stdout), done.stdout + done.stderr)
    c.check('a directory that may not be read', re.search('shut.*permission denied', done.stdout, re.I), done.stdout + done.stderr)


def whole_ones(c, scratch):
    """Nothing is wrong: nothing is said to be."""
    with open(SAMPLE, 'rb') as f:
        whole = f.read()
    with open(os.path.join(RIEGELI, 'brotli-simple.xplane.riegeli'), 'rb') as f:
        riegeli = f.read()
    module = field(1, b'jit_f') + field(2, b'main.1') + field(3, field(1, b'main.1') + field(5, 1)) + field(5, 7)
    profile = RUN + 'host0.xplane.pb'
    others = [('an HloProto', {profile: field(1, module)}, 'it is a program of XLA, without a profile'),
              ('an HloModuleProto', {profile: module}, 'it is a program of XLA, without a profile'),
              ('riegeli that is called .pb', {profile: riegeli}, 'complete: 6 planes'),
              ('an XSpace that is called .riegeli', {RUN + 'host0.xplane.riegeli': whole}, 'complete: 4 planes'),
              ('a note of Windows', {profile: whole, profile + ':Zone.Identifier': b'[ZoneTransfer]'}, 'complete: 4 planes.*a note of Windows')]
    for i, (name, files, says) in enumerate(others):
        top = os.path.join(scratch, f'other{i}')
        lay_out(top, files)
        done = c.run('doctor', top)
        c.check(name, done.returncode == 0 and 'BAD' not in done.stdout and re.search(says, done.stdout, re.S), done.stdout)
    for name in ('synth_tpu1', 'synth_gpu1', 'jax_mlp_train', 'synth_tpu_3hosts'):
        done = c.run('doctor', os.path.join(profiles.ROOT, name))
        c.check(name, done.returncode == 0 and 'BAD' not in done.stdout and 'complete' in done.stdout, done.stdout)
    machine = c.run('doctor', '--port', '0x')
    c.check('misuse', machine.returncode == 2, machine.stderr)


def strict(c, scratch):
    """An incomplete profile: shown with a warning, or with --strict a failure that names it."""
    good, bad = os.path.join(scratch, 'good'), os.path.join(scratch, 'bad')
    with open(SAMPLE, 'rb') as f:
        whole = f.read()
    lay_out(good, {RUN + 'host0.xplane.pb': whole})
    lay_out(bad, {RUN + 'host0.xplane.pb': whole[:-40], RUN + 'host1.xplane.pb': whole})
    commands = [['summary', '{}'], ['tool', 'hlo_stats', '{}'], ['tool', 'host_steps', '{}'], ['tool', 'trace_viewer@', '{}', '--format', 'xprof'],
                ['tools', '{}'], ['runs', '{}'], ['sql', '{}', 'SELECT 1'], ['export', '{}', '--to', 'speedscope', '-o', os.path.join(scratch, 'out')], ['diff', '{}', good],
                ['reduce', '{}', '-o', os.path.join(scratch, 'parts')], ['track', 'add', os.path.join(scratch, 'history'), '{}']]
    for command in commands:
        for path, fails in ((good, False), (bad, True)):
            done = c.run(*[a.replace('{}', path) for a in command], '--strict')
            c.check(f'{" ".join(command)} --strict of {path}',
                    done.returncode == ((2 if command[0] == 'diff' else 1) if fails else 0) and (not fails or re.search('incomplete.*host0', done.stderr)),
                    f'{done.returncode} {done.stderr[:300]}')
    served = c.run('serve', '--logdir', bad, '--port', '0', '--strict')
    c.check('serve', served.returncode == 1 and re.search('incomplete.*host0', served.stderr), served.stderr)
    loose = c.run('tool', 'hlo_stats', bad)
    c.check('without --strict', loose.returncode == 0 and loose.stdout, loose.stderr)
    gate = c.run('gate', bad, good, '--strict')
    c.check('gate', gate.returncode == 2 and 'incomplete' in gate.stderr, f'{gate.returncode} {gate.stdout} {gate.stderr}')


STUBS = '''
char *curl_version(void) { return "%s"; }
#define F(name) int name(void) { return 0; }
F(curl_easy_init) F(curl_easy_setopt) F(curl_easy_perform) F(curl_easy_getinfo) F(curl_easy_cleanup) F(curl_easy_strerror) F(curl_slist_append)
F(curl_slist_free_all)
'''


def fetching(c, scratch):
    """Is libcurl there, of which version, and does it have TLS? Ones of our own stand in for the system's."""
    cases = [('libcurl/8.5.0 OpenSSL/3.0.13 zlib/1.3', 'ok    libcurl +libcurl/8.5.0 with TLS by OpenSSL/3.0.13: https://'),
             ('libcurl/7.88.1 (GnuTLS/3.7.9) zlib/1.2', r'ok    libcurl +libcurl/7.88.1 with TLS by \(GnuTLS/3.7.9\)'),
             ('libcurl/7.84.0 OpenSSL/1.1.1', 'note  libcurl +libcurl/7.84.0 is older than 7.85: https:// addresses cannot be fetched.*Install a newer one'),
             ('libcurl/8.5.0 zlib/1.3 brotli/1.0', 'note  libcurl +libcurl/8.5.0 was built without TLS: .*install curl'),
             ('', 'note  libcurl +not installed, or incomplete: https:// addresses cannot be fetched, .*install curl')]
    for i, (version, says) in enumerate(cases):
        where = os.path.join(scratch, f'curl{i}')
        os.mkdir(where)
        for name in ('libcurl.so.4', 'libcurl-gnutls.so.4'):
            path = os.path.join(where, name)
            if version:
                subprocess.run(['cc', '-shared', '-fPIC', '-w', '-x', 'c', '-', '-o', path], input=STUBS % version, universal_newlines=True, check=True)
            else:
                open(path, 'w').close()
        done = c.run('doctor', '--logdir', scratch, env={**os.environ, 'LD_LIBRARY_PATH': where})
        c.check(f'libcurl {version!r}', re.search(says, done.stdout), done.stdout)


def check_all(binary, scratch):
    c = Checks(binary)
    for part in (diagnoses, of_the_system, permissions, whole_ones, strict, fetching):
        with tempfile.TemporaryDirectory() as own:        # not in `scratch`, which other users cannot enter
            part(c, own)
    return c


if __name__ == '__main__':
    sys.exit(checks.main('doctor', check_all))
