"""The newest ClickHouse, as a library from PyPI: compares its rows with an independent reading of the log."""

import itertools
import json
import os
import subprocess
import sys
import urllib.request

from . import log
from .machine import PACKAGE, Failed, Impossible, same

HERE = os.path.dirname(os.path.abspath(__file__))
REQUIREMENTS = os.path.join(os.path.dirname(HERE), "requirements.txt")

# The table of Docs/WireFormats.md.
TABLE = """
CREATE TABLE {name} (
    id UUID, event LowCardinality(String), time DateTime64(3), distinct_id String,
    anonymous_id String, login_id String, properties String
) ENGINE = ReplacingMergeTree ORDER BY (event, time, id)
"""

ROWS = """
SELECT toString(id) AS id, event, toString(toUnixTimestamp64Milli(time)) AS time, distinct_id, anonymous_id, login_id,
    properties
FROM {name} FINAL ORDER BY id
"""


def python():
    """The Python of a virtual environment with the requirements, which are installed if they are missing."""
    place = os.path.join(PACKAGE, ".build", "integration-environment")
    program = os.path.join(place, "bin", "python")
    stamp = os.path.join(place, "requirements.txt")
    with open(REQUIREMENTS) as file:
        wanted = file.read()
    if os.path.exists(stamp) and open(stamp).read() == wanted:
        return program
    print("installing the newest ClickHouse and moto from PyPI", file=sys.stderr, flush=True)
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS]
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True, stdout=sys.stderr)
        subprocess.run([program, *install], check=True, stdout=sys.stderr, timeout=600)
    except (OSError, subprocess.SubprocessError) as error:
        raise Impossible(f"{wanted.strip()} can't be installed: {error}")
    with open(stamp, "w") as file:
        file.write(wanted)
    return program


class Newest:
    """The engine behind its proxy."""

    def __init__(self, machine):
        (self.port,) = machine.free_ports(1)
        command = [python(), os.path.join(HERE, "chdb_proxy.py"), str(self.port)]
        machine.start(command, self.port, "chdb", cwd=machine.folder("chdb"))
        self.version = next(self.query("SELECT version() AS version"))["version"]

    def query(self, statement):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/", data=statement.encode())
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=300) as response:
            for line in response.read().decode().split("\n"):
                if line:
                    yield json.loads(line)

    def run(self, statement):
        for _ in self.query(statement):
            pass


def compare(rows, lines):
    """Compares every field of every row with its line."""
    for number, (row, line) in enumerate(itertools.zip_longest(rows, lines), 1):
        if row is None or line is None:
            raise Failed(f"there are {'fewer' if row is None else 'more'} rows than {len(lines)}")
        expected = log.event(line)
        same(f"properties of row {number}", json.loads(row["properties"]), expected["properties"])
        same(f"event of row {number}", row["event"], "page_view")
        same(f"time of row {number}", int(row["time"]), expected["time"])
        ids = row["distinct_id"], row["anonymous_id"], row["login_id"]
        same(f"person of row {number}", ids, (expected["client"], expected["client"], ""))


def run(machine):
    """Every line becomes a row with the same fields and the same time, in the engine of today."""
    server = Newest(machine)
    server.run(TABLE.format(name="rows"))
    url = f"http://127.0.0.1:{server.port}/"
    status, counts, said = machine.deliver(machine.requests, url, "clickhouse:rows", machine.folder("store"))
    same("exit status", status, 0)
    same("delivered, rejected", (counts["delivered"], counts["rejected"]), (len(machine.requests), 0))
    compare(server.query(ROWS.format(name="rows")), machine.requests)
    return (f"{counts['delivered']} events are as many rows of ClickHouse {server.version}, the same field for field, "
            "with the same times")
