"""Files in CSV: their records, one after the other."""
