"""The commons: fishery, pasture and pollution."""
