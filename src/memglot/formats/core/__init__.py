"""Machinery that formats share: sources, targets, carry slots, proofs, folders of notes."""
