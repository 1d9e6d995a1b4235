"""Shows the wallet and its ledger, sells credits, and keeps the thresholds of the wallet."""
