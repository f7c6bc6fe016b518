"""Thirty wrong uses of generated types, each of which the compiler must refuse, beside thirty right ones."""
import re
import subprocess

# Each right use, and the same use with a mistake.
USES = [
    ('Purchase(sku: "A", amount: 1)', 'Purchase(sku: "A")'),
    ('Purchase(sku: "A", amount: 1, coupon: "C")', 'Purchase(amount: 1, coupon: "C")'),
    ('Purchase(sku: "B", amount: 1)', 'Purchase(sku: 7, amount: 1)'),
    ('Purchase(sku: "B", amount: 1.5)', 'Purchase(sku: "B", amount: "1.5")'),
    ('Purchase(sku: "B", amount: 2, coupon: nil)', 'Purchase(sku: nil, amount: 2)'),
    ('Purchase(sku: "B", amount: 3, coupon: "x")', 'Purchase(sku: "B", amount: 3, coupn: "x")'),
    ('Purchase(sku: "B", amount: 4, plan: .free)', 'Purchase(sku: "B", amount: 4, plan: .gold)'),
    ('Purchase(sku: "B", amount: 4, plan: Plan(rawValue: "pro"))', 'Purchase(sku: "B", amount: 4, plan: "pro")'),
    ('Purchase(sku: "B", amount: 5, plan: .inStore)', 'Purchase(sku: "B", amount: 5, plan: .instore)'),
    ('Purchase(sku: "B", amount: 6, isGift: true)', 'Purchase(sku: "B", amount: 6, isGift: 1)'),
    ('Purchase(sku: "B", amount: 7, quantity: 2)', 'Purchase(sku: "B", amount: 7, quantity: 2.5)'),
    ('Purchase(sku: "B", amount: 8, paidAt: Timestamp(milliseconds: 0))', 'Purchase(sku: "B", amount: 8, paidAt: 0)'),
    ('Purchase(sku: "B", amount: 8, paidAt: Timestamp("x"))', 'Purchase(sku: "B", amount: 8, paidAt: "2026-11-21")'),
    ('Purchase(sku: "B", amount: 9, coupon: "c")', 'Purchase(amount: 9, sku: "B", coupon: "c")'),
    ('Search(query: "q", sizes: [.s])', 'Search(query: "q", sizes: .s)'),
    ('Search(query: "q", sizes: [.s, .m])', 'Search(query: "q", sizes: [.s, .huge])'),
    ('Search(query: "q", tags: ["a"])', 'Search(query: "q", tags: [1])'),
    ('Search(query: "q", tags: [])', 'Search(query: "q", tags: "a")'),
    ('Search(query: "q", range: Search.Range(from: 1, to: 2))', 'Search(query: "q", range: Search.Range(from: 1))'),
    ('Search(query: "q", range: .init(from: 1, to: 2))', 'Search(query: "q", range: ["from": 1, "to": 2])'),
    ('Search(query: "q", range: .init(from: 1, to: 2.5))', 'Search(query: "q", range: .init(from: 1, to: "2"))'),
    ('Search(query: "q", default: "x")', 'Search(query: "q", default: 1)'),
    ('Search(query: "q", level: .value1)', 'Search(query: "q", level: .value3)'),
    ('Search(query: "q", level: .minus1)', 'Search(query: "q", level: 1)'),
    ('Search(query: "q", extra: ["any": 1])', 'Search(query: "q", extra: "any")'),
    ('Search(query: "q", userID: "a", userID2: "b")', 'Search(query: "q", userID: "a", userID3: "b")'),
    ("Opened()", 'Opened(from: "x")'),
    ("Opened().eventProperties", "Opened().properties"),
    ("Purchase.eventName", 'Purchase.eventName = "Purchased"'),
    ("VideoClicked(number: 1)", "Videoclicked(number: 1)"),
]


FEATURES = ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"]


def compile_odd_names(generator, modules, plan, folder):
    """Keywords, names of types, names that are no identifiers, and names that differ only in case."""
    names = list(re.findall(r'"[^"]*": {', plan.read_text()))
    result = True
    for access in ["public", "package", "internal"]:
        source, types = folder / "odd.plan.json", folder / "odd.swift"
        source.write_text(plan.read_text().replace('"public"', f'"{access}"'))
        subprocess.run([generator, source, types, "SluiceEvents"], check=True)
        run = subprocess.run(
            ["swiftc", "-typecheck", "-swift-version", "6", "-package-name", "odd", "-warnings-as-errors", "-I", modules,
             *[flag for feature in FEATURES for flag in ("-enable-upcoming-feature", feature)], types],
            capture_output=True, text=True)
        print(f"{len(names)} odd names, {access}: {'compiled without a warning' if run.returncode == 0 else run.stderr}")
        result &= run.returncode == 0
    return result


def run(generator, modules, plan, folder):
    types = folder / "types.swift"
    subprocess.run([generator, plan, types, "SluiceEvents"], check=True)
    broken = folder / "broken.plan.json"
    broken.write_text(plan.read_text().replace('"maxItems"', '"maxItem"'))
    error = subprocess.run([generator, broken, types, "SluiceEvents"], capture_output=True, text=True)
    place = f'{broken}:27:80: error: "maxItem" isn\'t supported here'
    result = error.returncode == 1 and error.stderr.startswith(place)
    print("a broken plan: " + (error.stderr.split(str(folder))[-1].split(":", 1)[-1].strip() if result else error.stderr))
    result &= compile_odd_names(generator, modules, plan.parent / "odd.plan.json", folder)
    for name, index, wanted in [("right", 0, 0), ("wrong", 1, len(USES))]:
        uses = folder / f"{name}.swift"
        lines = [f"func use{number}() {{ {'' if ' = ' in use[index] else '_ = '}{use[index]} }}" for number, use in enumerate(USES)]
        uses.write_text("import SluiceEvents\n" + "\n".join(lines) + "\n")
        run = subprocess.run(
            ["swiftc", "-typecheck", "-swift-version", "6", "-I", modules, types, uses], capture_output=True, text=True)
        found = {int(number) for number in re.findall(rf"{name}\.swift:(\d+):\d+: error:", run.stderr)}
        others = re.findall(rf"^(?!.*/{name}\.swift).*:\d+:\d+: error:.*", run.stderr, re.MULTILINE)
        print(f"{len(USES)} {name} uses of generated types: {len(found)} compile errors")
        if len(found) != wanted or others:
            accepted = [use[index] for number, use in enumerate(USES) if (number + 2 in found) != bool(wanted)]
            print("\n".join([*accepted, *others, run.stderr if not wanted else ""]))
            result = False
    return result
