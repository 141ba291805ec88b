"""What is kept about the people and the home, beyond a conversation."""
