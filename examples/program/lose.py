#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Asks pamsd, and tells it that Wi-Fi will be lost: Documentation/recipes/program.md."""
import json, socket

def ask(line):
    with socket.socket(socket.AF_UNIX) as pamsd:
        pamsd.connect("/run/pamsd/control")
        pamsd.sendall(json.dumps(line).encode() + b"\n")
        return json.loads(pamsd.makefile().readline())

status = ask({"command": "status"})
print("module loaded:", status["kernel"]["loaded"])
for interface in status["reporter"]["interfaces"]:
    print(interface["name"], "up" if interface["up"] else "down")
print(ask({"interface": "wlan0", "loss_ms": 0}))
