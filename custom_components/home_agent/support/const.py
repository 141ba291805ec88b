"""Names that more than one module needs. A constant used by one module lives in that module."""

import logging

DOMAIN = "home_agent"
ENTRY_VERSION = 2
"""Of the form of the entry. A key that changes its name or meaning raises it: a release before would go on without the setting."""
LOGGER = logging.getLogger("custom_components.home_agent")
AUDIT = LOGGER.getChild("audit")
"""One line for each tool call; with a level of its own where the administrator wants them."""
ASSISTANT = "conversation"
"""Exposure is kept per assistant; ours is Home Assistant's own."""

SUBENTRY_LLM = "llm"
SUBENTRY_PROFILE = "profile"
SUBENTRY_CUSTOM_TOOL = "custom_tool"
SUBENTRY_MCP_SERVER = "mcp_server"

CONF_VERIFY_SSL = "verify_ssl"

# A profile (subentry `profile`) and the defaults of all profiles (entry options)
LLM_DEFAULT = "default"
LLM_NONE = "none"
CONF_CUSTOM_TOOLS = "custom_tools"
CONF_NEVER_OFFER = "never_offer"
"""Of the home as well, where it means the same."""

# The home (entry options)
CONF_DEFAULT_PROFILE_SETTINGS = "default_profile_settings"
"""The defaults of all agents, in the parts `processing_config` and `tools_config`."""
CONF_ALLOWED_ENTITIES = "allowed_entities"
CONF_ALWAYS_CONFIRM = "always_confirm"
CONF_NEVER_CONFIRM = "never_confirm"
CONF_THROTTLE_TURNS = "throttle_turns"
CONF_CONFIRM_TIMEOUT = "confirm_timeout"
CONF_DEFAULT_PROFILE = "default_service_profile_id"
CONF_AGENT_RULES = "agent_rules"
CONF_CHOOSE_IN_CONVERSATIONS = "choose_in_conversations"
CONF_DELEGATION_AGENTS = "delegation_agents"
CONF_DELEGATION_DEPTH = "delegation_depth"
CONF_EXTENSIONS_OFF = "extensions_off"
CONF_PINS = "pins"
CONF_VERIFY_SECONDS = "verify_seconds"
CONF_ALLOWED_HOSTS = "allowed_hosts"
CONF_ALLOW_PRIVATE_HOSTS = "allow_private_hosts"
CONF_EMIT_EVENTS = "emit_events"
CONF_DEBUG_LOGGING = "debug_logging"
CONF_AUDIT_LOG = "audit_log"
