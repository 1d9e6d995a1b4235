"""This room has the programs that run, such as `serve`, `api`, `worker` and `smsc`, and how they
share work.
"""

__all__ = [
    "api_processes",
    "carrier",
    "checks",
    "colours",
    "demo",
    "listen",
    "logs",
    "serve",
    "smsc",
    "worker",
]
