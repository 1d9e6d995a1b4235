"""Runs the programs, such as `serve`, `api`, `worker` and `smsc`, and shares work between them."""

__all__ = [
    "api_processes",
    "checks",
    "colours",
    "console_process",
    "demo",
    "listen",
    "logs",
    "serve",
    "smsc",
    "worker",
]
