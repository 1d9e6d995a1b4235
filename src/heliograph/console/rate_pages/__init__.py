"""Shows and changes what a segment costs and brings: rates, sheets, costs, prices, margins."""
