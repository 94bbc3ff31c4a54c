#!/usr/bin/env python3
"""`./dev release`: its wheels hold to their format, need nothing newer than they say, are the same bytes a second time, and run where they are
installed: x86-64 in a clean environment of Python, arm64 under qemu-user, musl's with Debian's musl.

    release_live.py [--wheels DIR] [TARGET...]     DIR: what a release made already; without it one is made, twice
"""
import argparse
import base64
import csv
import glob
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SAMPLE = 'tests/data/profiles/tf_inputbound_steps'
VERSION = '0.0.1rc1'
MOST_BYTES = 3_000_000
# How programs of a wheel are run here, by a part of its name; {root} is where it was unpacked.
RUN = {'manylinux_2_17_x86_64': [], 'manylinux_2_17_aarch64': ['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu'], 'musllinux_1_2_x86_64': []}
NEEDS = {'manylinux_2_17_aarch64': '/usr/aarch64-linux-gnu/lib/libc.so.6', 'musllinux_1_2_x86_64': '/lib/ld-musl-x86_64.so.1'}
ASK = '''
import sys, tempfile, stepscope, sstrace
with stepscope.open(sys.argv[1]) as p:
    assert p.hosts and p.findings() and len(p.sql("SELECT name FROM events LIMIT 3")) == 3
folder = tempfile.mkdtemp()
sstrace.start(logdir=folder)
with sstrace.trace("work"): pass
with stepscope.open(sstrace.stop()) as p:
    assert p.sql("SELECT name FROM events WHERE name = 'work'").to_dict() == {"name": ["work"]}
print(stepscope.version())
'''
passed = failed = 0


def check(what, good, shown=''):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f'FAILED {what}: {str(shown)[-1500:]}')


def run(*command, **options):
    return subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=options.pop('cwd', ROOT), **options)


def release(out, work, targets):
    done = run(sys.executable, 'packaging/release.py', VERSION, '--out', out, '--work', work, *(f'--target={t}' for t in targets))
    check('a release is made', done.returncode == 0, done.stdout)


def form(path):
    """What the format of wheels asks for, and what we promise of them."""
    name = os.path.basename(path)
    check(f'{name}: size', os.path.getsize(path) <= MOST_BYTES, os.path.getsize(path))
    with zipfile.ZipFile(path) as z:
        record = next(n for n in z.namelist() if n.endswith('.dist-info/RECORD'))
        listed = {row[0]: row[1:] for row in csv.reader(io.StringIO(z.read(record).decode()))}
        check(f'{name}: RECORD lists each file once', sorted(listed) == sorted(z.namelist()), listed)
        for entry in z.namelist():
            data = z.read(entry)
            digest = 'sha256=' + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()
            check(f'{name}: {entry}', listed[entry] == ([digest, str(len(data))] if entry != record else ['', '']), listed[entry])
        text = z.read(record.replace('RECORD', 'METADATA')).decode()
        check(f'{name}: no dependencies', 'Requires-Dist' not in text and f'\nVersion: {VERSION}\n' in '\n' + text)


def binaries(root, name):
    """Nothing is needed beside the C library, and of that nothing newer than the tag says."""
    for path in sorted(glob.glob(f'{root}/**/scripts/stepscope', recursive=True) + glob.glob(f'{root}/**/libexec/stepscope/*.so*', recursive=True)):
        dynamic = run('readelf', '-dVW', path).stdout
        needed = set(re.findall(r'\(NEEDED\).*\[(.*)\]', dynamic))
        good = re.compile(r'lib(c|m|dl|pthread|rt|stepscope|sstrace)\.so(\.\d+)?$|ld-linux.*')
        check(f'{name}: {os.path.basename(path)} needs the C library alone', all(good.match(n) for n in needed), needed)
        newest = max((tuple(map(int, v.split('.'))) for v in re.findall(r'GLIBC_([0-9.]+)', dynamic)), default=(0,))
        check(f'{name}: {os.path.basename(path)} and glibc', newest <= (2, 17), newest)


def unpacked(path, folder):
    """As pip would lay it out, for programs of other machines."""
    root = os.path.join(folder, os.path.basename(path))
    with zipfile.ZipFile(path) as z:
        z.extractall(root)
    data = glob.glob(f'{root}/*.data')[0]
    shutil.copytree(f'{data}/scripts', f'{root}/bin')
    shutil.copytree(f'{data}/data/libexec', f'{root}/libexec')
    os.chmod(f'{root}/bin/stepscope', 0o755)
    return root


def runs(path, folder, expected):
    name = os.path.basename(path)
    root = unpacked(path, folder)
    if 'macosx' in name:
        return
    binaries(root, name)
    tag = next((t for t in RUN if t in name), None)
    if not tag or (NEEDS.get(tag) and not os.path.exists(NEEDS[tag])):
        print(f'skipped: {name} is not run: ' + (f'{NEEDS[tag]} is missing (apt: qemu-user-static libc6-arm64-cross musl)' if tag else 'no machine for it here'))
        return
    done = run(*RUN[tag], f'{root}/bin/stepscope', 'summary', SAMPLE)
    check(f'{name}: summary', done.stdout == expected, done.stdout)


def installed(path, folder):
    """pip puts it into an empty environment; the program and both modules work there."""
    place = os.path.join(folder, 'environment')
    run(sys.executable, '-m', 'venv', place)
    done = run(f'{place}/bin/pip', 'install', '--no-index', '--no-deps', path)
    check('pip installs it', done.returncode == 0, done.stdout)
    clean = {'PATH': f'{place}/bin:/usr/bin:/bin', 'HOME': folder}
    done = run('stepscope', '--version', env=clean)
    check('the program is on the path', done.stdout == f'stepscope {VERSION}\n', done.stdout)
    done = run(f'{place}/bin/python', '-c', ASK, os.path.join(ROOT, SAMPLE), env=clean, cwd=folder)
    check('Python asks', done.stdout.strip() == VERSION, done.stdout)
    run('openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', f'{folder}/key.pem', '-out', f'{folder}/cert.pem', '-subj', '/CN=localhost')
    done = run('stepscope', 'serve', '--logdir', SAMPLE, '--port', '0', '--tls-cert', f'{folder}/cert.pem', '--tls-key', f'{folder}/key.pem', env=clean)
    check('no TLS is said', done.returncode == 1 and 'this build of stepscope cannot serve TLS' in done.stdout, done.stdout)


def tarballs(out, folder):
    """The sources with the built page, and programs that run from wherever they are unpacked."""
    for path in sorted(glob.glob(f'{out}/*.tar.gz')):
        name = os.path.basename(path).removesuffix('.tar.gz')
        check(f'{name}: unpacks', run('tar', '-xf', path, '-C', folder).returncode == 0)
        root = os.path.join(folder, name)
        if name == f'stepscope-{VERSION}':
            check('sources', open(f'{root}/VERSION').read() == VERSION + '\n' and os.path.getsize(f'{root}/web/page.bin') > 100000)
        elif 'macos' not in name and 'aarch64' not in name:
            check(f'{name}: runs', run(f'{root}/bin/stepscope', '--version').stdout == f'stepscope {VERSION}\n')
        check(f'{name}: licences', os.path.exists(f'{root}/LICENSE') or len(os.listdir(f'{root}/licenses')) > 6)


def materials(out):
    check('SHA256SUMS', run('sha256sum', '-c', '--quiet', 'SHA256SUMS', cwd=out).returncode == 0)
    with open(glob.glob(f'{out}/*.spdx.json')[0]) as f:
        bill = json.load(f)
    names = {p['name'] for p in bill['packages']}
    check('bill of materials', {'stepscope', 'zlib', 'sqlite3', 'libmicrohttpd'} <= names and bill['spdxVersion'] == 'SPDX-2.3', names)
    check('changes', open(os.path.join(out, 'CHANGELOG.md')).read().startswith(f'# stepscope {VERSION}\n'))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--wheels')
    parser.add_argument('targets', nargs='*', default=['linux-x86_64'])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = args.wheels or f'{folder}/out'
        if not args.wheels:
            release(out, f'{folder}/work', args.targets)
            release(f'{folder}/again', f'{folder}/elsewhere', args.targets)
            sums = [open(f'{o}/SHA256SUMS').read() for o in (out, f'{folder}/again')]
            check('the same bytes a second time, in another place', sums[0] == sums[1], '\n'.join(sums))
        expected = run('build/stepscope', 'summary', SAMPLE).stdout
        wheels = sorted(glob.glob(f'{out}/*.whl'))
        check('wheels', wheels)
        for path in wheels:
            form(path)
            runs(path, folder, expected)
        for path in wheels:
            if 'manylinux_2_17_x86_64' in path:
                installed(path, folder)
        tarballs(out, folder)
        materials(out)
    print(f'{passed} passed, {failed} failed')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
