"""The statements of Docs/Analysis.md, and the results that stand in it.

A block that begins with "```sql duckdb" is run, and the block "```text" behind it has its result. A block with the name of
another engine is its statement that pins the columns.
"""

import pathlib
import re

PAGE = pathlib.Path(__file__).parents[3] / "Docs" / "Analysis.md"
PLACE, STORE = "/var/lake/events", "/var/lib/shop/queue"
BLOCK = re.compile(r"^```(?:sql|python) (\w+)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def statement(engine, lake):
    """The code for an engine, with the path of a lake."""
    for block in BLOCK.finditer(PAGE.read_text()):
        if block[1] == engine:
            return block[2].replace(PLACE, str(lake))
    raise SystemExit(f"no block of {engine} in {PAGE.name}")


def table(cursor):
    """A result as text."""
    rows = [[column[0] for column in cursor.description]]
    rows += [["" if value is None else str(value) for value in row] for row in cursor.fetchall()]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return "".join("  ".join(value.ljust(width) for value, width in zip(row, widths)).rstrip() + "\n" for row in rows)


def check(connection, folder, store, write):
    """Runs the page's statements with DuckDB. Returns the number of results, and those that differ."""
    text, results, wrong = PAGE.read_text(), 0, []

    def run(block):
        nonlocal results
        if block[1] != "duckdb":
            return block[0]
        cursor = connection.execute(block[2].replace(PLACE, str(folder)).replace(STORE, str(store)))
        if block[2].startswith("CREATE"):
            return block[0]
        results += 1
        result = table(cursor)
        if result != block[3]:
            wrong.append((block[2], block[3], result))
        return f"```sql duckdb\n{block[2]}```\n\n```text\n{result}```\n"

    text = BLOCK.sub(run, text)
    if write:
        PAGE.write_text(text)
        wrong = []
    return results, wrong
