"""The calls of five published debates under their own names, run and recorded by Hansard.

One module a source: `lemmas`, `loomflow`, `flow_state`, `orchestration`, `eaapl`. Code written
for one of them changes its import and stays as it is: each module takes what its source takes,
and gives what its source gives. What differs on purpose is in tools/docs/coming-from.md. New code
is better off with `hansard.debate`, to which all of them translate.
"""
