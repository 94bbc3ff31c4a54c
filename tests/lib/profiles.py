"""The sample profiles under tests/data/profiles and how to open them.

Each folder is a log directory. A folder with `expand.json` holds a large profile once, compressed:
{"source": "x.xplane.pb.gz", "files": ["plugins/profile/run/a.xplane.pb", ...]}; it is laid out
for a test in a temporary directory.
"""
import gzip
import json
import os

ROOT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'data', 'profiles')


def names():
    return sorted(n for n in os.listdir(ROOT) if os.path.isdir(os.path.join(ROOT, n)))


def is_packed(name):
    return os.path.exists(os.path.join(ROOT, name, 'expand.json'))


def logdir(name, scratch):
    """A log directory for the profile; a packed one is unpacked below `scratch`, once."""
    home = os.path.join(ROOT, name)
    if not is_packed(name):
        return home
    with open(os.path.join(home, 'expand.json')) as f:
        plan = json.load(f)
    out = os.path.join(scratch, name)
    if os.path.isdir(out):
        return out
    with gzip.open(os.path.join(home, plan['source'])) as f:
        data = f.read()
    for path in plan['files']:
        target = os.path.join(out, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, 'wb') as f:
            f.write(data)
    return out


def files(name, scratch):
    """The *.xplane.pb files of a profile, sorted."""
    found = []
    for folder, _, entries in os.walk(logdir(name, scratch)):
        found += [os.path.join(folder, e) for e in entries if e.endswith('.xplane.pb')]
    return sorted(found)


def broken_names(scratch):
    """A log directory, a path that `logdir` takes as a name: jax_mlp_train with names that are not UTF-8."""
    out = os.path.join(scratch, 'broken_names')
    run = os.path.join(out, 'plugins/profile/run')
    os.makedirs(run, exist_ok=True)
    with open(os.path.join(logdir('jax_mlp_train', scratch), 'plugins/profile/run/vm.xplane.pb'), 'rb') as f:
        data = f.read()
    for old, new in ((b'PjitFunction', b'Pjit\xffunc\xc3\xe2n'), (b'train', b'tr\xff\xfen'), (b'dot', b'd\xed\xa0')):
        data = data.replace(old, new)
    with open(os.path.join(run, 'vm.xplane.pb'), 'wb') as f:
        f.write(data)
    return out
