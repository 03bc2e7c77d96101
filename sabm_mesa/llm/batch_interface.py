"""The files and batches of an OpenAI-compatible endpoint.

Source: the reference of OpenAI's batch interface (https://platform.openai.com/docs/api-reference/batch)
and the types of the library `openai`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import Any

import openai

from sabm_mesa.core.asks import NotedBatch
from sabm_mesa.errors import BadRequest
from sabm_mesa.llm.endpoints import APIS, Endpoint
from sabm_mesa.llm.openai_client import OpenAIClient
from sabm_mesa.llm.retry import with_retries

LARGEST_FILE = 1_000_000_000
"""The maximum number of bytes that are read of a file of answers."""
FILE_TIMEOUT_S = 600.0
"""The least time limit for the transfer of a file, in seconds."""
LISTED, DAY_S = 100, 86_400
"""Batches per page of the list, and the seconds by which clocks may differ."""
_TOKEN = "sabm"
"""The field of a batch's metadata that holds its token."""


class BatchInterface(OpenAIClient):
    """The files and batches of an endpoint.

    Args:
        endpoint: the endpoint.
        timeout_s: seconds until a request fails, except for files.
    """

    def __init__(self, endpoint: Endpoint, timeout_s: float) -> None:
        super().__init__(endpoint, max(timeout_s, FILE_TIMEOUT_S), LARGEST_FILE)
        self._checking = asyncio.Lock()
        self._exists = False

    async def check(self) -> None:
        """Check that the endpoint supports batches, before anything is paid for.

        Raises:
            LLMError: when it has none, or cannot be asked.
        """
        async with self._checking:
            if self._exists:
                return
            if self.endpoint.api == APIS[0]:
                with suppress(BadRequest):
                    await with_retries(partial(self.listed, 1))
                    self._exists = True
            if not self._exists:
                raise BadRequest(
                    f"{self.endpoint.where} offers no batches, or not to this account: leave out "
                    "--batch."
                )

    async def upload(self, name: str, content: bytes) -> str:
        """Upload the file of a batch.

        Args:
            name: the name of the file.
            content: its content.

        Returns:
            Its id.
        """

        async def call() -> str:
            files = self._open().files.with_raw_response
            response = await files.create(file=(name, content), purpose="batch")
            return _id(response.http_response.json())

        return await self.reach(call, "a file")

    async def create(self, file: str, token: str) -> str:
        """Create a batch.

        Args:
            file: the id of its file.
            token: its token.

        Returns:
            Its id.
        """

        async def call() -> str:
            response = await self._open().batches.with_raw_response.create(
                completion_window="24h",
                endpoint="/v1/chat/completions",
                input_file_id=file,
                metadata={_TOKEN: token},
            )
            return _id(response.http_response.json())

        return await self.reach(call, "a batch")

    async def batch(self, batch: str) -> dict[str, Any] | None:
        """Return the state of a batch.

        Args:
            batch: its id.

        Returns:
            The batch, from JSON; None when the endpoint does not know it.
        """

        async def call() -> dict[str, Any] | None:
            try:
                response = await self._open().batches.with_raw_response.retrieve(batch)
            except openai.NotFoundError:
                return None
            batch_object = response.http_response.json()
            _id(batch_object)
            parsed: dict[str, Any] = batch_object
            return parsed

        return await self.reach(call, "a batch")

    async def listed(self, limit: int = LISTED, after: str = "") -> list[dict[str, Any]]:
        """Return a page of the batches of the account, the newest first.

        Args:
            limit: the maximum number of batches.
            after: the id of the last batch of the previous page; ``""`` for the first page.
        """

        async def call() -> list[dict[str, Any]]:
            batches = self._open().batches.with_raw_response
            response = await (batches.list(limit=limit, after=after) if after else
                          batches.list(limit=limit))  # fmt: skip
            page = response.http_response.json()
            if not isinstance(page, dict) or not isinstance(page.get("data"), list):
                raise ValueError("it has no data")  # noqa: TRY004
            return [batch for batch in page["data"] if isinstance(batch, dict)]

        return await self.reach(call, "a list of batches")

    async def content(self, file: str) -> bytes:
        """Return the content of a file.

        Args:
            file: its id.
        """

        async def call() -> bytes:
            return (await self._open().files.content(file)).content

        return await self.reach(call, "a file")

    async def find(self, noted: NotedBatch) -> str:
        """Find a batch that may have been created, by its file or its token.

        Args:
            noted: its note.

        Returns:
            Its id; ``""`` when there is none.
        """
        after = ""
        while page := await with_retries(partial(self.listed, after=after)):
            for batch in page:
                metadata = batch.get("metadata")
                token = metadata.get(_TOKEN) if isinstance(metadata, dict) else None
                if token == noted.token or batch.get("input_file_id") == noted.file:
                    return _id(batch)
            after = _id(page[-1])
            older = page[-1].get("created_at")
            if len(page) < LISTED or (isinstance(older, int) and older < noted.submitted - DAY_S):
                break
        return ""


def _id(body: Any) -> str:
    identifier = body.get("id") if isinstance(body, dict) else None
    if not isinstance(identifier, str) or not identifier:
        raise ValueError("it has no id")
    return identifier
