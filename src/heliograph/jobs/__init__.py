"""Work that goes on by itself or takes long: campaigns, retention, pruning, closing, erasing."""
