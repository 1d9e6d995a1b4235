"""Shows pages about people: whoever signs in, the people of an account, and the operators."""
