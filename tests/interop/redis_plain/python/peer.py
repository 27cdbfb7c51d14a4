"""A Python service that locks with redis-py as it is told: `THREAD COMMAND` a line, `THREAD REPLY` a line.

acquire NAME [wait=MS] [ttl=MS]   granted | busy
release NAME                      ok
extend NAME ttl=MS                ok
locked NAME                       yes | no
count NAME LOOPS counter=FILE     counted LOOPS
"""

import mmap
import os
import queue
import struct
import sys
import threading
import time

import redis
from redis.lock import Lock


class Counter:
    """The plain number in shared memory that holdfast::testing::shared_counter counts on."""

    def __init__(self, file):
        with open(file, "r+b") as opened:
            self.memory = mmap.mmap(opened.fileno(), 8)

    def increment(self):
        (seen,) = struct.unpack("=q", self.memory[:8])
        time.sleep(0)
        self.memory[:8] = struct.pack("=q", seen + 1)


class Session(threading.Thread):
    """One thread; its commands run in order."""

    def __init__(self, name, client):
        super().__init__(name=name, daemon=True)
        self.client = client
        self.inbox = queue.Queue()
        self.locks = {}

    def run(self):
        while True:
            line = self.inbox.get()
            try:
                reply = self.answer(line)
            except Exception as failed:  # Whatever it was, the test is to read it.
                reply = f"error {type(failed).__name__} {failed}".replace("\n", " ")
            say(f"{self.name} {reply}")

    def answer(self, line):
        words = [word for word in line.split() if "=" not in word]
        options = dict(word.split("=", 1) for word in line.split() if "=" in word)
        verb, name = words[0], words[1]
        if verb == "acquire":
            return "granted" if self.acquire(name, options) else "busy"
        if verb == "release":
            self.locks.pop(name).release()
            return "ok"
        if verb == "extend":
            self.locks[name].extend(int(options["ttl"]) / 1000, replace_ttl=True)
            return "ok"
        if verb == "locked":
            return "yes" if Lock(self.client, name).locked() else "no"
        if verb == "count":
            return self.count(name, int(words[2]), options["counter"])
        raise ValueError(f"no such command: {verb}")

    def acquire(self, name, options):
        wait = float(options["wait"]) / 1000 if "wait" in options else None
        # It polls; ten times a second unless told otherwise.
        lock = Lock(self.client, name, timeout=int(options.get("ttl", 30000)) / 1000, sleep=0.02)
        got = lock.acquire(blocking_timeout=wait)
        if got:
            self.locks[name] = lock
        return got

    def count(self, name, loops, file):
        counter = Counter(file)
        for _ in range(loops):
            with Lock(self.client, name, timeout=30, sleep=0.005):
                counter.increment()
        return f"counted {loops}"


said = threading.Lock()


def say(text):
    with said:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def main():
    client = redis.Redis(port=int(sys.argv[1]))
    client.ping()
    say("ready")
    sessions = {}
    for line in sys.stdin:
        name, command = line.rstrip("\n").split(" ", 1)
        if name not in sessions:
            sessions[name] = Session(name, client)
            sessions[name].start()
        sessions[name].inbox.put(command)
    # Whoever gave the commands is gone: so is this, at once, as if killed.
    os._exit(0)


main()
