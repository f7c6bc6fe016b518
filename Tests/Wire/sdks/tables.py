"""The tables of Docs/Evidence/Vendors.md."""

import difflib
import importlib.metadata
import os
import re

from . import answers, calls
from .adapters import VENDORS

EXPECTED = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "peers.txt")


def heading(vendor):
    _, title, package, _ = VENDORS[vendor]
    return f"### {title}: {package} {importlib.metadata.version(package)}"


def table(head, rows):
    lines = ["| " + " | ".join(row) + " |" for row in [head, *rows]]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def code(text):
    """A value of a cell, as code."""
    return text if text in (calls.MISSING, "sent", "no call", "") else "`" + text.replace("|", "\\|") + "`"


def calls_tables(program, vendors, faults):
    """Yields the table of each vendor."""
    expected = calls.Expectations(EXPECTED)
    vendors = [vendor for vendor in vendors if VENDORS[vendor][0]]

    def compare(vendor):
        wire_format, _, _, ways = VENDORS[vendor]
        return calls.compare(vendor, wire_format, next(iter(ways.values())), program)

    # One after the other in this process, because SDKs have global state.
    for vendor in vendors:
        equal, differences = compare(vendor)
        groups, counts = {}, {name: 0 for name in calls.CLASSES}
        for difference in differences:
            found = expected.find(vendor, difference)
            if found is None:
                faults.append(f"{vendor}: peers.txt doesn't have: {' | '.join(difference)}")
                found = "fault", "not classified"
            counts[found[0]] += 1
            groups.setdefault(found, []).append(difference)
            if found[0] == "fault" and found[1] != "not classified":
                faults.append(f"{vendor}: {' | '.join(difference)}: {found[1]}")
        counts["equal"] += sum(equal.values())
        summary = ", ".join(f"{count} {name}" for name, count in counts.items())
        rows = []
        for (name, reason), some in sorted(groups.items(), key=lambda item: calls.CLASSES.index(item[0][0])):
            of = sorted({call for call, *_ in some}, key=[*calls.CALLS, "after reset", "request"].index)
            where = ", ".join(of) if len(of) <= 4 else f"{len(of)} calls"
            fields = ", ".join(dict.fromkeys(code(field) for _, field, *_ in some))
            rows.append([where, fields, sample(some, 2), sample(some, 3), name, reason])
        yield vendor, (
            f"{heading(vendor)}\n\nFields: {summary}.\n\n"
            + table(["calls", "field", "SDK", "Sluice", "class", "reason"], rows))
    for row in expected.unused(vendors):
        faults.append(f"peers.txt:{row[-1]}: no such difference")


def sample(differences, index):
    """The value, or the first one of several."""
    values = list(dict.fromkeys(difference[index] for difference in differences))
    return code(values[0]) + (" …" if len(values) > 1 else "")


def answers_tables(program, vendors, faults):
    results = answers.run(program, vendors)
    for vendor in vendors:
        wire_format, _, _, ways = VENDORS[vendor]
        columns = [*ways, *([None] if wire_format else [])]
        head = ["answer", *(way or "Sluice" for way in columns)]
        # Answers with the same effect share a row.
        groups = {}
        for name in answers.names(vendor):
            cells = tuple(cell(name, results[vendor, way, name]) for way in columns)
            groups.setdefault(cells, []).append(name)
        rows = [["; ".join(names), *cells] for cells, names in groups.items()]
        yield vendor, f"{heading(vendor)}\n\n" + table(head, rows)


def cell(name, result):
    """The number of requests, what becomes of the first events, and what the host is told."""
    parts, of, first = [], result["of"], result["first"]
    if of == 1:
        # Pauses are partly random, so a larger number differs in each run.
        count, limit = result["requests"], 10 if answers.is_short(name) else 15
        parts.append("1 request" if count == 1 else f"{count} requests" if count <= limit else f"> {limit} requests")
        if answers.names_delay(name) and count > 1:
            parts[-1] += " after 30 s" if result["gap"] >= 30 else ", earlier"
        place = "arrives there" if result["there"] else "waits" if result["waits"] else "**lost**"
        parts.append("arrives later" if first else place)
    elif first < of:
        # How many the first requests take differs by a few.
        amount = "all" if first == 0 else "most" if first < of / 2 else "some"
        parts.append(f"**{amount} lost**")
    elif name.startswith("exit"):
        parts.append("sent" if result["before"] else "kept for the next process")
    else:
        parts.append("all arrive later")
    if result.get("later") == 0:
        parts.append("**later events, too**")
    parts.append(", ".join(result["told"]) or "–")
    return "; ".join(parts)


PARTS = {"calls": calls_tables, "answers": answers_tables}


def replaced(page, texts):
    """Replaces the texts between `<!-- name -->` and `<!-- end -->`."""
    for name, text in texts.items():
        mark = f"<!-- {name} -->\n"
        if mark not in page:
            raise SystemExit(f"{mark.strip()} is missing in the page")
        head, rest = page.split(mark, 1)
        page = head + mark + text + "\n" + rest[rest.index("<!-- end -->"):]
    return page


def differences(page, changed):
    lines = difflib.unified_diff(page.splitlines(), changed.splitlines(), "the page", "this run", lineterm="", n=0)
    return [line for line in lines if re.match(r"[-+] ?[^-+]", line)]
