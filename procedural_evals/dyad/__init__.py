"""DYAD: a session export becomes clean records, manifests, contexts, and reference systems."""
