"""What was configured: profiles, endpoints, search."""
