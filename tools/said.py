"""Print a summary and two messages of a recording, for `make demo`."""

import sys

from sabm_mesa import Recorded

said = Recorded(sys.argv[1]).messages()
words = said["text"].map(lambda text: -len(text.split()))
about_json = said["text"].str.contains("JSON")
best = said.assign(json=about_json, words=words).sort_values(["json", "words"], kind="stable")
two = said.loc[sorted(best.index[:2])]
print("Each player names a number; the nearest to two thirds of the mean wins. They talk first.")
print("This language model is tiny (135 million parameters): expect nonsense, but it runs.")
print("Two of their messages:" if len(two) else "There are no messages.")
for speaker, text in zip(two["speaker"], two["text"], strict=True):
    print(f"  player {speaker}: {' '.join(text.split())[:200]}")
