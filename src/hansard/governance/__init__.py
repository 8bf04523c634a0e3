"""Governance: what must hold before and around a debate."""
