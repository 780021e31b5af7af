"""Metrics for Prometheus and traces of OpenTelemetry."""
