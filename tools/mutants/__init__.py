"""Measures how many small faults in a source file its tests notice: `python -m tools.mutants`.

A mutant is the file with one such fault. It is killed when a test fails, and survives when none
does. A survivor is either a gap in the tests or code that means the same.
"""
