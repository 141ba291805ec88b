"""Names that more than one module needs. A constant used by one module lives in that module."""

import logging

DOMAIN = "home_agent"
LOGGER = logging.getLogger("custom_components.home_agent")
AUDIT = LOGGER.getChild("audit")
"""One line for each tool call; with a level of its own where the administrator wants them."""
ASSISTANT = "conversation"
"""Exposure is kept per assistant; ours is Home Assistant's own."""

SUBENTRY_LLM = "llm"
SUBENTRY_PROFILE = "profile"
SUBENTRY_CUSTOM_TOOL = "custom_tool"
SUBENTRY_MCP_SERVER = "mcp_server"

# An endpoint (subentry `llm`)
CONF_PRESET = "preset"
CONF_BASE_URL = "base_url"
CONF_API_KEY = "api_key"
CONF_API_VERSION = "api_version"
CONF_VERIFY_SSL = "verify_ssl"
CONF_MODEL = "model"
CONF_TEMPERATURE = "temperature"
CONF_TOP_P = "top_p"
CONF_MAX_TOKENS = "max_tokens"
CONF_KEEP_READY = "keep_ready"
CONF_KEEP_ALIVE = "keep_alive"
CONF_TOOL_CALLING = "tool_calling"
CONF_CONTEXT_WINDOW = "context_window"
CONF_IDLE_TIMEOUT = "idle_timeout"
CONF_REMOTE = "remote"

# A profile (subentry `profile`) and the defaults of all profiles (entry options)
LLM_DEFAULT = "default"
LLM_NONE = "none"
CONF_CUSTOM_PROMPT = "custom_prompt"
CONF_PROMPT_ADDITIONS = "prompt_additions"
CONF_CONTEXT_ENTITIES = "context_entities"
CONF_CUSTOM_TOOLS = "custom_tools"
CONF_ALWAYS_ASK = "always_ask"
CONF_NEVER_ASK = "never_ask"
CONF_NEVER_OFFER = "never_offer"
"""Of the house as well, where it means the same."""

# The house (entry options)
CONF_PROFILE_DEFAULTS = "profile_defaults"
CONF_ALLOWED_ENTITIES = "allowed_entities"
CONF_ALWAYS_CONFIRM = "always_confirm"
CONF_NEVER_CONFIRM = "never_confirm"
CONF_THROTTLE_TURNS = "throttle_turns"
CONF_CONFIRM_TIMEOUT = "confirm_timeout"
CONF_DELEGATION_AGENTS = "delegation_agents"
CONF_DELEGATION_DEPTH = "delegation_depth"
CONF_PINS = "pins"
CONF_VERIFY_SECONDS = "verify_seconds"
CONF_ALLOWED_HOSTS = "allowed_hosts"
CONF_ALLOW_PRIVATE_HOSTS = "allow_private_hosts"
CONF_EMIT_EVENTS = "emit_events"
CONF_DEBUG_LOGGING = "debug_logging"
CONF_AUDIT_LOG = "audit_log"
