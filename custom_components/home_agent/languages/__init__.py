"""What languages call things, and how they say yes: one data file per language and the code that reads it."""
