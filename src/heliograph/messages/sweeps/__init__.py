"""This room does what no event brings about: validity ends, doubts last, campaigns pause, people
opt out.
"""
