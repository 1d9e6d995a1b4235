"""Runs the programs, such as `serve`, `api`, `worker` and `smsc`, and shares work between them."""

__all__ = [
    "api_processes",
    "checks",
    "colours",
    "demo",
    "listen",
    "logs",
    "serve",
    "smsc",
    "worker",
]
