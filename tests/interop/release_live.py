#!/usr/bin/env python3
"""`./dev release`: its wheels hold to their format, need nothing newer than they say, are the same bytes a second time, and run where they are
installed: x86-64 in a clean environment of Python, with Jupyter and TensorBoard; arm64 with Debian's Python for it under qemu-user; musl's with
Debian's musl. What else a release holds: release_packages.py.

    release_live.py [--made DIR] [TARGET...]     DIR: what a release made already; without it one is made, the first target twice
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
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import release_packages as packages

ROOT = os.path.dirname(os.path.dirname(HERE))
SAMPLE = 'tests/data/profiles/tf_inputbound_steps'
VERSION = '0.0.1rc1'
MOST_BYTES = 3_000_000
URL = 'https://files.example/stepscope'
# The first is made twice and compared; of each the wheel is run. Those for macOS are made by `./dev release` alone.
TARGETS = ['linux-x86_64', 'linux-aarch64', 'musl-x86_64', 'musl-aarch64']
ARM = os.path.join(packages.CACHE, 'root-arm64')
# How programs of a wheel are run here, by a part of its name, and what that takes.
QEMU = ['qemu-aarch64-static', '-L', ARM]
RUN = {'manylinux_2_17_x86_64': [], 'manylinux_2_17_aarch64': QEMU, 'musllinux_1_2_x86_64': [], 'musllinux_1_2_aarch64': QEMU}
NEEDS = {'manylinux_2_17_aarch64': ARM + '/.complete', 'musllinux_1_2_x86_64': '/lib/ld-musl-x86_64.so.1', 'musllinux_1_2_aarch64': ARM + '/.complete'}
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
OTHER = os.path.join(ROOT, 'build')     # what LD_LIBRARY_PATH may name: another installation's library
OTHER_LIBRARY = os.path.join(OTHER, 'libstepscope.so.0')
passed = failed = 0


def check(what, good, shown=''):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f'FAILED {what}: {str(shown)[-1500:]}')


def run(*command, **options):
    return subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=options.pop('cwd', ROOT), **options)


def release(out, work, targets):
    done = run(sys.executable, 'packaging/release.py', VERSION, '--out', out, '--work', work, '--url', URL, *(f'--target={t}' for t in targets))
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
        good = re.compile(r'lib(c|m|dl|pthread|rt|sstrace)\.so(\.\d+)?$|libstepscope\.so\.0-' + re.escape(VERSION) + '$|ld-linux.*')
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
        print(f'skipped: {name} is not run: ' + (f'{NEEDS[tag]} is missing (scripts/bootstrap packages)' if tag else 'no machine for it here'))
        return
    done = run(*RUN[tag], f'{root}/bin/stepscope', 'summary', SAMPLE)
    check(f'{name}: summary', done.stdout == expected, done.stdout)
    if tag == 'musllinux_1_2_aarch64':
        misses(root, name, RUN[tag])


def misses(root, name, how):
    """What a machine without libcurl and OpenSSL is told: musl for arm64 finds neither."""
    for address, package in (('https://localhost/x', 'curl'), ('s3://bucket/x', 'curl'), ('grpcs://localhost:1', 'openssl')):
        done = run(*how, f'{root}/bin/stepscope', 'summary', address, env={**os.environ, 'AWS_EC2_METADATA_DISABLED': 'true'})
        check(f'{name}: {address} says what to install', done.returncode == 1 and f"The package '{package}' brings it" in done.stdout and '(null)' not in done.stdout, done.stdout)


def arm_system():
    """Debian for arm64 with Python and musl, unpacked and not run: what qemu-user finds the files of programs in. Made once."""
    if os.path.exists(f'{ARM}/.complete') or packages.lacks('mmdebstrap', 'qemu-aarch64-static') or os.getuid():
        return
    sys.path.insert(0, os.path.join(ROOT, 'packaging'))
    from libraries import mirror
    done = run('mmdebstrap', '--variant=extract', '--mode=root', '--architectures=arm64', '--include=python3,musl', 'trixie', ARM, mirror())
    check('a system for arm64', done.returncode == 0, done.stdout)
    if not os.path.exists(f'{ARM}/lib'):
        os.symlink('usr/lib', f'{ARM}/lib')
    open(f'{ARM}/.complete', 'w').close()


def on_arm(path, folder):
    """pip lays the wheel out as that machine's pip would; the modules work in its Python."""
    if not os.path.exists(f'{ARM}/.complete'):
        return
    place = os.path.join(folder, 'arm')
    done = run(sys.executable, '-m', 'pip', 'install', '--no-index', '--no-deps', '--only-binary=:all:', '--platform', 'manylinux_2_17_aarch64', '--target', place, path)
    check('pip takes it for arm64', done.returncode == 0, done.stdout)
    python = next(p for p in glob.glob(f'{ARM}/usr/bin/python3.*') if re.fullmatch(r'python3\.\d+', os.path.basename(p)))
    done = run(*QEMU, '-E', f'PYTHONPATH={place}', '-E', f'PYTHONPYCACHEPREFIX={ARM}/pyc', python, '-c', ASK, os.path.join(ROOT, SAMPLE), cwd=folder)
    check('Python asks, on arm64', done.stdout.strip() == VERSION, done.stdout)


def installed(path, folder):
    """pip puts it into an empty environment; the program and both modules work there."""
    place = os.path.join(folder, 'environment')
    run(sys.executable, '-m', 'venv', place)
    done = run(f'{place}/bin/pip', 'install', '--no-index', '--no-deps', path)
    check('pip installs it', done.returncode == 0, done.stdout)
    clean = {'PATH': f'{place}/bin:/usr/bin:/bin', 'HOME': folder}
    done = run('stepscope', '--version', env=clean)
    check('the program is on the path', done.stdout == f'stepscope {VERSION}\n', done.stdout)
    done = run('stepscope', '--version', env={**clean, 'LD_LIBRARY_PATH': OTHER})
    check('a wheel: the library of another build is left alone', os.path.exists(OTHER_LIBRARY) and done.stdout == f'stepscope {VERSION}\n', done.stdout)
    done = run(f'{place}/bin/python', '-m', 'stepscope', 'tools', SAMPLE, env=clean)
    check('python -m stepscope', done.returncode == 0 and 'overview_page' in done.stdout, done.stdout)
    done = run(f'{place}/bin/python', '-c', ASK, os.path.join(ROOT, SAMPLE), env=clean, cwd=folder)
    check('Python asks', done.stdout.strip() == VERSION, done.stdout)
    run('openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', f'{folder}/key.pem', '-out', f'{folder}/cert.pem', '-subj', '/CN=localhost')
    done = run('stepscope', 'serve', '--logdir', SAMPLE, '--port', '0', '--tls-cert', f'{folder}/cert.pem', '--tls-key', f'{folder}/key.pem', env=clean)
    check('no TLS is said', done.returncode == 1 and 'this build of stepscope cannot serve TLS' in done.stdout, done.stdout)
    places = os.path.join(packages.CACHE, 'venv-places/lib')
    if not os.path.isdir(places):
        print('skipped: no Jupyter and no TensorBoard: scripts/bootstrap places')
        return
    with open(glob.glob(f'{place}/lib/python3*/site-packages')[0] + '/places.pth', 'w') as f:    # beside the wheel, as if pip had put them there
        f.write(glob.glob(f'{places}/python3*/site-packages')[0] + '\n')
    jupyter(place, clean, folder)
    tensorboard(place, clean, folder)
    done = run(f'{place}/bin/pip', 'uninstall', '-y', 'stepscope')
    left = [n for n in glob.glob(f'{place}/**', recursive=True) if 'stepscope' in os.path.basename(n) and not os.path.isdir(n)]
    check('pip removes it', done.returncode == 0 and not left, f'{done.stdout} {left}')


CELLS = '''%load_ext stepscope
---
%stepscope {path}
---
import stepscope
stepscope.show("{path}", height=500)
---
import urllib.request
url = repr(stepscope.show("{path}")).split(" at ")[1]
print(urllib.request.urlopen(url.replace("/?", "/api/runs?")).read().decode())
'''
NOTEBOOK = '''
import json, sys, nbformat
from nbclient import NotebookClient
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in sys.argv[1].split("---")])
NotebookClient(book, timeout=120, kernel_name="python3").execute()
print(json.dumps([[o.get("data", {}).get("text/html") or o.get("text") for o in c.outputs] for c in book.cells]))
'''


def jupyter(place, clean, folder):
    """A notebook that a real kernel executes shows the page."""
    kernels = os.path.join(folder, 'jupyter/kernels/python3')
    os.makedirs(kernels)
    with open(f'{kernels}/kernel.json', 'w') as f:
        json.dump({'argv': [f'{place}/bin/python', '-m', 'ipykernel_launcher', '-f', '{connection_file}'], 'display_name': 'Python', 'language': 'python'}, f)
    environment = {**clean, 'JUPYTER_PATH': f'{folder}/jupyter', 'IPYTHONDIR': f'{folder}/ipython', 'JUPYTER_RUNTIME_DIR': f'{folder}/runtime'}
    done = run(f'{place}/bin/python', '-W', 'ignore', '-c', NOTEBOOK, CELLS.replace('{path}', os.path.join(ROOT, SAMPLE)), env=environment, cwd=folder)
    line = done.stdout.strip().split('\n')[-1]
    cells = json.loads(line) if line.startswith('[') else [[], [''], [''], ['']]
    check('%load_ext stepscope in a kernel', cells[0] == [], done.stdout)
    check('%stepscope shows the page', all('<iframe' in (c[0] if c else '') for c in cells[1:3]), done.stdout)
    check('the page answers below the cell', '"runs":[{' in (cells[3][0] if cells[3] else ''), done.stdout)


def tensorboard(place, clean, folder):
    """TensorBoard finds the plugin in the wheel, and passes the page on."""
    said = os.path.join(folder, 'tensorboard.log')
    with open(said, 'w') as f:
        child = subprocess.Popen([f'{place}/bin/python', '-m', 'tensorboard.main', '--logdir', os.path.join(ROOT, SAMPLE), '--port', '0', '--load_fast=false'],
                                 stdout=f, stderr=f, env=clean)
    try:
        base = until(lambda: re.search(r'http://localhost:\d+/', open(said).read()))
        listing = until(lambda: json.loads(run('curl', '-s', base.group() + 'data/plugins_listing').stdout)['stepscope']['enabled']) if base else None
        page = run('curl', '-s', base.group() + 'data/plugin/stepscope/page/index.html').stdout if base else ''
        check('a tab of TensorBoard', listing and '<title>' in page, open(said).read() + page)
    finally:
        child.terminate()
        child.wait()


def until(ask, patience_s=90):
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        try:
            found = ask()
        except (ValueError, KeyError):
            found = None
        if found:
            return found
        time.sleep(0.2)
    return None


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
            done = run(f'{root}/bin/stepscope', '--version', env={**os.environ, 'LD_LIBRARY_PATH': OTHER})
            check(f'{name}: the library of another build is left alone', os.path.exists(OTHER_LIBRARY) and done.stdout == f'stepscope {VERSION}\n', done.stdout)
        check(f'{name}: licences', os.path.exists(f'{root}/LICENSE') or len(os.listdir(f'{root}/licenses')) > 6)


def materials(out):
    check('SHA256SUMS', run('sha256sum', '-c', '--quiet', 'SHA256SUMS', cwd=out).returncode == 0)
    with open(glob.glob(f'{out}/*.spdx.json')[0]) as f:
        bill = json.load(f)
    names = {p['name'] for p in bill['packages']}
    check('bill of materials', {'stepscope', 'zlib', 'sqlite3', 'libmicrohttpd'} <= names and bill['spdxVersion'] == 'SPDX-2.3', names)
    check('changes', open(os.path.join(out, 'CHANGELOG.md')).read().startswith(f'# stepscope {VERSION}\n'))


def reproducible(out, folder, target):
    """The same bytes a second time, in another place: all files that are made of this target alone."""
    again = f'{folder}/again'
    release(again, f'{folder}/elsewhere', [target])
    compared = [n for n in os.listdir(again) if n != 'SHA256SUMS']
    for name in compared:
        with open(f'{out}/{name}', 'rb') as a, open(f'{again}/{name}', 'rb') as b:
            check(f'{name}: the same bytes a second time', a.read() == b.read())
    check('a wheel, a tarball and a package are compared', {'.whl', '.deb', '.gz'} <= {os.path.splitext(n)[1] for n in compared}, compared)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--made', help='what a release made already; without it one is made, and one target again')
    parser.add_argument('targets', nargs='*', default=TARGETS)
    args = parser.parse_args()
    arm_system()
    with tempfile.TemporaryDirectory() as folder:
        out = args.made or f'{folder}/out'
        if not args.made:
            release(out, f'{folder}/work', args.targets)
            reproducible(out, folder, args.targets[0])
        expected = run('build/stepscope', 'summary', SAMPLE).stdout
        wheels = sorted(glob.glob(f'{out}/*.whl'))
        check('wheels', wheels)
        for path in wheels:
            form(path)
            runs(path, folder, expected)
        for path in wheels:
            if 'manylinux_2_17_x86_64' in path:
                installed(path, folder)
            elif 'manylinux_2_17_aarch64' in path:
                on_arm(path, folder)
        tarballs(out, folder)
        materials(out)
        packages.debian(check, out, folder, expected, OTHER_LIBRARY)
        packages.image(check, out, folder, VERSION, expected)
        packages.recipes(check, out, VERSION, URL)
        packages.bill(check, out, VERSION)
    packages.workflows(check)
    print(f'{passed} passed, {failed} failed')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
