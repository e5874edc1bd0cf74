"""Error codes of single families of providers, as their pages of errors list them; in lower case.

Codes that are words, and Zhipu's numbers as far as no other family uses them, mean the same wherever they appear:
gateways pass them on. They are ``ANYWHERE``, which is read after the tables of ``faults``.
"""

from __future__ import annotations

from collections.abc import Mapping

from interpreters.models.faults import Fault


def _codes(**told: str) -> Mapping[str, Fault]:
    """Turn ``fault="code code"`` round."""
    return {code: Fault(fault.replace("_", "-")) for fault, listed in told.items() for code in listed.split()}


ZHIPU = _codes(
    server="500 1120 1200 1230 1231 1234",
    auth="1000 1001 1002 1003 1004",
    permission="1110 1111 1112 1121 1220 1221 1222 1309 1311",
    quota="1113 1304 1308 1310",
    not_found="1211",
    invalid_request="1210 1212 1213 1214 1215",
    context_overflow="1261",
    content_filter="1300 1301",
    rate_limited="1302 1303",
    overloaded="1305 1312",
)
"""Zhipu's business codes."""

QWEN = _codes(
    quota="arrearage commoditynotpurchased prepaidbilloverdue postpaidbilloverdue allocationquota.freetieronly",
    auth="invalidapikey invalidapi-key",
    permission="accessdenied accessdenied.unpurchased model.accessdenied workspace.accessdenied",
    not_found="modelnotfound model_not_supported workspacenotfound",
    content_filter="datainspectionfailed",
    rate_limited="""throttling.ratequota throttling.allocationquota throttling.burstrate limitrequests limit_requests
        requests_limit""",
    overloaded="modelservingerror serviceunavailable modelunavailable",
    server="internalerror internalerror.timeout internalerror.algo requesttimeout responsetimeout",
)
"""Codes of Alibaba's Model Studio, which serves Qwen."""

MISTRAL = _codes(rate_limited="1300", overloaded="3505", server="3700", context_overflow="3051")
"""Numbers that Mistral puts beside its error types."""

AZURE = _codes(not_found="deploymentnotfound operationnotsupported", overloaded="nocapacity")
"""What Azure adds to OpenAI's codes."""

OPENROUTER = _codes(quota="402", content_filter="moderation_error", overloaded="502 503")
"""OpenRouter's codes, which are statuses put into its error objects."""

ANYWHERE: Mapping[str, Fault] = {
    **{code: fault for code, fault in ZHIPU.items() if len(code) == len("1000") and code not in MISTRAL},
    **QWEN,
    **AZURE,
}
"""Codes that mean one thing wherever they appear."""
