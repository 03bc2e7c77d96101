"""Prints what was played and two messages of a recording, for `make demo`."""

import sys

from sabm_mesa import Recorded

said = Recorded(sys.argv[1]).messages()
words = said["text"].map(lambda text: 0 if "JSON" in text else len(text.split()))
best = words[words > 1].sort_values(ascending=False, kind="stable").index[:2]
longest = said.loc[sorted(best)]
print("Each player names a number; the nearest to two thirds of the mean wins. They talk first.")
print("This language model is tiny (135 million parameters): expect nonsense, but it runs.")
print("Two of the things that were said:" if len(longest) else "Nothing was said.")
for speaker, text in zip(longest["speaker"], longest["text"], strict=True):
    print(f"  player {speaker}: {' '.join(text.split())[:200]}")
