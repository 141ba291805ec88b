"""The exposed home: its entities, their names, and what they can do."""
