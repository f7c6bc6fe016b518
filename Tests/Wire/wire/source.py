"""The recorded batches: the events as they were tracked, and the requests that were made of them."""

import base64
import copy
import gzip
import json
import math
import re
import struct
import sys
import unicodedata
from datetime import datetime, timedelta
from functools import cached_property
from urllib.parse import parse_qsl, urlsplit

sys.set_int_max_str_digits(0)


class Date(int):
    """A date property, in milliseconds since 1970."""


# The properties of an event that are changes, and those that are ids.
CHANGES = ("$set", "$set_once", "$increment", "$append", "$unset", "$group_set", "$groups", "$identities")
IDS = ("$session_id", "$window_id", "$device_id", "$product_tour_id")


def text(encoded):
    return None if encoded is None else base64.b64decode(encoded, validate=True).decode()


def value(recorded):
    if isinstance(recorded, list):
        return [value(element) for element in recorded]
    if not isinstance(recorded, dict):
        return recorded  # true, false and null
    (kind, inner), = recorded.items()
    if kind == "s":
        return text(inner)
    if kind == "i":
        return int(inner)
    if kind == "d":
        return struct.unpack(">d", bytes.fromhex(inner.rjust(16, "0")))[0]
    if kind == "t":
        return Date(inner)
    return {text(name): value(property) for name, property in inner}


def iso(milliseconds):
    # Python has no year 0, but the calendar repeats itself after 400 years, which are 146,097 days.
    cycles = 1 if milliseconds < 0 else 0
    moment = datetime(1970, 1, 1) + timedelta(days=cycles * 146_097, milliseconds=milliseconds)
    return f"{moment.year - cycles * 400:04}" + moment.isoformat(timespec="milliseconds")[4:] + "Z"


def is_same(found, expected, date=iso):
    """Whether a value of parsed JSON is that of a property. A date is the text that `date` makes."""
    if isinstance(expected, Date):
        return found == date(expected)
    if isinstance(expected, float):
        return type(found) in (int, float) and float(found) == expected
    if isinstance(expected, dict):
        return type(found) is dict and found.keys() == expected.keys() and all(
            is_same(found[name], inner, date) for name, inner in expected.items())
    if isinstance(expected, list):
        return type(found) is list and len(found) == len(expected) and all(
            is_same(one, other, date) for one, other in zip(found, expected))
    return type(found) is type(expected) and found == expected


# What Unicode calls default ignorable: a filler of Hangul, a variation selector.
IGNORABLE = re.compile(
    "[\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\u3164"
    "\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff]")
NOTHING = "null nullptr nil none undefined nan inf dbnull".split()
OTHERS = "na notset unknown anonymous anon guest notauthenticated id distinctid email true false".split()


def is_placeholder(id):
    """Whether a text stands for a missing id: zeros, words for nothing, a text in one pair of brackets, or a directive."""
    answer = placeholder(id)
    return bool(placeholder(plain(id)) if answer is None else answer)


def is_part(byte):
    return chr(byte).isalnum() and byte < 0x80


def is_template(text, has_number):
    shown = text.strip(bytes(range(0x21)))
    if len(shown) < 2:
        return False
    is_percent = shown[0] == ord("%")
    if shown == b"\\N" or is_percent and len(shown) == 2 and re.match(rb"[@A-Za-z]", shown[1:]):
        return True
    if is_percent and shown[1] == ord("!") and shown[-1] == ord(")"):
        return True
    open = next((at for at, byte in enumerate(shown[:3]) if byte >= 0x80 or is_part(byte) or byte in b"([{<"), None)
    if open is None or shown[open] not in b"([{<":
        return False
    closing, depth = b")]}>"[b"([{<".index(shown[open])], 0
    for at in range(open, len(shown)):
        depth += (shown[at] == shown[open]) - (shown[at] == closing)
        if depth == 0:
            is_whole = at == len(shown) - 1 or is_percent and at == len(shown) - 2
            return is_whole and (not has_number or shown[0] not in b"({" or not is_part(shown[1]))
    return False


def placeholder(id):
    """The answer for a text in ASCII; None for others if it depends on their characters."""
    number = re.search("[1-9]", id)
    if id and not re.match("[A-Za-z0-9]", id) and is_template(id.encode(), number is not None):
        return True
    if number and not re.fullmatch("[^A-Za-z0-9]*-1[^A-Za-z0-9]*", id):
        return False
    if not id.isascii():
        return None
    if number:
        return True
    words = re.findall("[a-z0-9]+", id.lower())
    if len(id) > 64:
        return not "".join(words).strip("0")
    is_missing = [not word.strip("0") or word in NOTHING for word in words]
    enclosing = ("object", "optional", "some", "urn", "uuid")
    if all(one or word in enclosing for one, word in zip(is_missing, words)):
        return any(is_missing) or words != [id.lower()]
    return "".join(words) in OTHERS


def plain(id):
    """The text in ASCII, as far as its characters have a form there."""
    result = ""
    for letter in id:
        letter = chr(ord(letter) - 0xFEE0) if "\uff01" <= letter <= "\uff5e" else letter
        kind = unicodedata.category(letter)
        is_mark = kind[0] == "M" and (result[-1:].isalpha() or not unicodedata.combining(letter))
        if letter.isascii():
            result += letter
        elif IGNORABLE.fullmatch(letter) or kind in ("Cc", "Cf"):
            continue
        elif kind[0] == "L" or kind in ("So", "Nl", "No", "Sm", "Sc") or is_mark:
            result += letter
        else:
            result += {"Nd": str(unicodedata.decimal(letter, "")), "Ps": "(", "Pe": ")"}.get(kind, " ")
    return result


def is_blank(name):
    kinds = ("Cc", "Cf", "Zs", "Zl", "Zp")
    return all(unicodedata.category(letter) in kinds or IGNORABLE.fullmatch(letter) for letter in name)


def field_id(value):
    """The host's id of a thing such as an order, which can be `0`; None if it is missing."""
    if type(value) is float and value.is_integer() and -2**63 <= value < 2**63:
        return int(value)
    is_text = isinstance(value, str) and (re.fullmatch("[+-]?[0-9]+", value) or not is_placeholder(value))
    return value if is_text or type(value) is int else None


def person_id(value):
    """The id of a group or a person, or a list of them; None if it is missing."""
    if isinstance(value, list):
        return [id for id in map(person_id, value) if id is not None] or None
    id = field_id(value)
    return None if id is None or is_placeholder(str(id)) else id


class Event:
    """An event as the last processor saw it."""

    def __init__(self, recorded):
        self.id = recorded["id"]
        self.name = text(recorded["name"])
        self.time = recorded["time"]
        self.is_critical = recorded["critical"]
        self.distinct, self.anonymous, self.login = (text(id) for id in recorded["ids"])
        self.properties = value(recorded["properties"])
        self.is_sent = recorded["sent"]

    @cached_property
    def verb(self):
        """The verb that the event stands for. It is `track` if the properties of another verb, or the person, are missing."""
        has = self.properties.get
        verbs = {
            "$SignUp": isinstance(has("$original_id"), str) and self.login is not None,
            "$Alias": isinstance(has("$alias"), str),
            "$GroupIdentify": (isinstance(has("$group_type"), str) and not is_blank(has("$group_type"))
                               and isinstance(has("$group_key"), str)),
            "$ProfileSet": isinstance(has("$set"), dict),
            "$ProfileSetOnce": isinstance(has("$set_once"), dict),
            "$ProfileIncrement": isinstance(has("$increment"), dict),
            "$ProfileAppend": isinstance(has("$append"), dict),
            "$ProfileUnset": isinstance(has("$unset"), list),
            "$ProfileDelete": True,
            "$AppViewScreen": isinstance(has("$screen_name"), str),
            "$Revenue": type(has("$amount")) in (int, float),
        }
        is_of_nobody = self.name.startswith("$Profile") and not self.user and not self.anonymous
        if not verbs.get(self.name) or is_of_nobody:
            return "track"
        return "$Switch" if self.name == "$SignUp" and has("$switches_user") is True else self.name

    @property
    def with_traits(self):
        """The event of a login with its properties beside the others, for backends without a place for them."""
        return self.holding(self.properties.get("$set", {}) | self.rest("$set"))

    def holding(self, properties, name=None):
        """The event with other properties, and perhaps another name. Its verb stays the same."""
        event = Event.__new__(Event)
        event.__dict__.update(self.__dict__, verb=self.verb)
        event.name, event.properties = name or self.name, properties
        return event

    def cleaned(self, keeps_empty=False):
        """The event without ids of nobody among its properties, and without empty changes."""
        properties = {}
        for name, inner in self.properties.items():
            if name in ("$groups", "$identities") and isinstance(inner, dict):
                ids = {kind: person_id(id) for kind, id in inner.items() if not is_blank(kind)}
                inner = {kind: id for kind, id in ids.items() if id is not None}
            is_nobody = name in IDS and isinstance(inner, str) and is_placeholder(inner)
            is_empty = name in CHANGES and inner in ({}, []) and not keeps_empty
            if not is_nobody and not is_empty:
                properties[name] = inner
        event = self.holding(properties)
        del event.__dict__["verb"]
        return event

    def under(self, names):
        """The event with a vendor's names for events of the app's life and for their properties. Versions keep their own
        names beside them, and a property of the host with such a name takes precedence."""
        events, properties = names
        if self.name not in events:
            return self
        result = dict(self.properties)
        for name, other in properties.items():
            if name in self.properties and other not in self.properties:
                result[other] = self.properties[name]
                if name not in ("$app_version", "$app_build"):
                    del result[name]
        return self.holding(result, events[self.name])

    REVENUE = ("$amount", "$currency", "$product_id", "$quantity")

    @property
    def unpaid(self):
        """The properties of revenue that have no field: also a currency that is no text, and a quantity that is no integer."""
        types = {"$amount": (int, float), "$currency": (str,), "$product_id": (str,), "$quantity": (int,)}
        return {name: value for name, value in self.properties.items() if type(value) not in types.get(name, ())}

    @property
    def revenue(self):
        """The amount, the currency, the product, the number of pieces and the price of one."""
        has = self.properties.get
        currency, product = (has(name) if isinstance(has(name), str) else None for name in ("$currency", "$product_id"))
        count = has("$quantity") if type(has("$quantity")) is int else 1
        return float(has("$amount")), currency, product, count, float(has("$amount")) / count if count else None

    @property
    def order(self):
        """The properties of the event `Order Completed`."""
        amount, currency, product, count, price = self.revenue
        item = {"quantity": count} | ({"product_id": product} if product is not None else {})
        item |= {"price": price} if price is not None else {}
        order = {"revenue": amount, "products": [item]}
        order |= {"currency": currency} if currency is not None else {}
        return order | self.unpaid | {"order_id": self.order_id}

    @property
    def order_id(self):
        """The host's id of an order, which can be `0`; the id of the event if that is missing."""
        id = field_id(self.properties.get("order_id"))
        return self.id if id is None else id

    @property
    def seconds(self):
        """`$event_duration` in seconds, with three decimals; None if it isn't a number."""
        duration = self.properties.get("$event_duration")
        if type(duration) is float:
            whole = math.floor(abs(duration) + 0.5) if abs(duration) < 2**52 else abs(duration)
            return math.copysign(whole, duration) / 1_000
        return duration / 1_000 if type(duration) is int else None

    @property
    def session_time(self):
        """The time in the id of the session, a version 7 UUID; None without such an id."""
        id = self.properties.get("$session_id")
        is_id = isinstance(id, str) and re.fullmatch(r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", id)
        return int(id[:13].replace("-", ""), 16) if is_id else None

    @property
    def person(self):
        """The id of the person for backends that know one id; None if nobody is known."""
        return self.distinct or self.login or self.anonymous

    @property
    def user(self):
        """The id of a known user: the login id, or the distinct id of a server's event."""
        return self.login or (self.distinct if self.anonymous is None else None)

    @property
    def groups(self):
        groups = self.properties.get("$groups")
        is_valid = isinstance(groups, dict) and all(isinstance(key, str) and key for key in groups.values())
        return groups if is_valid else {}

    def outer(self, own, properties=None):
        """The properties beside a format's own names: a property with one of them, also behind such prefixes, gets the prefix
        `properties.`."""
        properties = self.properties if properties is None else properties
        return {("properties." + name if re.sub(r"^(properties\.)+", "", name) in own else name): inner
                for name, inner in properties.items()}

    def rest(self, *names):
        """The properties without those of the verb."""
        return {name: inner for name, inner in self.properties.items() if name not in names}

    @property
    def line(self):
        """The canonical line, as the guides describe it."""
        line = {"id": self.id, "event": self.name, "time": self.time}
        if self.is_critical:
            line["priority"] = "critical"
        for name, id in (("distinct_id", self.distinct), ("anonymous_id", self.anonymous), ("login_id", self.login)):
            if id is not None:
                line[name] = id
        return line | {"properties": self.properties}


class Request:
    def __init__(self, recorded):
        self.method = recorded["method"]
        self.url = text(recorded["url"])
        self.headers = {text(name).lower(): text(inner) for name, inner in recorded["headers"]}
        self.raw = self.body = base64.b64decode(recorded["body"], validate=True)
        self.is_gzip = self.headers.get("content-encoding") == "gzip"
        if self.is_gzip:
            # The reader checks the checksum and the length.
            self.body = gzip.decompress(self.body)
        parts = urlsplit(self.url)
        self.base = f"{parts.scheme}://{parts.netloc}"
        self.path = parts.path
        self.query = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))

    @property
    def text(self):
        # A file in an object is compressed, and has no content encoding.
        is_file = self.headers.get("content-type") == "application/gzip"
        return (gzip.decompress(self.body) if is_file else self.body).decode()

    @property
    def sent_at(self):
        """When the request was sent, which an envelope repeats."""
        return self.headers.get("x-sent-at")


class Record:
    def __init__(self, line):
        recorded = json.loads(line)
        self.events = [Event(event) for event in recorded["events"]]
        self.requests = [Request(request) for request in recorded["requests"]]

    def cleaned(self, keeps_empty):
        record = copy.copy(self)
        record.events = [event.cleaned(keeps_empty) for event in self.events]
        return record

    @property
    def sent(self):
        return [event for event in self.events if event.is_sent]


class Findings:
    """The deviations, by kind, each kind with its first example."""

    def __init__(self):
        self.counts = {}
        self.examples = {}
        self.notes = {}

    def expect(self, condition, kind, example=""):
        if not condition:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            self.examples.setdefault(kind, ascii(example)[:400])
        return condition

    def note(self, kind):
        """Counts something that is allowed."""
        self.notes[kind] = self.notes.get(kind, 0) + 1


def parse(text):
    """JSON without repeated names, unpaired surrogates and words such as NaN, which Python's reader lets pass."""

    def pairs(items):
        result = dict(items)
        if len(result) != len(items):
            raise ValueError("a name occurs twice")
        return result

    def constant(name):
        raise ValueError(f"{name} is no JSON")

    result = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    json.dumps(result, ensure_ascii=False).encode()  # Refuses unpaired surrogates.
    return result
