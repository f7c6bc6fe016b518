"""OTLP bodies, read by the JSON parser of protocol buffers with the published schema. Unknown fields are errors."""

import re

from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from .lines import only, together
from .source import Date, iso

# OpenTelemetry's names for the source of events.
RESOURCE = {"$app_version": "service.version", "$app_build": "app.build_id", "$os_name": "os.name",
            "$os_version": "os.version", "$manufacturer": "device.manufacturer", "$model": "device.model.identifier",
            "$host_name": "host.name", "$architecture": "host.arch"}
VERSION = re.compile(r"\d+\.\d+\.\d+([-+].+)?")
OWN = ("event.id", "distinct_id", "anonymous_id", "login_id")


def is_any_value(found, expected):
    """Whether an `AnyValue` is a property's value, of the same type."""
    kind = found.WhichOneof("value")
    if expected is None:
        return kind is None
    if isinstance(expected, bool):
        return kind == "bool_value" and found.bool_value is expected
    if isinstance(expected, Date):
        return kind == "string_value" and found.string_value == iso(expected)
    if isinstance(expected, int):
        return kind == "int_value" and found.int_value == expected
    if isinstance(expected, float):
        return kind == "double_value" and found.double_value == expected
    if isinstance(expected, str):
        return kind == "string_value" and found.string_value == expected
    if isinstance(expected, list):
        values = found.array_value.values
        return kind == "array_value" and len(values) == len(expected) and all(
            is_any_value(one, other) for one, other in zip(values, expected))
    return kind == "kvlist_value" and are_attributes(found.kvlist_value.values, expected)


def are_attributes(found, expected):
    names = [pair.key for pair in found]
    return len(set(names)) == len(names) and set(names) == expected.keys() and all(
        is_any_value(pair.value, expected[pair.key]) for pair in found)


def check(record, findings):
    request = only(record, findings, "https://host:4318", "/v1/logs")
    if not request:
        return
    message = ExportLogsServiceRequest()
    # A property of 32 levels needs more than the default of 100 levels of messages.
    json_format.Parse(request.text, message, ignore_unknown_fields=False, max_recursion_depth=1_000)
    logs = []
    for resource in message.resource_logs:
        findings.expect(len(resource.scope_logs) == 1, "the scopes")
        scope = resource.scope_logs[0]
        findings.expect(scope.scope.name == "Sluice", "the scope", scope.scope)
        findings.expect(VERSION.fullmatch(scope.scope.version), "the scope's version", scope.scope)
        findings.expect(scope.log_records, "a resource without records")
        logs += [(log, resource.resource.attributes) for log in scope.log_records]
    resources = []
    for (log, attributes), event in together(findings, logs, record.sent):
        source = {new: event.properties[old] for old, new in RESOURCE.items() if old in event.properties}
        resource = {"service.name": "shop", "telemetry.sdk.name": "Sluice", "telemetry.sdk.language": "swift"} | source
        version = [pair.value.string_value for pair in attributes if pair.key == "telemetry.sdk.version"]
        findings.expect(len(version) == 1 and VERSION.fullmatch(version[0]), "telemetry.sdk.version", version)
        found = [pair for pair in attributes if pair.key != "telemetry.sdk.version"]
        findings.expect(are_attributes(found, resource), "the resource's attributes", (found, event.line))
        if not resources or resources[-1] != resource:
            resources.append(resource)
        compare(findings, log, event)
    findings.expect(len(message.resource_logs) == len(resources), "events of one source have several resources")


def compare(findings, log, event):
    nanoseconds = event.time * 1_000_000
    times = (log.time_unix_nano, log.observed_time_unix_nano)
    findings.expect(times[0] == nanoseconds and times[1] >= nanoseconds, "the times", (times, event.time))
    findings.expect(log.severity_number == 9, "the severity", log.severity_number)
    findings.expect(log.event_name == event.name, "the event's name", (log.event_name, event.name))
    findings.expect(is_any_value(log.body, event.name), "the body", log.body)
    own = {"event.id": event.id} | {name: id for name, id in event.line.items() if name in OWN}
    expected = own | event.outer(set(OWN), event.rest(*RESOURCE))
    findings.expect(are_attributes(log.attributes, expected), "the attributes", (log.attributes, expected))
    others = {field.name for field, _ in log.ListFields()} - {
        "time_unix_nano", "observed_time_unix_nano", "severity_number", "severity_text", "event_name", "body",
        "attributes"}
    findings.expect(not others, "further fields", others)
