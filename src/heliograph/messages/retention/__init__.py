"""This room makes old messages go: texts and numbers are erased, and rows are deleted, after the
operator's days.
"""
