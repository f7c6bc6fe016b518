"""Splunk, InfluxDB, Kinesis, Firehose, Matomo, Google Analytics, TelemetryDeck and Snowplow."""

import base64
import hashlib
import hmac
import re
import unicodedata
from datetime import datetime
from urllib.parse import parse_qsl, quote

from .lines import newline_separated, only, together
from .source import Date, field_id, is_blank, is_same, iso, parse

VERSION = re.compile(r"\d+\.\d+\.\d+([-+].+)?")


def is_text(found, expected):
    """Whether a text is that of a property: JSON for lists and objects."""
    if isinstance(expected, Date):
        return found == iso(expected)
    if isinstance(expected, str):
        return found == expected
    return isinstance(found, str) and is_same(parse(found), expected)


def is_scalar(value):
    return value is not None and not isinstance(value, (list, dict))


def splunk(record, findings):
    request = only(record, findings, "https://host:8088", "/services/collector/event")
    if not request:
        return
    findings.expect(request.headers.get("authorization") == "Splunk key", "the token", request.headers)
    for row, event in together(findings, newline_separated(findings, request), record.sent):
        expected = {"time": event.time / 1_000, "sourcetype": "_json", "index": "main", "event": event.line}
        findings.expect(is_same(row, expected), "an event", (row, expected))


# InfluxDB

NAME = r"(?:\\[, =]|[^,= \\\n])+"
FIELD = re.compile(rf'({NAME})=("(?:\\["\\]|[^"\\\n])*"|-?\d+i|true|false|-?\d+(?:\.\d+)?(?:e[+-]\d+)?)')
KEY = re.compile(r"(?:\\[, ]|[^, \\\n])+,part=\d{1,3}")
TIME = re.compile(r" (-?\d+)\n")


def points(text):
    """The parts of each line: the measurement with its tags, the fields by their names, and the time."""
    position = 0
    while position < len(text):
        key = KEY.match(text, position)
        position, fields = key.end(), {}
        assert text[position] == " ", "no space before the fields"
        while text[position] != " " or not fields:
            field = FIELD.match(text, position + 1)
            assert field[1] not in fields, "a field occurs twice"
            fields[field[1]] = field[2]
            position = field.end()
            assert text[position] in ", ", "no end of a field"
        time = TIME.match(text, position)
        position = time.end()
        yield key[0], fields, time[1]


def mark(name):
    """What a changed name ends with: `_`, and FNV-1a as three times a decimal digit and a letter."""
    code, text = 0xCBF29CE484222325, "_"
    for byte in name.encode():
        code = (code ^ byte) * 0x100000001B3 % 2**64
    for _ in range(3):
        code, rest = divmod(code, 260)
        text += str(rest % 10) + chr(ord("a") + rest // 10)
    return text


def is_marked(name):
    return bool(re.search(r"_([0-9][a-z]){3}\Z", name))


def in_front(prefix, name, is_taken):
    """The prefix in front of a taken name, and of one that has such prefixes in front of a taken name."""
    base = name
    while base.startswith(prefix):
        base = base[len(prefix):]
    return prefix + name if is_taken(base) else name


def fitted(name, is_accepted, length=None):
    """`_` for every other character, cut, and marked if that changes the name, or if it ends like a mark."""
    def units(text):
        return len(text.encode("utf-16-le")) // 2

    changed = "".join(scalar if is_accepted(scalar) else "_" for scalar in name)
    if changed == name and (length is None or units(name) <= length) and not is_marked(name):
        return name
    while length is not None and units(changed) > length - 7:
        changed = changed[:-1]
    return changed + mark(name)


def without_dollar(name, is_taken):
    if name.startswith("$"):
        return "sluice_" + name[1:]
    return in_front("own_", name, lambda base: base.startswith("sluice_") or is_taken(base))


def plain(name, taken=("",)):
    """The name that the server keeps."""
    name = in_front("name.", name, lambda base: base in taken or re.match(r"[_#\\\x00-\x1f\x7f]", base))
    return fitted(name, lambda scalar: not re.match(r"[\\\x00-\x1f\x7f]", scalar))


def identifier(name, special):
    return re.sub(f"([{special}])", r"\\\1", plain(name))


def fields(event):
    """The values by the names that the server keeps."""
    own = {"id": event.id, "distinct_id": event.distinct, "anonymous_id": event.anonymous, "login_id": event.login,
           "priority": "critical" if event.is_critical else None}
    expected = {name: value for name, value in own.items() if value is not None}
    taken = {"", *own, "time", "part"}
    return expected | {plain(name, taken): value for name, value in event.properties.items() if value is not None}


def is_field(found, value):
    if type(value) is int:
        return found == str(value)  # A float.
    if isinstance(value, bool):
        return found == str(value).lower()
    if isinstance(value, float):
        return not found.startswith('"') and not found.endswith("i") and float(found) == value
    if not (len(found) > 1 and found[0] == found[-1] == '"'):
        return False
    text = re.sub(r'\\(["\\])', r"\1", found[1:-1])
    return text == value.replace("\n", "\\n") if isinstance(value, str) else is_text(text, value)


def influxdb(record, findings):
    request = only(record, findings, "https://host:8086", "/api/v2/write", {"bucket": "my bucket", "org": "shop"},
                   "text/plain; charset=utf-8")
    if request:
        findings.expect(request.headers.get("authorization") == "Token key", "the token", request.headers)
        compare_points(record, findings, request)


def influxdb_v1(record, findings):
    request = only(record, findings, "http://host:8086", "/write", {"db": "wire"}, "text/plain; charset=utf-8")
    if request:
        findings.expect(request.headers.get("authorization") == "Basic dzprZXk=", "the user", request.headers)
        compare_points(record, findings, request)


def compare_points(record, findings, request):
    for (key, found, time), event in together(findings, list(points(request.text)), record.sent):
        low = int(event.id.replace("-", "")[16:], 16)
        tag = f",part={low // 1_000_000 % 256}"
        findings.expect(key == identifier(event.name, ", ") + tag, "the measurement or the tag", (key, event.name))
        findings.expect(int(time) == event.time * 1_000_000 + low % 1_000_000, "the time", (time, event.line))
        expected = {re.sub("([, =])", r"\\\1", name): value for name, value in fields(event).items()}
        findings.expect(found.keys() == expected.keys(), "the names of the fields", (found.keys(), expected.keys()))
        for name, value in found.items():
            findings.expect(is_field(value, expected.get(name)), "a field", (name, value, expected.get(name)))


# Amazon

TARGETS = {"kinesis": "Kinesis_20131202.PutRecords", "firehose": "Firehose_20150804.PutRecordBatch"}


def sign(request, service):
    request.headers["authorization"] = signature(request, service)


def signature(request, service):
    """Signature Version 4, by the standard library."""
    target = TARGETS[service]
    headers = {"content-type": "application/x-amz-json-1.1", "host": f"{service}.eu-central-1.amazonaws.com",
               "x-amz-date": request.headers.get("x-amz-date", ""), "x-amz-target": target}
    names, date = ";".join(headers), headers["x-amz-date"]
    lines = ["POST", "/", "", *(f"{name}:{value}" for name, value in headers.items()), "", names]
    canonical = "\n".join([*lines, hashlib.sha256(request.body).hexdigest()])
    scope, key = f"{date[:8]}/eu-central-1/{service}/aws4_request", b"AWS4key"
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    text = "\n".join(["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    signed = hmac.digest(key, text.encode(), "sha256").hex()
    return f"AWS4-HMAC-SHA256 Credential=AKID/{scope}, SignedHeaders={names}, Signature={signed}"


def amazon(record, findings, service, name):
    """The records of a signed request."""
    request = only(record, findings, f"https://{service}.eu-central-1.amazonaws.com", "", None,
                   "application/x-amz-json-1.1", gzip=False)
    if not request:
        return []
    date = re.sub("[-:]", "", request.sent_at[:19]) + "Z"
    findings.expect(request.headers.get("x-amz-date") == date, "the date", request.headers)
    findings.expect(request.headers.get("x-amz-target") == TARGETS[service], "the target", request.headers)
    found, expected = request.headers.get("authorization"), signature(request, service)
    body = parse(request.text)
    findings.expect(body.keys() == {name, "Records"} and body[name] == "events", "the stream", body.keys())
    findings.expect(found == expected, "the signature", (found, expected))
    findings.expect(len(body["Records"]) <= 500, "too many records")
    return together(findings, body["Records"], record.sent)


def kinesis(record, findings):
    for row, event in amazon(record, findings, "kinesis", "StreamName"):
        data = base64.b64decode(row.pop("Data"), validate=True)
        findings.expect(is_same(parse(data.decode()), event.line), "the data", (data, event.line))
        findings.expect(row == {"PartitionKey": (event.distinct or event.id)[:256]}, "the key", (row, event.distinct))


def firehose(record, findings):
    for row, event in amazon(record, findings, "firehose", "DeliveryStreamName"):
        data = base64.b64decode(row.pop("Data"), validate=True).decode()
        findings.expect(row == {} and data.endswith("\n"), "the end of a record", (row, data))
        findings.expect(is_same(parse(data), event.line), "the data", (data, event.line))


# Analytics services

def fnv(text):
    hash = 0xCBF29CE484222325
    for byte in text.encode():
        hash = (hash ^ byte) * 0x100000001B3 % 2**64
    return f"{hash:016x}"


def matomo(record, findings):
    request = only(record, findings, "https://matomo.example", "/matomo.php", gzip=False)
    if not request:
        return
    body = parse(request.text)
    findings.expect(body.keys() == {"requests", "token_auth"}, "the keys of the body", body.keys())
    findings.expect(body["token_auth"] == "key", "the token")
    for row, event in together(findings, body["requests"], record.sent):
        findings.expect(row.startswith("?") and " " not in row, "no query", row)
        pairs = parse_qsl(row[1:], keep_blank_values=True, strict_parsing=True, encoding="utf-8", errors="strict")
        found = dict(pairs)
        findings.expect(len(found) == len(pairs), "a parameter occurs twice", row)
        visitor = event.anonymous or event.user or event.id
        expected = {"idsite": "7", "rec": "1", "apiv": "1", "rand": event.id, "cdt": str(event.time // 1_000),
                    "_id": fnv(visitor)}
        expected |= {"uid": event.user} if event.user is not None else {}
        if isinstance(event.properties.get("$locale"), str):
            expected["lang"] = event.properties["$locale"]
        if event.verb == "$AppViewScreen":
            app, screen = event.properties.get("$app_id", "app"), event.properties["$screen_name"]
            app = app if isinstance(app, str) else "app"
            expected |= {"action_name": screen, "url": f"http://{quote(app, safe='')}/{quote(screen, safe='')}"}
        elif event.verb == "$Revenue":
            amount, _, product, count, price = event.revenue
            findings.expect(float(found.pop("revenue", "nan")) == amount, "the revenue", row)
            expected |= {"idgoal": "0", "ec_id": str(event.order_id)}
            if product is not None:
                items = [[product, "", "", float(price or 0), count]]
                findings.expect(is_same(parse(found.pop("ec_items", "0")), items), "the items", (row, items))
        else:
            expected |= {"e_c": "app", "e_a": event.name}
            if type(number := event.properties.get("value")) in (int, float):
                findings.expect(is_text(found.pop("e_v", None), number), "the value", (row, number))
        for name, id in (("title", 1), ("price", 2), ("tags", 5)):
            text, value = found.pop(f"dimension{id}", None), event.properties.get(name)
            findings.expect(text is None if value is None else is_text(text, value), f"dimension {id}", (text, value))
        findings.expect(found == expected, "the parameters", (found, expected))


RESERVED = set("""ad_activeview ad_click ad_exposure ad_query ad_reward adunit_exposure app_background app_clear_data
app_exception app_remove app_store_refund app_store_subscription_cancel app_store_subscription_convert
app_store_subscription_renew app_update app_upgrade dynamic_link_app_open dynamic_link_app_update dynamic_link_first_open
error firebase_campaign first_open first_visit in_app_purchase notification_dismiss notification_foreground
notification_open notification_receive notification_send os_update session_start user_engagement""".split())
RESERVED_PROPERTIES = set("""first_open_after_install first_open_time first_visit_time last_deep_link_referrer
user_id""".split())


LETTERS = ("Lu", "Ll", "Lt", "Lm", "Lo")


def google_name(name, kind):
    reserved = {"event": RESERVED, "user": RESERVED_PROPERTIES}.get(kind, ())

    def is_accepted(scalar):
        return scalar == "_" or unicodedata.category(scalar) in (*LETTERS, "Nd", "Mn", "Mc")

    def is_taken(base):
        arriving = "".join(scalar if is_accepted(scalar) else "_" for scalar in base)
        return (not base or unicodedata.category(base[0]) not in LETTERS or base in reserved
                or arriving.startswith(("firebase_", "ga_", "google_", "gtag_")))

    return fitted(without_dollar(name, is_taken), is_accepted, 24 if kind == "user" else 40)


def google_values(properties, own, kind, limit):
    result, ids = dict(own), ("event_id", "session_id", "transaction_id", "group_id")
    for name, value in properties.items():
        name = google_name(name, kind)
        if name not in result and len(result) == 25 or name in ids and field_id(value) is None:
            continue
        if kind == "parameter" and name == "items" and isinstance(value, list) and value:
            if all(isinstance(item, dict) for item in value):
                result[name] = value
        elif is_scalar(value) and not (name in own and isinstance(value, str) and is_blank(value)):
            is_number = type(value) in (int, float)
            text = iso(value) if isinstance(value, Date) else str(value).lower() if isinstance(value, bool) else value
            result[name] = value if is_number else text[:limit]
    return result


def google_event(event):
    """The name and the parameters of an event, and the traits of its person."""
    own = {"event_id": event.id, "engagement_time_msec": 1}
    if event.session_time is not None:
        own["session_id"] = str(event.session_time // 1_000)
    name, rest, traits, has = event.name, dict(event.properties), {}, event.properties.get
    if event.verb in ("$SignUp", "$Switch"):
        name, traits = "login", has("$set", {})
    elif event.verb == "$ProfileSet":
        traits = has("$set")
    elif event.verb == "$GroupIdentify":
        name, own["group_id"] = "join_group", rest.pop("$group_key")
    elif event.verb == "$AppViewScreen":
        name, own["screen_name"] = "screen_view", rest.pop("$screen_name")
    elif event.verb == "$Revenue":
        amount, currency, product, count, price = event.revenue
        name, rest = "refund" if amount < 0 else "purchase", event.unpaid
        own |= {"transaction_id": event.id, "value": abs(amount)}
        own |= {"currency": currency} if currency is not None else {}
        if product is not None:
            own["items"] = [{"item_id": product, "price": abs(price or 0.0), "quantity": count}]
    return google_name(name, "event"), google_values(rest, own, "parameter", 100), traits if isinstance(traits, dict) else {}


def google(record, findings):
    events, seen, waiting = {event.id: event for event in record.sent}, [], {}
    for event in record.sent:
        waiting.setdefault((event.anonymous or event.user or event.id, event.user), []).append(event)
    for request in record.requests:
        findings.expect((request.method, request.base, request.path)
                        == ("POST", "https://www.google-analytics.com", "/mp/collect"), "the URL", request.url)
        findings.expect(request.query == {"measurement_id": "G-1", "api_secret": "key"}, "the query", request.query)
        findings.expect(request.headers.get("content-type") == "application/json", "the content type")
        findings.expect(not request.is_gzip and len(request.body) < 130_000, "too long, or compressed")
        body = parse(request.text)
        rows = body.pop("events")
        findings.expect(1 <= len(rows) <= 25, "the number of events", len(rows))
        # A request has the next events of one person. A host may have an `event_id` of its own.
        queue = waiting[body.get("client_id"), body.get("user_id")]
        own = [queue.pop(0) for _ in rows]
        people = {(event.anonymous or event.user or event.id, event.user) for event in own}
        findings.expect(len(people) == 1, "events of several persons", people)
        (client, user), traits = people.pop(), {}
        for row, event in zip(rows, own):
            name, parameters, more = google_event(event)
            for trait, value in more.items():
                traits[trait] = value
            expected = {"name": name, "timestamp_micros": event.time * 1_000, "params": parameters}
            findings.expect(is_same(row, expected), f"the record of {event.verb}", (row, expected))
        expected = {"client_id": client} | ({"user_id": user} if user is not None else {})
        if values := google_values(traits, {}, "user", 36):
            expected["user_properties"] = {name: {"value": value} for name, value in values.items()}
        findings.expect(is_same(body, expected), "the person", (body, expected))
        places = [record.sent.index(event) for event in own]
        findings.expect(places == sorted(places), "the order of the events")
        seen += [event.id for event in own]
    findings.expect(sorted(seen) == sorted(events), "a missing or repeated event", (len(seen), len(events)))


TELEMETRY_NAMES = {
    "$app_version": "TelemetryDeck.AppInfo.version", "$app_build": "TelemetryDeck.AppInfo.buildNumber",
    "$model": "TelemetryDeck.Device.modelName", "$os": "TelemetryDeck.Device.operatingSystem",
    "$architecture": "TelemetryDeck.Device.architecture", "$timezone": "TelemetryDeck.Device.timeZone",
    "$locale": "TelemetryDeck.RunContext.locale", "$lib": "TelemetryDeck.SDK.name",
    "$lib_version": "TelemetryDeck.SDK.version",
}


def telemetry_deck(record, findings):
    """Primitive values in the payload; lists and objects as JSON in a string."""
    request = only(record, findings, "https://nom.telemetrydeck.com", "/v2/namespace/shop/", None,
                   "application/json; charset=utf-8", gzip=False)
    if not request:
        return
    for row, event in together(findings, parse(request.text), record.sent):
        has, rest = event.properties.get, event.properties
        kind, payload = event.name, {"Sluice.eventID": event.id}
        if event.verb == "$AppViewScreen":
            kind = "TelemetryDeck.Navigation.pathChanged"
            payload |= {"TelemetryDeck.Navigation.schemaVersion": "1",
                        "TelemetryDeck.Navigation.destinationPath": has("$screen_name")}
        elif event.verb == "$Revenue":
            amount, currency, product, _, _ = event.revenue
            kind, rest = "TelemetryDeck.Purchase.completed", event.unpaid
            payload |= {"TelemetryDeck.Purchase.currencyCode": currency} if currency is not None else {}
            payload |= {"TelemetryDeck.Purchase.productID": product} if product is not None else {}
            is_reported = currency in (None, "USD") and rest.get("floatValue") is None
            rest = rest | {"floatValue" if is_reported else "$amount": amount}
        number = rest.get("floatValue")
        if type(number) in (int, float):
            rest = {name: value for name, value in rest.items() if name != "floatValue"}
            findings.expect(is_same(row.pop("floatValue", None), number), "floatValue", (row, number))
        rest = {name: value for name, value in rest.items()
                if value is not None and not (name == "$session_id" and isinstance(value, str))}
        for name, value in rest.items():
            vendors = TELEMETRY_NAMES.get(name, name)
            payload[name if vendors in rest else vendors] = value
        found = row.pop("payload")
        findings.expect(found.keys() == payload.keys(), "the keys of a payload", (found.keys(), payload.keys()))
        for name, value in found.items():
            expected = payload.get(name)
            is_right = is_same(value, expected) if is_scalar(expected) else is_text(value, expected)
            findings.expect(is_right, "a value of a payload", (name, value, expected))
        hash = hashlib.sha256(((event.person or event.id) + "salt").encode()).hexdigest()
        expected = {"appID": "A-1", "clientUser": hash, "receivedAt": iso(event.time)[:19] + "+0000", "type": kind}
        if isinstance(has("$session_id"), str):
            expected["sessionID"] = has("$session_id")
        findings.expect(is_same(row, expected), "a signal", (row, expected))


def snowplow(record, findings):
    request = only(record, findings, "https://collector.example", "/com.snowplowanalytics.snowplow/tp2", gzip=False)
    if not request:
        return
    body = parse(request.text)
    findings.expect(body.keys() == {"schema", "data"}, "the keys of the body", body.keys())
    schema = "iglu:com.snowplowanalytics.snowplow/payload_data/jsonschema/1-0-4"
    findings.expect(body["schema"] == schema, "the schema", body["schema"])
    sent = datetime.fromisoformat(request.sent_at.replace("Z", "+00:00")).timestamp()
    for row, event in together(findings, body["data"], record.sent):
        findings.expect(all(isinstance(value, str) for value in row.values()), "a value that isn't a string", row)
        findings.expect(VERSION.fullmatch(row.pop("tv").removeprefix("sluice-")), "the tracker", row)
        inner = parse(row.pop("ue_pr"))
        name = fitted(without_dollar(event.name, lambda base: not base), lambda it: re.match(r"[A-Za-z0-9_-]", it))
        data = {"schema": f"iglu:com.example/{name}/jsonschema/1-0-0", "data": event.properties}
        if event.verb == "$AppViewScreen":
            data = {"schema": "iglu:com.snowplowanalytics.mobile/screen_view/jsonschema/1-0-0",
                    "data": {"id": event.id, "name": event.properties["$screen_name"]}}
        wrapped = {"schema": "iglu:com.snowplowanalytics.snowplow/unstruct_event/jsonschema/1-0-0", "data": data}
        findings.expect(is_same(inner, wrapped), f"the record of {event.verb}", (inner, wrapped))
        expected = {"e": "ue", "eid": event.id, "aid": "shop", "p": "srv", "dtm": str(event.time),
                    "stm": str(round(sent * 1_000)), "uid": event.user, "duid": event.anonymous}
        for field, name in (("lang", "$locale"), ("tz", "$timezone")):
            value = event.properties.get(name)
            expected[field] = value if isinstance(value, str) else None
        expected = {name: value for name, value in expected.items() if value is not None}
        findings.expect(row == expected, "the fields of an event", (row, expected))
