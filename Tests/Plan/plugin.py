"""The build plugin with several plans in one target: each has an output of its own, or the build stops with both names."""
import json
import os
import re
import subprocess

MANIFEST = """// swift-tools-version:6.0
import PackageDescription

let package = Package(
    name: "Plans", platforms: [.macOS(.v13)], dependencies: [.package(path: "Sluice")],
    targets: [
        .executableTarget(
            name: "Plans", dependencies: [.product(name: "SluiceEvents", package: "Sluice")],
            plugins: [.plugin(name: "SluicePlanPlugin", package: "Sluice")])
    ])
"""


def add(sources, path, event):
    file = sources / path
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"plan": event.lower(), "version": 1, "events": {event: {"description": "An event."}}}))
    return file


def build(package):
    run = subprocess.run(["swift", "build", "--package-path", package], capture_output=True, text=True)
    return run.returncode, run.stdout + run.stderr


def run(root, folder):
    package = folder / "Plans"
    sources = package / "Sources" / "Plans"
    sources.mkdir(parents=True)
    os.symlink(root, package / "Sluice")
    (package / "Package.swift").write_text(MANIFEST)
    for path, event in [("plan.json", "One"), ("a/plan.json", "Two"), ("b/plan.json", "Three"), ("b/x.plan.json", "Four")]:
        add(sources, path, event)
    names = ", ".join(f"{event}.eventName" for event in ["One", "Two", "Three", "Four"])
    (sources / "main.swift").write_text(f"import SluiceEvents\nprint({names})\n")
    status, output = build(package)
    right = status == 0
    print("4 plans in 3 folders of a target: " + ("each has its types" if right else output))
    pair = [add(sources, path, event) for path, event in [("y.plan.json", "Five"), ("y-plan.json", "Six")]]
    status, output = build(package)
    names = "|".join(re.escape(file.name) for file in pair)
    error = re.search(rf"\S*/({names}) and \S*/(?!\1)({names}) both result in y-plan\+Generated\.swift: .*", output)
    print("2 plans with the same output: " + (re.sub(r"\S*/", "", error[0]) if error and status else output))
    return right and status != 0 and error is not None
