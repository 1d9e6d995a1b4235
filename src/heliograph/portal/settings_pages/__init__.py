"""Shows the settings of an account, and what was changed of the account by whom."""
