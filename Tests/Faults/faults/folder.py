"""The folder of a store after a kill, as a reader sees it that shares no code with the store."""

import glob
import json
import os
import subprocess

TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ 0x82F63B78 if byte & 1 else byte >> 1
    TABLE.append(byte)


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


class Folder:
    """The numbers of the events in whole lines that are not marked as settled."""

    def __init__(self, directory):
        self.reused = 0
        self.numbers = []
        self.problems = []
        for path in sorted(glob.glob(f"{directory}/*/[cn]*.jsonl")):
            name = os.path.basename(path)
            is_reused = name.endswith("-r.jsonl")
            self.reused += is_reused
            seed = int(name.split("-")[1], 16) & 0xFFFFFFFF if is_reused else 0
            with open(path, "rb") as file:
                self._read(file.read(), seed, name)

    def _read(self, data, seed, name):
        torn = 0
        for line in data.split(b"\n"):
            if not line:
                continue
            try:
                event = json.loads(line)
            except ValueError:
                torn += 1
                continue
            if "crc" not in event:
                continue
            self.numbers.append(event["properties"]["number"])
            if int(event["crc"], 16) != crc32c(line[:-18] + b"}") ^ seed:
                self.problems.append(f"{name}: a whole line with the checksum of another file: {line[:80]}")
        # The one that was being written.
        if torn > 1:
            self.problems.append(f"{name}: {torn} torn lines")


def overwrites_in_place(directory):
    """Whether stores reuse files there."""
    stat = subprocess.run(["stat", "-f", "-c", "%T", directory], capture_output=True, text=True, check=False)
    return stat.stdout.strip() in ("ext2/ext3", "xfs", "tmpfs")


def check(directory, lives):
    """Compares the folder with what the lives that used it have recorded. Returns it."""
    folder = Folder(directory)
    found = set(folder.numbers)
    if len(found) < len(folder.numbers):
        folder.problems.append(f"{len(folder.numbers) - len(found)} events are there twice")
    waiting, settled = set(), set()
    for life in lives:
        waiting |= set(life.acknowledged)
        numbers = {True: set(), False: set()}
        for batch, line in life.received:
            numbers[batch in life.settled].add(json.loads(line)["properties"]["number"])
        settled |= numbers[True]
        waiting -= numbers[False]
    waiting -= settled
    if found & settled:
        folder.problems.append(f"{len(found & settled)} delivered events are there again")
    if waiting - found:
        folder.problems.append(f"{len(waiting - found)} acknowledged events are not there")
    return folder
