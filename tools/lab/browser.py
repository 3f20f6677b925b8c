# SPDX-License-Identifier: GPL-2.0
"""Runs in a guest: pages of objects, six at a time, each over a new connection.

    browser.py [--tcp] [-6] [--gap MS] [--timeout S] PAGES_FILE HOST PORT

The file is a JSON list of pages, a page a list of sizes in bytes. A worker takes the next
object of the page, connects and downloads it; the server (xfer --web) closes behind it, as web
servers do, and may have data left that it can't send yet. Prints one line for each page, as
xfer does for a request: its time is that from the first connect to the last byte. Exit
code: 0 if every page arrived.
"""

import argparse
import json
import socket
import sys
import threading
import time

WORKERS = 6
IPPROTO_MPTCP = 262
CHUNK_BYTES = 262144


def now_us():
    """Of the guest's clock."""
    return time.monotonic_ns() // 1000


class Page:
    """One page: its objects are taken by several workers."""

    def __init__(self, args, sizes):
        self.args, self.sizes = args, sizes
        self.left = iter(enumerate(sizes))
        self.lock = threading.Lock()
        self.error = ""
        self.took_us = []       # of each object, from its connect to its last byte

    def _fetch(self, number, size):
        args = self.args
        with socket.socket(socket.AF_INET6 if args.ipv6 else socket.AF_INET,
                           socket.SOCK_STREAM,
                           socket.IPPROTO_TCP if args.tcp else IPPROTO_MPTCP) as connection:
            connection.settimeout(args.timeout)
            connection.connect((args.host, args.port))
            connection.sendall(f"D {size} {number + 1} 0\n".encode())
            while size:
                got = len(connection.recv(min(size, CHUNK_BYTES)))
                if not got:
                    raise ConnectionError("connection lost")
                size -= got

    def _work(self):
        try:
            while True:
                with self.lock:
                    number, size = next(self.left, (None, None))
                if number is None:
                    return
                start_us = now_us()
                self._fetch(number, size)
                self.took_us.append(now_us() - start_us)
        except OSError as error:
            self.error = str(error) or "timeout"

    def load(self):
        """All of it; the time it took in us."""
        start_us = now_us()
        workers = [threading.Thread(target=self._work) for _ in range(WORKERS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return start_us, max(1, now_us() - start_us)


def main():
    """All pages, a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-6", dest="ipv6", action="store_true")
    parser.add_argument("--tcp", action="store_true")
    parser.add_argument("--gap", type=float, default=0)
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("pages")
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    args = parser.parse_args()
    with open(args.pages, encoding="ascii") as text:
        pages = json.load(text)
    failed = False
    for number, sizes in enumerate(pages):
        if number:
            time.sleep(args.gap / 1000)
        page = Page(args, sizes)
        start_us, fct_us = page.load()
        failed = failed or bool(page.error)
        print(json.dumps({
            "conn": 0, "request": number, "dir": "down", "bytes": sum(sizes),
            "start_us": start_us, "connect_us": 0, "fct_us": fct_us, "gap_us": 0,
            "gap_at_us": 0, "subflows": 0, "fallback": False, "ok": not page.error,
            "error": page.error, "objects_us": page.took_us}), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
