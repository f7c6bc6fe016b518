"""Sensors Analytics: a form with a checksum, and Base64 of gzip of a JSON array."""

import base64
import gzip
import re
from urllib.parse import unquote_plus

from .further import fitted
from .lines import only, together
from .source import Date, is_same, iso, parse

TYPES = {"$SignUp": "track_signup", "$Switch": "track_signup", "$ProfileSet": "profile_set",
         "$ProfileSetOnce": "profile_set_once", "$ProfileIncrement": "profile_increment", "$ProfileAppend": "profile_append",
         "$ProfileUnset": "profile_unset", "$ProfileDelete": "profile_delete"}
OWN_KINDS = ("$identity_login_id", "$identity_anonymous_id")
BINDINGS = {"$BindID": "track_id_bind", "$UnbindID": "track_id_unbind"}


def written(value, minutes):
    """A value with its dates in the documented form `yyyy-MM-dd HH:mm:ss.SSS`, in a zone `minutes` east of UTC, also in
    lists. The documents know no objects."""
    if isinstance(value, Date):
        # The last day of the year 9999 has no later time in another zone.
        moment = min(value + minutes * 60_000, 253_402_300_799_999)
        return iso(moment).replace("T", " ").removesuffix("Z")
    return [written(element, minutes) for element in value] if isinstance(value, list) else value


def are_same(found, expected, minutes=0):
    return is_same(found, {name: written(value, minutes) for name, value in expected.items()})


def form(findings, text):
    """The three fields of the form. Every other character than the unreserved ones must be percent-encoded."""
    findings.expect(re.fullmatch(r"crc=-?\d+&gzip=1&data_list=[A-Za-z0-9%._~-]+", text), "the form", text[:100])
    fields = dict(pair.split("=", 1) for pair in text.split("&"))
    packed = unquote_plus(fields["data_list"])
    code = 0
    for byte in packed.encode():
        code = (code * 31 + byte) & 0xFFFFFFFF
    findings.expect(int(fields["crc"]) == (code - (1 << 32) if code >> 31 else code), "the checksum", fields["crc"])
    return parse(gzip.decompress(base64.b64decode(packed, validate=True)).decode())


def check(record, findings):
    query = {"project": "p", "token": "key"}
    request = only(record, findings, "https://host:8106", "/sa", query, "application/x-www-form-urlencoded", gzip=False)
    if not request:
        return
    rows = form(findings, request.text)
    findings.expect(len({row.get("_track_id") for row in rows}) == len(rows), "_track_id is not unique")
    for row, event in together(findings, rows, [one for event in record.sent for one in records(event)]):
        findings.expect(iso(row.pop("_flush_time", 0)) == request.sent_at, "_flush_time", request.sent_at)
        compare(findings, row, event)


def records(event):
    """The event, and beside a login with properties the change of the profile, with a `_track_id` of its own."""
    if event.verb not in ("$SignUp", "$Switch") or not event.properties.get("$set"):
        return [event]
    change = event.holding(event.properties, "$ProfileSet")
    change.verb, change.id = change.name, event.id[:-8] + format(int(event.id[-8:], 16) ^ 0x4000_0000, "08x")
    return [event, change]


def under_own_names(event):
    """The event with the names and units of the vendor's SDKs: seconds, and minutes west of UTC."""
    properties, offset = dict(event.properties), event.properties.get("$utc_offset")
    own = {"$event_duration": ("event_duration", event.seconds),
           "$utc_offset": ("$timezone_offset", -offset if type(offset) is int and offset > -2**63 else None),
           "$session_id": ("$event_session_id", properties.get("$session_id"))}
    for name, (other, value) in own.items():
        if name in properties and (value is not None or name == "$session_id") and other not in properties:
            del properties[name]
            properties[other] = value
    return event.holding(properties)


def compare(findings, row, event):
    source, row = event.properties, dict(row)
    event = under_own_names(event)
    item = isinstance(source.get("$item_type"), str) and isinstance(source.get("$item_id"), str)
    if event.name == "$ItemSet" and item and isinstance(source.get("$item"), dict):
        kind, properties = "item_set", dict(source["$item"])
    elif event.name == "$ItemDelete" and item:
        kind, properties = "item_delete", {}
    elif (event.name in BINDINGS and all(isinstance(source.get(name), str) for name in ("$id_kind", "$id_value"))
          and source["$id_kind"] not in OWN_KINDS):
        kind, properties = BINDINGS[event.name], event.rest("$id_kind", "$id_value")
    else:
        kind = TYPES.get(event.verb, "track")
        keys = {"$ProfileSet": "$set", "$ProfileSetOnce": "$set_once", "$ProfileIncrement": "$increment",
                "$ProfileAppend": "$append"}
        if event.verb in keys:
            properties = dict(source[keys[event.verb]])
        elif event.verb == "$ProfileUnset":
            properties = {name: True for name in source["$unset"]}
        elif event.verb == "$ProfileDelete":
            properties = {}
        elif event.verb in ("$SignUp", "$Switch"):
            properties = event.with_traits.rest("$original_id", "$switches_user")
        elif event.verb == "$Revenue":
            properties = event.rest(*event.REVENUE)
            for name in event.REVENUE:
                if name in source:
                    value = source[name]
                    is_code = name == "$currency" and isinstance(value, str)
                    properties.setdefault(name[1:], value.upper() if is_code else value)
        else:
            properties = dict(event.properties)
    if not findings.expect(row.pop("type", None) == kind, f"the type of {event.name}", row):
        return
    is_item = kind.startswith("item")
    # The vendor's SDKs: an item has no ids of persons.
    expected = {"time": event.time} | ({} if is_item else {"distinct_id": event.person or event.id})
    if kind.startswith("track"):
        expected["event"] = "Revenue" if event.verb == "$Revenue" else event.name
    if kind == "track_signup":
        expected["original_id"] = source["$original_id"]
    if is_item:
        expected |= {"item_type": source["$item_type"], "item_id": source["$item_id"]}
    for name, id in (("anonymous_id", event.anonymous), ("login_id", event.login)):
        if id is not None and not is_item:
            expected[name] = id
    if isinstance(source.get("$identities"), dict):
        others = {name: id for name, id in source["$identities"].items() if name not in OWN_KINDS}
        if not is_item and others:
            expected["identities"] = others
        properties = {name: value for name, value in properties.items() if name != "$identities"}
    if kind in BINDINGS.values():
        others = expected.get("identities", {}) if kind == "track_id_bind" else {}
        expected["identities"] = others | {source["$id_kind"]: source["$id_value"]}
    # The documents of the vendor's SDKs: the ids that one record lists are joined, so those of the record itself are there
    # too, except when one is taken away.
    if "identities" in expected and kind != "track_id_unbind":
        ids = {"$identity_login_id": event.user, "$identity_anonymous_id": event.anonymous}
        expected["identities"] = expected["identities"] | {name: id for name, id in ids.items() if id is not None}
    # The vendor's SDKs for servers: a distinct id that isn't a device's.
    if not is_item and event.login is None and event.user is not None:
        properties = properties | {"$is_login_id": True}

    lib = row.pop("lib", {})
    findings.expect(lib.pop("$lib", None) == "Sluice" and lib.pop("$lib_method", None) == "code", "lib", lib)
    version = lib.pop("$lib_version", None)
    is_version = isinstance(version, str) and re.fullmatch(r"\d+\.\d+\.\d+", version)
    findings.expect(is_version and version == source.get("$lib_version", version), "lib.$lib_version", version)
    findings.expect(lib.pop("$app_version", None) == source.get("$app_version"), "lib.$app_version", lib)
    findings.expect(not lib, "further keys of lib", lib)
    track_id = row.pop("_track_id", None)
    findings.expect(track_id == int(event.id[-8:], 16) & 0x7FFFFFFF, "_track_id", (track_id, event.id))

    found = row.pop("properties", None)
    offset = source.get("$utc_offset", 0)
    minutes = offset if type(offset) is int and abs(offset) <= 1_440 else 0
    # No object is allowed as a value, so those of Identity are flattened.
    names, flat = set(properties), {}
    for name, value in properties.items():
        if not (name.startswith("$") and isinstance(value, dict)):
            flat[name] = value
            continue
        for inner, member in value.items():
            name_of_member = f"{name[1:]}_{inner}"
            while len(name_of_member.encode("utf-16-le")) > 200 or name_of_member in names:
                name_of_member = fitted(name_of_member + "_", lambda scalar: True, 100)
            names.add(name_of_member)
            flat[name_of_member] = member
    findings.expect(are_same(found, flat, minutes), f"the properties of {kind}", (found, flat))
    findings.expect(is_same(row, expected), f"the fields of {kind}", (row, expected))
