"""XProf's comparison of two profiles in a fresh process: xprof_diff.py BASE NEW (log directories).

Prints {"import_cpu_s", "cpu_s", "peak_kb", "bytes"}. The import of the package is counted apart.
"""
import json
import resource
import sys


def cpu_s():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def main():
    begin = cpu_s()
    from xprof.cli.tools.oss import diff_sessions_tool
    imported = cpu_s()
    text = diff_sessions_tool.diff_sessions(baseline_session_id=sys.argv[1], optimized_session_id=sys.argv[2], bypass_cache=True)
    if 'error' in json.loads(text):
        sys.exit(text[:500])
    print(json.dumps({'import_cpu_s': imported - begin, 'cpu_s': cpu_s() - imported, 'bytes': len(text),
                      'peak_kb': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


if __name__ == '__main__':
    main()
