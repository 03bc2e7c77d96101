"""Every test begins without a key, an address and connections, and leaves none open."""

from tests.llm.conftest import own_connections

__all__ = ["own_connections"]
