#!/usr/bin/env bash
# DuckDB 2.0.1 takes a property for an integer that has fractions from the 33rd file on, and rounds them without a message. A count
# fails if two names in an object differ only in case.
#
# read_json guesses the types of a glob from its first 32 files (maximum_sample_files). A later 9.99 becomes 10: the sum of 32 times
# 10 and 9.99 is 330. Text in the place of a number is an error, but a fraction is not. sample_size = -1, which reads all lines of
# each sampled file, changes nothing. maximum_sample_files = -1, union_by_name = true and declared columns give 329.99.
#
# A column of structs can't have the members "Screen" and "screen", as JSON's objects can. So even count(*) fails, unless the columns
# are declared.
#
# Output on 2026-11-29, Python 3.11:
#
#     duckdb 2.0.1
#     guessed: 330; sample_size = -1: 330; maximum_sample_files = -1: 329.99; declared: 329.99
#     count of two lines: Not implemented Error: Duplicate name "screen" in struct auto-detected in JSON, try ignore_errors=true
#     count with declared columns: 2
#
# Issue 25786 of duckdb/duckdb, open since 2026-09-16, reports the rounding beyond sample_size in one file.
#
# Exits with 1 if DuckDB behaves otherwise.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.1
for number in $(seq 10 42); do
    echo "{\"amount\":$([ "$number" = 42 ] && echo 9.99 || echo 10)}" >"$folder/$number.ndjson"
done
cat >"$folder/names.json" <<'LINES'
{"properties":{"Screen":"Home","screen":1}}
{"properties":{"Screen":"Sale","screen":2}}
LINES
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import duckdb

def total(options=""):
    return duckdb.sql(f"SELECT sum(amount) FROM read_json('{sys.argv[1]}/*.ndjson'{options})").fetchall()[0][0]

def count(options=""):
    try:
        return duckdb.sql(f"SELECT count(*) FROM read_json('{sys.argv[1]}/names.json'{options})").fetchall()[0][0]
    except duckdb.Error as error:
        return str(error)

sums = [total(), total(", sample_size = -1"), total(", maximum_sample_files = -1"), total(", columns = {amount: 'DOUBLE'}")]
counts = [count(), count(", columns = {properties: 'JSON'}")]
print(f"duckdb {duckdb.__version__}")
print("guessed: {}; sample_size = -1: {}; maximum_sample_files = -1: {}; declared: {}".format(*sums))
print(f"count of two lines: {counts[0]}")
print(f"count with declared columns: {counts[1]}")
sys.exit(0 if sums == [330, 330, 329.99, 329.99] and "Duplicate name" in str(counts[0]) and counts[1] == 2 else 1)
PYTHON
