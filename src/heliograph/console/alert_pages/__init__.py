"""Shows alerts, the rules that open them, and who is told."""
