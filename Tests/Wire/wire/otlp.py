"""OTLP bodies, read by the JSON parser of protocol buffers with the published schema. Unknown fields are errors."""

from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from .lines import only, together
from .source import Date, iso

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
    findings.expect(len(message.resource_logs) == 1, "the resources")
    resource = message.resource_logs[0]
    attributes = {pair.key: pair.value.string_value for pair in resource.resource.attributes}
    findings.expect(attributes.pop("service.name", None) == "shop", "service.name", attributes)
    known = {"telemetry.sdk.name": "Sluice", "telemetry.sdk.language": "swift"}
    attributes.pop("telemetry.sdk.version", None)
    findings.expect(attributes.items() <= known.items(), "the resource's attributes", attributes)
    findings.expect(len(resource.scope_logs) == 1, "the scopes")
    scope = resource.scope_logs[0]
    findings.expect(scope.scope.name == "Sluice", "the scope", scope.scope)
    for log, event in together(findings, scope.log_records, record.sent):
        nanoseconds = event.time * 1_000_000
        times = (log.time_unix_nano, log.observed_time_unix_nano)
        findings.expect(times[0] == nanoseconds and times[1] >= nanoseconds, "the times", (times, event.time))
        findings.expect(log.severity_number == 9, "the severity", log.severity_number)
        findings.expect(log.event_name == event.name, "the event's name", (log.event_name, event.name))
        findings.expect(is_any_value(log.body, event.name), "the body", log.body)
        own = {"event.id": event.id} | {name: id for name, id in event.line.items() if name in OWN}
        expected = own | event.outer(set(OWN))
        findings.expect(are_attributes(log.attributes, expected), "the attributes", (log.attributes, expected))
        others = {field.name for field, _ in log.ListFields()} - {
            "time_unix_nano", "observed_time_unix_nano", "severity_number", "severity_text", "event_name", "body",
            "attributes"}
        findings.expect(not others, "further fields", others)
