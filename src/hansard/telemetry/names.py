"""The names of metrics, and of attributes and events: those of the conventions, and our own."""

from __future__ import annotations

# Every name of the conventions stands here and nowhere else: they are still in development.
OPERATION = "gen_ai.operation.name"
CONVERSATION = "gen_ai.conversation.id"
WORKFLOW = "gen_ai.workflow.name"
PROVIDER = "gen_ai.provider.name"
MODEL = "gen_ai.request.model"
AGENT_NAME, AGENT_ID = "gen_ai.agent.name", "gen_ai.agent.id"
TOOL, TOOL_TYPE = "gen_ai.tool.name", "gen_ai.tool.type"
FINISH = "gen_ai.response.finish_reasons"
RESPONSE_ID = "gen_ai.response.id"
ERROR = "error.type"
ADDRESS, PORT = "server.address", "server.port"
EVALUATION = "gen_ai.evaluation.result"
METRIC = "gen_ai.evaluation.name"
SCORE, LABEL = "gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label"
TOKEN_USAGE, TOKEN_TYPE = "gen_ai.client.token.usage", "gen_ai.token.type"
DURATION = "gen_ai.client.operation.duration"
REQUEST = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "seed": "gen_ai.request.seed",
    "max_tokens": "gen_ai.request.max_tokens",
}
RESPONSE = {
    "model": "gen_ai.response.model",
    "response_id": RESPONSE_ID,
    "tokens_in": "gen_ai.usage.input_tokens",
    "tokens_cached": "gen_ai.usage.cache_read.input_tokens",
    "tokens_cache_write": "gen_ai.usage.cache_creation.input_tokens",
    "tokens_out": "gen_ai.usage.output_tokens",
    "status": "http.response.status_code",
}
# What only this engine knows. Each span has the entry that began it and the one that ended it.
BEGAN, OVER = "hansard.event", "hansard.end"
DEBATE_FORMAT, SIDE = "hansard.format", "hansard.side"
COLLECTION, AGENT_TYPE = "hansard.collection.id", "hansard.agent.type"
REJECTION = "hansard.turn.rejected"
STEP = {"id": "hansard.step", "round": "hansard.round", "phase": "hansard.phase"}
OPENED = {"collection_id": COLLECTION, "scripted": "hansard.scripted", "layout": "hansard.layout"}
STARTED = {"call": "hansard.call", "attempt": "hansard.attempt"}
FAILED = {
    "status": RESPONSE["status"],
    "again": "hansard.retried",
    "wait_ms": "hansard.retry.wait_ms",
}
REJECTED = {"code": "hansard.rejection", "again": "hansard.retried"}
DECIDED = {"decision": "hansard.decision", "rule": "hansard.decision.rule"}
CLOSED = {"outcome": "hansard.outcome", "reason": "hansard.close_reason"}
# What is counted of all debates. A metric says how a debate ended in one of few words.
DEBATES, ENDING = "hansard.debates", "hansard.ending"
CALLS_FAILED, CALLS_ABANDONED = "hansard.calls.failed", "hansard.calls.abandoned"
REPLIES_REJECTED = "hansard.replies.rejected"
COST = "hansard.cost"
