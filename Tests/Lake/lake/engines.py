"""Asks engines the eleven questions. Each uses the statement of Docs/Analysis.md that pins its columns."""

import csv
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from . import answers, page


class Impossible(Exception):
    """An engine can't be used here; the message says why."""


def ask(query, name, path=None, *, integer, number, isnull, missing, is_object, is_true):
    """The questions in SQL. `name` reads a property as text, `path` a nested one, and the others are expressions of it."""
    path = path or (lambda *names: name(*names))

    def rows(columns, rest=""):
        return [list(row) for row in query(f"SELECT {columns} FROM events {rest}")]

    def counts(column, where=""):
        return {row[0]: int(row[1]) for row in rows(f"{column} AS k, count(*) AS n", f"{where} GROUP BY {column}")}

    def numbers(columns):
        return [int(value) for value in rows(columns)[0]]

    def total(condition):
        return f"sum(CASE WHEN {condition} THEN 1 ELSE 0 END)"

    amount, order, at, screen = name("amount"), integer(name("order")), name("at"), integer(name("screen"))
    is_there, zeros, unknown = f"NOT ({missing('amount')})", total("distinct_id LIKE '0%'"), total("login_id IS NULL")
    return {
        "events": counts("event"),
        "days": counts("date"),
        "times": numbers("min(time), max(time)"),
        "people": numbers(f"count(DISTINCT distinct_id), {zeros}, {unknown}, count(priority)"),
        "revenue": numbers(f"{total(is_there)}, sum(round({number(amount)} * 100))"),
        "orders": numbers(f"max({order}), count(DISTINCT {order}), sum({order} % 2)"),
        "versions": counts(name("$app_version")),
        "case": [counts(name("Screen")), *numbers(f"sum({screen})")],
        "coupons": [*numbers(f"{total(isnull('coupon'))}, {total(missing('coupon'))}"),
                    counts(name("coupon"), f"WHERE NOT ({missing('coupon')}) AND NOT ({isnull('coupon')})")],
        "values": [*rows(f"min({at}), max({at})")[0], *numbers(f"count(DISTINCT {at})"), counts(name("zip")),
                   *numbers(f"{total(is_true('new'))}, sum({integer(name('late'))})")],
        "paths": [*numbers(f"sum({integer(name('device.name'))})"), counts(path("device", "name")),
                  *numbers(f"sum({integer(path('device', 'memory'))}), {total(is_object('options'))}")],
    }


def ask_duckdb(query):
    def name(*names):
        return "(properties->>'$." + ".".join(f'"{part}"' for part in names) + "')"

    return ask(
        query, name, integer=lambda text: f"({text})::BIGINT", number=lambda text: f"({text})::DOUBLE",
        isnull=lambda key: f"coalesce(json_type(properties, '$.{key}') = 'NULL', false)",
        missing=lambda key: f"NOT json_exists(properties, '$.{key}')",
        is_object=lambda key: f"json_type(properties, '$.{key}') = 'OBJECT'",
        is_true=lambda key: f"(properties->>'$.{key}')::BOOLEAN")


def duckdb(lake):
    import duckdb as engine

    connection = engine.connect()
    connection.execute(page.statement("duckdb", lake))
    return engine.__version__, ask_duckdb(lambda query: connection.execute(query).fetchall())


def sluice(lake):
    """`sluice query`, with the program duckdb of PyPI's duckdb-cli."""
    program = os.environ.get("SLUICE_INSPECTOR") or shutil.which("sluice")
    if not program:
        raise Impossible("SLUICE_INSPECTOR doesn't name the built sluice")
    environment = os.environ | {"PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
    # A name that DuckDB would take for a pattern, and for a column.
    folder = os.path.join(os.path.dirname(lake), f"id=5 it's [1]*? back\\slash {os.path.basename(lake)}")
    os.symlink(lake, folder)

    def query(text):
        command = [program, "query", text, folder, "--format", "json"]
        result = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
        # Columns of one name are several members.
        return json.loads(result, object_pairs_hook=lambda members: [value for _, value in members])

    version = subprocess.run(["duckdb", "--version"], env=environment, check=True, capture_output=True, text=True)
    return version.stdout.split()[0], ask_duckdb(query)


def clickhouse(lake):
    from chdb import session

    connection = session.Session()
    connection.query(page.statement("clickhouse", lake))

    def query(text):
        return [json.loads(row) for row in str(connection.query(text, "JSONCompactEachRow")).splitlines()]

    def arguments(*names):
        return ", ".join(f"'{part}'" for part in names)

    def name(*names):
        return f"JSONExtract(properties, {arguments(*names)}, 'Nullable(String)')"

    def as_type(text, kind):
        return text.replace("Nullable(String)", f"Nullable({kind})")

    return query("SELECT version()")[0][0], ask(
        query, name, integer=lambda text: as_type(text, "Int64"), number=lambda text: as_type(text, "Float64"),
        isnull=lambda key: f"JSONHas(properties, '{key}') AND JSONType(properties, '{key}') = 'Null'",
        missing=lambda key: f"NOT JSONHas(properties, '{key}')",
        is_object=lambda key: f"JSONType(properties, '{key}') = 'Object'",
        is_true=lambda key: f"JSONExtractBool(properties, '{key}')")


def spark(lake):
    if not shutil.which("java"):
        raise Impossible("Spark needs Java")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.ui.showConsoleProgress", "false")
    engine = builder.config("spark.sql.warehouse.dir", tempfile.mkdtemp()).getOrCreate()
    engine.sparkContext.setLogLevel("ERROR")
    engine.sql("DROP VIEW IF EXISTS events")
    engine.sql(page.statement("spark", lake))
    engine.sql("CACHE TABLE events")

    def path(*names):
        return "$" + "".join(f"[\"{part}\"]" for part in names)

    def name(*names):
        return f"variant_get(properties, '{path(*names)}', 'string')"

    return engine.version, ask(
        lambda query: engine.sql(query).collect(), name,
        integer=lambda text: text.replace("'string'", "'bigint'"), number=lambda text: text.replace("'string'", "'double'"),
        isnull=lambda key: f"is_variant_null(variant_get(properties, '{path(key)}'))",
        missing=lambda key: f"variant_get(properties, '{path(key)}') IS NULL",
        is_object=lambda key: f"schema_of_variant(variant_get(properties, '{path(key)}')) LIKE 'OBJECT%'",
        is_true=lambda key: f"variant_get(properties, '{path(key)}', 'boolean')")


class PostgreSQL:
    """A server of Debian's package on a socket, with its data in a temporary folder."""

    def __enter__(self):
        versions = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if not versions or os.geteuid() != 0:
            raise Impossible("it needs Debian's postgresql, and root to start it as another user")
        self.bin = versions[-1].parent
        self.folder = tempfile.mkdtemp(prefix="sluice-postgresql-")
        shutil.chown(self.folder, "postgres")
        os.chmod(self.folder, 0o755)
        data = f"{self.folder}/data"
        self._run("initdb", "-D", data, "-A", "trust", "-E", "UTF8", "--locale", "C")
        self._run("pg_ctl", "-D", data, "-w", "-l", f"{self.folder}/log", "-o", f"-k {self.folder} -h ''", "start")
        return self

    def _run(self, tool, *arguments):
        subprocess.run([self.bin / tool, *arguments], check=True, stdout=subprocess.DEVNULL, user="postgres", cwd="/")

    def psql(self, text):
        command = ["psql", "-h", self.folder, "-U", "postgres", "-q", "-v", "ON_ERROR_STOP=1", "-t", "-A"]
        return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout

    def __exit__(self, *_):
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "stop")
        shutil.rmtree(self.folder)


def postgresql(lake):
    with PostgreSQL() as server:
        server.psql(page.statement("postgresql", lake))

        def query(text):
            return csv.reader(io.StringIO(server.psql(f"COPY ({text}) TO STDOUT (FORMAT csv)"), newline=""))

        def name(*names):
            return "(properties" + "".join(f"->'{part}'" for part in names[:-1]) + f"->>'{names[-1]}')"

        return server.psql("SHOW server_version").split()[0], ask(
            query, name, integer=lambda text: f"({text})::bigint", number=lambda text: f"({text})::numeric",
            isnull=lambda key: f"json_typeof(properties->'{key}') = 'null'",
            missing=lambda key: f"properties->'{key}' IS NULL",
            is_object=lambda key: f"json_typeof(properties->'{key}') = 'object'",
            is_true=lambda key: f"(properties->>'{key}')::boolean")


def polars(lake):
    import polars as engine

    names = {}
    exec(page.statement("polars", lake), names)
    events, pl = names["events"], names["pl"]
    context = pl.SQLContext()

    def query(text):
        return context.execute(text, eager=True).rows()

    def column(name, path):
        return pl.col("properties").str.json_path_match(path).alias(name)

    wanted = {"amount": "amount", "order": "order", "at": "at", "$app_version": "version", "Screen": "upper",
              "screen": "lower", "coupon": "coupon", "zip": "zip", "new": "new", "late": "late", "device.name": "dotted",
              "options": "options"}
    columns = [column(short, f"$['{long}']") for long, short in wanted.items()]
    columns += [column("phone", "$.device.name"), column("memory", "$.device.memory")]
    # A path finds neither null nor a missing property.
    columns += [pl.col("properties").str.contains(r'"coupon": ?null[,}]').alias("coupon_null"),
                pl.col("properties").str.contains(r'"coupon": ?').alias("coupon_there"),
                pl.col("properties").str.contains('"amount":').alias("amount_there")]
    context.register("events", events.with_columns(columns).collect())
    nested = {("device", "name"): "phone", ("device", "memory"): "memory"}
    return engine.__version__, ask(
        query, lambda *names: nested[names] if len(names) > 1 else wanted[names[0]],
        integer=lambda text: f"CAST({text} AS BIGINT)", number=lambda text: f"CAST({text} AS DOUBLE)",
        isnull=lambda key: f"{key}_null", missing=lambda key: f"NOT {key}_there",
        is_object=lambda key: f"{wanted[key]} = '{{}}'", is_true=lambda key: f"{wanted[key]} = 'true'")


def pandas(lake):
    import pandas as engine

    names = {}
    exec(page.statement("pandas", lake), names)
    rows = names["events"].to_dict("records")
    # A missing column of a row is NaN.
    rows = [{key: value for key, value in row.items() if value == value} for row in rows]
    return engine.__version__, answers.of((row["date"], row) for row in rows)


ENGINES = {"duckdb": duckdb, "sluice": sluice, "clickhouse": clickhouse, "spark": spark, "polars": polars, "pandas": pandas,
           "postgresql": postgresql}
