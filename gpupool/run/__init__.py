"""The one way for commands to run deploys on nodes, and the changes that are one deploy each."""
