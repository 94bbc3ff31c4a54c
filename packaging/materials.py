"""What a release consists of: the bill of materials in SPDX 2.3, and the digests of its files."""
import json
import os
import time
import uuid

from libraries import digest, files


def package(name, version, licence, checksum=None):
    out = {'SPDXID': f'SPDXRef-{name}', 'name': name, 'versionInfo': version, 'downloadLocation': 'NOASSERTION', 'filesAnalyzed': False,
           'licenseConcluded': licence, 'licenseDeclared': licence, 'copyrightText': 'NOASSERTION'}
    if checksum:
        out['checksums'] = [{'algorithm': 'SHA256', 'checksumValue': checksum}]
        out['externalRefs'] = [{'referenceCategory': 'PACKAGE-MANAGER', 'referenceType': 'purl', 'referenceLocator': f'pkg:deb/debian/{name}@{version}?arch=source'}]
    return out


def bill(version, epoch):
    parts = [f for f in files() if '.orig.' in f.name]
    names = '\n'.join(f'{f.name} {f.sha256}' for f in files())
    return {
        'spdxVersion': 'SPDX-2.3', 'dataLicense': 'CC0-1.0', 'SPDXID': 'SPDXRef-DOCUMENT', 'name': f'stepscope-{version}',
        'documentNamespace': f'urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, f"stepscope {version} {epoch} {names}")}',
        'creationInfo': {'created': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(epoch)), 'creators': ['Tool: stepscope-release']},
        'packages': [package('stepscope', version, 'Apache-2.0')] + [
            package(f.library, f.version, f.licence, f.sha256) for f in parts],
        'relationships': [{'spdxElementId': 'SPDXRef-DOCUMENT', 'relationshipType': 'DESCRIBES', 'relatedSpdxElement': 'SPDXRef-stepscope'}] + [
            {'spdxElementId': 'SPDXRef-stepscope', 'relationshipType': 'STATIC_LINK', 'relatedSpdxElement': f'SPDXRef-{f.library}'} for f in parts],
    }


def write(path, version, epoch):
    with open(path, 'w') as f:
        json.dump(bill(version, epoch), f, indent=1)
        f.write('\n')


def sums(out):
    """SHA256SUMS, as sha256sum -c reads it."""
    lines = [f'{digest(os.path.join(out, name))}  {name}\n' for name in sorted(os.listdir(out)) if name != 'SHA256SUMS']
    with open(os.path.join(out, 'SHA256SUMS'), 'w') as f:
        f.writelines(lines)
