"""Executions in other threads."""
from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
from typing import Any, Callable, Generator, Optional

_workers: Optional[concurrent.futures.ThreadPoolExecutor] = None
_workers_lock = threading.Lock()


def _pool() -> concurrent.futures.ThreadPoolExecutor:
    """The threads of run_async. Each waits for an execution, without the GIL."""
    global _workers
    with _workers_lock:
        if _workers is None:
            _workers = concurrent.futures.ThreadPoolExecutor(
                max(4, os.cpu_count() or 1), thread_name_prefix="halyard")
        return _workers


def _reset_in_child() -> None:
    global _workers, _workers_lock
    _workers = None
    _workers_lock = threading.Lock()


os.register_at_fork(after_in_child=_reset_in_child)


class Run(concurrent.futures.Future):  # type: ignore[type-arg]
    """A running execution: a concurrent.futures.Future that asyncio can await."""

    def __await__(self) -> Generator[Any, None, Any]:
        return asyncio.wrap_future(self).__await__()


def start(work: Callable[[], Any]) -> Run:
    """Does the work in a thread of the pool."""
    future = Run()

    def call() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(work())
        except BaseException as error:  # the caller gets it from the future
            future.set_exception(error)

    _pool().submit(call)
    return future
