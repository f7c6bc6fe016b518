"""Objects of a bucket: one signed PUT for each date of a batch, with its lines as a gzip file."""

import hashlib
import hmac
import re
import uuid
from urllib.parse import unquote

from .lines import compare_lines, newline_separated
from .source import iso

HOST = "shop.s3.eu-central-1.amazonaws.com"
FIRST, LAST = -62_135_596_800_000, 253_402_300_799_999  # The years 1 to 9999.


def date(event):
    return iso(min(max(event.time, FIRST), LAST))[:10]


def name(events):
    """The first id, FNV-1a of the words of all ids, and their number."""
    value = 0xCBF29CE484222325
    for event in events:
        number = uuid.UUID(event.id).int
        for word in (number >> 64, number & (1 << 64) - 1):
            value = (value ^ word) * 0x100000001B3 & (1 << 64) - 1
    return f"{events[0].id}-{value:x}-{len(events)}.ndjson.gz"


def sign(request):
    request.headers["x-amz-content-sha256"] = hashlib.sha256(request.body).hexdigest()
    request.headers["authorization"] = signature(request)


def signature(request):
    """Signature Version 4 of S3, by the standard library. Its path is encoded once."""
    digest, moment = hashlib.sha256(request.body).hexdigest(), request.headers.get("x-amz-date", "")
    headers = {"content-type": "application/gzip", "host": HOST, "x-amz-content-sha256": digest, "x-amz-date": moment}
    names = ";".join(headers)
    lines = ["PUT", request.path, "", *(f"{name}:{value}" for name, value in headers.items()), "", names, digest]
    scope, key = f"{moment[:8]}/eu-central-1/s3/aws4_request", b"AWS4key"
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    hashed = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    signed = hmac.digest(key, "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashed]).encode(), "sha256").hex()
    return f"AWS4-HMAC-SHA256 Credential=AKID/{scope}, SignedHeaders={names}, Signature={signed}"


def check(record, findings):
    dates = {}
    for event in record.sent:
        dates.setdefault(date(event), []).append(event)
    findings.expect(len(record.requests) == len(dates), "the number of objects", (len(record.requests), len(dates)))
    for request, (day, events) in zip(record.requests, dates.items()):
        path = f"/events/date={day}/{name(events)}"
        found = request.method, request.base, unquote(request.path)
        findings.expect(found == ("PUT", f"https://{HOST}", path), "the object", (found, path))
        findings.expect(not request.query and not request.is_gzip, "a query or a content encoding", request.headers)
        findings.expect(request.headers.get("if-none-match") == "*", "the condition", request.headers)
        moment = re.sub("[-:]", "", request.sent_at[:19]) + "Z" if request.sent_at else request.headers.get("x-amz-date")
        findings.expect(request.headers.get("x-amz-date") == moment, "the date", request.headers)
        found = request.headers.get("authorization")
        findings.expect(found == signature(request), "the signature", (found, request.headers))
        compare_lines(findings, newline_separated(findings, request), events)
