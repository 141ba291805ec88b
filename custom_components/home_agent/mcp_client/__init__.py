"""Servers of the Model Context Protocol: their tools, offered to models under our policy."""
