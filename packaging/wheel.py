"""A wheel of what was installed into a folder, as `pip` wants it: py3-none-PLATFORM, no dependencies, the same bytes each time."""
import base64
import hashlib
import os

from deflate import zip_file
from libraries import files

ENTRY_POINTS = '[tensorboard_plugins]\nstepscope = stepscope.tensorboard:StepscopePlugin\n'
LIBRARIES = 'libexec/stepscope'		# below the environment: bin/stepscope and the Python modules find them from where they lie themselves


def metadata(version, readme):
    return f'''Metadata-Version: 2.4
Name: stepscope
Version: {version}
Summary: Where does a training step's time go? Opens the profiles of JAX, TensorFlow and PyTorch: TPU, GPU and CPU
License-Expression: Apache-2.0 AND LGPL-2.1-or-later AND MIT AND BSD-3-Clause AND Zlib
License-File: LICENSE
Requires-Python: >=3.9
Keywords: profiler,tpu,gpu,jax,tensorflow,pytorch,xprof,trace
Classifier: Environment :: Console
Classifier: Environment :: Web Environment
Classifier: Topic :: Software Development :: Debuggers
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Description-Content-Type: text/markdown

{readme}'''


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()
    return f'{name},sha256={digest},{len(data)}\n'


def read(*path):
    with open(os.path.join(*path), 'rb') as f:
        return f.read()


def licences(source, sources):
    """(name, file) of our licence and of those of the libraries."""
    found = [('LICENSE', os.path.join(source, 'LICENSE'))]
    for library in sorted({f.library for f in files()}):
        # zstd's COPYING is the licence that it may be had under as well
        order = ('LICENSE',) if library == 'zstd' else ('COPYING', 'LICENSE', 'LICENSE.md')
        name = next(n for n in order if os.path.exists(os.path.join(sources, library, n)))
        found.append((f'{library}/{name}', os.path.join(sources, library, name)))
    return found


def contents(target, version, source, stage, sources):
    """Path in the wheel: bytes."""
    data, info = f'stepscope-{version}.data', f'stepscope-{version}.dist-info'
    out = {f'{data}/scripts/stepscope': read(stage, 'bin/stepscope')}
    for name in (name.replace('*', version) for name in target.libraries):
        out[f'{data}/data/{LIBRARIES}/{os.path.basename(name)}'] = read(stage, name)
    out[f'{data}/data/share/man/man1/stepscope.1'] = read(source, 'man/stepscope.1')
    python = os.path.join(source, 'python/stepscope')
    for name in sorted(os.listdir(python)):
        if name.endswith(('.py', '.typed')):
            out[f'stepscope/{name}'] = read(python, name)
    if any('sstrace' in name for name in target.libraries):
        out['sstrace.py'] = read(source, 'instrument/sstrace.py')
    for name, path in licences(source, sources):
        out[f'{info}/licenses/{name}'] = read(path)
    out[f'{info}/METADATA'] = metadata(version, read(source, 'README.md').decode()).encode()
    out[f'{info}/entry_points.txt'] = ENTRY_POINTS.encode()
    tags = ''.join(f'Tag: py3-none-{tag}\n' for tag in target.wheel.split('.'))
    out[f'{info}/WHEEL'] = f'Wheel-Version: 1.0\nGenerator: stepscope {version}\nRoot-Is-Purelib: false\n{tags}'.encode()
    return out


def write(path, entries, record, epoch, sources):
    entries = dict(entries)
    entries[record] = (''.join(record_line(name, data) for name, data in entries.items()) + f'{record},,\n').encode()
    runs = (b'\x7fELF', b'\xcf\xfa\xed\xfe')
    zip_file(path, [(name, 0o100755 if data[:4] in runs else 0o100644, data) for name, data in entries.items()], epoch, sources)


def make(out, target, version, source, stage, sources, epoch):
    path = os.path.join(out, f'stepscope-{version}-py3-none-{target.wheel}.whl')
    write(path, contents(target, version, source, stage, sources), f'stepscope-{version}.dist-info/RECORD', epoch, sources)
    return path
