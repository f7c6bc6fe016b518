"""ClickHouse: compares its rows with an independent reading of the log."""

import glob
import itertools
import json
import os
import urllib.error
import urllib.request

from . import log
from .cutter import Cutter
from .machine import Failed, Impossible, same

CONFIGURATION = """<?xml version="1.0"?>
<yandex>
    <logger><level>warning</level><console>1</console></logger>
    <listen_host>127.0.0.1</listen_host>
    <http_port>{http}</http_port>
    <tcp_port>{tcp}</tcp_port>
    <path>{place}/data/</path>
    <tmp_path>{place}/tmp/</tmp_path>
    <users_config>users.xml</users_config>
    <default_profile>default</default_profile>
    <default_database>default</default_database>
    <mark_cache_size>5368709</mark_cache_size>
{more}
</yandex>
"""

USERS = """<?xml version="1.0"?>
<yandex>
    <profiles><default></default></profiles>
    <quotas><default></default></quotas>
    <users>
        <default>
            <password></password>
            <networks><ip>127.0.0.1</ip></networks>
            <profile>default</profile>
            <quota>default</quota>
        </default>
    </users>
</yandex>
"""

# The table of Docs/WireFormats.md for 18.16: a column per property, and by default an engine that drops duplicates.
TABLE = """
CREATE TABLE {name} (
    id UUID, event String, time UInt64, distinct_id String, anonymous_id String,
    `properties.method` String, `properties.path` String, `properties.protocol` FixedString(8),
    `properties.status` UInt16, `properties.bytes` UInt64, `properties.referrer` String,
    `properties.user_agent` String, `properties.user` String
) ENGINE = {engine} ORDER BY (event, time, id)
"""


class Server:
    """A ClickHouse with a directory of its own. `more` is added to its configuration."""

    def __init__(self, machine, name="clickhouse", ports=None, more=""):
        self._machine = machine
        self._name = name
        self._program = machine.need("clickhouse-server", "clickhouse-server")
        self._place = machine.folder(name)
        self.port, tcp = ports or machine.free_ports(2)
        with open(os.path.join(self._place, "config.xml"), "w") as file:
            file.write(CONFIGURATION.format(http=self.port, tcp=tcp, place=self._place, more=more))
        with open(os.path.join(self._place, "users.xml"), "w") as file:
            file.write(USERS)
        self.start()
        self.version = self.query("SELECT version()").strip()
        if not self.version.startswith("18."):
            raise Impossible(f"the tables here are made for Debian's ClickHouse 18.16, not for {self.version}")

    def start(self):
        command = [self._program, f"--config-file={self._place}/config.xml"]
        self._process = self._machine.start(command, self.port, self._name, cwd=self._place)

    def kill(self):
        """Ends the server as `kill -9` does."""
        self._process.kill()
        self._process.wait()

    @staticmethod
    def of(machine):
        if "clickhouse" not in machine.servers:
            machine.servers["clickhouse"] = Server(machine)
        return machine.servers["clickhouse"]

    def stream(self, statement):
        """The open response to a statement."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/", data=statement.encode())
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            return opener.open(request, timeout=300)
        except urllib.error.HTTPError as error:
            raise Failed(f"ClickHouse refuses {statement!r}: {error.read().decode()}")

    def query(self, statement):
        with self.stream(statement) as response:
            return response.read().decode()

    def make_table(self, name, engine="ReplacingMergeTree"):
        self.query(f"DROP TABLE IF EXISTS {name}")
        self.query(TABLE.format(name=name, engine=engine))

    def count(self, name, what="count()"):
        return int(self.query(f"SELECT {what} FROM {name}"))

    def rows(self, name):
        """Each event once, by id, which is the order of tracking."""
        with self.stream(f"SELECT * FROM {name} ORDER BY toString(id) LIMIT 1 BY id FORMAT JSONEachRow") as response:
            for line in response:
                yield json.loads(line)


def url(port):
    return f"http://127.0.0.1:{port}/?input_format_import_nested_json=1"


def compare(rows, lines):
    """Compares every field of every row with its line."""
    for number, (row, line) in enumerate(itertools.zip_longest(rows, lines), 1):
        if row is None or line is None:
            raise Failed(f"there are {'fewer' if row is None else 'more'} rows than {len(lines)}")
        expected = log.event(line)
        names = ("method", "path", "protocol", "status", "bytes", "referrer", "user_agent", "user")
        properties = {name: row[f"properties.{name}"] for name in names}
        properties["bytes"] = int(properties["bytes"])
        properties["protocol"] = properties["protocol"].rstrip("\0")
        empty = {"path": "", "protocol": "", "user": ""}
        same(f"properties of row {number}", properties, empty | expected["properties"])
        same(f"event of row {number}", row["event"], "page_view")
        same(f"time of row {number}", int(row["time"]), expected["time"])
        same(f"person of row {number}", (row["distinct_id"], row["anonymous_id"]), (expected["client"],) * 2)


def rows(machine):
    """Every line becomes a row with the same fields."""
    server = Server.of(machine)
    server.make_table("rows")
    status, counts, said = machine.deliver(machine.requests, url(server.port), "clickhouse18:rows", machine.folder("store"))
    same("exit status", status, 0)
    same("rows in the table", server.count("rows"), len(machine.requests))
    compare(server.rows("rows"), machine.requests)
    parts = "SELECT countIf(level = 0), sumIf(bytes_on_disk, active) FROM system.parts WHERE table = 'rows'"
    inserts, on_disk = server.query(parts).split()
    return (f"{counts['delivered']} events are as many rows of ClickHouse {server.version}, the same field for field; "
            f"{inserts} inserts, {on_disk} bytes on its disk")


def poison(machine):
    """One row that the table can't store is rejected, and no other."""
    server = Server.of(machine)
    trials = machine.trials(full=20, default=1)
    for trial in range(trials):
        server.make_table("poison")
        store = machine.folder("store")
        place = machine.random("poison", trial).randrange(len(machine.requests) + 1)
        # A protocol with more than the 8 bytes of its column.
        bad = b'9.9.9.9 - - [17/May/2015:10:05:03 +0000] "GET /poison HTTP/1.1-and-more" 200 1 "-" "-"'
        lines = machine.requests[:place] + [bad] + machine.requests[place:]
        _, counts, said = machine.deliver(lines, url(server.port), "clickhouse18:poison", store)
        same("delivered, rejected, waiting",
             (counts["delivered"], counts["rejected"], counts["waiting"]), (len(machine.requests), 1, 0))
        compare(server.rows("poison"), machine.requests)
        letters = [line for path in glob.glob(f"{store}/**/rejected-*.jsonl", recursive=True) for line in open(path, "rb")]
        same("dead letters", len(letters), 1)
        if b"/poison" not in letters[0]:
            raise Failed(f"the dead letter is another event: {letters[0]!r}")
    return f"{trials} times, 1 row of {len(machine.requests) + 1} was found and became a dead letter; all others arrived"


def cut(machine):
    """Events that were inserted but not confirmed are sent again, and count once."""
    server = Server.of(machine)
    trials = machine.trials(full=20, default=1)
    again = 0
    cuts = 0
    for trial in range(trials):
        # The first table keeps duplicates, which the query skips. The second drops them when it merges.
        server.make_table("cut", engine="MergeTree")
        server.make_table("merged")
        random = machine.random("cut", trial)
        with Cutter(server.port, lambda number: number == 0 or random.random() < 0.2) as cutter:
            status, counts, said = machine.deliver(
                machine.requests, url(cutter.port), "clickhouse18:cut", machine.folder("store"), deadline=120)
        same("exit status", status, 0)
        same("delivered", counts["delivered"], len(machine.requests))
        inserted = server.count("cut")
        same("events inserted more than once", inserted > len(machine.requests), True)
        same("different events", server.count("cut", "uniqExact(id)"), len(machine.requests))
        compare(server.rows("cut"), machine.requests)
        server.query("INSERT INTO merged SELECT * FROM cut")
        server.query("OPTIMIZE TABLE merged FINAL")
        same("rows without duplicates", server.count("merged"), len(machine.requests))
        again += inserted - len(machine.requests)
        cuts += cutter.cuts
    total = trials * len(machine.requests)
    return f"{cuts} connections were cut after the insert; of {total} events {again} came again, and each counts once"


def holds(machine):
    """A server that refuses every event because of a missing table loses none."""
    server = Server.of(machine)
    store = machine.folder("store")
    lines = machine.requests[:1_000]
    server.query("DROP TABLE IF EXISTS absent")
    status, counts, said = machine.deliver(lines, url(server.port), "clickhouse18:absent", store, deadline=0)
    same("exit status, delivered, waiting", (status, counts["delivered"], counts["waiting"]), (2, 0, len(lines)))
    if "paused" not in said or "code 60" not in said:
        raise Failed(f"no message gives the reason: {said}")
    server.make_table("absent")
    status, counts, _ = machine.deliver([], url(server.port), "clickhouse18:absent", store)
    same("exit status, delivered", (status, counts["delivered"]), (0, len(lines)))
    compare(server.rows("absent"), lines)
    return f"{len(lines)} events waited for a table that was missing, and arrived when it was there"
