"""The viewer: watch, read and play, in the browser."""
