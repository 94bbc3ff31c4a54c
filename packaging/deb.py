"""A package for Debian and Ubuntu of what was installed into a folder, made by dpkg-deb; the same bytes each time.

All of it lies in /usr/lib/stepscope, where the program finds its libraries, with links to it where the system looks."""
import gzip
import os
import shutil
from email.utils import formatdate

from libraries import files, run

PRIVATE = 'usr/lib/stepscope'
TRIPLETS = {'amd64': 'x86_64-linux-gnu', 'arm64': 'aarch64-linux-gnu'}
ARCHITECTURES = {'linux-x86_64': 'amd64', 'linux-aarch64': 'arm64'}

CONTROL = '''Package: stepscope
Version: {version}
Architecture: {architecture}
Maintainer: {maintainer}
Installed-Size: {size}
Depends: libc6 (>= 2.17)
Recommends: ca-certificates, libcurl4t64 | libcurl4
Suggests: python3
Section: devel
Priority: optional
{homepage}Description: profiler for training and serving programs
 stepscope opens the profiles that JAX, TensorFlow and PyTorch write (TPU,
 GPU and CPU, one host or many) and tells how long a step is, what it is
 spent on, and what holds it up: input, host, device, network or memory.
 .
 It shows them as text in the terminal and as a page in the browser, and
 holds the libraries libstepscope (profiles asked from C) and libsstrace
 (profiles from inside a program).
'''

LINKS = {
    'usr/bin/stepscope': '../lib/stepscope/bin/stepscope',
    'usr/bin/capture_tpu_profile': '../lib/stepscope/bin/stepscope',
}
SHARED = ('share/man/man1/stepscope.1', 'share/bash-completion/completions/stepscope', 'share/zsh/site-functions/_stepscope',
          'share/fish/vendor_completions.d/stepscope.fish')
ZSH = ('zsh/site-functions', 'zsh/vendor-completions')      # where Debian's zsh looks
LICENCES = {'Apache-2.0': 'Apache-2.0', 'LGPL-2.1-or-later': 'LGPL-2.1'}    # of /usr/share/common-licenses
NAMES = {'MIT': 'Expat', 'BSD-3-Clause': 'BSD-3-clause', 'LGPL-2.1-or-later': 'LGPL-2.1+', 'blessing': 'public-domain'}


def debian_version(version):
    """1.2.3rc1 comes before 1.2.3."""
    for mark in ('rc', 'a', 'b'):
        version = version.replace(mark, '~' + mark)
    return version


def put(root, name, data, mode=0o644):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        f.write(data)
    os.chmod(path, mode)


def packed(text):
    return gzip.compress(text if isinstance(text, bytes) else text.encode(), 9, mtime=0)


def indented(text):
    return ''.join(f' {line.rstrip()}\n' if line.strip() else ' .\n' for line in text.strip().splitlines())


def texts(licences):
    """What the libraries' licence files say, by the library."""
    out = {}
    for name, path in licences:
        if '/' in name:
            with open(path, encoding='utf-8', errors='replace') as f:
                out[name.split('/')[0]] = f.read()
    return out


def copyrights(licences):
    """debian/copyright, which machines read: ours, and each library's with its own words."""
    said, out = texts(licences), ['Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: stepscope\n']
    out.append('Files: *\nCopyright: the authors of stepscope\nLicense: Apache-2.0\n On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n')
    for f in files():
        if '.orig.' not in f.name:
            continue
        name = NAMES.get(f.licence, f.licence)
        common = LICENCES.get(f.licence)
        words = f' On Debian systems the text is in /usr/share/common-licenses/{common}.\n' if common else indented(said[f.library])
        out.append(f'Files: {f.library}/*\nCopyright: the authors of {f.library} {f.version}, as its licence names them\n'
                   f'License: {name if common or name == "public-domain" else name + "-" + f.library}\n{words}')
    return '\n'.join(out)


def lay_out(root, architecture, release, stage, licences):
    shutil.copytree(stage, os.path.join(root, PRIVATE), symlinks=True)
    private = os.path.join(root, PRIVATE)
    for name in SHARED:
        path = os.path.join(private, name)
        if not os.path.exists(path):
            continue
        with open(path, 'rb') as f:
            data = f.read()
        to = os.path.join('usr', name.replace(*ZSH))
        put(root, to + '.gz' if '/man/' in name else to, packed(data) if '/man/' in name else data)
        os.remove(path)
    os.remove(os.path.join(private, 'bin/capture_tpu_profile'))
    for name, to in LINKS.items():
        os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
        os.symlink(to, os.path.join(root, name))
    put(root, 'usr/share/man/man1/capture_tpu_profile.1.gz', packed('.so man1/stepscope.1\n'))
    modules(root, TRIPLETS[architecture])
    doc = 'usr/share/doc/stepscope/'
    version = release.version
    put(root, doc + 'changelog.gz', packed(f'stepscope ({debian_version(version)}) unstable; urgency=medium\n\n  * Release {version}: CHANGELOG.gz tells the changes.\n\n'
                                           f' -- {release.maintainer}  {formatdate(release.epoch)}\n'))
    with open(os.path.join(release.source, 'CHANGELOG.md'), 'rb') as f:
        put(root, doc + 'NEWS.md.gz', packed(f.read()))
    put(root, doc + 'copyright', copyrights(licences).encode())
    for where, folders, _ in os.walk(private):      # folders that hold nothing any more
        for folder in folders:
            if not any(names for _, _, names in os.walk(os.path.join(where, folder))):
                shutil.rmtree(os.path.join(where, folder))


def modules(root, triplet):
    """What pkg-config reads, where it looks; a program that is linked with them finds the libraries."""
    old, new = os.path.join(root, PRIVATE, 'lib/pkgconfig'), f'usr/lib/{triplet}/pkgconfig'
    for name in sorted(os.listdir(old)):
        with open(os.path.join(old, name)) as f:
            text = f.read().replace('prefix=${pcfiledir}/../..', f'prefix=/{PRIVATE}').replace('Libs: -L${libdir}', 'Libs: -L${libdir} -Wl,-rpath,${libdir}')
        put(root, os.path.join(new, name), text.encode())
    shutil.rmtree(old)


def tidy(root, epoch):
    """One mode for each kind of file, one time; how large it is, in KiB."""
    size = 0
    for where, folders, names in os.walk(root, topdown=False):
        for name in names:
            path = os.path.join(where, name)
            if not os.path.islink(path):
                with open(path, 'rb') as f:
                    runs = f.read(4) == b'\x7fELF' and '/bin/' in path
                os.chmod(path, 0o755 if runs else 0o644)
                size += os.path.getsize(path)
            os.utime(path, (epoch, epoch), follow_symlinks=False)
        os.chmod(where, 0o755)
        os.utime(where, (epoch, epoch))
    return -(-size // 1024)


def make(release, target, stage, licences):
    """Writes the package and returns its path; None for what Debian is not."""
    architecture = ARCHITECTURES.get(target.name)
    if not architecture:
        return None
    root = stage + '-deb'
    shutil.rmtree(root, ignore_errors=True)
    lay_out(root, architecture, release, stage, licences)
    version, epoch = debian_version(release.version), release.epoch
    control = CONTROL.format(version=version, architecture=architecture, maintainer=release.maintainer, size=tidy(root, epoch),
                             homepage=f'Homepage: {release.url}\n' if release.url else '')
    put(root, 'DEBIAN/control', control.encode())
    names = run('find', '.', '-path', './DEBIAN', '-prune', '-o', '-type', 'f', '-printf', '%P\\n', cwd=root).split('\n')
    put(root, 'DEBIAN/md5sums', run('md5sum', *sorted(n for n in names if n), cwd=root).encode())
    os.chmod(os.path.join(root, 'DEBIAN'), 0o755)
    path = os.path.join(release.out, f'stepscope_{version}_{architecture}.deb')
    environment = {**os.environ, 'SOURCE_DATE_EPOCH': str(epoch)}
    run('dpkg-deb', '--root-owner-group', '--threads-max=1', '-Zxz', '--build', root, path, env=environment)
    return path
