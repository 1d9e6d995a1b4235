"""Reads and writes files in CSV: their records, one after the other, and their column of phone
numbers.
"""
