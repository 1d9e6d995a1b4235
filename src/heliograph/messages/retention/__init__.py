"""Old messages: texts and numbers are erased, and rows are deleted, after the operator's days."""
