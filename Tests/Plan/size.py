"""The time to compile the types of 500 events, and the bytes that each event adds to a program that tracks it."""
import json
import random
import resource
import subprocess
import time

EVENTS, PROPERTIES, CHOICES = 500, 6, 25
TYPES = {"string": "text", "integer": "number", "number": "amount", "boolean": "flag"}


def plan(count):
    rng = random.Random(1)
    events = {}
    for number in range(count):
        properties = {}
        for index in range(PROPERTIES):
            kind = rng.choice(list(TYPES))
            properties[f"{kind}_{index}"] = {"type": kind, "description": "A value that the shop knows."}
        if number % 2 == 0:
            choice = rng.randrange(CHOICES)
            properties.popitem()
            properties[f"choice_{choice}"] = {"enum": [f"value{choice}{letter}" for letter in "abc"]}
        events[f"Event number {number}"] = {
            "description": "The customer did something.", "owner": "shop", "properties": properties,
            "required": list(properties)[: PROPERTIES * 2 // 3]}
    return {"plan": "shop", "version": 1, "events": events}


def uses(content):
    """A program that tracks each event once, with variables."""
    lines = ["import SluiceEvents", "struct Tracker: EventTracking {", "    func track(",
             "        _ name: String, _ properties: Properties, priority: Event.Priority, id: EventID?,",
             "        configure: (inout Event) -> Void", "    ) -> EventID {", "        print(name, properties)",
             "        return .make(at: .init(milliseconds: 0))", "    }", "}",
             "let (text, number) = (CommandLine.arguments[0], CommandLine.arguments.count)",
             "let (amount, flag) = (Double(number), number == 2)", "let tracker = Tracker()"]
    for name, event in content["events"].items():
        arguments = []
        for own, rule in event["properties"].items():
            if own in event["required"]:
                kind, index = own.split("_")
                value = TYPES.get(rule.get("type"), f".value{index}a")
                arguments.append(f"{kind}{index if index[0].isdigit() else index}: {value}")
        lines.append(f"tracker.track({name.title().replace(' ', '')}({', '.join(arguments)}))")
    return "\n".join(lines) + "\n"


def program(built, folder, count):
    content = plan(count)
    source, types, main, output = (folder / name for name in ["plan.json", "types.swift", "main.swift", "program"])
    source.write_text(json.dumps(content))
    main.write_text(uses(content))
    subprocess.run([built / "PlanGenerator", source, types, "SluiceEvents"], check=True)
    objects = list((built / "SluiceEvents.build").glob("*.o"))
    subprocess.run(
        ["swiftc", "-O", "-wmo", "-swift-version", "6", "-I", built / "Modules", types, main, *objects, "-o", output,
         "-Xlinker", "--gc-sections"], check=True)
    subprocess.run(["strip", output], check=True)
    return output.stat().st_size


def seconds(types, *options):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run(["swiftc", "-parse-as-library", "-swift-version", "6", *options, types], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - start


def run(built, folder):
    empty, full = program(built, folder, 0), program(built, folder, EVENTS)
    each = (full - empty) / EVENTS
    print(f"{EVENTS} events, each tracked once with {PROPERTIES} properties: {each:,.0f} bytes for each event, "
          "its call included")
    passed = each <= 1_024
    for name, options in [("debug", ["-Onone"]), ("release", ["-O", "-wmo"])]:
        processor, wall = seconds(
            folder / "types.swift", *options, "-c", "-module-name", "Types", "-I", built / "Modules", "-o", folder / "types.o")
        print(f"{EVENTS} events compile in {processor:.1f} s of processor time, {wall:.1f} s in all ({name})")
        passed &= processor <= 10
    return passed
