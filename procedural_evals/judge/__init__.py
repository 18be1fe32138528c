"""Judging open answers: rubrics as files, an asynchronous client and a cache of replies."""
