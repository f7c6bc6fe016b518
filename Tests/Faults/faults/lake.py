"""kill -9 at a random moment, while events are tracked and written to a folder or a bucket by one process or by two."""

import glob
import gzip
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

from . import copies
from .books import Books, Figures, identify
from .host import HostFailure, Life, live
from .machine import PACKAGE, Impossible


def run(machine):
    is_well = True
    for ending in ("ndjson.gz", "ndjson"):
        figures = Figures(f"lake/{ending}")
        figures.count(files=0, kills=0, torn=0, unacknowledged=0)
        for seed in machine.seeds(machine.trials(full=250, default=15)):
            trial(machine, figures, Folder(machine, ending), seed)
        is_well &= figures.report()
    return is_well


def run_bucket(machine):
    """The same with a bucket of moto, an imitation of S3."""
    with Bucket(machine) as bucket:
        figures = Figures("bucket")
        figures.count(files=0, kills=0, torn=0, unacknowledged=0)
        for seed in machine.seeds(machine.trials(full=250, default=5)):
            bucket.empty()
            trial(machine, figures, bucket, seed)
        return figures.report()


def trial(machine, figures, lake, seed):
    """Two lives that are killed, beside a third or not, and a last one that delivers what they left.

    All have batches of one size: a process with smaller ones than the one before it may write events a second time.
    """
    random = machine.random(figures.name, seed)
    batch = random.choice((20, 200, 2_000))
    # Short events, so a batch has several segments: a backlog, because a process tracks them as fast as it delivers them.
    is_short = batch == 2_000 and random.random() < 0.5
    filler, track = (10, "track 0 50") if is_short else (600, "track 0")
    directory = machine.directory("queue", on_disk=True)
    options = ["--batch", batch, "--filler", filler, *lake.options]
    books = Books(filler)
    problems = []
    kills = torn = 0
    well = False
    try:
        beside = None
        if is_short:
            books.add(live(machine, directory, "--writer", 3, *options, "track 20000", "close"), writer=3)
        elif random.random() < 0.5:
            beside = Life(machine, directory, "--delivers", "--writer", 1, *options, interactive=True)
            beside.tell("track 2000")
        for number in range(2):
            first = 1 + number * 1_000_000
            life = Life(machine, directory, "--delivers", "--first", first, *options, track)
            life.wait_for_acknowledged(random.choice((0, 50, 500, 2_000)))
            time.sleep(random.uniform(0, 0.03))
            life.kill()
            kills += life.was_killed
            books.add(life)
            torn += rest(lake, directory)
            problems += read(lake)[1]  # As readers find it while others write.
        if beside:
            beside.ask("deliver")
            beside.ask("close")
            beside.finish()
            books.add(beside, writer=1)
        # With an event of its own, so that it writes to the lake in any case.
        books.add(live(machine, directory, "--writer", 2, *options, "track 1", "deliver", "close"), writer=2)
        events, found = read(lake)
        judge(books, events)
        problems += found
        if kills != 2:
            problems.append("a life ended before it was killed")
        if len(books.received_unacknowledged) > kills:
            problems.append(f"{len(books.received_unacknowledged)} events that were not acknowledged")
        problems += lake.left()
        # Nothing lists a bucket, so there each kill can repeat the events of a batch.
        if books.duplicates > (torn if isinstance(lake, Folder) else kills * batch):
            problems.append(f"{books.duplicates} events are in two files")
        figures.count(
            files=len(list(lake.files())), kills=kills, torn=torn, unacknowledged=len(books.received_unacknowledged))
        well = figures.trial(books, seed, problems=problems)
    except HostFailure as failure:
        figures.fail(seed, str(failure))
    machine.discard(directory, failed=not well)
    lake.discard(failed=not well)


def judge(books, lines):
    """Enters the lines of the lake into the books."""
    for line in lines:
        key = identify(line, books.filler_maximum)
        if key is None:
            books.corrupt += 1
            continue
        books.times_received[key] = books.times_received.get(key, 0) + 1


def rest(lake, directory):
    """How many events wait in the store though others of their file don't: the killed process was removing the batch's segments.
    They come again as another batch. The events of writer 1 are those of a process that lives."""
    ids = copies.waiting(directory)
    files = [[json.loads(line) for line in unpacked(*file).splitlines()] for file in lake.files()]
    files = [{event["id"] for event in file if event["properties"]["writer"] != 1} for file in files]
    return sum(len(file & ids) for file in files if file - ids)


def unpacked(name, contents):
    return gzip.decompress(contents) if name.endswith("gz") else contents


def read(lake):
    """All lines of the files that a reader looks for, and what is wrong with these files."""
    lines, problems = [], []
    for name, contents in lake.files():
        try:
            contents = unpacked(name, contents)
        except (EOFError, OSError) as error:
            problems.append(f"{name}: {error}")
            continue
        count = int(name.split(".")[0].rsplit("-", 1)[1])
        found = contents.count(b"\n")
        if contents[-1:] != b"\n" or found != count:
            problems.append(f"{name} has {found} lines")
        lines += contents.splitlines()
    return lines, problems


class Folder:
    """A lake of files."""

    def __init__(self, machine, ending):
        self._machine, self._ending = machine, ending
        self._path = machine.directory("lake", on_disk=True)
        self.options = ["--lake", self._path, *(["--plain"] if ending == "ndjson" else [])]

    def files(self):
        for path in glob.glob(f"{self._path}/*/*.{self._ending}"):
            with open(path, "rb") as file:
                yield os.path.basename(path), file.read()

    def left(self):
        parts = glob.glob(f"{self._path}/.writing/*")
        return [f"left behind: {parts}"] if parts else []

    def discard(self, failed):
        self._machine.discard(self._path, failed)


def moto():
    """The path of moto's server, which SLUICE_MOTO names, or the one of Tests/Integration, or one that is installed from PyPI."""
    places = [f"{PACKAGE}/.build/{name}-environment" for name in ("integration", "moto")]
    for program in (os.environ.get("SLUICE_MOTO"), *(f"{place}/bin/moto_server" for place in places)):
        if program and os.access(program, os.X_OK):
            return program
    with open(f"{PACKAGE}/Tests/Integration/requirements.txt") as file:
        wanted = [line.strip() for line in file if line.startswith("moto")]
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", places[1]], check=True)
        subprocess.run([f"{places[1]}/bin/python", "-m", "pip", "install", "--quiet", *wanted], check=True)
    except subprocess.CalledProcessError as error:
        raise Impossible(f"moto can't be installed: {error}")
    return f"{places[1]}/bin/moto_server"


class Bucket:
    """A bucket of moto's server."""

    def __init__(self, machine):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._url = f"http://127.0.0.1:{port}"
        self.options = ["--lake", f"{self._url}/bucket/events"]
        self._server = subprocess.Popen(
            [moto(), "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        machine.watch(self._server)

    def __enter__(self):
        deadline = time.monotonic() + 60
        while True:
            try:
                self._send("/", "GET")
                return self
            except urllib.error.URLError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def __exit__(self, *_):
        self._server.kill()
        self._server.wait()

    def _send(self, path, method):
        scope = "Credential=test/20260101/us-east-1/s3/aws4_request"
        headers = {"Host": "s3.amazonaws.com", "Authorization": f"AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=0"}
        request = urllib.request.Request(self._url + path, None, headers, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=60) as response:
            return response.read()

    def empty(self):
        self._send("/moto-api/reset", "POST")
        self._send("/bucket", "PUT")

    def files(self):
        """All objects, of any number of pages."""
        after = ""
        while True:
            page = self._send(f"/bucket?list-type=2&start-after={urllib.parse.quote(after)}", "GET").decode()
            keys = re.findall("<Key>(.*?)</Key>", page)
            for after in keys:
                yield after.rsplit("/", 1)[1], self._send(f"/bucket/{urllib.parse.quote(after)}", "GET")
            if "<IsTruncated>true" not in page:
                return

    def left(self):
        return []

    def discard(self, failed):
        pass
