#!/usr/bin/env bash
# DataFusion 55.0.0 reads 2.5 as 2 after 1,000 integers, and a name that first appears later doesn't exist, both without a message.
#
# The types of a file are guessed from its first 1,000 lines (schema_infer_max_records). A later fraction is cut in a column of
# integers, so 1,000 times 2 and one 2.5 are 2002. A column for the later name is missing, and the lines are read all the same. A text
# in the place of a number is an error. With more lines for the guess, both are right.
#
# Output on 2026-11-29, Python 3.11:
#
#     datafusion 55.0.0
#     guessed from 1,000 lines: sum 2002, columns amount
#     guessed from 2,000 lines: sum 2002.5, columns amount late
#     with a text in the last line: an error
#
# Issue 10265 of apache/arrow-rs, open since 2026-07-02, asks about fractions in columns of integers.
#
# Exits with 1 if DataFusion behaves otherwise.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check datafusion==55.0.0
for _ in $(seq 1000); do echo '{"amount":2}'; done | tee "$folder/fraction.ndjson" >"$folder/text.ndjson"
echo '{"amount":2.5,"late":1}' >>"$folder/fraction.ndjson"
echo '{"amount":"many"}' >>"$folder/text.ndjson"
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import datafusion

def read(name, lines):
    context = datafusion.SessionContext()
    path = f"{sys.argv[1]}/{name}.ndjson"
    context.register_json("events", path, file_extension=".ndjson", schema_infer_max_records=lines)
    total = context.sql("SELECT sum(amount) AS total FROM events").to_pydict()["total"][0]
    return total, " ".join(sorted(context.table("events").schema().names))

few, many = read("fraction", 1_000), read("fraction", 2_000)
try:
    text = "read" if read("text", 1_000) else ""
except Exception:
    text = "an error"
print(f"datafusion {datafusion.__version__}")
print("guessed from 1,000 lines: sum {}, columns {}".format(*few))
print("guessed from 2,000 lines: sum {}, columns {}".format(*many))
print(f"with a text in the last line: {text}")
sys.exit(0 if (few, many, text) == ((2002, "amount"), (2002.5, "amount late"), "an error") else 1)
PYTHON
