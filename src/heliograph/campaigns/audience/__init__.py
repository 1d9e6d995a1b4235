"""Keeps whom a campaign goes to: its people are read, priced, written down with their texts by one
process at a time, and forgotten in the end.
"""
