#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""In a guest: reports N paths of peers that aren't there, for `lab cost`.

    fill_paths.py N     pipe-rate of 11.0.0.0 and the N - 1 addresses that follow

A program of its own since pamsctl reports one path each time. The numbers are
those of include/uapi/linux/mptcp_pams.h and linux/genetlink.h.
"""
import socket
import struct
import sys

NLM_F_REQUEST, NLM_F_ACK, NLMSG_ERROR = 1, 4, 2
GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 16, 3, 1, 2
CMD_PATH_SET, A_ADDRESS4, A_PIPE_RATE, A_TTL = 1, 1, 9, 15
FIRST = 11 << 24
TTL_MS = 3_600_000


def attribute(kind, payload):
    length = 4 + len(payload)
    return struct.pack("=HH", length, kind) + payload + bytes(-length % 4)


def message(family, command, payload, flags):
    body = struct.pack("=BBH", command, 1, 0) + payload
    return struct.pack("=IHHII", 16 + len(body), family, NLM_F_REQUEST | flags, 0, 0) + body


def ask(sock, text):
    """Sends one message; the answer without its header."""
    sock.send(text)
    answer = sock.recv(65536)
    kind, = struct.unpack_from("=H", answer, 4)
    error = struct.unpack_from("=i", answer, 16)[0] if kind == NLMSG_ERROR else 0
    if error:
        sys.exit(f"fill_paths: refused with {-error}")
    return answer[16:]


def family_of(sock, name):
    answer = ask(sock, message(GENL_ID_CTRL, CTRL_CMD_GETFAMILY,
                               attribute(CTRL_ATTR_FAMILY_NAME, name + b"\0"), 0))
    at = 4
    while at < len(answer):
        length, kind = struct.unpack_from("=HH", answer, at)
        if kind == CTRL_ATTR_FAMILY_ID:
            return struct.unpack_from("=H", answer, at + 4)[0]
        at += length + -length % 4
    sys.exit("fill_paths: no number of the family")


def main():
    count = int(sys.argv[1])
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16) as sock:
        family = family_of(sock, b"mptcp_pams")
        for number in range(count):
            ask(sock, message(family, CMD_PATH_SET,
                              attribute(A_ADDRESS4, struct.pack(">I", FIRST + number)) +
                              attribute(A_PIPE_RATE, struct.pack("=Q", 625_000)) +
                              attribute(A_TTL, struct.pack("=I", TTL_MS)), NLM_F_ACK))


if __name__ == "__main__":
    main()
