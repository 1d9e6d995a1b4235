"""Contains the pages about carriers, routes and rates."""
