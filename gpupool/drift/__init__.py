"""What differs from the inventory, and where: in files on the nodes, or in what runs. It reverts nothing."""
