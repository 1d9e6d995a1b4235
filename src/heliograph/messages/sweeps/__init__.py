"""What no event brings about: validity that ends, doubts that last, pauses and opt-outs."""
