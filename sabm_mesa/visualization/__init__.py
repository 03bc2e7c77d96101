"""The viewer: watch runs, read recordings and play games in the browser."""
