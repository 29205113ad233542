"""The only way for commands to run deploys on nodes, and changes that consist of one deploy."""
