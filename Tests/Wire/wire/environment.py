"""The virtual environments and the program of the checks in this directory."""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGE = os.path.dirname(os.path.dirname(HERE))


def enter(name, requirements, script):
    """Runs a script again by the Python of a virtual environment below .build with the required packages."""
    place = os.path.join(PACKAGE, ".build", name)
    python = os.path.join(place, "bin", "python")
    stamp = os.path.join(place, "requirements.txt")
    with open(requirements) as file:
        wanted = file.read()
    if not os.path.exists(stamp) or open(stamp).read() != wanted:
        print("installing the Python packages", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements]
        subprocess.run([python, *install], check=True)
        with open(stamp, "w") as file:
            file.write(wanted)
    os.execv(python, [python, os.path.abspath(script), *sys.argv[1:]])


def program():
    """The path of WireRequests, which SLUICE_WIRE_REQUESTS names or which is built."""
    if os.environ.get("SLUICE_WIRE_REQUESTS"):
        return os.environ["SLUICE_WIRE_REQUESTS"]
    command = ["swift", "build", "-c", "release", "--package-path", PACKAGE]
    subprocess.run(command + ["--product", "WireRequests"], check=True, stdout=sys.stderr)
    shown = subprocess.run(command + ["--show-bin-path"], check=True, capture_output=True, text=True)
    return os.path.join(shown.stdout.strip(), "WireRequests")
