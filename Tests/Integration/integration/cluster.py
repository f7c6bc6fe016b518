"""Three ClickHouse servers with a Distributed table, each of which is killed and restarted during the delivery."""

import glob
import itertools
import json
import threading
import time

from . import clickhouse
from .machine import same

# Shards by id, so that a repeated event arrives at the shard that has it already.
DISTRIBUTED = "CREATE TABLE events AS shard ENGINE = Distributed(sluice, default, shard, sipHash64(toString(id)))"

# Keeps the id of every inserted row, since the shard's engine drops duplicates at any time.
INSERTED = "CREATE MATERIALIZED VIEW inserted ENGINE = MergeTree ORDER BY id AS SELECT id FROM shard"

SHARD = "<shard><replica><host>127.0.0.1</host><port>{tcp}</port></replica></shard>"


class Killer(threading.Thread):
    """Kills each shard once, in turn, when it has its part of the rows, and restarts it after `pause` seconds."""

    def __init__(self, shards, part, pause):
        super().__init__(daemon=True)
        self._shards = shards
        self._part = part
        self._pause = pause
        self._is_ended = threading.Event()
        self.kills = []
        self.error = None

    def run(self):
        try:
            # The shard that takes the inserts is the last one.
            for turn, number in enumerate(range(len(self._shards) - 1, -1, -1), 1):
                shard = self._shards[number]
                while shard.count("shard") < turn * self._part:
                    if self._is_ended.wait(0.02):
                        return
                shard.kill()
                self.kills.append(number + 1)
                time.sleep(self._pause)
                shard.start()
        except Exception as error:
            self.error = error

    def end(self):
        self._is_ended.set()
        self.join()
        if self.error:
            raise self.error


def start(machine):
    """Three servers that know each other."""
    ports = [machine.free_ports(2) for _ in range(3)]
    shards = "".join(SHARD.format(tcp=tcp) for _, tcp in ports)
    more = f"    <remote_servers><sluice>{shards}</sluice></remote_servers>"
    servers = [clickhouse.Server(machine, f"shard-{number}", pair, more) for number, pair in enumerate(ports, 1)]
    for server in servers:
        server.make_table("shard")
        server.query("DROP TABLE IF EXISTS inserted")
        server.query(INSERTED)
        server.query(DISTRIBUTED)
    return servers


def stored_ids(store):
    """The ids of the events in the files of a store, and the size of the files."""
    ids, size = [], 0
    for path in glob.glob(f"{store}/**/*", recursive=True):
        if path.endswith(".jsonl"):
            with open(path, "rb") as file:
                for line in file:
                    ids.append(json.loads(line)["id"])
                    size += len(line)
    return sorted(ids), size


def run(machine):
    """Every event that the store has acknowledged is in the cluster once, by id."""
    count = machine.trials(full=1_000_000, default=20_000)
    lines = list(itertools.islice(itertools.cycle(machine.requests), count))
    servers = start(machine)
    store = machine.folder("store")
    # Without a server, all events wait in the store, which shows what it has acknowledged.
    closed = machine.free_ports(1)[0]
    _, counts, _ = machine.deliver(lines, clickhouse.url(closed), "clickhouse18:events", store, 0, timeout=1_800)
    same("waiting", counts["waiting"], count)
    acknowledged, size = stored_ids(store)
    same("ids in the store", (len(acknowledged), len(set(acknowledged))), (count, count))

    killer = Killer(servers, part=count // 12, pause=machine.trials(full=5, default=1))
    killer.start()
    url = clickhouse.url(servers[0].port) + "&insert_distributed_sync=1"
    began = time.monotonic()
    status, counts, said = machine.deliver([], url, "clickhouse18:events", store, 1_200, timeout=1_800)
    took = time.monotonic() - began
    killer.end()
    same("exit status, delivered, waiting", (status, counts["delivered"], counts["waiting"]), (0, count, 0))
    same("killed shards", killer.kills, [3, 2, 1])

    first = servers[0]
    inserted = sum(server.count("inserted") for server in servers)
    same("different ids", first.count("events", "uniqExact(id)"), count)
    with first.stream("SELECT DISTINCT toString(id) AS id FROM events ORDER BY id") as response:
        arrived = response.read().decode().split()
    same("the ids are those of the store", arrived == acknowledged, True)
    same("rows of events FINAL", int(first.query("SELECT count() FROM events FINAL")), count)
    clickhouse.compare(first.rows("events"), lines)

    for server in servers:
        server.query("OPTIMIZE TABLE shard FINAL")
    same("rows after a merge", first.count("events"), count)
    rows = [server.count("shard") for server in servers]
    same("rows of all shards", sum(rows), count)
    disk = sum(
        int(server.query("SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = 'shard'"))
        for server in servers)
    return (f"{count} events were delivered in {took:.0f} s while shards {killer.kills} were killed and restarted in turn; "
            f"{inserted - count} rows were inserted again; by id, each event is there once, with the same fields; rows of "
            f"the shards after a merge: {rows}; {size} bytes in the store, {disk} on the disks")
