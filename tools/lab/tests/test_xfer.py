# SPDX-License-Identifier: GPL-2.0
"""xfer's command line: what is wrong is named, and nothing is sent."""
import socket
import subprocess
import time
import unittest

import base     # noqa: F401  pylint: disable=unused-import

import host


class Arguments(unittest.TestCase):
    def refused(self, *words):
        """What it says."""
        ended = subprocess.run([host.xfer(), "client", *words, "127.0.0.1", "1"], check=False,
                               capture_output=True, text=True, timeout=10)
        self.assertEqual(ended.returncode, 2, ended)
        self.assertEqual(ended.stdout, "")
        return ended.stderr.strip()

    def test_numbers(self):
        for word in ("-5", "", "99999999999999999999"):
            self.assertEqual(self.refused("--bytes", word), f"xfer: --bytes '{word}': not a number")
        self.assertEqual(self.refused("--bytes", "1x"), "xfer: --bytes '1x': neither N nor MIN-MAX")
        self.assertIn("--requests 'x'", self.refused("--requests", "x"))

    def test_web(self):
        """Its server hangs up behind the answer, whose first bytes come apart."""
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        with subprocess.Popen([host.xfer(), "server", "-p", str(port), "--tcp", "--web"]) as server:
            try:
                with self.connected(port) as client:
                    client.sendall(b"D 5000 1 0\n")
                    parts = iter(lambda: client.recv(65536), b"")
                    sizes = list(map(len, parts))
            finally:
                server.kill()
        self.assertEqual(sum(sizes), 5000)

    def connected(self, port):
        """Once the server listens."""
        for _ in range(100):
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=10)
            except ConnectionRefusedError:
                time.sleep(0.05)
        self.fail("the server doesn't listen")


if __name__ == "__main__":
    unittest.main()
