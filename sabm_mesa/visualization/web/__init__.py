"""The site of a class and of recordings: plain pages over HTTP."""
