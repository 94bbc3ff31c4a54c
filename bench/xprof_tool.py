"""One tool of XProf in a fresh process: xprof_tool.py DIR TOOL [JSON list of trace options]

Prints {"import_cpu_s", "cold_cpu_s", "peak_kb", "bytes", "warm_cpu_s": [...]}. Cold is the first call in a directory without caches; warm are
further calls in the same process, its caches written: one for each of the options. The import of the package is counted apart: what
is compared is the work. Where XProf finds a module only after the tools of the profile were listed, as its page does first, that is done
before, and not counted either.
"""
import glob
import json
import os
import resource
import sys


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def parameters(files, tool, options):
    hosts = [os.path.basename(f).removesuffix('.xplane.pb') for f in files]
    params = {'hosts': hosts, 'use_saved_result': True}
    if tool == 'memory_viewer':
        params['module_name'] = 'bench(1)'
    if tool.startswith('trace_viewer'):
        params['trace_viewer_options'] = dict({'resolution': 8000, 'full_dma': False}, **options)
    return params


def main():
    folder, tool = sys.argv[1:3]
    questions = json.loads(sys.argv[3]) if len(sys.argv) > 3 else [{}]
    begin = cpu_s()
    from xprof.convert import raw_to_tool_data
    out = {'import_cpu_s': cpu_s() - begin, 'warm_cpu_s': []}
    files = sorted(glob.glob(os.path.join(folder, '**', '*.xplane.pb'), recursive=True))

    def call(options):
        before = cpu_s()
        data, _ = raw_to_tool_data.xspace_to_tool_data(files, tool, parameters(files, tool, options))
        return cpu_s() - before, len(data) if data is not None else 0

    if tool == 'memory_viewer':
        raw_to_tool_data.xspace_to_tool_names(files)
    out['cold_cpu_s'], out['bytes'] = call({})
    if not out['bytes']:
        sys.exit(f'no answer of {tool}')
    out['peak_kb'] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for options in questions:
        out['warm_cpu_s'].append(call(options)[0])
    print(json.dumps(out))


if __name__ == '__main__':
    main()
