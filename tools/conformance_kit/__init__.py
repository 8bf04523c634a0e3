"""The cases of the conformance kit, and what every verifier must say of each.

The expected verdicts, codes and places are written here by hand, from schemas/FORMAT.md;
no verifier is asked. Unless a case is about the chain, the manifest or a signature, the
record is chained anew and signed with the genuine keys, so that what is left to find is
the one thing that was changed.

A module for each theme: every function in it that `@group` (case.py) marks yields cases.
build.py finds all modules of this package, so a new case or theme touches one file here.
"""
