"""Messages in doubt: submitted and never answered, and settled by a receipt or by an operator."""
