"""The commands of Docs/Analysis.md that erase a person in a bucket, on a folder in its place."""

import gzip
import os
import pathlib
import shutil
import subprocess
import tempfile

from .page import PAGE

# A bucket that is a folder. With FAILS, it can't be read.
AWS = """#!/bin/sh
place() { printf '%s' "$1" | sed "s|^s3://bucket|$BUCKET|"; }
case $2$3$FAILS in
syncs3:*1) exit 1 ;;
sync*) mkdir -p "$(place "$4")" && cp -pR "$(place "$3")/." "$(place "$4")" ;;
rm*) rm "$(place "$3")" ;;
esac
"""


def lines(bucket):
    """The lines of all objects, by their names."""
    return {str(path.relative_to(bucket)): gzip.decompress(path.read_bytes()).splitlines()
            for path in pathlib.Path(bucket).glob("events/date=*/*.gz")}


def check(lake, program):
    """Returns the mistakes. The person is the one of the first event, who is also alone in an object."""
    text = PAGE.read_text().split("In a bucket, run it", 1)[1].split("```\n")[1]
    with tempfile.TemporaryDirectory() as folder:
        bucket, place = f"{folder}/bucket", f"{folder}/place"
        shutil.copytree(lake, f"{bucket}/events")
        os.makedirs(place)
        for name, contents in (("aws", AWS), ("sluice", f'#!/bin/sh\nexec "{program}" "$@"\n')):
            pathlib.Path(f"{folder}/{name}").write_text(contents)
            os.chmod(f"{folder}/{name}", 0o700)
        name, first = next(((name, found[0]) for name, found in lines(bucket).items() if b'"distinct_id":"' in found[0]))
        person = first.split(b'"distinct_id":"')[1].split(b'"')[0]
        pathlib.Path(f"{bucket}/{name}").with_name("alone.ndjson.gz").write_bytes(gzip.compress(first + b"\n"))

        def run(**environment):
            environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "BUCKET": bucket} | environment
            script = text.replace("--user 42", f"--user '{person.decode()}'")
            subprocess.run(["sh", "-c", script], cwd=place, env=environment, capture_output=True)

        def right(before):
            kept = {name: [line for line in found if b'_id":"%s"' % person not in line] for name, found in before.items()}
            return {name: found for name, found in kept.items() if found}

        before, mistakes = lines(bucket), []
        run()
        if lines(bucket) != right(before):
            mistakes.append("the person isn't erased, or others are")
        # An object expires, and the commands run again beside what the first run has left.
        gone = sorted(right(before))[-1]
        os.unlink(f"{bucket}/{gone}")
        run()
        if gone in lines(bucket):
            mistakes.append("a deleted object comes back")
        for name in ("copy", "erasure/copy"):
            shutil.rmtree(f"{place}/{name}", ignore_errors=True)
        run(FAILS="1")
        run(FAILS="")
        if set(right(before)) - {gone} - set(lines(bucket)):
            mistakes.append("objects are deleted after a step that failed")
        return mistakes
