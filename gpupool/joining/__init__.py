"""Nodes that join a cluster and leave it, one command each: probed, compared, written down, deployed and accepted."""
