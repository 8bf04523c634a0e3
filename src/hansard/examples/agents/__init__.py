"""Agents of other frameworks in the seats of a debate: a function to copy for each.

A seat `python:NAME` is filled by a function of a Request. It may ask whatever you
have: these ask a LangChain model or a LangGraph graph, an AutoGen agent, a
pydantic-ai Agent, and a model that uses the tools of an MCP server. Each needs its
framework, and no extra of this package. What such a function does inside is its
own: the record holds what it was asked, what it replied and what it says it used.
An exception ends the run (`SeatError`); the debate stays open, to be resumed.
"""
