"""All checkers, by the names of the formats."""

from . import further, lines, objects, otlp, sensors, vendors

CHECKS = {
    "jsonArray": lines.json_array, "ndjson": lines.ndjson, "fluentBit": lines.json_array, "vector": lines.ndjson,
    "clickHouse": lines.clickhouse, "clickHouseLegacy": lines.clickhouse_legacy,
    "elasticsearch": lines.elasticsearch, "otlp": otlp.check, "loki": lines.loki, "kafka": lines.kafka,
    "kafkaV3": lines.kafka_v3, "datadog": lines.datadog, "sensors": sensors.check, "segment": vendors.segment,
    "rudderStack": vendors.rudderstack,
    "postHog": vendors.posthog, "postHogBatch": vendors.posthog_batch, "amplitude": vendors.amplitude, "mixpanel": vendors.mixpanel,
    "mixpanelAccount": vendors.mixpanel_account, "splunk": further.splunk, "influxDB": further.influxdb,
    "influxDBV1": further.influxdb_v1, "matomo": further.matomo, "googleAnalytics": further.google,
    "telemetryDeck": further.telemetry_deck, "snowplow": further.snowplow,
    "kinesis": further.kinesis, "firehose": further.firehose, "objects": objects.check,
}


def check(name, record, findings):
    """Adds the deviations of a batch to `findings`. A body that can't be read is one, too."""
    try:
        CHECKS[name](record, findings)
    except Exception as error:
        findings.expect(False, f"unreadable: {type(error).__name__}: {error}"[:100], error)
