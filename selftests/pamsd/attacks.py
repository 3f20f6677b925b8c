#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The running daemon on loopback against who sends what it shouldn't: what is dropped and
counted. Prints TAP.

    selftests/pamsd/attacks.py [CASE...]
"""
import json
import random
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from daemon import (HELPERS, Daemon, Pair, check, free_port, new_key,  # noqa: E402
                    run_cases_about_lo, within)


def total(counts):
    return sum(counts.values())


def garbage(folder):
    pair = Pair(folder)
    pair.arrives()
    datagrams = []
    for number in range(2000):
        data = random.randbytes(random.randrange(0, 1500))
        if number % 2 and len(data) > 8:
            # of the right shape, but of nobody
            data = b"PAMS\x02\x01" + len(data).to_bytes(2, "big") + data[8:]
        datagrams.append(data)
    pair.flood(datagrams)
    within("all are counted", lambda: total(pair.server.dropped()) >= 2000)
    check(set(pair.server.dropped()) <= {"length", "magic", "unknown-peer", "cookie"},
          f"{pair.server.dropped()}")
    pair.arrives(9000)
    pair.stop()


def truncation(folder):
    pair = Pair(folder)
    pair.arrives()
    datagram = pair.relay.kept_up[-1]
    pair.flood(datagram[:length] for length in range(len(datagram)))
    pair.flood([datagram + b"\0"])
    within("all are counted", lambda: pair.server.dropped().get("length", 0) > len(datagram))
    pair.arrives(9000)
    pair.stop()


def every_byte_changed(folder):
    pair = Pair(folder)
    pair.arrives()
    pair.relay.change = lambda datagram, up: []
    before, kept = total(pair.server.dropped()), len(pair.relay.kept_up)
    pair.loss(6000)
    within("it is held up", lambda: len(pair.relay.kept_up) > kept)
    datagram = pair.relay.kept_up[kept]
    accepted = pair.server.peer()["accepted"]
    changed = [bytearray(datagram) for _ in datagram]
    for position, one in enumerate(changed):
        one[position] ^= 1 << position % 8
    pair.flood(changed)
    within("all are counted",
           lambda: total(pair.server.dropped()) - before >= len(datagram))
    counts = pair.server.dropped()
    check(counts["auth"] > 100 and counts["unknown-peer"] == 8 and counts["magic"] == 4,
          f"{counts}")
    check(pair.server.peer()["accepted"] == accepted, "none is accepted")
    pair.relay.to_server(datagram)
    within("as it was it is", lambda: pair.server.peer()["accepted"] == accepted + 1)
    pair.relay.change = lambda datagram, up: [datagram]
    pair.arrives(9000)
    pair.stop()


def replay(folder):
    pair = Pair(folder)
    pair.arrives()
    within("repeats are over", lambda: pair.server.peer()["age_ms"] > 300)
    accepted = pair.server.peer()["accepted"]
    kept = list(pair.relay.kept_up)
    for datagram in kept:
        pair.relay.to_server(datagram)
    within("all are counted", lambda: pair.server.peer()["dropped"].get("replay", 0) >= len(kept))
    check(pair.server.peer()["accepted"] == accepted, "none is accepted")
    pair.arrives(9000)
    pair.stop()


def replay_of_an_old_session(folder):
    """The reporter starts anew; what it sent before is worth nothing."""
    pair = Pair(folder)
    pair.arrives()
    old = list(pair.relay.kept_up)
    pair.reporter.stop()
    pair.reporter.start()
    pair.arrives(20000)
    within("repeats are over", lambda: pair.server.peer()["age_ms"] > 300)
    peer = pair.server.peer()
    for datagram in old:
        pair.relay.to_server(datagram)
    within("all are counted", lambda: total(pair.server.peer()["dropped"])
           >= total(peer["dropped"]) + len(old))
    check(pair.server.peer()["accepted"] == peer["accepted"], "none is accepted")
    check(pair.server.peer()["sessions"] == 2, "no session by replay")
    pair.arrives(9000)
    pair.stop()


def challenge_replayed(folder):
    pair = Pair(folder)
    pair.arrives()
    pair.relay.to_reporter(pair.relay.kept_down[0])
    pair.relay.to_reporter(b"PAMS" + bytes(92))
    pair.relay.to_reporter(pair.relay.kept_up[0])
    within("they are counted",
           lambda: pair.reporter.status()["reporter"]["to"][0]["dropped"] == 3)
    pair.relay.to_server(pair.relay.kept_down[0])
    within("it is counted", lambda: pair.server.dropped().get("not-for-a-server") == 1)
    pair.arrives(9000)
    pair.stop()


def answers_are_limited(folder):
    """A first report that comes again and again calls for one answer, which isn't larger."""
    pair = Pair(folder)
    pair.arrives()
    first = pair.relay.kept_up[0]
    pair.reporter.stop()
    pair.server.stop()
    pair.server.start()
    answers = len(pair.relay.kept_down)
    pair.flood([first] * 500)
    within("all are counted", lambda: pair.server.peer()["dropped"].get("replay", 0) >= 499)
    time.sleep(0.2)
    answers = pair.relay.kept_down[answers:]
    # one more if the relay still had one of the reporter's
    check(1 <= len(answers) <= 2, f"{len(answers)} answers")
    check(all(len(answer) <= len(first) for answer in answers), "an answer is larger")
    pair.server.stop()


def wrong_key(folder):
    pair = Pair(folder)
    pair.reporter.stop()
    pair.reporter.write(pair.reporter_config(key=new_key()))
    pair.reporter.start()
    pair.loss()
    within("it is counted", lambda: pair.server.dropped().get("unknown-peer"))
    check(not pair.server.peer()["paths"], "nothing is known")
    check(re.search(r"pamsd: a report from 127.0.0.1:[0-9]+ has a key that no peer has: is it the same at both "
                    r"ends\?\n", pair.server.said()), pair.server.said())
    within("the reporter logs it", lambda: "no answer from 's'" in pair.reporter.said())
    check(pair.server.said().count("no peer has") == 1, "rate-limited")
    pair.stop()


def flood_of_an_authentic_peer(folder):
    """5000 a second, of which 200 are taken, after as many in the first moment."""
    port, seconds = free_port(), 2
    peers = subprocess.run([HELPERS / "reporters", "--config", "1"], check=True,
                           capture_output=True, text=True).stdout
    server = Daemon(folder, "server", f'server {{\nlisten = {{"127.0.0.1:{port}"}}\n{peers}}}\n')
    start = time.monotonic()
    sent = json.loads(subprocess.run([HELPERS / "reporters", str(port), "1", "5000", str(seconds)],
                                     check=True, capture_output=True, text=True).stdout)["sent"]
    peer = server.peer("p0")
    most = 200 * (time.monotonic() - start + 1) + 1
    check(sent > 2000, f"{sent} were sent")
    check(200 <= peer["accepted"] <= most, f"{peer['accepted']} were taken, at most {most:.0f}")
    check(peer["dropped"]["rate"] > sent / 2, f"{peer}")
    server.stop()


def only_its_own_paths(folder):
    pair = Pair(folder, about='"10.9.9.9", "127.0.0.1", "10.9.8.0/24"')
    pair.arrives()
    within("its own is taken", lambda: pair.server.peer()["paths"])
    peer = pair.server.peer()
    check([path["prefix"] for path in peer["paths"]] == ["127.0.0.1/32"], f"{peer}")
    check(peer["dropped"]["not-its-path"] >= 2, f"{peer}")
    pair.server.reload(pair.server_config(extra='prefixes = {"127.0.0.0/8", "10.9.0.0/16"}'))
    pair.loss(9000)
    within("all are taken", lambda: len(pair.server.peer()["paths"]) == 3)
    pair.stop()


def prefix_wider_than_its_own(folder):
    pair = Pair(folder, about='"10.0.0.0/8", "0.0.0.0/0"')
    pair.server.reload(pair.server_config(extra='prefixes = {"10.9.0.0/16"}'))
    pair.loss()
    within("they are counted",
           lambda: pair.server.peer()["dropped"].get("not-its-path", 0) >= 2)
    check(not pair.server.peer()["paths"], "nothing is known")
    pair.stop()


def own_address_is_not_enough(folder):
    """Else it isn't: behind NAT it is others', too."""
    pair = Pair(folder, about='"source"', extra="")
    pair.loss()
    within("it is said", lambda: "pamsd: peer 'a' reports about a path that can't be found here"
           in pair.server.said())
    check(not pair.server.peer()["paths"], f"{pair.server.peer()}")
    pair.stop()


def newest_wins(folder):
    """The news of a loss are overtaken by those of its end."""
    pair = Pair(folder)
    pair.arrives()
    within("repeats are over", lambda: pair.server.peer()["age_ms"] > 300)
    held = []
    pair.relay.change = lambda datagram, up: [] if up and not held.append(datagram) else [datagram]
    pair.loss(9000)
    within("some are held up", lambda: len(held) > 1)
    accepted = pair.server.peer()["accepted"]
    pair.relay.change = lambda datagram, up: [datagram]
    pair.reporter.tell('{"interface": "lo", "no_loss": true}')
    within("it is taken back", lambda: pair.server.peer()["accepted"] > accepted)
    within("repeats are over", lambda: pair.server.peer()["age_ms"] > 300)
    check(not pair.server.peer()["paths"], f"{pair.server.peer()}")
    for datagram in held:
        pair.relay.to_server(datagram)
    time.sleep(0.3)
    check(not pair.server.peer()["paths"], f"a loss from before its end: {pair.server.peer()}")
    pair.stop()


def held_back_is_old(folder):
    """A report that comes seconds late, with none that is newer, doesn't count."""
    pair = Pair(folder)
    pair.arrives()
    pair.reporter.tell('{"interface": "lo", "no_loss": true}')
    within("it is taken back", lambda: not pair.server.peer()["paths"])
    within("repeats are over", lambda: pair.server.peer()["age_ms"] > 300)
    held = []
    pair.relay.change = lambda datagram, up: [] if up and not held.append(datagram) else [datagram]
    pair.loss(9000)
    time.sleep(6)
    pair.relay.to_server(held[0])
    within("it is dropped", lambda: pair.server.peer()["dropped"].get("old") == 1)
    check(not pair.server.peer()["paths"], f"{pair.server.peer()}")
    pair.relay.change = lambda datagram, up: [datagram]
    within("a new one does", lambda: pair.server.peer()["paths"])
    pair.stop()


def replayed_request(folder):
    """The first report of a session comes 1000 times a second, when another one begins."""
    pair = Pair(folder)
    pair.arrives()
    first = pair.relay.kept_up[0]
    pair.reporter.stop()
    ended = []

    def replay_it():
        while not ended:
            pair.relay.to_server(first)
            time.sleep(0.001)

    pair.server.stop()
    pair.server.start()
    thread = threading.Thread(target=replay_it, daemon=True)
    thread.start()
    time.sleep(1.5)
    pair.reporter.start()
    within("a session", lambda: pair.server.peer()["sessions"] == 1, 1.5)
    ended.append(True)
    thread.join()
    pair.stop()


def other_versions(folder):
    """Whose they are is said."""
    pair = Pair(folder)
    pair.arrives()
    for version in (1, 3, 1):
        datagram = bytearray(pair.relay.kept_up[0])
        datagram[4] = version
        pair.relay.to_server(datagram)
    within("they are counted", lambda: pair.server.dropped().get("version") == 3)
    check(pair.server.said().count("pamsd: peer 'a' at 127.0.0.1:") == 1 and
          "speaks version 1 of the report protocol, this is version 2" in pair.server.said(),
          pair.server.said())
    pair.stop()


def loss_is_capped(folder):
    pair = Pair(folder)
    pair.server.reload(pair.server_config().replace("server {", "server {\n\tloss-max-s = 5"))
    pair.reporter.tell('{"interface": "lo", "loss_ms": 0, "ttl_ms": 86400000}')
    within("it is known", lambda: pair.server.peer()["paths"])
    within("it is over", lambda: not pair.server.peer()["paths"])
    pair.stop()


if __name__ == "__main__":
    sys.exit(run_cases_about_lo([
        garbage, truncation, every_byte_changed, replay, replay_of_an_old_session,
        challenge_replayed, answers_are_limited, wrong_key, flood_of_an_authentic_peer,
        only_its_own_paths, prefix_wider_than_its_own, own_address_is_not_enough, newest_wins,
        held_back_is_old, replayed_request, other_versions, loss_is_capped]))
