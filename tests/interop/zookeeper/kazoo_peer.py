"""A Python service that locks with kazoo as it is told: `THREAD COMMAND` a line, `THREAD REPLY` a line.

kazoo's own names are not Curator's. The working arrangement is a lock whose nodes are called `lock-` and which waits for
those: then both sides stand in one line. The command line has the servers.

acquire curator|plain PATH [wait=MS]   granted | busy | error ...
release                                ok
"""

import sys
import threading
from queue import Queue

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.lock import Lock


class CuratorLock(Lock):
    _NODE_NAME = "lock-"
    _EXCLUDE_NAMES = ["lock-"]


def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Session:
    def __init__(self, client):
        self.client = client
        self.held = None

    def run(self, line):
        try:
            return self.answer(line.split())
        except Exception as failed:  # told to whoever asked
            return "error " + repr(failed).replace("\n", " ")

    def answer(self, words):
        if words[0] == "release":
            self.held.release()
            return "ok"
        options = dict(w.split("=", 1) for w in words if "=" in w)
        lock = (CuratorLock if words[1] == "curator" else Lock)(self.client, words[2], "kazoo")
        wait = options.get("wait")
        try:
            lock.acquire(timeout=int(wait) / 1000 if wait else 60)
        except LockTimeout:
            return "busy"
        self.held = lock
        return "granted"


def serve(name, client, inbox):
    session = Session(client)
    while True:
        say(name + " " + session.run(inbox.get()))


def main():
    client = KazooClient(hosts=sys.argv[1], timeout=20)
    client.start()
    inboxes = {}
    say("ready")
    for line in sys.stdin:
        name, command = line.rstrip("\n").split(" ", 1)
        if name not in inboxes:
            inboxes[name] = Queue()
            threading.Thread(target=serve, args=(name, client, inboxes[name]), daemon=True).start()
        inboxes[name].put(command)


main()
