#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Runs a command on a terminal of its own, types a key once it has drawn, prints what it wrote.

    terminal.py KEY COMMAND [WORD...]

Ends with the command's exit status; after 20 s with 124.
"""
import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time

LIMIT_S = 20


def main():
    pid, terminal = pty.fork()
    if not pid:
        os.environ["TERM"] = "xterm"
        os.execvp(sys.argv[2], sys.argv[2:])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 160, 0, 0))
    end, typed = time.monotonic() + LIMIT_S, False
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 0.5)[0]:
            if not typed:
                os.write(terminal, sys.argv[1].encode())
                typed = True
            continue
        try:
            text = os.read(terminal, 65536)
        except OSError:     # the command has ended
            break
        sys.stdout.write(text.decode(errors="replace"))
    else:
        os.kill(pid, 9)
        return 124
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    sys.exit(main())
