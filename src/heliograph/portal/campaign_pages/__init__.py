"""Shows campaigns, and lets people write and launch them."""
