"""Timers: the next moment something must happen to a job, a queue or a waiting client.

Theory of operation
===================

Everything that wakes up is a `Timed` with at most one appointment. Far appointments lie in
buckets of 64 ms, found by `time >> 6`; the item remembers its place in the bucket, so setting,
moving and cancelling are O(1) and leave nothing behind. When the clock reaches a bucket, its
items move into a small heap that knows the exact millisecond:

    buckets  { 0x6a1: [job, job, ...], 0x6b0: [queue], ... }      unordered, O(1)
    keys     heap of bucket numbers                               when to open the next one
    near     heap of (ms, sequence, item)                         the current 64 ms, exact

Buckets are opened one at a time, the next only when `near` is used up: after a long stall the
work is still spread over many small heaps, and a caller that stops early has paid for no more
than it took. Nothing ever fires early, nothing scans all jobs, and an idle node has no next time
at all.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final, final

from disque.model.timed import Timed

__all__ = ["AwakeList"]

# 64 ms: at 50 000 appointments per second a bucket holds about 3 000, which open in a
# millisecond; wider ones would be felt as a pause.
BUCKET_BITS: Final = 6
# Emptied buckets leave their key in the heap; it is rebuilt when such keys are the majority.
STALE_KEYS_MIN: Final = 64


@final
class AwakeList:
    """Items ordered by the time they need attention, one appointment each."""

    __slots__ = ("_buckets", "_keys", "_near", "_opened_key", "_sequence", "has_moved")

    def __init__(self) -> None:
        # Something may be due before what `next_ms` said last: ask it again.
        self.has_moved = True
        self._buckets: dict[int, list[Timed]] = {}
        self._keys: list[int] = []
        self._near: list[tuple[int, int, Timed]] = []
        # Every bucket up to this key has been opened into `_near`; all that lie in `_buckets`
        # are later than all that is in `_near`.
        self._opened_key = -1
        self._sequence = 0

    def schedule(self, item: Timed, at_ms: int) -> None:
        """Wake `item` at `at_ms`, replacing any earlier appointment."""
        assert at_ms
        if item.awake_ms:
            if item.awake_ms == at_ms:
                return
            self.cancel(item)
        item.awake_ms = at_ms
        key = at_ms >> BUCKET_BITS
        if key <= self._opened_key:
            self._push_near(item)
            return
        bucket = self._buckets.get(key)
        if bucket is None:
            self._buckets[key] = [item]
            self.has_moved = True
            item.awake_slot = 0
            heappush(self._keys, key)
            if len(self._keys) > STALE_KEYS_MIN + 2 * len(self._buckets):
                self._rebuild_keys()
        else:
            item.awake_slot = len(bucket)
            bucket.append(item)

    def cancel(self, item: Timed) -> None:
        """Forget the appointment of `item`, if it has one."""
        if not item.awake_ms:
            return
        slot = item.awake_slot
        # A negative slot marks an entry of the near heap, which is dropped when it surfaces.
        if slot >= 0:
            key = item.awake_ms >> BUCKET_BITS
            bucket = self._buckets[key]
            last = bucket.pop()
            if last is not item:
                bucket[slot] = last
                last.awake_slot = slot
            elif not bucket:
                del self._buckets[key]
        item.awake_ms = 0

    def pop_due(self, now_ms: int) -> Timed | None:
        """Remove and return one item due at or before `now_ms`, the earliest first."""
        near = self._near
        while True:
            while near and near[0][0] <= now_ms:
                at_ms, sequence, item = heappop(near)
                if item.awake_ms == at_ms and item.awake_slot == -sequence:
                    item.awake_ms = 0
                    return item
            if near or not self._open_next(now_ms >> BUCKET_BITS):
                return None

    def next_ms(self) -> int | None:
        """Return when to look again: exact within the current bucket, else the bucket's start."""
        self.has_moved = False
        near = self._near
        while near:
            at_ms, sequence, item = near[0]
            if item.awake_ms == at_ms and item.awake_slot == -sequence:
                return at_ms
            heappop(near)
        keys = self._keys
        while keys:
            if keys[0] in self._buckets:
                return keys[0] << BUCKET_BITS
            heappop(keys)
        return None

    def appointments(self) -> list[Timed]:
        """Return every item that has an appointment, each once; for checks."""
        found = [item for bucket in self._buckets.values() for item in bucket]
        for at_ms, sequence, item in self._near:
            if item.awake_ms == at_ms and item.awake_slot == -sequence:
                found.append(item)
        return found

    def _open_next(self, key_now: int) -> bool:
        """Move the earliest bucket up to `key_now` into `near`, which is empty; tell if any."""
        keys = self._keys
        while keys and keys[0] <= key_now:
            key = heappop(keys)
            bucket = self._buckets.pop(key, None)
            if bucket is not None:
                self._opened_key = key
                self._open(bucket)
                return True
        if key_now > self._opened_key:
            self._opened_key = key_now
        return False

    def _open(self, bucket: list[Timed]) -> None:
        near = self._near
        for item in bucket:
            self._sequence += 1
            item.awake_slot = -self._sequence
            near.append((item.awake_ms, self._sequence, item))
        heapify(near)

    def _push_near(self, item: Timed) -> None:
        self.has_moved = True
        self._sequence += 1
        item.awake_slot = -self._sequence
        heappush(self._near, (item.awake_ms, self._sequence, item))

    def _rebuild_keys(self) -> None:
        self._keys = list(self._buckets)
        heapify(self._keys)
