"""Analytics services: each body against a JSON Schema, and each event against the record type of its verb."""

import base64
import json
import os
import re
from functools import cache

from jsonschema import Draft202012Validator

from .lines import only
from .source import is_same, iso, parse

SCHEMAS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "schemas")
VERSION = re.compile(r"\d+\.\d+\.\d+([-+].+)?")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
# On every event of an `Identity` with groups or further ids.
IDENTITY = ("$groups", "$identities")
# The names of Segment's specification and of Amplitude's SDKs: of events, and of their properties.
APPLICATION = (
    {"$AppStart": "Application Opened", "$AppEnd": "Application Backgrounded", "$AppInstall": "Application Installed",
     "$AppUpdate": "Application Updated"},
    {"$app_version": "version", "$app_build": "build", "$previous_version": "previous_version",
     "$previous_build": "previous_build", "$resume_from_background": "from_background"})
AMPLITUDE = (
    {name: "[Amplitude] " + other for name, other in APPLICATION[0].items()}
    | {"$SessionStart": "session_start", "$SessionEnd": "session_end"},
    {"$app_version": "[Amplitude] Version", "$app_build": "[Amplitude] Build",
     "$previous_version": "[Amplitude] Previous Version", "$previous_build": "[Amplitude] Previous Build",
     "$resume_from_background": "[Amplitude] From Background"})


@cache
def validator(name):
    with open(os.path.join(SCHEMAS, name + ".json")) as file:
        schema = json.load(file)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def validate(findings, name, body):
    for error in validator(name).iter_errors(body):
        place = "/".join("*" if isinstance(step, int) else str(step) for step in error.absolute_path)
        findings.expect(False, f"schema of {name}: {place}: {error.validator}", error.message)


def basic(user, password=""):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def by_id(findings, rows, key, record, may_be_missing=(), elsewhere=()):
    """Pairs of a record and its event. `may_be_missing` are the verbs that the backend has no record type for, and
    `elsewhere` those with a request of their own."""
    found = {}
    for row in rows:
        id = key(row)
        findings.expect(id not in found, "an id occurs twice", id)
        found[id] = row
    events = {event.id: event for event in record.events}
    order = [id for id in found if id in events]
    findings.expect(len(order) == len(found), "a record of an unknown event", found.keys() - events.keys())
    findings.expect(order == [event.id for event in record.events if event.id in found], "the order of the records")
    for event in record.sent:
        if event.id in found:
            yield found[event.id], event
        elif event.verb in elsewhere:
            continue
        elif event.verb in may_be_missing:
            findings.note(f"{event.verb} is not sent")
        else:
            findings.expect(False, f"no record of {event.verb}", event.line)


def is_merge(found, *parts):
    """Whether an object consists of these properties, of which later ones are optional: pairs of (properties, optional)."""
    required, allowed = {}, {}
    for properties, is_optional in reversed(parts):
        allowed |= properties
        required |= {} if is_optional else properties
    return isinstance(found, dict) and required.keys() <= found.keys() <= allowed.keys() and all(
        is_same(found[name], allowed[name]) for name in found)


def split(properties, movable):
    """The properties that must be where they are, and those that may be in a field of their own instead."""
    fixed = {name: value for name, value in properties.items() if name not in movable}
    return fixed, {name: value for name, value in properties.items() if name in movable}


def login_properties(event):
    """The properties that were passed to a login: only they are the person's."""
    return event.properties.get("$set", {})


def expect_fields(findings, row, event, fields):
    """Automatic properties in fields of their own: {property: (path, function)}."""
    for name, (path, change) in fields.items():
        if name not in event.properties:
            continue
        found = row
        for step in path:
            found = found.get(step) if isinstance(found, dict) else None
        expected = event.properties[name]
        allowed = change(expected) if change else [expected]
        findings.expect(any(is_same(found, one) for one in allowed), f"{name} in {'.'.join(path)}", (found, expected))


def leaves(value, path=()):
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, path + (name,))
    else:
        yield path, value


def text(value):
    return isinstance(value, str)


def locale(identifier):
    return [identifier, identifier.replace("_", "-")]


def renamed(properties, names):
    """The properties under a backend's own names for some of them, unless they have a property of that name."""
    return {names[name] if name in names and names[name] not in properties else name: value
            for name, value in properties.items()}


# Segment and RudderStack

SEGMENT_FIELDS = {
    "$app_name": (("context", "app", "name"), None), "$app_version": (("context", "app", "version"), None),
    "$app_build": (("context", "app", "build"), None), "$app_id": (("context", "app", "namespace"), None),
    "$os_version": (("context", "os", "version"), None),
    "$manufacturer": (("context", "device", "manufacturer"), None), "$model": (("context", "device", "model"), None),
    "$locale": (("context", "locale"), locale), "$timezone": (("context", "timezone"), None),
    "$screen_width": (("context", "screen", "width"), None), "$screen_height": (("context", "screen", "height"), None),
    "$wifi": (("context", "network", "wifi"), None), "$carrier": (("context", "network", "carrier"), None),
}
SEGMENT_MOVABLE = SEGMENT_FIELDS.keys() | {"$lib", "$lib_version", "$os", "$os_name", *IDENTITY}
# Segment has no record type for these.
SEGMENT_DOCUMENTED = ("$ProfileSetOnce", "$ProfileIncrement", "$ProfileAppend", "$ProfileUnset", "$ProfileDelete")


def segment(record, findings, base="https://api.segment.io", change=lambda row: row):
    is_rudderstack = base != "https://api.segment.io"
    request = only(record, findings, base, "/v1/batch")
    if not request:
        return
    findings.expect(request.headers.get("authorization") == basic("key"), "the key", request.headers)
    body = parse(request.text)
    findings.expect(len(request.body) <= 500_000, "more than 500 KB", len(request.body))
    findings.expect(body.get("sentAt") == request.sent_at, "sentAt", body.get("sentAt"))
    body["batch"] = [change(row) for row in body["batch"]]
    # Without RudderStack's own places, which are compared below.
    validate(findings, "segment", body if not is_rudderstack else body | {"batch": [
        {name: inner for name, inner in row.items() if name != "channel"}
        | {"context": {name: inner for name, inner in row.get("context", {}).items() if name != "sessionId"}}
        for row in body["batch"]]})
    for row, event in by_id(findings, body["batch"], lambda row: row.get("messageId"), record, SEGMENT_DOCUMENTED):
        segment_record(findings, row, event.under(APPLICATION), is_rudderstack)


def rudderstack(record, findings):
    """Segment's format with the times by which RudderStack's server corrects each event. It takes a `timestamp` as it is."""
    sent_at = record.requests[0].sent_at if record.requests else None

    def change(row):
        findings.expect("timestamp" not in row, "a timestamp", row)
        findings.expect(row.pop("sentAt", None) == sent_at, "sentAt of an event", row)
        return row | {"timestamp": row.pop("originalTimestamp", None)}

    segment(record, findings, "https://plane.example", change)


def segment_record(findings, row, event, is_rudderstack):
    row = dict(row)
    context = row["context"] = dict(row.get("context", {}))
    if is_rudderstack:
        # Its own places. Traits of a group are outside of the context.
        findings.expect(row.pop("channel", None) == "server", "channel", row)
        session = event.session_time
        findings.expect(context.pop("sessionId", None) == (session and session // 1_000), "context.sessionId", event.line)
        if row.get("type") == "identify":
            findings.expect("traits" not in row, "traits outside of the context", row)
            if "traits" in context:
                row["traits"] = context.pop("traits")
    else:
        findings.expect("channel" not in row, "a channel", row)
        findings.expect(UUID.fullmatch(str(context.pop("instanceId", None))), "context.instanceId", context)
    size = len(json.dumps(row, ensure_ascii=False).encode())
    findings.expect(size <= (4_096_000 if is_rudderstack else 32_768), "too large", size)
    findings.expect(row.get("timestamp") == iso(event.time), "the timestamp", (row.get("timestamp"), event.time))
    verb, properties = event.verb, event.properties
    types = {"$SignUp": "identify", "$Switch": "identify", "$Alias": "alias", "$GroupIdentify": "group",
             "$ProfileSet": "identify", "$AppViewScreen": "screen"}
    kind = row.get("type")
    if verb in SEGMENT_DOCUMENTED and kind != "track":
        types[verb] = "identify"
    if not findings.expect(kind == types.get(verb, "track"), f"the type of {verb}", kind):
        return

    user = event.user
    if verb == "$Alias":
        ids = {row.get("previousId"), row.get("userId")}
        findings.expect(ids == {properties["$alias"], event.person}, "the ids of an alias", (ids, event.line))
    else:
        findings.expect(row.get("userId") == user, "userId", (row.get("userId"), event.line))
    # A record needs one of the two ids, so an event without any has its own.
    anonymous = event.anonymous or (None if user else event.id)
    findings.expect(row.get("anonymousId") == anonymous, "anonymousId", (row.get("anonymousId"), event.line))

    def expect(name, required, *rest):
        found = row.get(name, {})
        fixed, movable = split(required, SEGMENT_MOVABLE)
        parts = [(fixed, False), (movable, True)] + [(part, True) for part in rest]
        findings.expect(is_merge(found, *parts), f"{name} of {verb}", (found, required))

    if kind == "track":
        name = "Order Completed" if verb == "$Revenue" else event.name
        findings.expect(row.get("event") == name, "the event's name", (row.get("event"), event.name))
        expect("properties", event.order if verb == "$Revenue" else properties)
    elif kind == "screen":
        findings.expect(row.get("name") == properties["$screen_name"], "the screen's name", row.get("name"))
        expect("properties", event.rest("$screen_name"), {"$screen_name": properties["$screen_name"]})
    elif verb in ("$SignUp", "$Switch", "$ProfileSet"):
        own = login_properties(event)
        findings.expect(bool(own) == ("traits" in row), f"empty traits of {verb}", (row, event.line))
        expect("traits", own)
    elif verb == "$GroupIdentify":
        findings.expect(row.get("groupId") == properties["$group_key"], "groupId", (row.get("groupId"), event.line))
        kind = {"$group_type": properties["$group_type"]}
        kind |= {name: properties["$group_type"] for name in ("groupType", "group_type", "type")}
        findings.expect("groupType" in row.get("traits", {}), "a group without its type", (row, event.line))
        expect("traits", properties.get("$group_set", {}), event.rest("$group_type", "$group_key", "$group_set"), kind)
    elif verb == "$ProfileSetOnce":
        expect("traits", properties["$set_once"], event.rest("$set_once"))

    expect_fields(findings, row, event, SEGMENT_FIELDS)
    if event.anonymous is not None:
        findings.expect("id" in context.get("device", {}), "no context.device.id", context)
    if "device" in context:
        is_typed = text(properties.get("$os")) == ("type" in context["device"])
        findings.expect(is_typed, "context.device.type without $os, or the reverse", context)
    library = context.pop("library", {})
    name = properties.get("$lib", "Sluice")
    findings.expect(library.get("name") == name, "context.library.name", library)
    findings.expect(isinstance(library.get("version"), str) and VERSION.fullmatch(library["version"]),
                    "context.library.version", library)
    group = context.pop("groupId", None)
    if verb == "$GroupIdentify":
        findings.expect(group in (None, properties["$group_key"], *event.groups.values()), "context.groupId", group)
    elif event.groups:
        findings.expect(group in event.groups.values(), "context.groupId of an event with $groups", (group, event.groups))
    elif not isinstance(properties.get("$groups"), dict):
        findings.expect(group is None, "context.groupId without $groups", group)
    if "$os_name" in properties:
        system = context.get("os", {}).get("name")
        findings.expect(system in (properties["$os_name"], properties.get("$os")), "context.os.name", system)
    known = {path[1:] for path, _ in SEGMENT_FIELDS.values()}
    network = {("network", "wifi"), ("network", "cellular"), ("network", "bluetooth")}
    for path, leaf in leaves(context):
        if path == ("device", "id"):
            own = properties.get("$device_id")
            findings.expect(leaf == (own if text(own) else event.anonymous), "context.device.id", leaf)
        elif path == ("device", "type"):
            findings.expect(leaf == str(properties.get("$os")).lower(), "context.device.type", leaf)
        elif path == ("ip",):
            findings.expect(leaf == "0.0.0.0", "context.ip", leaf)
        elif path in network and "$network_type" in properties:
            findings.expect(leaf is (properties["$network_type"] == path[1]), "context.network", (path, leaf))
        elif path == ("traits",) or path[0] == "traits":
            findings.expect(leaf == {}, "context.traits", leaf)
        else:
            is_known = path in known and any(
                where == ("context",) + path and name in properties for name, (where, _) in SEGMENT_FIELDS.items())
            is_known |= path == ("os", "name") and "$os_name" in properties
            findings.expect(is_known, f"context.{'.'.join(path)} without a property", leaf)


# PostHog

POSTHOG_DOCUMENTED = ("$ProfileIncrement", "$ProfileAppend", "$ProfileDelete")


POSTHOG_SWITCHES = {"$cookieless_mode": "cookieless_mode", "$ignore_sent_at": "disable_skew_correction",
                    "$process_person_profile": "process_person_profile"}
POSTHOG_LIFTED = ("$session_id", "$window_id", "$product_tour_id", "$lib", "$lib_version", *POSTHOG_SWITCHES)


def switch(value):
    """What the SDKs read from a property for a control; None if nothing."""
    if isinstance(value, str):
        return {"true": True, "1": True, "false": False, "0": False}.get(value.replace(" ", "").lower())
    return bool(value) if type(value) in (bool, int, float) else None


def stays(name, value):
    """Whether a value can't be elsewhere in version 1. It stays, with a prefix."""
    if name in ("$lib", "$lib_version") or value is None:
        return False
    return switch(value) is None if name in POSTHOG_SWITCHES else not isinstance(value, str)


def posthog(record, findings):
    """Version 1: the library and the key in headers, and controls beside the properties."""
    request = only(record, findings, "https://us.i.posthog.com", "/i/v1/analytics/events")
    if not request:
        return
    body, headers = parse(request.text), request.headers
    findings.expect(len(request.body) <= 20_000_000, "more than 20 MB", len(request.body))
    findings.expect(headers.get("authorization") == "Bearer key", "the key", headers)
    name, version = headers.get("posthog-sdk-info", "/").split("/")
    findings.expect(name == "Sluice" and VERSION.fullmatch(version), "PostHog-Sdk-Info", headers)
    findings.expect(headers.get("posthog-attempt") == "1", "PostHog-Attempt", headers)
    findings.expect(UUID.fullmatch(headers.get("posthog-request-id", "")), "PostHog-Request-Id", headers)
    findings.expect(headers.get("posthog-request-timestamp") == request.sent_at, "PostHog-Request-Timestamp", headers)
    findings.expect(body.keys() == {"created_at", "batch"}, "the keys of the body", body.keys())
    findings.expect(body.get("created_at") == request.sent_at, "created_at", body.get("created_at"))
    rows = [row for row in body["batch"]]
    older = []
    for row, event in by_id(findings, rows, lambda row: row.get("uuid"), record, POSTHOG_DOCUMENTED):
        older.append(as_batch(findings, row, event))
        lifted = event.rest(*POSTHOG_LIFTED) | {
            "properties." + name: value for name, value in event.properties.items()
            if name in POSTHOG_LIFTED and stays(name, value)}
        if "$process_person_profile" in event.properties:
            lifted["$process_person_profile"] = older[-1]["properties"]["$process_person_profile"]
        posthog_record(findings, older[-1], event.holding(lifted).under(APPLICATION))
    validate(findings, "posthog", {"api_key": "key", "sent_at": request.sent_at, "batch": older})


def as_batch(findings, row, event):
    """The event as in `/batch`, after checks of what is elsewhere in version 1."""
    source, keys = event.properties, {"event", "uuid", "distinct_id", "timestamp", "options", "properties"}
    for name, key in {"$session_id": "session_id", "$window_id": "window_id"}.items():
        expected = source.get(name) if isinstance(source.get(name), str) else None
        findings.expect(row.get(key) == expected and (key in row) == (expected is not None), key, (row, event.line))
    findings.expect(row.keys() - {"session_id", "window_id"} == keys, "the keys of an event", row.keys())
    options, properties = dict(row["options"]), dict(row["properties"])
    for name, key in POSTHOG_SWITCHES.items():
        found = options.pop(key, None)
        if name in source:
            findings.expect(found is switch(source[name]), f"options.{key}", (found, source[name]))
            if key == "process_person_profile":
                properties[name] = found is True
        elif key == "process_person_profile":
            findings.expect(isinstance(found, bool), f"options.{key}", found)
            properties[name] = found
        else:
            findings.expect(found is None, f"options.{key} without a property", found)
    tour = source.get("$product_tour_id")
    expected = tour if isinstance(tour, str) else None
    findings.expect(options.pop("product_tour_id", None) == expected, "options.product_tour_id", event.line)
    findings.expect(not options, "unknown options", options)
    for name in POSTHOG_LIFTED:
        findings.expect(name not in row["properties"], f"{name} among the properties", row)
    properties = {"$lib": "Sluice", "$lib_version": "1.0.0"} | properties
    if event.verb in ("$SignUp", "$Alias"):
        findings.expect("distinct_id" not in row["properties"] or "distinct_id" in source, "distinct_id twice", row)
        properties.setdefault("distinct_id", row["distinct_id"])
    return {key: row[key] for key in ("event", "uuid", "distinct_id", "timestamp")} | {"properties": properties}


def posthog_batch(record, findings):
    request = only(record, findings, "https://us.i.posthog.com", "/batch")
    if not request:
        return
    body = parse(request.text)
    findings.expect(len(request.body) <= 20_000_000, "more than 20 MB", len(request.body))
    findings.expect(body.get("api_key") == "key", "the key", body.get("api_key"))
    findings.expect(body.get("historical_migration") in (False, None), "historical_migration")
    findings.expect(body.get("sent_at") == request.sent_at, "sent_at", body.get("sent_at"))
    validate(findings, "posthog", body)
    for row, event in by_id(findings, body["batch"], lambda row: row.get("uuid"), record, POSTHOG_DOCUMENTED):
        posthog_record(findings, row, event.under(APPLICATION))


def posthog_record(findings, row, event):
    findings.expect(row.get("timestamp") == iso(event.time), "the timestamp", (row.get("timestamp"), event.time))
    findings.expect(row.get("distinct_id") == (event.person or event.id), "distinct_id", (row, event.line))
    verb, source, found = event.verb, event.properties, dict(row.get("properties", {}))
    names = {"$SignUp": "$identify", "$Switch": "$set", "$Alias": "$create_alias", "$GroupIdentify": "$groupidentify",
             "$ProfileSet": "$set", "$ProfileSetOnce": "$set", "$ProfileUnset": "$set", "$AppViewScreen": "$screen",
             "$Revenue": "Order Completed"}
    changed = {"$Switch": "$set", "$ProfileSet": "$set", "$ProfileSetOnce": "$set_once", "$ProfileUnset": "$unset"}.get(verb)
    if changed and not source.get(changed):
        # The vendor's SDKs send no change of nothing, so it is an event.
        del names[verb]
        verb, source = "track", event.rest(changed)
    name = names.get(verb, event.name)
    if not findings.expect(row.get("event") == name, f"the event's name of {verb}", row.get("event")):
        return

    # What the format adds to an event's own properties.
    findings.expect(found.get("$lib") == source.get("$lib", "Sluice"), "$lib", found.get("$lib"))
    findings.expect(isinstance(found.get("$lib_version"), str) and VERSION.fullmatch(found["$lib_version"]),
                    "$lib_version", found.get("$lib_version"))
    is_plain = verb in ("track", "$AppViewScreen", "$Revenue") and not isinstance(source.get("$groups"), dict)
    mark = found.get("$process_person_profile")
    if "$process_person_profile" in source:
        findings.expect(is_same(mark, source["$process_person_profile"]), "the host's $process_person_profile", mark)
    elif event.user is None and is_plain:
        findings.expect(mark is False, "$process_person_profile before a login", (mark, event.line))
    elif event.user is not None or verb in names:
        findings.expect(mark in (None, True), f"$process_person_profile of {verb}", (mark, event.line))
    else:
        # A group, or a change that PostHog has no record type for, may count as a sign of a person.
        findings.expect(mark in (None, True, False), f"$process_person_profile of {verb}", (mark, event.line))
    added = {"$geoip_disable": True, "$is_server": True, "$is_identified": event.user is not None,
             "$process_person_profile": mark, "$lib": found.get("$lib"), "$lib_version": found.get("$lib_version")}
    if event.anonymous is not None:
        added |= {"$device_id": event.anonymous, "$anon_distinct_id": event.anonymous}
        known = "$device_id" in source or event.anonymous in (found.get("$device_id"), found.get("$anon_distinct_id"))
        findings.expect(known, "the anonymous id", (found, event.line))
    if event.user is not None:
        added["$user_id"] = event.user
    added = {name: value for name, value in added.items() if name not in source}

    def expect(required, *rest):
        parts = [(required, False)] + [(part, True) for part in rest] + [(added, True)]
        parts = [(renamed(part, {"$app_id": "$app_namespace"}), is_optional) for part, is_optional in parts]
        findings.expect(is_merge(found, *parts), f"the properties of {verb}", (found, required))

    def take(name, required, is_optional=False):
        inner = found.pop(name, {} if is_optional else None)
        findings.expect(is_same(inner, required), f"{name} of {verb}", (inner, required))

    if verb == "$SignUp":
        take("$anon_distinct_id", source["$original_id"])
        take("$set", login_properties(event), is_optional=True)
        expect({"distinct_id": row.get("distinct_id")} | event.rest("$original_id", "$set"))
    elif verb == "$Switch":
        expect(event.rest("$original_id", "$switches_user"))
    elif verb == "$Alias":
        take("alias", source["$alias"])
        expect({"distinct_id": row.get("distinct_id")}, event.rest("$alias"))
    elif verb == "$GroupIdentify":
        take("$group_set", source.get("$group_set", {}), is_optional=True)
        expect(event.rest("$group_set", *IDENTITY), split(source, IDENTITY)[1])
    elif verb in ("$ProfileSet", "$ProfileSetOnce", "$ProfileUnset"):
        key = {"$ProfileSet": "$set", "$ProfileSetOnce": "$set_once", "$ProfileUnset": "$unset"}[verb]
        take(key, source[key])
        expect(event.rest(key, *IDENTITY), split(source, IDENTITY)[1])
    elif verb == "$Revenue":
        expect(event.order)
    else:
        expect(source)


# Amplitude

AMPLITUDE_FIELDS = {
    "$app_version": (("app_version",), None), "$os_name": (("os_name",), None), "$os_version": (("os_version",), None),
    "$manufacturer": (("device_manufacturer",), None), "$model": (("device_model",), None),
    "$carrier": (("carrier",), None), "$country": (("country",), None),
    "$locale": (("language",), lambda it: [*locale(it), it.split("_")[0], it.split("-")[0]]),
}
AMPLITUDE_MOVABLE = AMPLITUDE_FIELDS.keys() | {"$os", "$lib", "$lib_version", "$session_id", *IDENTITY}
AMPLITUDE_DOCUMENTED = ("$Alias", "$ProfileDelete")
AMPLITUDE_OPERATIONS = {"$ProfileSet": ("$set", "$set"), "$ProfileSetOnce": ("$setOnce", "$set_once"),
                        "$ProfileIncrement": ("$add", "$increment"), "$ProfileAppend": ("$append", "$append")}

AMPLITUDE_CHANGES = {"$SignUp": "$set", "$Switch": "$set", "$ProfileUnset": "$unset",
                     **{verb: ours for verb, (_, ours) in AMPLITUDE_OPERATIONS.items()}}


def amplitude(record, findings):
    request = only(record, findings, "https://api2.amplitude.com", "/2/httpapi")
    if not request:
        return
    body = parse(request.text)
    findings.expect(len(request.body) <= 1_048_576, "more than 1 MB", len(request.body))
    findings.expect(body.get("api_key") == "key", "the key", body.get("api_key"))
    findings.expect(body.get("options", {}).get("min_id_length") == 1, "min_id_length", body.get("options"))
    findings.expect(body.get("client_upload_time") == request.sent_at, "client_upload_time", request.sent_at)
    validate(findings, "amplitude", body)
    rows, joins = [], {}
    for row in body["events"]:
        # A person who joins a group is a second record, right behind the group's.
        if str(row.get("insert_id")).endswith("-join"):
            id = row["insert_id"].removesuffix("-join")
            if not (rows and rows[-1].get("insert_id") == id):
                rows.append(dict(row) | {"insert_id": id})  # A group without properties: the join alone.
            joins[id] = row
        else:
            rows.append(row)
    for row, event in by_id(findings, rows, lambda row: row.get("insert_id"), record, AMPLITUDE_DOCUMENTED):
        if event.verb == "$GroupIdentify":
            # Without properties of the group, the vendor's SDKs send the join alone.
            groups = {event.properties["$group_type"]: event.properties["$group_key"]}
            join = dict(row) | {"event_type": "$identify", "insert_id": event.id + "-join"}
            join |= {"groups": groups, "user_properties": {"$set": groups}}
            join.pop("group_properties", None)
            findings.expect(is_same(joins.pop(event.id, None), join), "a join", (row, event.line))
            if not event.properties.get("$group_set"):
                findings.expect(row["event_type"] == "$identify", "a change of nothing", row)
                amplitude_fields(findings, row, event.under(AMPLITUDE))
                continue
        amplitude_record(findings, row, event.under(AMPLITUDE))
    findings.expect(not joins, "joins of other events", joins)


def amplitude_fields(findings, row, event):
    """What every record has."""
    findings.expect(row.get("time") == event.time, "the time", (row.get("time"), event.time))
    findings.expect(row.get("session_id") == event.session_time, "session_id", (row.get("session_id"), event.line))
    user = event.user
    findings.expect(row.get("user_id") == user, "user_id", (row.get("user_id"), event.line))
    device = event.anonymous or (None if user else event.id)
    findings.expect(row.get("device_id") == device, "device_id", (row.get("device_id"), event.line))
    if "library" in row:
        is_library = isinstance(row["library"], str) and re.fullmatch(r"Sluice/\d+\.\d+\.\d+", row["library"])
        findings.expect(is_library, "library", row["library"])
    if "ip" in row:
        findings.expect(row["ip"] == "$remote", "ip", row["ip"])


def amplitude_record(findings, row, event):
    verb, source = event.verb, event.properties
    if verb in AMPLITUDE_CHANGES and not source.get(AMPLITUDE_CHANGES[verb]):
        verb = "track"  # The vendor's SDKs send no change of nothing, so it is an event.
    names = {verb: "$identify" for verb in (*AMPLITUDE_OPERATIONS, "$SignUp", "$Switch", "$ProfileUnset")}
    names |= {"$GroupIdentify": "$groupidentify", "$AppViewScreen": "[Amplitude] Screen Viewed",
              "$Revenue": "revenue_amount"}
    name = names.get(verb, event.name)
    if verb == "$ProfileDelete" and row.get("event_type") == "$identify":
        name = "$identify"
    if not findings.expect(row.get("event_type") == name, f"the event_type of {verb}", row.get("event_type")):
        return
    amplitude_fields(findings, row, event)
    if name not in ("$identify", "$groupidentify"):
        findings.expect(row.get("groups", {}) == event.groups, "groups", (row.get("groups"), event.groups))
    elif name == "$identify" and "groups" in row:
        findings.expect(row["groups"] == event.groups, "groups of $identify", (row["groups"], event.groups))
    expect_fields(findings, row, event, AMPLITUDE_FIELDS)
    if "$os" in source:
        systems = source["$os"], source.get("$os_name")
        findings.expect(row.get("platform") in systems, "$os in platform", (row.get("platform"), systems))
    for field in ("platform", "os_name", "os_version", "app_version", "device_manufacturer", "device_model",
                  "device_brand", "carrier", "country", "language"):
        if field in row:
            values = [source.get(name) for name in AMPLITUDE_MOVABLE]
            is_known = any(is_same(row[field], value) for value in values)
            is_known |= field == "language" and "$locale" in source
            findings.expect(is_known, f"{field} without a property", row[field])

    def expect(field, required, *rest):
        found = row.get(field, {})
        fixed, movable = split(required, AMPLITUDE_MOVABLE)
        parts = [(fixed, False), (movable, True)] + [(part, True) for part in rest]
        findings.expect(is_merge(found, *parts), f"{field} of {verb}", (found, required))

    operations = row.get("user_properties", {})
    if name == "$identify":
        expect("event_properties", {}, source)
        if verb in ("$SignUp", "$Switch"):
            own = login_properties(event)
            findings.expect(is_same(operations.get("$set", operations), own), f"user_properties of {verb}",
                            (operations, own))
        elif verb == "$ProfileUnset":
            unset = operations.get("$unset", {})
            findings.expect(operations.keys() == {"$unset"} and sorted(unset) == sorted({*source["$unset"]}),
                            "user_properties of $ProfileUnset", (operations, source))
            findings.expect(all(value == "-" for value in unset.values()), "the values of $unset", unset)
        elif verb == "$ProfileDelete":
            findings.expect(operations == {"$clearAll": "-"}, "user_properties of $ProfileDelete", operations)
        else:
            key, ours = AMPLITUDE_OPERATIONS[verb]
            findings.expect(is_same(operations, {key: source[ours]}), f"user_properties of {verb}", (operations, source))
    elif name == "$groupidentify":
        groups = {source["$group_type"]: source["$group_key"]}
        findings.expect(row.get("groups") == groups, "groups of $GroupIdentify", (row.get("groups"), groups))
        operations = row.get("group_properties", {})
        found = operations.get("$set", operations)
        findings.expect(is_same(found, source.get("$group_set", {})), "group_properties", (operations, source))
        expect("event_properties", {}, source)
    else:
        findings.expect("user_properties" not in row, "user_properties of an event", operations)
        findings.expect("group_properties" not in row, "group_properties of an event")
        own = source
        if verb == "$AppViewScreen":
            own = event.rest("$screen_name") | {"[Amplitude] Screen Name": source["$screen_name"]}
        elif verb == "$Revenue":
            own = event.unpaid
        expect("event_properties", own)
    expected = dict.fromkeys(("revenue", "currency", "productId", "quantity", "price"))
    if verb == "$Revenue":
        expected = dict(zip(expected, event.revenue))
    for key, value in expected.items():
        findings.expect(is_same(row.get(key), value), key, (row.get(key), value))


# Mixpanel

MIXPANEL_OWN = {"time", "distinct_id", "$insert_id", "$device_id", "$user_id"}
MIXPANEL_PROFILES = {"$ProfileSet": ("$set", "$set"), "$ProfileSetOnce": ("$set_once", "$set_once"),
                     "$ProfileIncrement": ("$add", "$increment"), "$ProfileAppend": ("$append", "$append"),
                     "$ProfileUnset": ("$unset", "$unset"), "$ProfileDelete": ("$delete", None)}
MIXPANEL_OPERATIONS = {"$set", "$set_once", "$add", "$append", "$union", "$remove", "$unset", "$delete"}


def mixpanel(record, findings, project=None):
    rows = {"/import": [], "/engage": [], "/groups": []}
    for request in record.requests:
        findings.expect(request.method == "POST", "the method", request.method)
        findings.expect(request.base == "https://api.mixpanel.com", "the URL", request.url)
        if not findings.expect(request.path in rows, "an unknown endpoint", request.url):
            continue
        findings.expect(not rows[request.path], "two requests to one endpoint", request.path)
        findings.expect(request.headers.get("content-type") == "application/json", "the content type", request.headers)
        body = parse(request.text)
        findings.expect(len(body) <= 2_000 and len(request.body) <= 10_000_000, "the limits", len(request.body))
        validate(findings, "mixpanel-" + request.path[1:], body)
        rows[request.path] = body
        if request.path == "/import":
            query = {"strict": "1"} | ({"project_id": project} if project else {})
            findings.expect(request.query == query, "the query", request.query)
            key = basic("svc", "key") if project else basic("key")
            findings.expect(request.headers.get("authorization") == key, "the key", request.headers)
        else:
            # The documents exclude compressed bodies of /engage, and don't mention them for /groups.
            findings.expect(not request.is_gzip, f"{request.path} is compressed")
            findings.expect(request.query.items() <= {"verbose": "1", "ip": "0", "strict": "1"}.items(),
                            "the query", request.query)

    # A change of nothing is an event.
    def changes(event):
        _, ours = MIXPANEL_PROFILES[event.verb]
        inner = event.properties.get(ours)
        return any(inner.values()) if event.verb == "$ProfileAppend" else bool(ours is None or inner)

    logins = [event for event in record.sent if event.verb in ("$SignUp", "$Switch") and login_properties(event)
              and mixpanel_person(event)]
    charges = [event for event in record.sent if event.verb == "$Revenue" and mixpanel_person(event)]
    changed = {event.id for event in [*logins, *charges]}
    profiles = [event for event in record.sent
                if event.verb in MIXPANEL_PROFILES and changes(event) or event.id in changed]
    groups = [event for event in record.sent if event.verb == "$GroupIdentify" and event.properties.get("$group_set")]
    records = {event.id for event in [*profiles, *groups]}
    fallback = (*MIXPANEL_PROFILES, "$GroupIdentify")
    # Without a token, profiles can't be changed. They may then be events.
    missing, elsewhere = (fallback, ()) if project else ((), fallback)
    id = lambda row: row.get("properties", {}).get("$insert_id")
    for row, event in by_id(findings, rows["/import"], id, record, missing, elsewhere):
        if project is None and event.verb in fallback:
            findings.expect(event.id not in records, f"{event.verb} is an event", row)
        mixpanel_event(findings, row, event, has_profiles=project is None)
    if project is None:
        mixpanel_profiles(findings, rows["/engage"], profiles)
        mixpanel_groups(findings, rows["/groups"], groups)


def mixpanel_person(event):
    """As the vendor's SDKs write it: an anonymous person's id is that of the device, with a prefix."""
    return event.user or (event.anonymous and "$device:" + event.anonymous)


def mixpanel_event(findings, row, event, has_profiles):
    verb, found = event.verb, row.get("properties", {})
    names = {"$SignUp": "$identify", "$Switch": "$identify", "$Alias": "$create_alias", "$Revenue": "Order Completed"}
    name = names.get(verb, event.name)
    is_named = row.get("event") == name or verb == "$SignUp" and row.get("event") == event.name
    findings.expect(is_named, f"the event's name of {verb}", row.get("event"))
    own = {"time": event.time, "$insert_id": event.id}
    findings.expect(found.get("time") == event.time, "the time", (found.get("time"), event.time))
    own["distinct_id"] = mixpanel_person(event) or ""
    findings.expect(found.get("distinct_id") == own["distinct_id"], "distinct_id", (found.get("distinct_id"), event.line))
    if event.anonymous is not None:
        own["$device_id"] = event.anonymous
    if event.user is not None:
        own["$user_id"] = event.user
    for id in ("$device_id", "$user_id"):
        findings.expect(found.get(id) == own.get(id), id, (found.get(id), event.line))
    optional = {"token": "key", "$ip": 0, "ip": 0, "mp_lib": "Sluice"}
    properties = event.properties
    if verb in ("$SignUp", "$Switch"):
        properties = event.rest("$set")
    elif verb == "$Revenue":
        properties = event.order
    if event.seconds is not None and "$duration" not in properties and "$event_duration" in properties:
        properties = {name: value for name, value in properties.items() if name != "$event_duration"}
        properties["$duration"] = event.seconds
    if not has_profiles and verb in ("$SignUp", "$Switch"):
        properties = event.properties.get("$set", {}) | properties
    verbs, source = {}, event.outer(MIXPANEL_OWN, properties)
    if verb == "$Switch":
        verbs = {"$identified_id": event.login}
        del source["$original_id"], source["$switches_user"]
    elif verb == "$SignUp":
        anonymous = source.pop("$original_id")
        verbs = {"$identified_id": event.login, "$original_id": anonymous}
        verbs |= {"$anon_distinct_id": "$device:" + anonymous}
        is_joined = row.get("event") != "$identify" or found.get("$anon_distinct_id") == "$device:" + anonymous
        findings.expect(is_joined, "the anonymous id of $identify", (found, event.line))
    elif verb == "$Alias":
        alias = source.pop("$alias")
        alias = "$device:" + alias if alias == event.anonymous else alias
        findings.expect(found.get("alias") == alias, "alias", (found.get("alias"), event.line))
        verbs = {"alias": alias, "$alias": alias}
    if event.groups:
        for kind, key in event.groups.items():
            if kind not in source:
                prefix = "properties." + kind if kind in MIXPANEL_OWN else kind
                value = found.get(kind, found.get(prefix))
                findings.expect(value in (key, [key]), "a group as a property", (kind, value, event.groups))
                optional |= {kind: value, prefix: value}
        optional["$groups"] = source.pop("$groups")
    optional = {name: inner for name, inner in optional.items() if name not in source}
    source = renamed(source, {
        "$app_version": "$app_version_string", "$app_build": "$app_build_number", "$lib": "mp_lib"})
    findings.expect(is_merge(found, (own, False), (source, False), (verbs, True), (optional, True)),
                    f"the properties of {verb}", (found, source))


def mixpanel_profiles(findings, rows, events):
    """The changes of profiles, in order. A sign-up may set its properties, too."""
    rows = list(rows)
    for event in events:
        id = mixpanel_person(event)
        taken = []
        while rows and rows[0].get("$distinct_id") == id and rows[0].get("$time", event.time) == event.time:
            # Only lists that are appended may need several changes.
            if taken and event.verb != "$ProfileAppend" or rows[0].keys().isdisjoint(mixpanel_operation(event)):
                break
            taken.append(rows.pop(0))
        if not findings.expect(taken, f"no change of {event.verb}", event.line):
            continue
        if event.verb in ("$SignUp", "$Switch"):
            own = login_properties(event)
            operation(findings, taken[0], event, "$set", lambda found: is_same(found, own))
        elif event.verb == "$Revenue":
            charge = {"$transactions": {"$amount": event.revenue[0], "$time": iso(event.time)[:19]}}
            operation(findings, taken[0], event, "$append", lambda found: is_same(found, charge))
        elif event.verb == "$ProfileAppend":
            appended(findings, taken, event)
        else:
            key, ours = MIXPANEL_PROFILES[event.verb]
            expected = event.properties.get(ours)
            operation(findings, taken[0], event, key, lambda found: ours is None or is_same(found, expected))
    findings.expect(not rows, "profile changes without an event, or out of order", rows[:1])


def mixpanel_operation(event):
    if event.verb in ("$SignUp", "$Switch"):
        return {"$set"}
    return {"$append", "$union"} if event.verb in ("$Revenue", "$ProfileAppend") else {MIXPANEL_PROFILES[event.verb][0]}


def operation(findings, row, event, key, is_right):
    findings.expect(row.get("$token") == "key", "$token", row)
    findings.expect(row.get("$ip", 0) in (0, "0"), "$ip", row)
    findings.expect(row.get("$device_id", event.anonymous) == event.anonymous, "$device_id", (row, event.line))
    findings.expect(row.get("$user_id", event.user) == event.user, "$user_id", (row, event.line))
    names = {name for name in row if name in MIXPANEL_OPERATIONS}
    if findings.expect(names == {key}, f"the operation of {event.verb}", (row, event.line)):
        findings.expect(is_right(row[key]), f"{key} of {event.verb}", (row, event.line))


def appended(findings, rows, event):
    """`$append` adds one value to each list, and `$union` a list, without those that are there."""
    found = {}
    for row in rows:
        if "$union" in row:
            operation(findings, row, event, "$union", lambda found: True)
        else:
            operation(findings, row, event, "$append", lambda found: True)
        for name, value in row.get("$append", {}).items():
            found.setdefault(name, []).append(value)
        for name, values in row.get("$union", {}).items():
            found.setdefault(name, []).extend(values)
    expected = {name: values for name, values in event.properties["$append"].items() if values}
    found = {name: values for name, values in found.items() if values}
    findings.expect(is_same(found, expected), "the appended values", (found, expected))


def mixpanel_groups(findings, rows, events):
    """The changes of groups, in order."""
    findings.expect(len(rows) == len(events), "the number of group changes", f"{len(rows)} of {len(events)}")
    for row, event in zip(rows, events):
        source = event.properties
        expected = {"$token": "key", "$group_key": source["$group_type"], "$group_id": source["$group_key"],
                    "$set": source.get("$group_set", {})}
        if "$time" in row:
            expected["$time"] = event.time
        findings.expect(is_same(row, expected), "a group change", (row, expected))


def mixpanel_account(record, findings):
    mixpanel(record, findings, project="7")
