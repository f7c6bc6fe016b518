"""The right answers to eleven questions, from the files alone: no engine and no code of the package has a part in them."""

import collections
import gzip
import json
import pathlib

MISSING = object()


def events(lake):
    """The date of each file's folder, and each of its events."""
    for path in sorted(pathlib.Path(lake).glob("date=*/*.ndjson.gz")):
        with gzip.open(path, "rb") as file:
            for line in file:
                yield path.parent.name.removeprefix("date="), json.loads(line)


def cents(amount):
    return round(amount * 100)


def right(lake):
    """The answers, each of numbers, texts, lists and dictionaries."""
    return of(events(lake))


def of(rows):
    """The answers about events, each with its date."""
    rows = list(rows)
    properties = [event["properties"] for _, event in rows]
    people = [event["distinct_id"] for _, event in rows if "distinct_id" in event]
    amounts = [cents(p["amount"]) for p in properties if "amount" in p]
    orders = [p["order"] for p in properties if "order" in p]
    coupons = [p.get("coupon", MISSING) for p in properties]

    def count(values):
        return dict(collections.Counter(values))

    return {
        "events": count(event["event"] for _, event in rows),
        "days": count(date for date, _ in rows),
        "times": [min(event["time"] for _, event in rows), max(event["time"] for _, event in rows)],
        "people": [len(set(people)), sum(person.startswith("0") for person in people),
                   sum("login_id" not in event for _, event in rows), sum("priority" in event for _, event in rows)],
        "revenue": [len(amounts), sum(amounts)],
        "orders": [max(orders), len(set(orders)), sum(order % 2 for order in orders)],
        "versions": count(p["$app_version"] for p in properties),
        "case": [count(p["Screen"] for p in properties), sum(p["screen"] for p in properties)],
        "coupons": [sum(c is None for c in coupons), sum(c is MISSING for c in coupons),
                    count(c for c in coupons if c not in (None, MISSING))],
        "values": [min(p["at"] for p in properties), max(p["at"] for p in properties), len({p["at"] for p in properties}),
                   count(p["zip"] for p in properties), sum(p["new"] for p in properties),
                   sum(p.get("late", 0) for p in properties)],
        "paths": [sum(p["device.name"] for p in properties), count(p["device"]["name"] for p in properties),
                  sum(p["device"]["memory"] for p in properties), sum(p["options"] == {} for p in properties)],
    }
