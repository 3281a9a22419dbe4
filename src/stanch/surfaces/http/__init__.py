"""The REST door: JSON over HTTP, described by OpenAPI."""
