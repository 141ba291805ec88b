"""What becomes of a question: whose answer it was, what then runs, and where else it can be answered."""
