"""Shows operators the portal of an account as its owner sees it, to look at and not to change."""
