#!/usr/bin/env python3
"""./dev release VERSION [--target NAME]... - everything that a release has, made of the last commit, in build/release-VERSION.

Built are the libraries of packaging/libraries and a clean clone, with zig cc, for the targets of packaging/targets.py. The same commit
gives the same bytes. What is built for Linux on x86-64 is run before it is called good; on other machines nothing of it has run."""
import argparse
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections import namedtuple

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, HERE)

import archive
import deb
import image
import libraries
import materials
import recipes
import wheel
from libraries import CACHE, run
from targets import TARGETS

# out: folder of what is made; source: the clone; sources: of the libraries; epoch, maintainer: when and by whom the last commit was made
Release = namedtuple('Release', 'version out source sources epoch maintainer url')


def clone(into):
    """The last commit, alone; when it was made, and who made it."""
    shutil.rmtree(into, ignore_errors=True)
    run('git', 'clone', '--quiet', '--no-hardlinks', ROOT, into)
    epoch, maintainer = run('git', 'log', '-1', '--format=%ct%n%cn <%ce>', cwd=into).split('\n')[:2]
    return int(epoch), maintainer


def recipe(target):
    """A name for the libraries of a target that changes with what they are made of."""
    parts = [repr(target)]
    for name in ('libraries', 'libraries.py'):
        with open(os.path.join(HERE, name)) as f:
            parts.append(f.read())
    return f'{target.name}-{hashlib.sha256("".join(parts).encode()).hexdigest()[:16]}'


def built_libraries(target, sources):
    """Below the cache, built once."""
    prefix = os.path.join(CACHE, 'release', recipe(target))
    if not os.path.exists(os.path.join(prefix, '.complete')):
        shutil.rmtree(prefix, ignore_errors=True)
        libraries.build(prefix, sources, target)
        open(os.path.join(prefix, '.complete'), 'w').close()
    return prefix


def build(target, version, source, sources, work):
    """The program and its libraries, installed into a folder; returns it."""
    prefix, built, stage = built_libraries(target, sources), os.path.join(work, target.name), os.path.join(work, target.name + '-installed')
    for folder in (built, stage):
        shutil.rmtree(folder, ignore_errors=True)
    log = os.path.join(work, target.name + '.log')
    environment = {**os.environ, 'PKG_CONFIG_LIBDIR': os.path.join(prefix, 'lib/pkgconfig'), 'PKG_CONFIG_PATH': ''}
    for name in ('CMAKE_C_COMPILER_LAUNCHER', 'CFLAGS', 'LDFLAGS', 'CPATH'):
        environment.pop(name, None)
    mac = target.system == 'Darwin'
    options = {
        'CMAKE_SYSTEM_NAME': target.system, 'CMAKE_SYSTEM_PROCESSOR': target.machine, 'CMAKE_BUILD_TYPE': 'Release',
        'CMAKE_C_COMPILER': f'{prefix}/bin/cc', 'CMAKE_AR': f'{prefix}/bin/ar', 'CMAKE_RANLIB': f'{prefix}/bin/ranlib',
        'CMAKE_C_FLAGS': f'-ffunction-sections -fdata-sections -ffile-prefix-map={source}=.' + (' -dynamic' if 'musl' in target.zig else ''),
        'CMAKE_EXE_LINKER_FLAGS': '-s', 'CMAKE_SHARED_LINKER_FLAGS': '-s' + (' -Wl,-dead_strip' if mac else ' -Wl,--gc-sections'),
        'CMAKE_PREFIX_PATH': prefix, 'CMAKE_FIND_ROOT_PATH': prefix, 'CMAKE_FIND_ROOT_PATH_MODE_LIBRARY': 'ONLY',
        'CMAKE_FIND_ROOT_PATH_MODE_INCLUDE': 'ONLY', 'CMAKE_FIND_ROOT_PATH_MODE_PROGRAM': 'NEVER',
        'CMAKE_BUILD_WITH_INSTALL_RPATH': 'ON', 'SS_RELEASE': version, 'SS_DEBUG_INFO': '-g0', 'SS_ONE_LIBRARY': 'ON',
        'SS_STATIC_PROGRAM': 'ON' if 'musl' in target.zig else 'OFF',  # what an image is made of
    }
    if mac:
        options['CMAKE_SYSTEM_VERSION'] = '20'  # of macOS 11: from 9 on CMake knows @rpath
    run('cmake', '-S', source, '-B', built, '-G', 'Ninja', *(f'-D{name}={value}' for name, value in options.items()), env=environment, log=log)
    run('ninja', '-C', built, env=environment, log=log)
    run('cmake', '--install', built, '--prefix', stage, env=environment, log=log)
    return stage


def changes(source, version):
    """Of CHANGELOG.md the part on this version, or on what has no version yet."""
    with open(os.path.join(source, 'CHANGELOG.md')) as f:
        parts = dict(re.findall(r'^## (.*)\n((?:(?!## ).*\n)*)', f.read(), re.M))
    return f'# stepscope {version}\n{parts.get(version) or parts["Unreleased"]}'


def complete(stage, target, first):
    """Completions are the program's own words: asked where it can run, and the same for every system."""
    shells = {'bash': 'bash-completion/completions/stepscope', 'zsh': 'zsh/site-functions/_stepscope', 'fish': 'fish/vendor_completions.d/stepscope.fish'}
    runs = target.system == platform.system() and target.machine == platform.machine() and 'musl' not in target.zig
    for shell, name in shells.items() if runs or first else ():
        path = os.path.join(stage, 'share', name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if runs:
            with open(path, 'w') as f:
                f.write(run(os.path.join(stage, 'bin/stepscope'), 'completion', shell))
        elif first:
            shutil.copy(os.path.join(first, 'share', name), path)
    return runs


def make(release, targets, work):
    """The files of each target, and those that are made of several."""
    licences, stages, first = wheel.licences(release.source, release.sources), {}, None
    for target in targets:
        stage = stages[target.name] = build(target, release.version, release.source, release.sources, work)
        first = stage if complete(stage, target, first) else first
        archive.program(release.out, target, release.version, stage, licences, release.epoch)
        path = wheel.make(release.out, target, release.version, release.source, stage, release.sources, release.epoch)
        print(f'{os.path.basename(path)}: {os.path.getsize(path) / 1e6:.2f} MB')
        deb.make(release, target, stage, licences)
    image.make(release.out, stages, release.version, licences, release.epoch)


def main():
    names = [t.name for t in TARGETS]
    parser = argparse.ArgumentParser(prog='./dev release', description='Builds a release of the last commit.')
    parser.add_argument('version', metavar='VERSION')
    parser.add_argument('--target', action='append', choices=names, help='only these; else all')
    parser.add_argument('--url', help='folder where the files will be published: adds a formula of Homebrew and a recipe of conda-forge')
    parser.add_argument('--out', help='where to; build/release-VERSION')
    parser.add_argument('--work', help='where it is built; build/release-work')
    args = parser.parse_args()
    if not re.fullmatch(r'[0-9]+\.[0-9]+\.[0-9]+(?:(?:a|b|rc)[0-9]+)?', args.version):
        parser.error(f"'{args.version}' is no version: 1.2.3, or 1.2.3rc1")
    work = os.path.abspath(args.work or os.path.join(ROOT, 'build/release-work'))
    out = os.path.abspath(args.out or os.path.join(ROOT, f'build/release-{args.version}'))
    os.makedirs(work, exist_ok=True)
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    if subprocess.run(['git', '-C', ROOT, 'status', '--porcelain'], stdout=subprocess.PIPE, check=True).stdout:
        print('note: changes that are not committed are not in it')
    source = os.path.join(work, 'source')
    epoch, maintainer = clone(source)
    libraries.fetch()
    release = Release(args.version, out, source, libraries.unpacked(), epoch, maintainer, args.url)
    archive.sources(out, args.version, source, epoch)
    make(release, [t for t in TARGETS if t.name in (args.target or names)], work)
    if args.url:
        recipes.write(out, args.version, args.url)
    materials.write(os.path.join(out, f'stepscope-{args.version}.spdx.json'), args.version, epoch)
    with open(os.path.join(out, 'CHANGELOG.md'), 'w') as f:
        f.write(changes(source, args.version))
    materials.sums(out)
    print(f'made in {os.path.relpath(out)}')


if __name__ == '__main__':
    main()
