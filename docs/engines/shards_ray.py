"""Reduce a run in shards on a Ray cluster, then merge them: python3 shards_ray.py LOGDIR PARTS SHARDS (all nodes see both directories)."""
import subprocess
import sys

import ray


# A worker that dies and a stepscope that dies are both run again: a part is written whole or not at all.
@ray.remote(num_cpus=1, max_retries=2, retry_exceptions=True, scheduling_strategy='SPREAD')
def shard(i, n, logdir, out):
    subprocess.run(['stepscope', 'reduce', logdir, '--shard', f'{i}/{n}', '--out', out], check=True)


if __name__ == '__main__':
    logdir, out, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
    ray.init()
    ray.wait([shard.remote(i, n, logdir, out) for i in range(n)], num_returns=n)
    sys.exit(subprocess.run(['stepscope', 'merge', out]).returncode)      # it names the shards that are lost
