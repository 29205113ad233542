"""One noun each: what a node of this kind has. A role takes (cluster, node) and calls operations."""
