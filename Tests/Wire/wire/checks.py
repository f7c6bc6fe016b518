"""All checkers, by the names of the formats."""

from . import further, lines, objects, otlp, sensors, vendors


def vendor(check, keeps_empty=False):
    """The checker of a vendor, who gets neither ids of nobody among the properties nor empty changes."""
    return lambda record, findings: check(record.cleaned(keeps_empty), findings)


CHECKS = {
    "jsonArray": lines.json_array, "ndjson": lines.ndjson, "fluentBit": lines.json_array, "vector": lines.ndjson,
    "clickHouse": lines.clickhouse, "clickHouseLegacy": lines.clickhouse_legacy,
    "elasticsearch": lines.elasticsearch, "otlp": otlp.check, "loki": lines.loki, "kafka": lines.kafka,
    "kafkaV3": lines.kafka_v3, "datadog": lines.datadog, "sensors": vendor(sensors.check, keeps_empty=True),
    "segment": vendor(vendors.segment), "rudderStack": vendor(vendors.rudderstack),
    "postHog": vendor(vendors.posthog), "postHogBatch": vendor(vendors.posthog_batch),
    "amplitude": vendor(vendors.amplitude), "mixpanel": vendor(vendors.mixpanel),
    "mixpanelAccount": vendor(vendors.mixpanel_account), "splunk": further.splunk, "influxDB": further.influxdb,
    "influxDBV1": further.influxdb_v1, "matomo": vendor(further.matomo), "googleAnalytics": vendor(further.google),
    "telemetryDeck": vendor(further.telemetry_deck), "snowplow": vendor(further.snowplow),
    "kinesis": further.kinesis, "firehose": further.firehose, "objects": objects.check,
}


def check(name, record, findings):
    """Adds the deviations of a batch to `findings`. A body that can't be read is one, too."""
    try:
        CHECKS[name](record, findings)
    except Exception as error:
        findings.expect(False, f"unreadable: {type(error).__name__}: {error}"[:100], error)
