"""Tar files of the same bytes each time: sorted names, one owner, one time."""
import gzip
import os
import tarfile

from libraries import run


def write(path, entries, epoch):
    """`entries`: (name in the archive, file or link to take)."""
    with open(path, 'wb') as raw, gzip.GzipFile('', 'wb', 9, raw, 0) as packed, tarfile.open(fileobj=packed, mode='w', format=tarfile.GNU_FORMAT) as tar:
        for name, source in sorted(entries):
            info = tar.gettarinfo(source, name)
            info.uid = info.gid = 0
            info.uname = info.gname = 'root'
            info.mtime = epoch
            info.mode = 0o755 if info.mode & 0o100 or info.isdir() else 0o644
            if info.isreg():
                with open(source, 'rb') as f:
                    tar.addfile(info, f)
            else:
                tar.addfile(info)


def below(folder):
    for where, _, names in os.walk(folder):
        for name in names:
            yield os.path.relpath(os.path.join(where, name), folder)


def sources(out, version, source, epoch):
    """What git has, with the built page in it, and the version: it builds without git and without Node."""
    name = f'stepscope-{version}'
    with open(os.path.join(source, 'VERSION'), 'w') as f:
        f.write(version + '\n')
    names = run('git', 'ls-files', '-z', cwd=source).rstrip('\0').split('\0') + ['VERSION']
    write(os.path.join(out, name + '.tar.gz'), [(f'{name}/{n}', os.path.join(source, n)) for n in names], epoch)


def program(out, target, version, stage, licences, epoch):
    """What `cmake --install` laid out, to be unpacked anywhere."""
    name = f'stepscope-{version}-{target.name}'
    entries = [(f'{name}/{n}', os.path.join(stage, n)) for n in below(stage)]
    write(os.path.join(out, name + '.tar.gz'), entries + [(f'{name}/licenses/{n}', path) for n, path in licences], epoch)
