"""A process that works on a cache: `python cache_writing.py FOLDER LIMIT THREADS FIRST COUNT`.

Each thread stores COUNT shards, of which every second is also stored by the other processes,
reads back what it and others stored, and prints `stored SHARD` for each.
With LOOKBENCH_TEST_USER it becomes that user first, with LOOKBENCH_TEST_FILE_BYTES no file of
it may grow beyond that.
"""

import os
import resource
import sys
import threading
from pathlib import Path

from cached import SPACE, found, put

from lookbench_inference.cache import EmbeddingCache

ROWS = 40


def shard(number):
    return range(ROWS * number, ROWS * (number + 1))


def work(cache, own, count):
    for step in range(count):
        number = step if step % 2 else own + step
        put(cache, SPACE, *shard(number))
        found(cache, SPACE, *shard(number))
        found(cache, SPACE, *shard(step))
        os.write(sys.stdout.fileno(), f"stored {number}\n".encode())  # whole lines


def main():
    folder, limit, threads, first, count = Path(sys.argv[1]), *map(int, sys.argv[2:])
    if user := os.environ.get("LOOKBENCH_TEST_USER"):
        os.setuid(int(user))
    if size := os.environ.get("LOOKBENCH_TEST_FILE_BYTES"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), int(size)))
    cache = EmbeddingCache(folder, limit)
    workers = [
        threading.Thread(target=work, args=(cache, first + 1000 * at, count))
        for at in range(threads)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    cache.close()


if __name__ == "__main__":
    main()
