"""Heliograph is a self-hosted SMS service. docs/architecture.md has the map of its rooms."""
