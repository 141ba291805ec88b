"""How properties are tried here."""

from hypothesis import settings

# The same examples in every run, however busy the machine is.
settings.register_profile("steady", deadline=None, derandomize=True, database=None)
settings.load_profile("steady")
