"""Random plans and events. jsonschema and Sluice must find the same wrong and unknown properties in each event."""
import json
import random
import re
import subprocess

NAMES = ["sku", "amount", "user_id", "SKU", "名前", "größe", "is gift", "a.b", "items", "x-y", "plan", "q\"uote", "emoji 🎉"]
STRINGS = ["", "a", "ab", "free", "pro", "größe", "🎉🎉🎉", "e\u0301", "é", "line\nbreak", "x" * 30, "2026-11-21", "true", "1"]
DATES = [
    "2026-11-21T05:55:16.123Z", "2026-02-29T05:55:16.123Z", "2024-02-29T00:00:00Z", "2026-11-21T05:55:16.1234567Z",
    "2026-11-21T24:00:00Z", "2026-11-21T23:59:59+02:00", "2026-11-21T23:59:59-25:00", "2026-11-21T23:59:59+02:60",
    "2026-13-01T00:00:00Z", "2026-11-21 05:55:16Z", "2026-11-21T05:55:16", "2026-11-21T05:55:16.Z", "2026-1-21T05:55:16Z",
    "2026-11-21T05:55:16.123Z ", "now", "2026-11-21T05:55:60Z", "2026-11-21T05:55:16+0200",
]
NUMBERS = [
    0, 1, -1, 2, 40, 41, 0.5, -0.5, 1.0, -1.0, 40.0, 1e300, -1e300, 2**53, 2**53 + 1, -2**53 - 1, 2**63 - 1, -2**63, 1e-9,
]


def rule(rng, depth):
    kind = rng.choice(["string", "date", "integer", "number", "boolean", "choice", "array", "object"][: 8 if depth < 3 else 6])
    if kind == "date":
        return {"type": "string", "format": "date-time"}
    if kind == "choice":
        # A plan can't have two spellings of a character as two values, because a Swift enum can't.
        values = rng.sample([string for string in STRINGS if string != "é"], rng.randint(1, 4)) if rng.random() < 0.6 else rng.sample([-1, 0, 1, 2, 2**53 + 1], 3)
        result = {"enum": values}
        if rng.random() < 0.5:
            result["type"] = "string" if isinstance(values[0], str) else "integer"
        return result
    result = {"type": kind}
    if kind == "string" or kind == "array":
        names = ("minLength", "maxLength") if kind == "string" else ("minItems", "maxItems")
        low, high = sorted([rng.randint(0, 4), rng.randint(0, 4)])
        result.update({name: limit for name, limit in zip(names, (low, high)) if rng.random() < 0.5})
    if kind in ("integer", "number"):
        limits = sorted(rng.choice([-1, 0, 0.5, 1, 2.5, 40, 2**53]) for _ in range(2))
        result.update({name: limit for name, limit in zip(("minimum", "maximum"), limits) if rng.random() < 0.4})
    if kind == "array":
        result["items"] = rule(rng, depth + 1)
    if kind == "object" and rng.random() < 0.8:
        result.update(properties(rng, depth + 1))
    return result


def properties(rng, depth, count=None):
    names = rng.sample(NAMES, count or rng.randint(1, 4))
    return {
        "properties": {name: rule(rng, depth) for name in names},
        "required": [name for name in names if rng.random() < 0.4],
    }


def value(rng, schema):
    """A value that usually conforms."""
    if schema is None or rng.random() < 0.03:
        return rng.choice([None, True, False, rng.choice(NUMBERS), rng.choice(STRINGS), rng.choice(DATES), [], {}, [1], {"a": 1}])
    if "enum" in schema:
        chosen = rng.choice(schema["enum"])
        return float(chosen) if isinstance(chosen, int) and rng.random() < 0.2 and abs(chosen) < 2**53 else chosen
    kind = schema["type"]
    if kind == "string":
        return rng.choice(DATES if "format" in schema or rng.random() < 0.1 else STRINGS)
    if kind in ("integer", "number"):
        return rng.choice(NUMBERS)
    if kind == "boolean":
        return rng.random() < 0.5
    if kind == "array":
        return [value(rng, schema["items"]) for _ in range(rng.randint(0, 4))]
    return an_object(rng, schema)


def an_object(rng, schema):
    listed, required = schema.get("properties", {}), schema.get("required", [])
    chosen = [name for name in listed if rng.random() < (0.98 if name in required else 0.6)]
    if rng.random() < 0.5:
        rng.shuffle(chosen)
    result = {name: value(rng, listed[name]) for name in chosen}
    for extra in ["unknown", "$plugin"]:
        if rng.random() < 0.1:
            result[extra] = value(rng, None)
    return result


def closed(schema):
    """The same schema, in which an object with rules has no other properties than the listed ones and a plugin's."""
    result = dict(schema)
    if "properties" in schema:
        result["properties"] = {name: closed(own) for name, own in schema["properties"].items()}
        result["additionalProperties"] = False
        result["patternProperties"] = {r"^\$": {}}
    if "items" in schema:
        result["items"] = closed(schema["items"])
    return result


def place(path):
    text = ""
    for step in path:
        text += "[]" if isinstance(step, int) else ("." if text else "") + step
    return text


def expected(validator, event):
    """The places of violations, and of unknown properties."""
    violations, unknown = set(), set()
    for error in validator.iter_errors(event):
        path = list(error.absolute_path)
        if error.validator == "required":
            missing = [name for name in error.validator_value if error.message.startswith(f"{name!r} is a required")]
            violations.update(place([*path, name]) for name in missing)
        elif error.validator == "additionalProperties":
            names = [name for name in error.instance if name not in error.schema["properties"] and not name.startswith("$")]
            unknown.update(place([*path, name]) for name in names)
        else:
            violations.add(place(path))
    return sorted(violations), sorted(unknown)


def line(event, schema, rng):
    """The event as Sluice stores it: some of its dates are dates, with the mark that the reader recognizes."""
    text = json.dumps(event, ensure_ascii=False)
    if rng.random() < 0.5:
        text = re.sub(r'("\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})Z"', r'\1\\u005a"', text)
    return text


def run(host, folder, count, seed):
    from jsonschema import Draft202012Validator, FormatChecker

    checker = FormatChecker(["date-time"])
    if "date-time" not in checker.checkers:
        raise SystemExit("jsonschema checks no dates without rfc3339-validator")
    rng = random.Random(seed)
    names = [f"Event {number}" for number in range(200)]
    schemas = {name: properties(rng, 0, rng.randint(1, 10)) for name in names}
    plan = folder / "plan.json"
    plan.write_text(json.dumps({
        "plan": "random", "version": 1,
        "events": {name: {"description": "An event.", **schema} for name, schema in schemas.items()},
    }))
    validators = {
        name: Draft202012Validator(closed({"type": "object", **schema}), format_checker=checker)
        for name, schema in schemas.items()}
    events = []
    for number in range(count):
        name = names[number % len(names)]
        events.append({"event": name, "properties": an_object(rng, schemas[name])})
    lines = [line(event, schemas[event["event"]], rng) for event in events]
    answers = subprocess.run([host, plan], input="\n".join(lines), stdout=subprocess.PIPE, text=True, check=True).stdout
    answers = answers.splitlines()
    assert len(answers) == len(events), f"{len(answers)} answers for {len(events)} events"
    differences, invalid, unknown = 0, 0, 0
    for event, text, answer in zip(events, lines, answers):
        wrong, extra = expected(validators[event["event"]], event["properties"])
        invalid += bool(wrong)
        unknown += bool(extra)
        found = json.loads(answer)
        if (found["violations"], found["unknown"]) != (wrong, extra):
            differences += 1
            if differences <= 10:
                print(f"jsonschema: {wrong} {extra}\nSluice:     {found}\n{text}\n{schemas[event['event']]}\n")
    print(f"{count:,} events, {invalid:,} of them wrong and {unknown:,} with unknown properties: {differences} differences "
          "from jsonschema")
    return differences == 0 and invalid > count // 10 and invalid < count * 9 // 10
