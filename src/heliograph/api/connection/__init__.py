"""This folder serves one HTTP/1.1 connection: what its client may send, how long it may take,
how it is answered.
"""
