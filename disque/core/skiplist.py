"""The order of a queue: jobs by (ctime, id), in an unrolled skiplist.

Theory of operation
===================

A plain skiplist spends an object and several pointers on every job. Here each node is a block
of up to 128 jobs in a sorted list, and only blocks have towers:

    head ----------------------------> [D  E  F] ------------------------------> end
    head ------------> [B  C] -------> [D  E  F] ------------> [H  I  J] ------> end
    head --> [A] ----> [B  C] -------> [D  E  F] --> [G] ----> [H  I  J] ------> end

A job therefore costs one pointer. Appending at the tail (a new job is the youngest) and taking
from the head are O(1); everything else finds its block in O(log n) and moves a few pointers in it.
Blocks link backwards too, so that the youngest can be listed first.

Invariants: no block is empty; jobs ascend within and across blocks; `_last[i]` is the last block
whose tower reaches level i, or the head.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final, final

from disque.model.job import Job

__all__ = ["JobList"]

BLOCK_JOBS_MAX: Final = 128
# 4**12 blocks of 128 jobs: two billion, more than fit into memory.
LEVELS_MAX: Final = 12


@final
class Block:
    """Some neighbouring jobs, and per level the next block that reaches it."""

    __slots__ = ("forward", "jobs", "previous")

    def __init__(self, jobs: list[Job], level: int) -> None:
        self.jobs = jobs
        self.forward: list[Block | None] = [None] * level
        self.previous: Block | None = None


@final
class JobList:
    """Jobs in queue order."""

    __slots__ = ("_count", "_head", "_last", "_random")

    def __init__(self, jitter: random.Random) -> None:
        self._random = jitter
        self._head = Block([], LEVELS_MAX)
        self._last: list[Block] = [self._head] * LEVELS_MAX
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Job]:
        block = self._head.forward[0]
        while block is not None:
            yield from block.jobs
            block = block.forward[0]

    def youngest_first(self) -> Iterator[Job]:
        """Iterate from the tail to the head."""
        block: Block | None = self._last[0]
        while block is not None and block is not self._head:
            yield from reversed(block.jobs)
            block = block.previous

    def insert(self, job: Job) -> None:
        """Put `job` in its place."""
        self._count += 1
        tail = self._last[0].jobs
        if tail and tail[-1].ctime < job.ctime and len(tail) < BLOCK_JOBS_MAX:
            # Nearly every job: the youngest one, into a block with room.
            tail.append(job)
            return
        if not tail or is_before(tail[-1], job):
            if tail and len(tail) < BLOCK_JOBS_MAX:
                tail.append(job)
            else:
                self._append_block([job])
            return
        path = self._path_before(job)
        block = path[0] if path[0] is not self._head else path[0].forward[0]
        assert block is not None
        block.jobs.insert(position(block.jobs, job), job)
        if len(block.jobs) > BLOCK_JOBS_MAX:
            self._split(block, path)

    def pop_first(self) -> Job | None:
        """Remove and return the oldest job."""
        block = self._head.forward[0]
        if block is None:
            return None
        self._count -= 1
        jobs = block.jobs
        job = jobs.pop(0)
        if not jobs:
            self._unlink(block, [self._head] * LEVELS_MAX)
        return job

    def remove(self, job: Job) -> None:
        """Take `job` out; it must be in."""
        path = self._path_before(job)
        block = path[0]
        following = block.forward[0]
        if following is not None and following.jobs[0] is job:
            block = following
        place = position(block.jobs, job)
        assert block.jobs[place] is job
        del block.jobs[place]
        self._count -= 1
        if not block.jobs:
            self._unlink(block, path)

    def _path_before(self, job: Job) -> list[Block]:
        """Per level, the last block that begins before `job` (or the head)."""
        path = [self._head] * LEVELS_MAX
        block = self._head
        for level in range(LEVELS_MAX - 1, -1, -1):
            following = block.forward[level]
            while following is not None and is_before(following.jobs[0], job):
                block = following
                following = block.forward[level]
            path[level] = block
        return path

    def _append_block(self, jobs: list[Job]) -> None:
        block = Block(jobs, self._draw_level())
        block.previous = self._last[0]
        for level in range(len(block.forward)):
            self._last[level].forward[level] = block
            self._last[level] = block

    def _split(self, block: Block, path: list[Block]) -> None:
        """Move the younger half of `block` into a new block right after it."""
        half = len(block.jobs) // 2
        younger = Block(block.jobs[half:], self._draw_level())
        del block.jobs[half:]
        younger.previous = block
        following = block.forward[0]
        if following is not None:
            following.previous = younger
        for level in range(len(younger.forward)):
            # `path` stops before a block that begins with the inserted job or later, which can
            # only be `block` itself (as the first block); it then precedes at its own levels.
            before = block if level < len(block.forward) else path[level]
            younger.forward[level] = before.forward[level]
            before.forward[level] = younger
            if younger.forward[level] is None:
                self._last[level] = younger

    def _unlink(self, block: Block, path: list[Block]) -> None:
        """Drop an emptied block; `path` holds its predecessors."""
        following = block.forward[0]
        if following is not None:
            following.previous = path[0]
        for level in range(len(block.forward)):
            path[level].forward[level] = block.forward[level]
            if block.forward[level] is None:
                self._last[level] = path[level]
        # Blocks point at each other both ways; cut both, so that no cycle keeps them alive.
        block.previous = None
        block.forward = []

    def _draw_level(self) -> int:
        level = 1
        while level < LEVELS_MAX and self._random.getrandbits(2) == 0:
            level += 1
        return level


def is_before(a: Job, b: Job) -> bool:
    """Tell whether `a` comes before `b` in every queue."""
    return a.ctime < b.ctime or (a.ctime == b.ctime and a.id < b.id)


def position(jobs: list[Job], job: Job) -> int:
    """Return where `job` is, or belongs, in a sorted list."""
    low, high = 0, len(jobs)
    while low < high:
        middle = (low + high) // 2
        if is_before(jobs[middle], job):
            low = middle + 1
        else:
            high = middle
    return low
