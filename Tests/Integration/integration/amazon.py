"""Kinesis and Firehose of moto, an imitation of AWS from PyPI: compares the records with an independent reading of the log.

moto checks the signatures with botocore, the library of AWS's own clients.
"""

import base64
import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request

from . import log, newest
from .machine import Failed, same

POLICY = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
ROLE = {"RoleARN": "arn:aws:iam::123456789012:role/x", "BucketARN": "arn:aws:s3:::bucket"}


class Server:
    """moto with a stream of each kind, and a user with keys."""

    def __init__(self, machine):
        (self.port,) = machine.free_ports(1)
        command = [os.path.join(os.path.dirname(newest.python()), "moto_server"), "-p", str(self.port)]
        machine.start(command, self.port, "moto", cwd=machine.folder("moto"))
        self.call("kinesis", "Kinesis_20131202.CreateStream", {"StreamName": "events", "ShardCount": 1})
        self._send("s3", "/bucket", b"", {"Host": "s3.amazonaws.com"}, "PUT")
        fire = {"DeliveryStreamName": "events", "ExtendedS3DestinationConfiguration": ROLE}
        self.call("firehose", "Firehose_20150804.CreateDeliveryStream", fire)
        self._iam(Action="CreateUser", UserName="u")
        keys = self._iam(Action="CreateAccessKey", UserName="u")
        self.keys = re.search("<AccessKeyId>(.*?)<", keys)[1], re.search("<SecretAccessKey>(.*?)<", keys)[1]
        self._iam(Action="PutUserPolicy", UserName="u", PolicyName="p", PolicyDocument=json.dumps(POLICY))

    def _send(self, service, path, data, headers, method):
        scope = f"Credential=test/20260101/us-east-1/{service}/aws4_request"
        headers = {"Authorization": f"AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=0", **headers}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=60) as response:
                return response.read()
        except urllib.error.HTTPError as error:
            raise Failed(f"moto refuses {service} {path}: {error.read().decode()[:300]}")

    def _iam(self, **parameters):
        data = urllib.parse.urlencode({**parameters, "Version": "2010-05-08"}).encode()
        return self._send("iam", "/", data, {"Content-Type": "application/x-www-form-urlencoded"}, "POST").decode()

    def call(self, service, target, body):
        headers = {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": target}
        return json.loads(self._send(service, "/", json.dumps(body).encode(), headers, "POST") or b"{}")

    def check_signatures(self, is_on):
        self._send("moto-api", "/moto-api/reset-auth", b"0" if is_on else b"inf", {"Content-Type": "text/plain"}, "POST")

    def kinesis(self):
        """The partition key and the data of each record."""
        shard = {"StreamName": "events", "ShardId": "shardId-000000000000", "ShardIteratorType": "TRIM_HORIZON"}
        iterator = self.call("kinesis", "Kinesis_20131202.GetShardIterator", shard)["ShardIterator"]
        while True:
            page = self.call("kinesis", "Kinesis_20131202.GetRecords", {"ShardIterator": iterator, "Limit": 10_000})
            if not page["Records"]:
                return
            for record in page["Records"]:
                yield record["PartitionKey"], json.loads(base64.b64decode(record["Data"]))
            iterator = page["NextShardIterator"]

    def firehose(self):
        """The lines of each object in the bucket."""
        host = {"Host": "s3.amazonaws.com"}
        listing = self._send("s3", "/bucket?list-type=2", None, host, "GET").decode()
        for key in re.findall("<Key>(.*?)</Key>", listing):
            for line in self._send("s3", f"/bucket/{key}", None, host, "GET").decode().removesuffix("\n").split("\n"):
                yield json.loads(line)


def compare(rows, lines):
    """Compares every field of every event with its line. The order of ids is that of tracking."""
    rows = sorted(rows, key=lambda row: row["id"])
    same("events", len(rows), len(lines))
    for number, (row, line) in enumerate(zip(rows, lines), 1):
        expected = log.event(line)
        same(f"properties of event {number}", row["properties"], expected["properties"])
        same(f"name and time of event {number}", (row["event"], row["time"]), ("page_view", expected["time"]))
        same(f"person of event {number}", (row["distinct_id"], row["anonymous_id"]), (expected["client"],) * 2)


def run(machine):
    """Every line becomes a record with the same fields in Kinesis, and a line in an object of Firehose. A wrong key loses
    nothing."""
    server = Server(machine)
    lines = machine.requests[:machine.trials(full=10_000, default=2_500)]
    url = f"http://127.0.0.1:{server.port}/"
    os.environ["AWS_ACCESS_KEY_ID"], secret = server.keys
    server.check_signatures(True)
    for kind in ("kinesis", "firehose"):
        store = machine.folder("store")
        os.environ["AWS_SECRET_ACCESS_KEY"] = secret[::-1]
        status, counts, _ = machine.deliver(lines, url, f"{kind}:events", store, deadline=0)
        same(f"{kind} with a wrong key", (status, counts["delivered"], counts["waiting"]), (2, 0, len(lines)))
        os.environ["AWS_SECRET_ACCESS_KEY"] = secret
        status, counts, said = machine.deliver([], url, f"{kind}:events", store)
        same(f"exit status, delivered by {kind}", (status, counts["delivered"]), (0, len(lines)))
    server.check_signatures(False)
    records = list(server.kinesis())
    same("partition keys", [key for key, _ in records], [row["distinct_id"] for _, row in records])
    compare([row for _, row in records], lines)
    compare(server.firehose(), lines)
    return (f"{len(lines)} events are as many records of Kinesis and lines of Firehose, the same field for field; "
            "a wrong key held them")
