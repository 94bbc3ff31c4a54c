"""An image for containers, in the layout of the Open Container Initiative, as one tar file: the static program, and nothing beside it.

    skopeo copy oci-archive:stepscope-VERSION-oci.tar docker-daemon:stepscope:VERSION
    podman load -i stepscope-VERSION-oci.tar"""
import gzip
import hashlib
import io
import json
import os
import tarfile
import time

PROGRAM = 'libexec/stepscope/stepscope-static'
ARCHITECTURES = {'musl-x86_64': 'amd64', 'musl-aarch64': 'arm64'}
NOBODY = 65534


def member(name, data=None, mode=0o644, owner=0, epoch=0):
    info = tarfile.TarInfo(name)
    info.type, info.size = (tarfile.DIRTYPE, 0) if data is None else (tarfile.REGTYPE, len(data))
    info.mode, info.uid, info.gid, info.mtime = mode, owner, owner, epoch
    return info, data


def archive(members):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode='w', format=tarfile.USTAR_FORMAT) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data) if data is not None else None)
    return raw.getvalue()


def layer(stage, licences, epoch):
    """What the file system of a container is: the program, its licences, a place for what it unpacks, and the user it runs as."""
    with open(os.path.join(stage, PROGRAM), 'rb') as f:
        program = f.read()
    out = [member('etc', mode=0o755, epoch=epoch), member('etc/passwd', b'stepscope:x:65534:65534::/tmp:/sbin/nologin\n', epoch=epoch),
           member('licenses', mode=0o755, epoch=epoch)]
    folders = set()
    for name, path in sorted(licences):
        if '/' in name and os.path.dirname(name) not in folders:
            folders.add(os.path.dirname(name))
            out.append(member('licenses/' + os.path.dirname(name), mode=0o755, epoch=epoch))
        with open(path, 'rb') as f:
            out.append(member('licenses/' + name, f.read(), epoch=epoch))
    for folder in ('logs', 'usr', 'usr/bin', 'var'):
        out.append(member(folder, mode=0o755, epoch=epoch))
    out.append(member('usr/bin/stepscope', program, mode=0o755, epoch=epoch))
    out += [member(folder, mode=0o1777, epoch=epoch) for folder in ('tmp', 'var/tmp')]
    return archive(out)


class Layout:
    """The blobs of an image by their digests."""

    def __init__(self):
        self.blobs = {}

    def add(self, data, media):
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return {'mediaType': f'application/vnd.oci.image.{media}', 'digest': 'sha256:' + digest, 'size': len(data)}

    def add_json(self, value, media):
        return self.add(json.dumps(value, sort_keys=True, separators=(',', ':')).encode(), media)


def manifest(layout, architecture, version, files, epoch):
    created = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(epoch))
    zipped = gzip.compress(files, 9, mtime=0)
    config = {
        'architecture': architecture, 'os': 'linux', 'created': created,
        'config': {'User': f'{NOBODY}:{NOBODY}', 'Entrypoint': ['/usr/bin/stepscope'], 'Cmd': ['serve', '--logdir', '/logs', '--bind', '0.0.0.0'],
                   'ExposedPorts': {'6006/tcp': {}}, 'WorkingDir': '/logs', 'Env': ['PATH=/usr/bin', 'HOME=/tmp'],
                   'Labels': {'org.opencontainers.image.version': version, 'org.opencontainers.image.licenses': 'Apache-2.0'}},
        'rootfs': {'type': 'layers', 'diff_ids': ['sha256:' + hashlib.sha256(files).hexdigest()]},
        'history': [{'created': created, 'created_by': './dev release'}],
    }
    parts = {'schemaVersion': 2, 'mediaType': 'application/vnd.oci.image.manifest.v1+json', 'config': layout.add_json(config, 'config.v1+json'),
             'layers': [layout.add(zipped, 'layer.v1.tar+gzip')]}
    return {**layout.add_json(parts, 'manifest.v1+json'), 'platform': {'architecture': architecture, 'os': 'linux'}}


def make(out, stages, version, licences, epoch):
    """`stages`: by the target's name, what was installed. None without a target that an image is made of."""
    layout, found = Layout(), []
    for name, architecture in ARCHITECTURES.items():
        if name in stages:
            found.append(manifest(layout, architecture, version, layer(stages[name], licences, epoch), epoch))
    if not found:
        return None
    # An index in the index: one name for the images of all machines. With one machine alone the image is named itself.
    top = found[0] if len(found) == 1 else layout.add_json({'schemaVersion': 2, 'mediaType': 'application/vnd.oci.image.index.v1+json', 'manifests': found},
                                                           'index.v1+json')
    index = {'schemaVersion': 2, 'mediaType': 'application/vnd.oci.image.index.v1+json',
             'manifests': [{**top, 'annotations': {'org.opencontainers.image.ref.name': version}}]}
    members = [member('blobs', mode=0o755, epoch=epoch), member('blobs/sha256', mode=0o755, epoch=epoch)]
    members += [member('blobs/sha256/' + digest, data, epoch=epoch) for digest, data in sorted(layout.blobs.items())]
    members += [member('index.json', json.dumps(index, sort_keys=True).encode(), epoch=epoch), member('oci-layout', b'{"imageLayoutVersion": "1.0.0"}', epoch=epoch)]
    path = os.path.join(out, f'stepscope-{version}-oci.tar')
    with open(path, 'wb') as f:
        f.write(archive(members))
    return path
