"""XProf's own preprocessed profiles: xprof_preprocessed.py REQUESTS, run by the python that has xprof 2.24.2 installed.

REQUESTS is JSON: [[profile, output], ...]. Each output is the serialized XSpace after grouping, with all derived lines; empty where XProf
failed. Each profile is copied to a folder of its own, for XProf writes beside it.
"""
import json
import os
import shutil
import sys
import tempfile


def main():
    from xprof.convert import _pywrap_profiler_plugin as native
    with open(sys.argv[1]) as f:
        requests = json.load(f)
    for profile, output in requests:
        with tempfile.TemporaryDirectory() as scratch:
            copy = shutil.copyfile(profile, os.path.join(scratch, os.path.basename(profile)))
            try:
                data, ok = native.xspace_to_tools_data([copy], '_xplane.pb', {})
            except Exception:           # what it cannot do is not compared
                data, ok = b'', True
        with open(output + '.tmp', 'wb') as f:
            f.write(data if ok else b'')
        os.rename(output + '.tmp', output)      # a crash in native code leaves no half output


if __name__ == '__main__':
    main()
