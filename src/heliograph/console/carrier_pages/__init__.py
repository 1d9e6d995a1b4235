"""Shows pages about carriers, the routes to them, and the numbers that texts come to."""
