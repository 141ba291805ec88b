"""Names that more than one module needs. A constant used by one module lives in that module."""

import logging

DOMAIN = "home_agent"
LOGGER = logging.getLogger(__package__)
ASSISTANT = "conversation"
"""Exposure is kept per assistant; ours is Home Assistant's own."""

SUBENTRY_LLM = "llm"
SUBENTRY_PROFILE = "profile"

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
CONF_KEEP_ALIVE = "keep_alive"
CONF_TOOL_CALLING = "tool_calling"
CONF_CONTEXT_WINDOW = "context_window"
CONF_IDLE_TIMEOUT = "idle_timeout"
CONF_REMOTE = "remote"

# A profile (subentry `profile`) and the defaults of all profiles (entry options)
CONF_LLM = "llm"
LLM_DEFAULT = "default"
LLM_NONE = "none"
CONF_LOCAL_FIRST = "local_first"
CONF_STREAMING = "streaming"
CONF_SPEECH = "speech"
CONF_USE_DEFAULT_PROMPT = "use_default_prompt"
CONF_CUSTOM_PROMPT = "custom_prompt"
CONF_PROMPT_ADDITIONS = "prompt_additions"
CONF_CONTEXT_MODE = "context_mode"
CONF_CONTEXT_FORMAT = "context_format"
CONF_CONTEXT_ENTITIES = "context_entities"
CONF_CONTEXT_UPDATE_INTERVAL = "context_update_interval"
CONF_HISTORY_ENABLED = "history_enabled"
CONF_HISTORY_MAX_MESSAGES = "history_max_messages"
CONF_HISTORY_MAX_TOKENS = "history_max_tokens"
CONF_NATIVE_TOOLS = "native_tools"
CONF_MAX_CALLS_PER_TURN = "max_calls_per_turn"
CONF_TOOL_TIMEOUT = "tool_timeout"

# The house (entry options)
CONF_PROFILE_DEFAULTS = "profile_defaults"
CONF_ALWAYS_CONFIRM = "always_confirm"
CONF_VERIFY_SECONDS = "verify_seconds"
CONF_EMIT_EVENTS = "emit_events"
CONF_DEBUG_LOGGING = "debug_logging"
