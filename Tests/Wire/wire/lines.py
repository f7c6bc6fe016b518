"""Formats whose records are the stored lines: collectors, ClickHouse, Elasticsearch, Loki, Kafka and Datadog."""

import base64
import json

from .source import is_same, iso, parse


def only(record, findings, base, path, query=None, content_type="application/json", gzip=True):
    """The only request of a batch, after a check of its URL and headers."""
    if not record.sent:
        findings.expect(not record.requests, "a request without events")
        return None
    if not findings.expect(len(record.requests) == 1, "more or less than one request", len(record.requests)):
        return None
    request = record.requests[0]
    findings.expect(request.method == "POST", "the method", request.method)
    findings.expect((request.base, request.path) == (base, path), "the URL", request.url)
    findings.expect(request.query == (query or {}), "the query", request.query)
    findings.expect(request.headers.get("content-type") == content_type, "the content type", request.headers)
    findings.expect(gzip or not request.is_gzip, "compressed, although the backend doesn't document it")
    return request


def together(findings, rows, events):
    findings.expect(len(rows) == len(events), "the number of records", f"{len(rows)} of {len(events)} events")
    return zip(rows, events)


def compare_lines(findings, rows, events):
    for row, event in together(findings, rows, events):
        findings.expect(is_same(row, event.line), "the fields of a record", (row, event.line))


def newline_separated(findings, request):
    text = request.text
    findings.expect("\\u005a" not in text.replace("\\\\", ""), "a date with the store's mark")
    findings.expect(text.endswith("\n"), "no newline at the end")
    # Only a newline separates: not U+2028 and the others that Python's splitlines() knows.
    return [parse(line) for line in text.removesuffix("\n").split("\n")]


def json_array(record, findings):
    compressed = record.requests and "9880" in record.requests[0].base
    base, path = ("https://host:9880", "/app.events") if compressed else ("https://host", "/events")
    if request := only(record, findings, base, path, gzip=compressed):
        compare_lines(findings, parse(request.text), record.sent)


def ndjson(record, findings):
    is_vector = record.requests and record.requests[0].path == "/"
    path = "/" if is_vector else "/events"
    if request := only(record, findings, "https://host", path, None, "application/x-ndjson", gzip=is_vector):
        compare_lines(findings, newline_separated(findings, request), record.sent)


def clickhouse(record, findings):
    """The request that ClickHouse 22.2 and later documents: identifiers as parameters, and a deduplication token."""
    if not record.requests:
        return
    request = record.requests[0]
    token = request.query.pop("insert_deduplication_token", "")
    findings.expect(token.startswith(record.sent[0].id), "the deduplication token", token)
    query = {
        "query": "INSERT INTO {database:Identifier}.{table:Identifier} FORMAT JSONEachRow",
        "param_database": "my db", "param_table": "events",
        "input_format_skip_unknown_fields": "1", "date_time_input_format": "best_effort",
    }
    if request := only(record, findings, "https://host:8443", "/", query, "application/x-ndjson"):
        keys = request.headers.get("x-clickhouse-user"), request.headers.get("x-clickhouse-key")
        findings.expect(keys == ("w", "key"), "the credentials", keys)
        rows = newline_separated(findings, request)
        for row, event in together(findings, rows, record.sent):
            # Version 26.8 and later read a plain number as seconds.
            time = str(event.time) if 10**12 <= event.time < 10**13 else iso(event.time)
            findings.expect(is_same(row, event.line | {"time": time}), "the fields of a record", (row, event.line))


def clickhouse_legacy(record, findings):
    query = {
        "query": "INSERT INTO `default`.`wire` FORMAT JSONEachRow", "input_format_import_nested_json": "1",
        "input_format_skip_unknown_fields": "1", "date_time_input_format": "best_effort",
    }
    if request := only(record, findings, "http://host:8123", "/", query, "application/x-ndjson"):
        compare_lines(findings, newline_separated(findings, request), record.sent)


def elasticsearch(record, findings):
    """An action line and a document line for each event, each ended by a newline. The answer's size is limited by
    `filter_path`."""
    query = {"filter_path": "errors,items.*.status,items.*.error.type,items.*.error.reason"}
    request = only(record, findings, "https://host:9200", "/events/_bulk", query, "application/x-ndjson")
    if not request:
        return
    rows = newline_separated(findings, request)
    findings.expect(len(rows) % 2 == 0, "an action without a document")
    for (action, document), event in together(findings, list(zip(rows[::2], rows[1::2])), record.sent):
        findings.expect(is_same(action, {"create": {"_id": event.id}}), "the action", action)
        findings.expect(document.pop("@timestamp", None) == iso(event.time), "@timestamp", event.time)
        findings.expect(is_same(document, event.line), "the fields of a document", (document, event.line))


def loki(record, findings):
    """`streams` of `{stream: labels, values: [[nanoseconds, line, metadata]]}`. Labels and metadata are strings."""
    request = only(record, findings, "https://host:3100", "/loki/api/v1/push")
    if not request:
        return
    findings.expect(request.headers.get("x-scope-orgid") == "t1", "the tenant", request.headers)
    body = parse(request.text)
    findings.expect(body.keys() == {"streams"} and len(body["streams"]) == 1, "the streams", body.keys())
    stream = body["streams"][0]
    findings.expect(stream.keys() == {"stream", "values"}, "the keys of a stream", stream.keys())
    findings.expect(stream["stream"] == {"app": "shop", "env": "prod"}, "the labels", stream["stream"])
    for entry, event in together(findings, stream["values"], record.sent):
        if findings.expect(len(entry) == 3, "the parts of an entry", len(entry)):
            nanoseconds, line, metadata = entry
            findings.expect(nanoseconds == str(event.time * 1_000_000), "the time", (nanoseconds, event.time))
            findings.expect(is_same(parse(line), event.line), "the fields of a line", (line, event.line))
            findings.expect(metadata == {"event_id": event.id}, "the metadata", metadata)


def kafka(record, findings):
    """Version 2: `{"records":[{"key":…,"value":…}]}` with embedded JSON."""
    content_type = "application/vnd.kafka.json.v2+json"
    request = only(record, findings, "https://host:8082", "/topics/my.topic", None, content_type, gzip=False)
    if not request:
        return
    findings.expect(request.headers.get("accept") == "application/vnd.kafka.v2+json", "Accept", request.headers)
    body = parse(request.text)
    findings.expect(body.keys() == {"records"}, "the keys of the body", body.keys())
    for row, event in together(findings, body["records"], record.sent):
        keys = {"value"} if event.distinct is None else {"key", "value"}
        findings.expect(row.keys() == keys, "the keys of a record", row.keys())
        findings.expect(row.get("key") == event.distinct, "the key", (row.get("key"), event.distinct))
        findings.expect(is_same(row.get("value"), event.line), "the value", (row.get("value"), event.line))


def kafka_v3(record, findings):
    """Version 3: concatenated records. Data of the type STRING or JSON, and headers in Base64."""
    path = "/kafka/v3/clusters/c-1/topics/events/records"
    request = only(record, findings, "https://host", path, gzip=False)
    if not request:
        return
    rows, position, text, decoder = [], 0, request.text, json.JSONDecoder()
    while position < len(text):
        _, end = decoder.raw_decode(text, position)
        rows.append(parse(text[position:end]))
        position = end
        while position < len(text) and text[position] in " \t\r\n":
            position += 1
    for row, event in together(findings, rows, record.sent):
        expected = {
            "value": {"type": "JSON", "data": event.line},
            "headers": [{"name": "event_id", "value": base64.b64encode(event.id.encode()).decode()}],
        }
        if event.distinct is not None:
            expected["key"] = {"type": "STRING", "data": event.distinct}
        findings.expect(is_same(row, expected), "a record", (row, expected))


def datadog(record, findings):
    request = only(record, findings, "https://http-intake.logs.datadoghq.com", "/api/v2/logs")
    if not request:
        return
    findings.expect(request.headers.get("dd-api-key") == "key", "the key", request.headers)
    rows = parse(request.text)
    findings.expect(len(rows) <= 1_000 and len(request.body) <= 5_000_000, "the limits", (len(rows), len(request.body)))
    for row, event in together(findings, rows, record.sent):
        expected = {
            "ddsource": "sluice", "service": "shop", "ddtags": "env:prod", "timestamp": event.time,
            "message": event.name, "event_id": event.id, "properties": event.properties,
        }
        for name in ("distinct_id", "anonymous_id", "login_id"):
            if name in event.line:
                expected[name] = event.line[name]
        findings.expect(is_same(row, expected), "an entry", (row, expected))
