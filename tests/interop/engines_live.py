#!/usr/bin/env python3
"""'stepscope reduce' under the engines that run shards: xargs, Kubernetes' contract, Open MPI, Slurm, Ray. Workers are killed on the way.

Slurm runs three nodes on this machine (as root, with slurmctld, slurmd and munged), Ray three in one process tree; each is ended by
the process ids that it told. What is not installed or cannot start here is skipped, by name. Answers must equal one process's.
"""
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'tests', 'lib'))
import profiles  # noqa: E402

BIN = os.path.join(ROOT, 'build', 'stepscope')
ENGINES = os.path.join(ROOT, 'docs', 'engines')
CACHE = os.path.expanduser('~/.cache/stepscope')
TOOLS = ('stragglers', 'collectives', 'host_steps')
ENGINE_VARIABLES = ('SLURM', 'OMPI', 'PMI', 'JOB_COMPLETION', 'STEPSCOPE')


class Skipped(Exception):
    pass


class Checks:
    passed = failed = 0

    def check(self, what, good, why=''):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        if not good:
            print(f'FAILED {what}: {why}')


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(ENGINE_VARIABLES)}
    return {**env, 'PATH': os.path.dirname(BIN) + os.pathsep + env['PATH'], **more}


def run(*command, timeout=120, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout, env=environment(**more))


def answers(path):
    return {t: run(BIN, 'tool', t, path, '--format', 'json').stdout for t in TOOLS}


def check_parts(c, what, parts, want):
    merged = run(BIN, 'merge', parts)
    c.check(f'{what}: merge', merged.returncode == 0, merged.stderr)
    c.check(f'{what}: answers', answers(parts) == want)


def xargs(c, logdir, scratch, want):
    parts = os.path.join(scratch, 'xargs')
    subprocess.run(f'seq 0 4 | xargs -P2 -I{{}} stepscope reduce {logdir} --shard {{}}/5 --out {parts}', shell=True, check=True, env=environment(),
                   stderr=subprocess.DEVNULL)
    check_parts(c, 'xargs', parts, want)


def pods_of(logdir, parts, *killed_after):
    """Three pods; the middle one is killed so many seconds after its begin, or before it does anything."""
    reduce = [BIN, 'reduce', logdir, '--shard', '/3', '--out', parts]
    stopped = ['sh', '-c', 'kill -STOP $$; exec "$@"', 'sh', *reduce]
    pods = [subprocess.Popen(reduce if i != 1 or killed_after else stopped, env=environment(JOB_COMPLETION_INDEX=str(i)), stderr=subprocess.DEVNULL)
            for i in range(3)]
    for seconds in killed_after:
        time.sleep(seconds)
    pods[1].send_signal(signal.SIGKILL)
    return [p.wait(60) for p in pods]


def kubernetes(c, logdir, scratch, want):
    """What the Job controller does: an index in the environment, and a killed pod's successor with the same."""
    parts = os.path.join(scratch, 'pods')
    c.check('pods', pods_of(logdir, parts) == [0, -9, 0])
    lost = run(BIN, 'merge', parts)
    c.check('a killed pod is named', lost.returncode == 1 and '1/3' in lost.stderr, lost.stderr)
    for seconds in (0, 0.01, 0.02, 0.04):  # killed somewhere on its way: a part is there whole or not at all
        codes = pods_of(logdir, parts, seconds)
        c.check('pods killed on their way', codes[::2] == [0, 0] and codes[1] in (0, -9), codes)
        merged = run(BIN, 'merge', parts)
        c.check('whole or not at all', merged.returncode == (0 if glob.glob(os.path.join(parts, 'part-1-of-3.ssp')) else 1), merged.stderr)
    again = run(BIN, 'reduce', logdir, '--shard', '/3', '--out', parts, JOB_COMPLETION_INDEX='1')
    c.check('the successor', again.returncode == 0, again.stderr)
    check_parts(c, 'pods', parts, want)


def manifests(c, *_):
    python = os.path.join(CACHE, 'venv-kubernetes', 'bin', 'python3')
    if not os.path.exists(python):
        raise Skipped('kubernetes-validate is not installed (scripts/bootstrap engines)')
    code = '''
import sys, yaml, kubernetes_validate
def check(data):
    kubernetes_validate.validate(data, kubernetes_validate.latest_version(), strict=True)
job, jobset = (yaml.safe_load(open(f'{sys.argv[1]}/{n}.yaml')) for n in ('job', 'jobset'))
check(job)
spec = jobset['spec']
assert (jobset['apiVersion'], jobset['kind']) == ('jobset.x-k8s.io/v1alpha2', 'JobSet')
assert set(spec) <= {'replicatedJobs', 'network', 'successPolicy', 'failurePolicy', 'startupPolicy', 'suspend', 'coordinator', 'managedBy',
                     'ttlSecondsAfterFinished'}, spec
names = [r['name'] for r in spec['replicatedJobs']]
for r in spec['replicatedJobs']:
    assert set(r) <= {'name', 'groupName', 'template', 'replicas', 'dependsOn'}, r
    assert all(d['name'] in names[:names.index(r['name'])] and d['status'] in ('Ready', 'Complete') for d in r.get('dependsOn', [])), r
    check({'apiVersion': 'batch/v1', 'kind': 'Job', 'metadata': {'name': r['name']}, **r['template']})
for j in (job, spec['replicatedJobs'][0]['template']):
    words = j['spec']['template']['spec']['containers'][0]['command']
    assert words[words.index('--shard') + 1] == '/%d' % j['spec']['completions'] and j['spec']['completionMode'] == 'Indexed', words
job['spec']['completionsss'] = 1
try:
    check(job)
except Exception:
    print('good')
'''
    done = run(python, '-c', code, ENGINES)
    c.check('manifests', done.stdout.strip() == 'good', done.stderr[-800:])


def open_mpi(c, logdir, scratch, want):
    if not shutil.which('mpirun'):
        raise Skipped('mpirun is not installed')
    parts = os.path.join(scratch, 'mpi')
    done = run('mpirun', '--oversubscribe', '-n', '5', BIN, 'reduce', logdir, '--out', parts, OMPI_ALLOW_RUN_AS_ROOT='1',
               OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')
    c.check('mpirun', done.returncode == 0, done.stderr[-500:])
    check_parts(c, 'Open MPI', parts, want)


# ---- Slurm ----

SLURM_CONF = '''ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={w}/munge.socket
CryptoType=crypto/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={w}/state
SlurmdSpoolDir={w}/spool/%n
SlurmctldPidFile={w}/run/slurmctld.pid
SlurmdPidFile={w}/run/slurmd.%n.pid
SlurmctldLogFile={w}/log/slurmctld.log
SlurmdLogFile={w}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
NodeName=n[1-3] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=2 RealMemory=500 State=UNKNOWN
PartitionName=all Nodes=n[1-3] Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
'''


def free_ports(n):
    """A row of ports that nobody listens at."""
    for first in range(17817, 29000, n):
        socks = [socket.socket() for _ in range(n)]
        try:
            for i, s in enumerate(socks):
                s.bind(('127.0.0.1', first + i))
            return first
        except OSError:
            pass
        finally:
            for s in socks:
                s.close()
    raise Skipped('no ports are free')


def wait_for(what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.5)
    return False


def alive(pid):
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    with open(f'/proc/{pid}/stat') as f:
        return f.read().rpartition(')')[2].split()[0] != 'Z'


def end_daemons(w):
    """Those that wrote their numbers below w; what they leave on the disk is theirs until they are gone."""
    pids = []
    for path in glob.glob(os.path.join(w, 'run', '*.pid')):
        with open(path) as f:
            pids += [int(n) for n in f.read().split()]
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in pids:
            if alive(pid):
                os.kill(pid, number)
        if wait_for(lambda: not any(alive(p) for p in pids), 20):
            return


def start_munge(w):
    """One of our own, with a key and a socket of its own."""
    key = os.path.join(w, 'munge.key')
    for command in (['mungekey', '--create', f'--keyfile={key}'],
                    ['munged', '--force', f'--key-file={key}', f'--socket={w}/munge.socket', f'--pid-file={w}/run/munged.pid',
                     f'--log-file={w}/log/munged.log', f'--seed-file={w}/munge.seed']):
        done = run(*command)
        if done.returncode:
            raise Skipped(f'{command[0]}: {done.stderr.strip()[:200]}')


def slurm(c, logdir, scratch, want):
    if os.geteuid() or not all(shutil.which(p) for p in ('slurmctld', 'slurmd', 'munged', 'mungekey', 'sbatch')):
        raise Skipped('it needs root, slurm-wlm and munge')
    w = os.path.join(scratch, 'slurm')
    for d in ('state', 'spool', 'run', 'log'):
        os.makedirs(os.path.join(w, d))
    port = free_ports(4)
    conf = os.path.join(w, 'slurm.conf')
    with open(conf, 'w') as f:
        f.write(SLURM_CONF.format(w=w, host=socket.gethostname().split('.')[0], port=port, first=port + 1, last=port + 3))
    try:
        start_munge(w)
        if run('slurmctld', SLURM_CONF=conf).returncode or any(run('slurmd', '-N', f'n{i}', SLURM_CONF=conf).returncode for i in (1, 2, 3)):
            raise Skipped('slurmctld or slurmd does not start')
        if not wait_for(lambda: ' 3 ' in run('sinfo', '-h', '-t', 'idle', SLURM_CONF=conf).stdout):
            raise Skipped(f'its nodes do not become idle: {run("sinfo", SLURM_CONF=conf).stdout}')
        slurm_jobs(c, logdir, w, conf, want)
    finally:
        end_daemons(w)


def slurm_jobs(c, logdir, w, conf, want):
    parts, merged = os.path.join(w, 'parts'), os.path.join(w, 'merge.out')

    def submit(*args):
        done = run('sbatch', '--parsable', *args, SLURM_CONF=conf)
        c.check(f'sbatch {args[0]}', done.returncode == 0, done.stderr)
        return done.stdout.strip()

    def ended(job):
        return wait_for(lambda: not run('squeue', '-h', '-j', job, SLURM_CONF=conf).stdout.strip(), 120)
    array = submit('--requeue', '--array=1-5', f'--output={w}/%a.out', '--wrap', f'{BIN} reduce {logdir} --out {parts}')
    last = submit(f'--dependency=afterany:{array}', f'--output={merged}', '--wrap', f'{BIN} merge {parts}')
    c.check('Slurm: the jobs end', ended(last))
    with open(merged) as f:
        said = f.read()
    c.check('Slurm: merged', os.path.exists(os.path.join(parts, 'merged.ssp')), said)
    check_parts(c, 'Slurm array', parts, want)
    lost = os.path.join(parts, 'part-3-of-5.ssp')
    os.remove(lost)
    os.remove(os.path.join(parts, 'merged.ssp'))
    named = run(BIN, 'merge', parts)
    c.check('Slurm: a lost shard is named', named.returncode == 1 and '3/5' in named.stderr, named.stderr)
    again = submit(f'--output={w}/again.out', '--wrap', f'{BIN} reduce {logdir} --shard 3/5 --out {parts}')
    c.check('Slurm: one runs again', ended(again) and os.path.exists(lost))
    check_parts(c, 'Slurm, one again', parts, want)
    tasks = os.path.join(w, 'tasks')
    done = run('srun', '-N3', '-n3', BIN, 'reduce', logdir, '--out', tasks, SLURM_CONF=conf)
    c.check('srun', done.returncode == 0 and '2/3 by SLURM_PROCID' in done.stderr, done.stderr)
    check_parts(c, 'Slurm tasks', tasks, want)


# ---- Ray ----

RAY = '''
import os, runpy, sys
os.environ['RAY_USAGE_STATS_ENABLED'] = '0'
import ray
from ray.cluster_utils import Cluster
script, killed = sys.argv[1], sys.argv[5]
c = Cluster(initialize_head=True, head_node_args={'num_cpus': 1, 'include_dashboard': False})
c.add_node(num_cpus=1)
c.add_node(num_cpus=1)
ray.init(address=c.address, log_to_driver=False)
init, ray.init = ray.init, lambda: None
sys.argv = [script] + sys.argv[2:5]
try:
    runpy.run_path(script, run_name='__main__')
finally:
    ray.shutdown()
    c.shutdown()
'''


def ray_cluster(c, logdir, scratch, want):
    python = os.path.join(CACHE, 'venv-ray', 'bin', 'python3')
    if not os.path.exists(python):
        raise Skipped('it is not installed (scripts/bootstrap engines)')
    parts, killed, programs = (os.path.join(scratch, d) for d in ('ray', 'killed', 'programs'))
    # The first stepscope of shard 2 takes its worker along.
    os.makedirs(programs)
    wrapper = os.path.join(programs, 'stepscope')
    with open(wrapper, 'w') as f:
        f.write(f'#!/bin/sh\ncase "$*" in *"--shard 2/6"*) [ -e {killed} ] || {{ : >{killed}; kill -9 $PPID; exit 1; }} ;; esac\nexec {BIN} "$@"\n')
    os.chmod(wrapper, 0o755)
    env = environment(PATH=programs + os.pathsep + os.environ['PATH'])
    done = subprocess.run([python, '-c', RAY, os.path.join(ENGINES, 'shards_ray.py'), logdir, parts, '6', killed], env=env, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    c.check('Ray', done.returncode == 0, done.stdout[-1500:])
    c.check('Ray: a worker was killed', os.path.exists(killed))
    check_parts(c, 'Ray', parts, want)


def main():
    c = Checks()
    logdir = os.path.join(profiles.ROOT, 'synth_tpu_3hosts')
    want = answers(logdir)
    c.check('answers', all(json.loads(a)['tables'] for a in want.values()))
    for engine in (xargs, kubernetes, manifests, open_mpi, slurm, ray_cluster):
        with tempfile.TemporaryDirectory() as scratch:
            try:
                engine(c, logdir, scratch, want)
            except Skipped as e:
                print(f'skipped: {engine.__name__}: {e}')
            except Exception as e:          # one broken engine must not hide the others
                c.check(engine.__name__, False, repr(e))
    print(f'{c.passed} passed, {c.failed} failed')
    return 1 if c.failed else 0


if __name__ == '__main__':
    sys.exit(main())
