#!/usr/bin/env python3
"""Invented jobs (gpu_jobs.py) on GPUs and CPUs, opened by stepscope and by XProf 2.24.2 itself, all tools.

    gpu_jobs_live.py [--count N] [--first K] [--kind gpu|cpu|server] [--tools A,B] [--keep DIR] [--show N]

SEED in the environment chooses other jobs. DIR keeps the log directories of those that differ.
"""
import argparse
import base64
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import against_xprof
import gpu_jobs
import xspace

# Requests of several models, some of whose batches were not recorded, and allocations that are alike: docs/parity.md
FLOORS = {'inference_profile': 0.93, 'memory_profile': 0.95, 'op_profile?group_by=provenance': 0.98}


def compile_programs(started, scratch):
    """Fills the jobs' protos: all programs' texts turned into messages by XLA, in one go."""
    texts = sorted({p.text() for job in started for p, _ in job.programs})
    asked, answered = os.path.join(scratch, 'texts'), os.path.join(scratch, 'protos')
    with open(asked, 'w') as f:
        json.dump(texts, f)
    subprocess.run([against_xprof.RECORD, os.path.join(HERE, 'hlo_protos.py'), asked, answered], check=True, stderr=subprocess.DEVNULL)
    with open(answered) as f:
        protos = dict(zip(texts, json.load(f)))
    bad = sum(p is None for p in protos.values())
    if bad:
        print(f'{bad} of {len(texts)} programs were not taken by XLA')
    for job in started:
        job.protos.update({p.text(): base64.b64decode(protos[p.text()] or '') for p, _ in job.programs})


def cases(count, first, kind, scratch, seed):
    started = [gpu_jobs.start(random.Random(f'{seed}/{k}'), {}, kind) for k in range(first, first + count)]
    compile_programs(started, scratch)
    for k, job in enumerate(started, first):
        files = [(name, xspace.serialize(fields)) for name, fields in gpu_jobs.record(job)]
        yield f'job{seed}-{k}-{job.kind}', against_xprof.layout(scratch, f'job{k}', files)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--count', type=int, default=30)
    parser.add_argument('--first', type=int, default=0)
    parser.add_argument('--kind')
    parser.add_argument('--tools')
    parser.add_argument('--keep')
    parser.add_argument('--show', type=int, default=6)
    args = parser.parse_args()
    against_xprof.TOOLS.update({tool: 0.995 for tool in against_xprof.TOOLS}, **FLOORS)
    judge = against_xprof.Judge(args.tools.split(',') if args.tools else None, args.show)
    with tempfile.TemporaryDirectory() as scratch:
        made = list(cases(args.count, args.first, args.kind, scratch, os.environ.get('SEED', '1')))
        judge.judge(made)
        for label, logdir in made if args.keep else ():
            if any(label == l for l, _ in judge.differing):
                shutil.copytree(logdir, os.path.join(args.keep, label), dirs_exist_ok=True)
    return 0 if judge.report() else 1


if __name__ == '__main__':
    sys.exit(main())
