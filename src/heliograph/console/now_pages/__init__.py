"""Shows how the service does at this moment, and how it did in the last week."""
