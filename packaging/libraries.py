"""The libraries in a release: fetched with their digests (packaging/libraries), built for one target with zig cc, outside the tree."""
import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'stepscope')
SOURCES = os.path.join(CACHE, 'sources')
ZIG = os.path.join(CACHE, 'venv-zig/bin/python')

File = namedtuple('File', 'library version licence folder name sha256')


def files():
    with open(os.path.join(HERE, 'libraries')) as f:
        return [File(*line.split()) for line in f if line.strip() and not line.startswith('#')]


def run(*command, log=None, **options):
    """Runs it; what it prints goes to `log`, and is shown when it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if log:
        with open(log, 'a') as f:
            f.write(done.stdout)
    if done.returncode:
        raise SystemExit(f'release: {" ".join(map(str, command))}\n{done.stdout[-4000:]}')
    return done.stdout


def digest(path):
    with open(path, 'rb') as f:
        return hashlib.sha256(f.read()).hexdigest()


def mirror():
    listed = run('apt-get', 'indextargets', '--format', '$(ORIGIN) $(LABEL) $(REPO_URI)', 'Created-By: Packages')
    found = re.findall(r'^Debian Debian (\S+)$', listed, re.M)
    if not found:
        raise SystemExit(f'release: apt knows no mirror of Debian; put the files of packaging/libraries into {SOURCES}')
    return max(set(found), key=found.count)


def fetch():
    """Every file of the list, in SOURCES; a file of another digest is refused, wherever it came from."""
    os.makedirs(SOURCES, exist_ok=True)
    for f in files():
        path = os.path.join(SOURCES, f.name)
        if not os.path.exists(path):
            url = f'{mirror().rstrip("/")}/pool/main/{f.folder}/{f.name}'
            run('/usr/lib/apt/apt-helper', 'download-file', url, path + '.part', f'SHA256:{f.sha256}')
            os.rename(path + '.part', path)
        if digest(path) != f.sha256:
            raise SystemExit(f'release: {path} is not the file that packaging/libraries names: its SHA-256 is {digest(path)}')


def unpacked():
    """A folder with each library's sources, with the patches of Debian where the list has them. Made once for a list, below the cache."""
    with open(os.path.join(HERE, 'libraries'), 'rb') as f:
        work = os.path.join(CACHE, 'release', 'sources-' + hashlib.sha256(f.read()).hexdigest()[:16])
    if not os.path.exists(os.path.join(work, '.complete')):
        unpack(work)
        open(os.path.join(work, '.complete'), 'w').close()
    return work


def unpack(work):
    for f in files():
        into = os.path.join(work, f.library)
        if '.orig.' in f.name:
            shutil.rmtree(into, ignore_errors=True)
            os.makedirs(into)
            run('tar', '-xf', os.path.join(SOURCES, f.name), '--strip-components=1', '-C', into)
            continue
        run('tar', '-xf', os.path.join(SOURCES, f.name), '-C', into)
        with open(os.path.join(into, 'debian/patches/series')) as series:
            for line in series:
                if line.strip() and not line.startswith('#'):
                    run('patch', '-p1', '-N', '-i', 'debian/patches/' + line.split()[0], cwd=into)
    amalgamate(os.path.join(work, 'sqlite3'))


def amalgamate(source):
    """SQLite is compiled as the one file that its own Makefile makes, with Tcl."""
    tcl = shutil.which('tclsh')
    if not tcl:
        raise SystemExit('release: please install tcl: SQLite makes its one source file with it')
    run('sh', './configure', '--disable-tcl', '--disable-readline', cwd=source)
    run('make', 'sqlite3.c', f'TCLSH_CMD={tcl}', cwd=source)


def tools(target, into):
    """Programs cc, ar and ranlib for `target`, in `into`: what configure scripts and CMake ask for."""
    os.makedirs(into, exist_ok=True)
    zig = run(ZIG, '-c', 'import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))').strip()
    for name, what in (('cc', f'cc -target {target.zig}'), ('ar', 'ar'), ('ranlib', 'ranlib')):
        path = os.path.join(into, name)
        with open(path, 'w') as f:
            f.write(f'#!/bin/sh\nexec {zig} {what} "$@"\n')
        os.chmod(path, 0o755)


FLAGS = ['-O2', '-g0', '-fPIC', '-fvisibility=hidden', '-ffunction-sections', '-fdata-sections', '-fstack-protector-strong', '-DNDEBUG']


class Prefix:
    """The libraries of one target, in `folder`: lib, include and lib/pkgconfig."""

    def __init__(self, folder, sources, target):
        self.folder, self.sources, self.target = folder, sources, target
        self.bin = os.path.join(folder, 'bin')
        for part in ('lib/pkgconfig', 'include', 'objects'):
            os.makedirs(os.path.join(folder, part), exist_ok=True)
        tools(target, self.bin)

    def library(self, name, pc, sources, headers, flags=(), version=None):
        """Compiles `sources` of the library into lib/libPC.a, with its headers and its file for pkg-config."""
        root = os.path.join(self.sources, name)
        objects = os.path.join(self.folder, 'objects', name)
        os.makedirs(objects, exist_ok=True)

        def compile(source):
            out = os.path.join(objects, source.replace('/', '_') + '.o')
            run(os.path.join(self.bin, 'cc'), *FLAGS, f'-ffile-prefix-map={root}=.', *flags, '-c', source, '-o', out, cwd=root)
            return out

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            made = list(pool.map(compile, sources))
        archive = os.path.join(self.folder, f'lib/lib{pc}.a')
        if os.path.exists(archive):
            os.remove(archive)
        run(os.path.join(self.bin, 'ar'), 'rcsD', archive, *made)
        self.announce(name, pc, headers, version)

    def announce(self, name, pc, headers, version=None):
        root = os.path.join(self.sources, name)
        for header in headers:
            folder = header.split('/')[-2] if '/' in header and header.split('/')[-2] in ('nghttp2', 'brotli') else ''
            os.makedirs(os.path.join(self.folder, 'include', folder), exist_ok=True)
            shutil.copy(os.path.join(root, header), os.path.join(self.folder, 'include', folder))
        version = version or next(f.version for f in files() if f.library == name)
        package = {'deflate': 'libdeflate', 'nghttp2': 'libnghttp2', 'zstd': 'libzstd', 'brotlidec': 'libbrotlidec', 'microhttpd': 'libmicrohttpd',
                   'z': 'zlib'}.get(pc, pc)
        with open(os.path.join(self.folder, f'lib/pkgconfig/{package}.pc'), 'w') as f:
            f.write(f'prefix={self.folder}\nName: {package}\nDescription: {name}\nVersion: {version}\n'
                    f'Libs: -L${{prefix}}/lib -l{pc}\nCflags: -I${{prefix}}/include\n')


def below(root, folder, ending='.c', but=()):
    return sorted(f'{folder}/{name}' for name in os.listdir(os.path.join(root, folder)) if name.endswith(ending) and name not in but)


def build(folder, sources, target):
    """All of them; `folder` is then what PKG_CONFIG_LIBDIR and CMAKE_PREFIX_PATH want."""
    p = Prefix(folder, sources, target)

    def root(name):
        return os.path.join(sources, name)

    p.library('zlib', 'z', [f'{n}.c' for n in 'adler32 compress crc32 deflate infback inffast inflate inftrees trees uncompr zutil'.split()],
              ['zlib.h', 'zconf.h'], ['-DHAVE_UNISTD_H', '-D_LARGEFILE64_SOURCE=1'])
    p.library('libdeflate', 'deflate', below(root('libdeflate'), 'lib') + ['lib/x86/cpu_features.c', 'lib/arm/cpu_features.c'], ['libdeflate.h'])
    version = os.path.join(root('nghttp2'), 'lib/includes/nghttp2/nghttp2ver.h')
    with open(version + '.in') as f, open(version, 'w') as out:
        out.write(f.read().replace('@PACKAGE_VERSION@', '1.64.0').replace('@PACKAGE_VERSION_NUM@', '0x014000'))
    p.library('nghttp2', 'nghttp2', below(root('nghttp2'), 'lib'), ['lib/includes/nghttp2/nghttp2.h', 'lib/includes/nghttp2/nghttp2ver.h'],
              ['-Ilib/includes', '-DNGHTTP2_STATICLIB', '-DHAVE_ARPA_INET_H', '-DHAVE_NETINET_IN_H', '-DHAVE_TIME_H', '-DHAVE_CLOCK_GETTIME'])
    p.library('brotli', 'brotlidec', below(root('brotli'), 'c/common') + below(root('brotli'), 'c/dec'),
              ['c/include/brotli/' + n for n in ('decode.h', 'types.h', 'port.h', 'shared_dictionary.h')], ['-Ic/include'])
    p.library('zstd', 'zstd', below(root('zstd'), 'lib/common') + below(root('zstd'), 'lib/decompress') + below(root('zstd'), 'lib/decompress', '.S'),
              ['lib/zstd.h', 'lib/zstd_errors.h'], ['-DZSTD_LEGACY_SUPPORT=0'])
    p.library('sqlite3', 'sqlite3', ['sqlite3.c'], ['sqlite3.h'],
              ['-DSQLITE_THREADSAFE=1', '-DSQLITE_OMIT_LOAD_EXTENSION', '-DSQLITE_ENABLE_MATH_FUNCTIONS', '-DSQLITE_DQS=0', '-DSQLITE_DEFAULT_MEMSTATUS=0',
               '-DSQLITE_ENABLE_COLUMN_METADATA', '-DSQLITE_USE_URI=0', '-DHAVE_USLEEP=1'])
    microhttpd(p)


def microhttpd(p):
    """Its own configure script: some fifty facts of the system. Without TLS, so that GnuTLS is not needed."""
    source, built = os.path.join(p.sources, 'libmicrohttpd'), os.path.join(p.folder, 'objects/libmicrohttpd')
    os.makedirs(built, exist_ok=True)
    log = os.path.join(p.folder, 'libmicrohttpd.log')
    run(os.path.join(source, 'configure'), f'--host={p.target.host}', '--disable-https', '--disable-doc', '--disable-examples', '--disable-tools',
        '--disable-curl', '--disable-shared', '--enable-static', '--with-pic', '--disable-httpupgrade', '--disable-postprocessor', '--disable-dauth',
        '--disable-bauth', f'CC={p.bin}/cc', f'AR={p.bin}/ar', f'RANLIB={p.bin}/ranlib',
        f'CFLAGS={" ".join(FLAGS)} -ffile-prefix-map={source}=. -ffile-prefix-map={built}=.', cwd=built, log=log)
    run('make', '-C', 'src/microhttpd', f'-j{os.cpu_count()}', 'libmicrohttpd.la', cwd=built, log=log)
    shutil.copy(os.path.join(built, 'src/microhttpd/.libs/libmicrohttpd.a'), os.path.join(p.folder, 'lib'))
    p.announce('libmicrohttpd', 'microhttpd', ['src/include/microhttpd.h'])
