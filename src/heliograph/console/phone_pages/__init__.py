"""Shows the pages about one phone: what is known of it, its opt-outs, and how it is erased."""
