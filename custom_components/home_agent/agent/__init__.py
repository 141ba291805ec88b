"""One question to one model, from the first word to the answer."""
