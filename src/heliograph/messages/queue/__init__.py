"""This room is the queue of runs: its columns, its order, and how much waits in it."""
