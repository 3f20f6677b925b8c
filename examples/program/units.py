#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A server that marks units, with nothing but sockets: Documentation/recipes/program.md."""
import json, os, socket, struct, subprocess

MPTCP, SOL_MPTCP, MPTCP_INFO = 262, 284, 1
GENERIC, CONTROLLER, GETFAMILY, FAMILY_ID, FAMILY_NAME = 16, 16, 3, 1, 2
UNIT_SET, TOKEN, UNIT = 15, 1, 11               # of linux/mptcp_pams.h
REQUEST, ACK, ERROR = 1, 4, 2                   # of linux/netlink.h

def attribute(kind, value):
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)

class Units:
    def __init__(self):
        self.netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, GENERIC)
        found = self.ask(CONTROLLER, GETFAMILY, attribute(FAMILY_NAME, b"mptcp_pams\0"))
        self.family = struct.unpack("=H", found[FAMILY_ID][:2])[0]

    def ask(self, kind, command, attributes):
        body = struct.pack("=BBH", command, 1, 0) + attributes
        self.netlink.send(struct.pack("=IHHII", 16 + len(body), kind, REQUEST | ACK, 0, 0) + body)
        found = {}
        while True:
            answer = self.netlink.recv(65536)
            while answer:
                length, kind = struct.unpack_from("=IH", answer)
                if kind == ERROR:
                    error = -struct.unpack_from("=i", answer, 16)[0]
                    if error:
                        raise OSError(error, os.strerror(error))
                    return found
                at = 20
                while at < length:
                    size, name = struct.unpack_from("=HH", answer, at)
                    found[name] = answer[at + 4:at + size]
                    at += (size + 3) & ~3
                answer = answer[(length + 3) & ~3:]

    def mark(self, connection, size):
        """The next size bytes that are written are one unit."""
        info = connection.getsockopt(SOL_MPTCP, MPTCP_INFO, 16)
        self.ask(self.family, UNIT_SET, attribute(TOKEN, info[12:16]) +
                 attribute(UNIT, struct.pack("=Q", size)))

listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP)
listener.bind(("", 8080))
listener.listen()
connection, _ = listener.accept()
units = Units()
units.mark(connection, 400_000)
connection.sendall(bytes(200_000))
connection.recv(1)                              # the client has that much
show = subprocess.run(["sudo", "pamsctl", "--json", "conn", "show"], capture_output=True)
print("left of it:", *(one["unit_left_bytes"] for one in json.loads(show.stdout)
                       if "unit_left_bytes" in one))
connection.sendall(bytes(200_000))
units.mark(connection, 300_000)
connection.sendall(bytes(300_000))
units.mark(connection, 0)                       # what follows is none
print("two units written")
