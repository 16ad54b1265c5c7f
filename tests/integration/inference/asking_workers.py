"""A program whose four worker processes each open a client of their own and ask once.

asking_workers.py URL HOW PARENT: HOW is fork or spawn; PARENT is what the parent does with a
client of its own meanwhile: `open` keeps one open, `none` has none. A line for each worker, and
one for the parent when it asks again at the end.
"""

import asyncio
import multiprocessing
import os
import sys
import time

import numpy as np

from lookbench_inference.endpoints import connect

DEADLINE_S = 5.0


def say(line):
    """In one piece: the workers share the pipe."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


async def ask(triton):
    deadline = asyncio.get_running_loop().time() + DEADLINE_S
    pixels = {"pixels": np.zeros((1, 8, 8, 3), np.uint8)}
    return (await triton.infer("mean-colour", pixels, "embedding", DEADLINE_S, deadline)).shape


async def open_and_ask(url):
    triton = connect(url)
    try:
        return await ask(triton)
    finally:
        await triton.close()


def work(url):
    began = time.monotonic()
    try:
        told = asyncio.run(open_and_ask(url))
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
    late = " TOO LATE" if time.monotonic() - began > DEADLINE_S + 1 else ""
    say(f"{told}{late}")


def run_workers(url, how):
    context = multiprocessing.get_context(how)
    workers = [context.Process(target=work, args=(url,)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(3 * DEADLINE_S)
        if worker.is_alive():
            say("HANGS")
            worker.kill()


async def with_open_client(url, how):
    triton = connect(url)
    await ask(triton)
    # In a thread, as pools start their workers while the loop goes on.
    await asyncio.to_thread(run_workers, url, how)
    say(await ask(triton))
    await triton.close()


def main(url, how, parent):
    if parent == "open":
        asyncio.run(with_open_client(url, how))
    else:
        run_workers(url, how)


if __name__ == "__main__":
    main(*sys.argv[1:])
