"""Serves one HTTP/1.1 connection: what its client may send, how long that may take, and how it is
answered.
"""
