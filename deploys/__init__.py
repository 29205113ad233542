"""What an admin runs: roles in their order."""
