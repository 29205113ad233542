"""Deploys that an admin runs: roles in their order."""
