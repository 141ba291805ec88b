"""Which of our own tools a profile has (S1-40, S1-123)."""

from ..profiles.profile import Profile
from ..safety.tool import HomeAgentTool
from .ha_control import HaControl
from .ha_query import HaQuery
from .names import HomeSource


def native_tools(profile: Profile, home: HomeSource) -> list[HomeAgentTool]:
    """Return the tools of a profile, in sorted order; none when it has them switched off."""
    return [HaControl(home), HaQuery(home)] if profile.native_tools else []
