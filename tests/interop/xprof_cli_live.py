#!/usr/bin/env python3
"""stepscope xprof beside the command line of an installed XProf: the same subcommands on the sample profiles, value by value.

XProf runs in a process of its own on a fresh copy of each profile, as it writes caches beside it.

  xprof_cli_live.py [--bin build/stepscope] [--xprof PROGRAM]
  xprof_cli_live.py --write           keep XProf's answers for tests/cli/xprof.py
"""
import argparse
import json
import lzma
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import against_xprof
import answers
import profiles

KEPT = os.path.join(os.path.dirname(HERE), 'cli', 'xprof_answers.json.xz')
SAMPLES = ['synth_tpu1', 'synth_tpu_sparsecore', 'synth_gpu1', 'synth_tpu_3hosts', 'synth_counters_v6e']
ONE_TRACE = {'get_memory_profile', 'get_utilization_viewer', 'get_kernel_utilization', 'get_llo_analysis', 'get_llo_debug_string'}
COMMANDS = [
    ['get_hosts'], ['inspect_capture'], ['list_hlo_modules'], ['get_device_information'], ['get_llo_analysis'], ['get_llo_static_analysis'],
    ['get_overview'], ['get_overview', '--include_command'], ['get_kpi_metrics'], ['get_roofline_model', '--top_n=3'], ['get_step_trace', '--limit=2'],
    ['get_profile_summary'], ['get_hlo_op_profile'], ['get_hlo_op_profile', '--view=tree', '--depth=4'], ['get_hlo_op_profile', '--view=flat', '--sort_by=bytes'],
    ['get_hlo_op_profile', '--view=category'], ['get_hlo_stats', '--limit=3', '--include_nested'], ['get_top_hlo_ops', '--limit=50'],
    ['get_memory_profile'], ['get_peak_allocations'], ['get_perf_counters', '--limit=5'], ['get_perf_counters', '--counter_filter=mxu', '--limit=2'],
    ['get_utilization_viewer'], ['get_kernel_utilization'], ['get_kernel_stats', '--limit=4'], ['get_device_time_attribution'],
    ['list_xplane_events', '--max_events=5', '--filter=duration > 1us'], ['aggregate_xplane_events', '--group_by=plane,line'],
    ['analyze_async_overlap'], ['check_host_boundness'], ['query_hlo_graph'], ['query_hlo_graph', '--mode=fusion_blockers'],
    ['query_hlo_graph', '--mode=layout_transitions'], ['query_hlo_graph', '--mode=call_tree'], ['query_hlo_graph', '--mode=search', '--opcode=fusion'],
    ['query_hlo_graph', '--mode=shortest_path', '--src_op=fusion.2', '--dst_op=dot.5'],
    ['query_hlo_graph', '--mode=sql', '--sql=SELECT name, opcode, flops FROM instructions ORDER BY id LIMIT 5'],
    ['get_hlo_neighborhood', '--instruction_name=dot.5', '--radius=1'], ['get_hlo_neighborhood', '--instruction_name=fusion.1', '--follow_calls'],
    ['get_hlo_module_content', '--max_lines=10'], ['get_hlo_text', '--max_lines=5'], ['get_graph_viewer', '--max_lines=10'],
]
# Of profiles that have what the samples lack: work on the host below a custom call, an infeed, more opcodes than a summary shows.
FURTHER = [
    ['get_hlo_op_profile', 'synth_tpu_offload', '--view=flat', '--sort_by=bytes'], ['get_hlo_op_profile', 'synth_gpu_costs'],
    ['query_hlo_graph', 'synth_gpu_costs'], ['query_hlo_graph', 'synth_gpu_costs', '--mode=opcode_stats'],
]
# What XProf gets wrong or leaves to chance (docs/parity.md).
ITS_FAULTS = {('get_roofline_model', 'synth_tpu_3hosts'), ('get_device_information', 'synth_tpu_3hosts'), ('get_kpi_metrics', 'synth_tpu_3hosts'),
              ('get_step_trace', 'synth_gpu1')}

# Of equal copies of an operation XProf names any, by the order of a hash table: another process may name the one that we do.
TRIES = 5


def run(command, cwd):
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=300)
    text = done.stdout.decode()
    try:
        return done.returncode, json.loads(text)
    except ValueError:
        return done.returncode, text


def theirs(xprof, argv, sample, logdir):
    with tempfile.TemporaryDirectory() as d:
        shutil.copytree(logdir, os.path.join(d, sample))
        os.environ['TMPDIR'] = os.path.join(d, 'tmp')
        os.mkdir(os.environ['TMPDIR'])
        try:
            return run([xprof, *argv], d)
        finally:
            del os.environ['TMPDIR']


def judge(want, got):
    """What differs in a status and an answer."""
    problems = [] if want[0] == got[0] else [f'status {got[0]}, not {want[0]}']
    if isinstance(want[1], str):
        return problems + ([] if isinstance(got[1], str) and answers.lines(want[1]) == answers.lines(got[1]) else ['the texts differ'])
    return problems + answers.differences(want[1], got[1])


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--bin', default='build/stepscope')
    ap.add_argument('--xprof', default=os.path.join(os.path.dirname(against_xprof.XPROF), 'xprof'))
    ap.add_argument('--write', action='store_true')
    a = ap.parse_args()
    if not os.path.exists(a.xprof):
        print(f'{a.xprof} is missing: scripts/bootstrap xprof installs it\n0 passed, 1 failed')
        return 1
    binary, passed, failed, kept = os.path.abspath(a.bin), 0, 0, []
    cases = [[command[0], sample, *command[1:]] for sample in SAMPLES for command in COMMANDS
             if (command[0], sample) not in ITS_FAULTS and not (command[0] in ONE_TRACE and sample.endswith('hosts'))]
    for argv in cases + FURTHER:
        got = run([binary, 'xprof', *argv], profiles.ROOT)
        for _ in range(TRIES):
            want = theirs(a.xprof, argv, argv[1], os.path.join(profiles.ROOT, argv[1]))
            problems = judge(want, got)
            if not problems:
                break
        kept.append([argv, *want])
        passed, failed = passed + (not problems), failed + bool(problems)
        if problems:
            print(' '.join(argv) + ': ' + '; '.join(problems[:4]))
    if a.write:
        with lzma.open(KEPT, 'wt', preset=9) as f:
            json.dump(kept, f, separators=(',', ':'))
    print(f'{passed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
