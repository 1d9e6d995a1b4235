"""Holds the migrations, in order of their numbers."""
