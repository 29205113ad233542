"""Values that follow from an inventory, computed without complaints: for checks, for the Cluster and for explain."""
