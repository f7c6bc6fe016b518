"""Few descriptors, many directories of ended processes, and standard descriptors that are closed."""

import http.server
import json
import os
import subprocess
import threading
import uuid

from .books import Books
from .host import PATIENCE, live
from .processes import experiment, leftovers

# The host's own, and at most 20 for the store.
FEW = ("sh", "-c", 'ulimit -n 28; exec "$@"', "sh")
CLOSED = ("<&-", ">&-", "2>&-")


def run(machine):
    is_well = experiment(machine, "descriptors/few", few)
    is_well &= experiment(machine, "descriptors/directories", directories)
    return experiment(machine, "descriptors/closed", closed) and is_well


def few(machine, figures, directory, seed):
    """Hundreds of segments wait, and are synchronized and delivered."""
    level = machine.random(figures.name, seed).choice(("buffered", "process", "interval:5", "interval:10000", "full"))
    count = 3000 if level == "full" else 40000
    books = Books()
    life = live(
        machine, directory, "--durability", level, "--capacity", 1 << 30, f"track {count}", "synchronize", "deliver",
        "close", prefix=FEW)
    books.add(life)
    problems = [f"{len(life.refused)} refused at {level}"] if life.refused else []
    return figures.trial(books, seed, problems=problems + leftovers(directory))


def directories(machine, figures, directory, seed):
    """More processes have ended than the host may open files."""
    books = Books()
    books.add(live(machine, directory, "track 600", "close"))
    lines = []
    for folder, _, names in os.walk(directory):
        for name in (name for name in names if name.endswith(".jsonl")):
            with open(os.path.join(folder, name), "rb") as file:
                lines += [(name, line) for line in file]
            os.remove(os.path.join(folder, name))
    for name, line in lines:
        folder = os.path.join(directory, str(uuid.uuid4()))
        os.mkdir(folder, 0o700)
        with open(os.path.join(folder, name), "wb") as file:
            file.write(line)
    books.add(live(machine, directory, "deliver", "close", prefix=FEW))
    figures.count(directories=len(lines))
    return figures.trial(books, seed, problems=leftovers(directory))


def closed(machine, figures, directory, seed):
    """No file and no socket may get a closed standard descriptor: others would write to it."""
    redirection = " ".join(word for bit, word in enumerate(CLOSED) if seed % 8 & 1 << bit)
    report = directory + ".report"
    problems = []
    with Collector() as collector:
        process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" {redirection}', "sh", machine.host, "routes", directory, collector.url, "500", report],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        machine.watch(process)
        collector.watch(process.pid)
        printed, _ = process.communicate(timeout=PATIENCE)
    used = sorted({link for link in collector.links if link.startswith(("socket:", os.path.realpath(directory)))})
    problems += [f"a standard descriptor is {link}" for link in used]
    if process.returncode != 0:
        problems.append(f"ended with {process.returncode}")
    numbers = {json.loads(line)["properties"]["number"] for line in collector.lines}
    if numbers != set(range(500)):
        problems.append(f"{len(numbers)} of 500 events at the server")
    with open(report) as file:
        result = json.load(file)
    os.remove(report)
    has_output = ">&-" not in redirection.split()
    expected = {"http": 500, "stdout": 500} if has_output else {"http": 500}
    lines = 500 if has_output else 0
    if result["delivered"] != expected or len(printed.splitlines()) != lines or has_output != (not result["failures"]):
        problems.append(f"{result}, and {len(printed.splitlines())} lines printed")
    figures.count(at_the_server=len(numbers), printed=len(printed.splitlines()))
    return figures.trial(Books(), seed, problems=[f"{redirection or 'all open'}: {problem}" for problem in problems])


class Collector(http.server.ThreadingHTTPServer):
    """A server that keeps the lines of all bodies, and looks at its client's standard descriptors during a request."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), CollectorHandler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"
        self.lines = []
        self.links = []
        self.process = None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def watch(self, process):
        self.process = process

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class CollectorHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.server.lines += self.rfile.read(int(self.headers["Content-Length"])).splitlines()
        for number in range(3):
            try:
                self.server.links.append(os.readlink(f"/proc/{self.server.process}/fd/{number}"))
            except FileNotFoundError:
                pass  # It is closed.
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass
