"""Traffic: how much came, how much went, and how fast it does right now.

The rates are the mean of the last sixteen complete samples of 100 ms, but nothing runs every
100 ms. Whoever counts adds to the totals itself. At the beginning of a turn, from `ends_ms` on,
`roll` closes the sample by comparing the totals with what they were when it began. Samples nobody
counted in are zero.

    counts      3   2         1                 (now)
    samples   |   5   |   1   |   0   |   0   |  open
              '--------- closed at once ------'
"""

from __future__ import annotations

from typing import Final, final

__all__ = ["SAMPLES", "SAMPLE_MS", "Traffic"]

SAMPLE_MS: Final = 100
SAMPLES: Final = 16
WINDOW_MS: Final = SAMPLE_MS * SAMPLES


@final
class Traffic:
    """The counters of INFO's Stats section: totals, and where the open sample ends."""

    __slots__ = (
        "_command_samples",
        "_commands_before",
        "_input_before",
        "_input_samples",
        "_output_before",
        "_output_samples",
        "_slot",
        "commands",
        "connections_received",
        "connections_rejected",
        "ends_ms",
        "input_bytes",
        "output_bytes",
    )

    def __init__(self) -> None:
        self.commands = 0
        self.connections_received = 0
        self.connections_rejected = 0
        self.input_bytes = 0
        self.output_bytes = 0
        self._commands_before = 0
        self._input_before = 0
        self._output_before = 0
        self._command_samples = [0] * SAMPLES
        self._input_samples = [0] * SAMPLES
        self._output_samples = [0] * SAMPLES
        # Where the open sample will be stored, and when it ends.
        self._slot = 0
        self.ends_ms = 0

    def roll(self, now_ms: int) -> None:
        """Store the open sample if its time is over, and zeros for those that followed it."""
        late_ms = now_ms - self.ends_ms
        if late_ms < 0:
            return
        slot = self._slot
        self._command_samples[slot] = self.commands - self._commands_before
        self._input_samples[slot] = self.input_bytes - self._input_before
        self._output_samples[slot] = self.output_bytes - self._output_before
        self._remember_totals()
        missed = late_ms // SAMPLE_MS
        # More than all slots need not be cleared twice.
        for _ in range(min(missed, SAMPLES)):
            slot = (slot + 1) % SAMPLES
            self._clear(slot)
        self._slot = (slot + 1) % SAMPLES
        self.ends_ms = now_ms - now_ms % SAMPLE_MS + SAMPLE_MS

    def commands_per_second(self, now_ms: int) -> int:
        """Return the current rate of commands, rounded down."""
        self.roll(now_ms)
        return sum(self._command_samples) * 1_000 // WINDOW_MS

    def input_bytes_per_second(self, now_ms: int) -> float:
        """Return the current rate of incoming bytes."""
        self.roll(now_ms)
        return sum(self._input_samples) * 1_000 / WINDOW_MS

    def output_bytes_per_second(self, now_ms: int) -> float:
        """Return the current rate of outgoing bytes."""
        self.roll(now_ms)
        return sum(self._output_samples) * 1_000 / WINDOW_MS

    def reset(self) -> None:
        """Start again from zero, rates included."""
        self.commands = 0
        self.connections_received = 0
        self.connections_rejected = 0
        self.input_bytes = 0
        self.output_bytes = 0
        self._remember_totals()
        for slot in range(SAMPLES):
            self._clear(slot)

    def _remember_totals(self) -> None:
        self._commands_before = self.commands
        self._input_before = self.input_bytes
        self._output_before = self.output_bytes

    def _clear(self, slot: int) -> None:
        self._command_samples[slot] = 0
        self._input_samples[slot] = 0
        self._output_samples[slot] = 0
