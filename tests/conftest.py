"""Shared fixtures and the Hypothesis profiles."""

import os

from hypothesis import HealthCheck, Phase, settings

from tests.support.fixtures import server, start_server, wire

__all__ = ["server", "start_server", "wire"]

settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=300, deadline=None, derandomize=True, print_blob=True)
settings.register_profile(
    "soak",
    max_examples=20_000,
    stateful_step_count=200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("explain", max_examples=50, phases=list(Phase), deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))
