"""One of many people is erased in the folders of eight processes, with kills in between; pseudonyms; keys that change."""

import glob
import os
import signal
import subprocess
import time

PROCESSES = 8
PEOPLE = 1_000


def run(machine):
    well = erase(machine)
    well &= rotate(machine)
    return pseudonyms(machine) and well


def erase(machine):
    count = (1_000_000 if machine.is_full else 100_000) // PROCESSES
    kills = machine.trials(full=60, default=8)
    random = machine.random("people", machine.seed)
    directory = machine.directory("people", on_disk=True)
    writers = []
    for process in range(PROCESSES):
        writer = subprocess.Popen(
            [machine.host, "people", "write", directory, str(process), str(count), str(PEOPLE)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        machine.watch(writer)
        writers.append(writer)
    # All of them have their folders before the first one ends.
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.close()
    problems = [f"a writer has ended with {writer.returncode}" for writer in writers if writer.wait() != 0]
    before = others(directory, set())
    erased, slowest, killed = {}, 0, 0

    def complete(person, way):
        nonlocal slowest
        begin = time.monotonic()
        result = subprocess.run(
            [machine.host, "people", "erase", directory, person, way], capture_output=True, text=True)
        words = result.stdout.split()
        if result.returncode != 0 or words[0] != "erased" or words[3] != "0":
            problems.append(f"{person} by the {way}: {result.returncode} {result.stdout} {result.stderr}")
            return 0, 0
        slowest = max(slowest, time.monotonic() - begin)
        return int(words[1]), time.monotonic() - begin

    # One after the other: undisturbed, and then killed at random moments and repeated.
    whole, duration = complete("person-0", "pipeline")
    erased["person-0"] = whole
    expected = sum(line.count(b'"person-0"') for line in before_lines(before))
    if whole != expected:
        problems.append(f"{whole} events of person-0 are erased instead of {expected}")
    for trial in range(kills):
        person, way = f"person-{trial + 1}", ("pipeline", "tool")[trial % 2]
        victim = subprocess.Popen(
            [machine.host, "people", "erase", directory, person, way], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        machine.watch(victim)
        time.sleep(random.uniform(0, duration * 1.1))
        if victim.poll() is None:
            victim.send_signal(signal.SIGKILL)
            killed += 1
        victim.wait()
        complete(person, way)
        erased[person] = None
    names = set(erased)
    left = sum(grep(directory, person) for person in names)
    if left:
        problems.append(f"{left} lines of erased people are left")
    after = others(directory, names)
    kept = others_of(before, names)
    lost = sum(len(lines) for lines in kept.values()) - sum(len(lines) for lines in after.values())
    if kept != after:
        problems.append("the events of others are not the same, or not in the same order")
    drained = subprocess.run(
        [machine.host, "people", "drain", directory, "person-0"], capture_output=True, text=True).stdout.split()
    total = sum(len(lines) for lines in kept.values())
    if drained != ["drained", str(total), "0", "0", "0"]:
        problems.append(f"of {total} events, a later process finds: {drained}")
    print(f"people: events={PROCESSES * count} people={PEOPLE} folders={PROCESSES} erased={whole}"
          f" seconds={duration:.2f} slowest={slowest:.2f} kills={killed} left={left} lost={lost}"
          f" drained={total} disordered={drained[3] if len(drained) > 3 else '?'}", flush=True)
    for problem in problems[:5]:
        print(f"people: FAILED: {problem}", flush=True)
    machine.discard(directory, failed=bool(problems))
    return not problems


def others(directory, names):
    """The lines of each process and priority that are not about these people, in the order of the files."""
    lines = {}
    for path in sorted(glob.glob(f"{directory}/*/*.jsonl"), key=lambda path: os.path.basename(path)):
        with open(path, "rb") as file:
            for line in file.read().split(b"\n"):
                if line:
                    process = line.partition(b'"process":')[2].partition(b",")[0]
                    lines.setdefault((process, b'"priority":"critical"' in line), []).append(line)
    return others_of(lines, names)


def others_of(lines, names):
    marks = [f'"distinct_id":"{name}"'.encode() for name in names]
    kept = {key: [line for line in found if not any(mark in line for mark in marks)] for key, found in lines.items()}
    return {key: found for key, found in kept.items() if found}


def before_lines(lines):
    return (line for found in lines.values() for line in found)


def grep(directory, person):
    """The number of lines in all files with the bytes of a person."""
    found = subprocess.run(["grep", "-rFoa", f'"{person}"', directory], capture_output=True)
    return found.stdout.count(b"\n")


def rotate(machine):
    directory = machine.directory("rotation")
    words = subprocess.run(
        [machine.host, "people", "rotate", directory], capture_output=True, text=True).stdout.split()
    print(f"rotation: keys=3 events={words[1]} unreadable={words[2]} numbers={words[3]}", flush=True)
    machine.discard(directory)
    return words == ["rotated", "3000", "0", "equal"]


def pseudonyms(machine):
    """Compares pseudonyms with those of openssl."""
    machine.need("openssl", "openssl")
    count, key = 10_000, "0123456789abcdef0123456789abcdef"
    own = subprocess.run(
        [machine.host, "people", "pseudonyms", key, str(count)], capture_output=True, text=True).stdout.split()
    directory = machine.directory("pseudonyms")
    os.mkdir(directory)
    for number in range(count):
        with open(f"{directory}/{number:05}", "w") as file:
            file.write(f"person-{number}")
    found = []
    for start in range(0, count, 1_000):
        paths = [f"{directory}/{number:05}" for number in range(start, start + 1_000)]
        command = ["openssl", "dgst", "-sha256", "-hmac", key, *paths]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        found += [line.rsplit(" ", 1)[1] for line in lines]
    equal = sum(one == other for one, other in zip(own, found))
    print(f"pseudonyms: count={len(own)} equal_to_openssl={equal}", flush=True)
    machine.discard(directory)
    return equal == count == len(own)
