"""A mind with a mistake: it forgot that players also talk, so it loses those decisions."""


class Hasty:
    """Looks up an answer for the kind of question, and has none for texts."""

    async def answer(self, ask):
        """Fails with a KeyError when a text is asked for."""
        return {"number": 22}[ask.spec.kind]
