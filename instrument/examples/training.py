"""training.py - a training loop with an input pipeline on a thread of its own, recorded by libsstrace.

    SSTRACE_LIBRARY=build/instrument/libsstrace.so python3 instrument/examples/training.py LOGDIR [STEPS]

What training.c does, in Python: every third batch is slow, so that the profile has something to find.
"""
import os
import queue
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import sstrace  # noqa: E402


@sstrace.trace("read file")
def read_file(batch):
    time.sleep(0.002 if batch % 3 else 0.006)


def pipeline(batches, steps):
    sstrace.thread_name("input pipeline")
    for batch in range(1, steps + 1):
        with sstrace.trace("prepare batch", batch=batch, source="synthetic", share=batch / steps):
            read_file(batch)
        sstrace.produce("batch ready", batch)
        batches.put(batch)


def train(batches, number):
    with sstrace.step("train", number):
        with sstrace.wait_input("next batch"):
            batch = batches.get()
        with sstrace.consume("forward", batch):
            sum(range(20000))
        with sstrace.trace("backward"):
            sum(range(40000))
        sstrace.counter("loss", 1 / (number + 1))


def main(logdir, steps=20):
    sstrace.start(logdir=logdir)
    sstrace.thread_name("training loop")
    batches = queue.Queue(1)
    reader = threading.Thread(target=pipeline, args=(batches, steps))
    reader.start()
    for number in range(steps):
        train(batches, number)
    reader.join()
    print(sstrace.stop())


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
