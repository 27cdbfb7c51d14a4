"""Measures redis-py's Lock for `holdfast bench`: what it is given and what it answers stands in docs/bench.md."""

import mmap
import sys
import threading
import time

import redis

CONTENDED = ("handover", "processes", "fair")


def refusal(store, workload):
    """Why redis-py cannot do that; None when it can."""
    if store != "redis":
        return "redis-py has no quorum lock" if store == "redlock" else "redis-py locks on redis alone"
    return "redis-py has no fair lock" if workload == "fair" else None


class Worker:
    """One thread's end of the lock."""

    def __init__(self, client, name, number, guard):
        # As its users have it: blocking, looking again every 0.1 s.
        self.lock = client.lock(name, timeout=30)
        self.owner = number + 1
        self.guard = guard
        self.said = ""

    def work(self, began, deadline):
        pairs, waits = self.contend(deadline) if self.guard else (self.alone(deadline), [])
        took = time.monotonic_ns() - began
        self.said = " ".join(map(str, [pairs, took, *waits]))

    def alone(self, deadline):
        pairs = 0
        while pairs == 0 or time.monotonic_ns() < deadline:
            self.lock.acquire()
            self.lock.release()
            pairs += 1
        return pairs

    def contend(self, deadline):
        guard, pairs, waits = self.guard, 0, []
        asked = time.monotonic_ns()
        while pairs == 0 or asked < deadline:
            self.lock.acquire()
            # Read first, write last: whoever else is inside meanwhile writes the same number.
            before = guard[0]
            had = time.monotonic_ns()
            if guard[1] != self.owner:
                guard[1] = self.owner
                waits.append(had - asked)
            guard[0] = before + 1
            self.lock.release()
            pairs += 1
            asked = time.monotonic_ns()
        return pairs, waits


def measure(workers, milliseconds):
    began = time.monotonic_ns()
    deadline = began + milliseconds * 1_000_000
    threads = [threading.Thread(target=w.work, args=(began, deadline), daemon=True) for w in workers]
    for thread in threads:
        thread.start()
    for worker, thread in zip(workers, threads):
        thread.join()
        if not worker.said:
            sys.exit(1)  # the thread has said why
        print(worker.said)
        worker.said = ""
    sys.stdout.flush()


def main(store, servers, workload, lock, threads, first, guard_path):
    why = refusal(store, workload)
    if why:
        print("unsupported", why)
        return
    client = redis.Redis.from_url("redis://" + servers.split(",")[0])
    client.ping()
    guard = None
    if workload in CONTENDED:
        with open(guard_path, "r+b") as file:
            guard = memoryview(mmap.mmap(file.fileno(), 16)).cast("Q")
    numbers = range(int(first), int(first) + int(threads))
    name = (lambda n: f"{lock}/{n}") if workload == "many" else (lambda n: lock)
    workers = [Worker(client, name(n), n, guard) for n in numbers]
    print("ready", flush=True)
    for line in sys.stdin:
        measure(workers, int(line.split()[1]))


main(*sys.argv[1:])
