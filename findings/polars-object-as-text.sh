#!/usr/bin/env bash
# Polars 2.1.0 reads an object into a column of text without the escapes of its strings, so the text is no JSON.
#
# A schema with pl.String for an object is the way to keep properties that differ from event to event. For the line
# {"properties":{"path":"C:\\new","n":1}} the column has {"path": "C:\new", "n": 1}: the backslash is lost, and \n would be a
# newline. For "a\\ b" the text can't be read at all, and each json_path_match of its row is null, without an error. A sum over
# such rows is too small. Reading the lines as text, with scan_lines, is right.
#
# Output on 2026-11-28, Python 3.11:
#
#     polars 2.1.0: rows: 3; sum of n by properties: 2; sum of n by lines: 3
#     the path "C:\\new" is read as: 'C:\new'
#
# In the last line, Python's \n is a newline. Issue 26574 of pola-rs/polars asks for the escapes as a new feature, and was closed.
#
# Exits with 1 if Polars behaves otherwise.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check polars==2.1.0
cat > "$folder/events.ndjson" <<'LINES'
{"properties":{"path":"plain","n":1}}
{"properties":{"path":"C:\\new","n":1}}
{"properties":{"path":"a\\ b","n":1}}
LINES
"$folder/venv/bin/python" - "$folder/events.ndjson" <<'PYTHON'
import sys
import polars as pl

columns = pl.scan_ndjson(sys.argv[1], schema={"properties": pl.String}).collect()["properties"]
lines = pl.scan_lines(sys.argv[1], name="line").collect()["line"]
found = columns.str.json_path_match("$.n").cast(pl.Int64).sum()
right = lines.str.json_path_match("$.properties.n").cast(pl.Int64).sum()
path = columns.str.json_path_match("$.path")[1]
print(f"polars {pl.__version__}: rows: {len(columns)}; sum of n by properties: {found}; sum of n by lines: {right}")
print(f'the path "C:\\\\new" is read as: {path!r}')
sys.exit(0 if (found, right) == (2, 3) and "\n" in path else 1)
PYTHON
