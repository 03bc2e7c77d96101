"""A class: every agent has its own, which remembers how far it went down the last time."""


class Steps:
    """Expects the others at 50, then always takes two thirds of its pick before."""

    pick = 50.0

    def answer(self, ask):
        """A number where a number is asked for, else a sentence that the others read."""
        if ask.spec.kind != "number":
            return "Low picks come nearer to the target."
        self.pick = self.pick * 2 / 3
        return round(self.pick)
