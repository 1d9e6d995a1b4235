"""This room has the programs that run, such as `serve`, `api`, `worker` and `smsc`, and how they
share work.
"""
