"""Shows a partner's customers, makes new ones, and moves credits to them and back."""
